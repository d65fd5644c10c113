package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A worker that ends an attempt before its dispatch fails it: the result of the attempt before stays, and the run continues.
func TestAnAttemptThatEndsBeforeItIsGivenOutFails(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Plan: &spec.Plan{}, Roles: runtest.Roles()}, run.Running)
	l.Plan(spec.Task{ID: "one", Role: "generator"})
	one := l.Tasks.ByID["one"]
	l.Dispatched("one", "generator", 1, "b")
	l.Ended("one", 1, runtest.Failed(wire.FaultGate, "red"))
	l.Ended("one", 2, runtest.Patched("p", "t", "b"))
	require.Equal(t, 1, one.Result.Attempt)
	require.Empty(t, one.Result.Patch)

	l.Dispatched("one", "generator", 2, "b")
	require.False(t, l.Works["one"].Outstanding(), "no worker takes it again: the log has its result")
	require.Equal(t, 2, one.Result.Attempt, "so something follows from it")
	require.Equal(t, spec.StatusFailed, one.Result.Status)
	require.Equal(t, "worker a ended it before it was given out", one.Result.Error.Message)

	l.Ended("one--verify", 1, spec.Result{Status: spec.StatusDone})
	require.Nil(t, l.Works["one--verify"], "what was never dispatched leaves no mark")
}
