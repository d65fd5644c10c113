package page

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What is left is counted by what ended tasks used, and not before three of them have ended.
func TestTokensLeft(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles()}, run.Running)
	var tasks []spec.Task
	for i := range 5 {
		tasks = append(tasks, spec.Task{ID: fmt.Sprint("t", i), Role: "generator"})
	}
	l.Plan(tasks...)
	uses := func(id string, tokens int) {
		l.Dispatched(id, "generator", 1, "b")
		l.Agent(id, 1, "usage", wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: tokens}})
	}
	uses("t3", 40) // it is under way
	for i, want := range []int{0, 0, 160} {
		id := fmt.Sprint("t", i)
		uses(id, 50*(i+1))
		l.Append(id, run.TaskData{State: run.TaskParked})
		require.Equal(t, want, tokensLeft(l.State), id)
	}
	l.Append("", run.Data{State: run.Stopped})
	require.Zero(t, tokensLeft(l.State), "nothing goes on")
}
