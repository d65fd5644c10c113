package worker

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// What lasts is shown although it began too early for an event of its own; what does not last is passed over.
func TestTheNewestWordsAreToldOnceTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type said struct {
			After time.Duration
			Words string
		}
		var got []said
		began := time.Now()
		p := &progress{clock: time.Now, last: began, append: func(e contextscope.Event) {
			var data wire.Progress
			require.NoError(t, json.Unmarshal(e.Data, &data))
			got = append(got, said{time.Since(began), data.Doing})
		}}
		say := func(words string, pause time.Duration) {
			p.doing(words)
			<-time.After(pause)
			synctest.Wait()
		}
		say("preparing", time.Second/2)
		say("running sed", 3*time.Second)
		say("running sed", 3*time.Second)
		say("line 1", time.Second)
		say("line 2", 100*time.Millisecond)
		say("line 1", 3*time.Second)
		wait := spec.Wait{For: spec.WaitBudget, Why: "x"}
		say("thinking", time.Millisecond)
		say("dropped by a wait", time.Millisecond)
		p.waits(wait)
		say("dropped by the end", time.Millisecond)
		p.close()
		say("after the end", 3*time.Second)
		require.Equal(t, []said{
			{progressEvery, "running sed"},
			{6500 * time.Millisecond, "line 1"},
			{10600 * time.Millisecond, "thinking"},
			{10602 * time.Millisecond, wait.String()},
		}, got)
	})
}
