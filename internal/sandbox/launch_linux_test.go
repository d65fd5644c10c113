package sandbox

import (
	"encoding/gob"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox/stage"
)

// Whoever waits for the beginning of a command that cannot begin is told, however the goroutines are scheduled.
func TestACommandThatCannotBeginIsToldToWhoeverWaitsForItsBeginning(t *testing.T) {
	t.Parallel()
	for range 2000 {
		ours, theirs, err := socketPair()
		require.NoError(t, err)
		p := &process{control: ours, began: make(chan struct{}), over: make(chan struct{}), command: Command{Args: []string{"x"}}}
		go p.hear()
		require.NoError(t, gob.NewEncoder(theirs).Encode(stage.Report{Missing: true}))
		var missing *NotFoundError
		require.ErrorAs(t, p.begun(), &missing)
		require.NoError(t, theirs.Close())
		<-p.over
		require.NoError(t, ours.Close())
	}
}
