package sandbox

import (
	"context"
	"encoding/gob"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox/stage"
	"divisi/internal/testkit/chantest"
)

// A caller that waits for the beginning of a command that cannot begin gets the error, however the goroutines are scheduled.
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
		chantest.Next(t, p.over)
		require.NoError(t, ours.Close())
	}
}

// A stage that was killed before its command began has run nothing.
func TestAStageThatSaysNothingHasNotBegun(t *testing.T) {
	t.Parallel()
	ours, theirs, err := socketPair()
	require.NoError(t, err)
	p := &process{control: ours, began: make(chan struct{}), over: make(chan struct{})}
	go p.hear()
	require.NoError(t, theirs.Close())
	require.ErrorContains(t, p.begun(), "before the command began")
	require.NoError(t, ours.Close())
}

// A trial that dies without resources shows nothing of the machine, and must not end in commands without confinement. One
// that a filter of the machine's ends does.
func TestATryOutThatSaysNothing(t *testing.T) {
	t.Parallel()
	for script, untried := range map[string]bool{"exit 2": true, "exit 0": true, "kill -KILL $$": true, "kill -SYS $$": false} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		require.Equal(t, script == "exit 0", cmd.Run() == nil)
		p := &process{state: cmd.ProcessState}
		r, err := p.result()
		require.Nil(t, r, script)
		require.Error(t, err, script)
		_, ok := errors.AsType[*UntriedError](err)
		require.Equal(t, untried, ok, script)
	}
}

// A missing program is told at once: the caller does not wait for an output that no process can write.
func TestASessionOfAMissingProgramFailsBeforeItsPipesAreWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), drainWait)
	defer cancel()
	c := newPlace(t).shell("true")
	c.Args = []string{"no-such-program"}
	var missing *NotFoundError
	_, err := Start(ctx, c)
	require.ErrorAs(t, err, &missing)
	require.NoError(t, ctx.Err(), "it took longer than draining may take")
}
