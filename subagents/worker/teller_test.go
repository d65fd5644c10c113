package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

// A log that takes nothing for a minute holds what runs up for a second, once; what is said meanwhile is dropped.
func TestWhatRunsDoesNotWaitForALogThatStoresNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stored []string
		outage := time.After(time.Minute)
		said := newTeller(func(e contextscope.Event) {
			if e.ID == "b" {
				<-outage
			}
			stored = append(stored, e.ID)
		})
		began := time.Now()
		for _, id := range []string{"a", "b", "c", "d"} {
			said.tell(contextscope.Event{ID: id})
			<-time.After(time.Millisecond)
		}
		require.Less(t, time.Since(began), 2*tellPatience)
		said.wait()
		require.Equal(t, time.Minute, time.Since(began))
		said.tell(contextscope.Event{ID: "e"})
		require.Equal(t, []string{"a", "b", "e"}, stored)
	})
}
