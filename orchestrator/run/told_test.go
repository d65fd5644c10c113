package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What a service has said of limits is in the log, so that a conductor that follows another tells workers of it too.
func TestALogTellsLimitsAndQuotas(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Run: "r1", Base: "b", Repo: "/r", Roles: runtest.Roles(), Plan: &spec.Plan{
		Tasks: []spec.Task{{ID: "a", Role: "generator", Brief: "b"}},
	}}, run.Running)
	l.Dispatched("a", "generator", 1, "b")
	later := time.Now().Add(time.Hour)
	for _, what := range []string{spec.WaitLimit, spec.WaitQuota, spec.WaitOutage} {
		l.Agent("a", 1, contextscope.KindProgress, wire.Progress{Wait: &spec.Wait{
			For: what, Model: "m", Account: "k",
			Until: later,
		}})
	}
	var told []string
	for _, w := range l.Told() {
		require.Equal(t, "k", w.Account)
		told = append(told, w.For)
	}
	require.Equal(t, []string{spec.WaitLimit, spec.WaitQuota}, told)
}
