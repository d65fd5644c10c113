package landing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

func TestABatchWaitsForTasksThatAreUnderWay(t *testing.T) {
	t.Parallel()
	baseline := func(gates time.Duration) func(l *runtest.Log) {
		return func(l *runtest.Log) {
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: gates}}})
		}
	}
	for name, c := range map[string]struct {
		log  func(l *runtest.Log)
		want time.Duration
	}{
		"nothing is under way": {func(*runtest.Log) {}, 0},
		"a share of the gates": {func(l *runtest.Log) {
			baseline(40 * time.Second)(l)
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 2 * time.Second},
		"short gates": {func(l *runtest.Log) {
			baseline(time.Second)(l)
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 200 * time.Millisecond},
		"only the gates that are wanted": {func(l *runtest.Log) {
			baseline(40 * time.Second)(l)
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "slow", Verdict: spec.VerdictPass, Duration: time.Hour}}})
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 2 * time.Second},
		"an agent is at work": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator"})
			l.Dispatched("more", "generator", 1, "b")
		}, 200 * time.Millisecond},
		"a judge is at work": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator"})
			l.Dispatched("more", "generator", 1, "b")
			l.Ended("more", 1, runtest.Patched("c", "t", "b"))
			l.Dispatched("more--verify", "reviewer", 1, "c")
		}, 200 * time.Millisecond},
		"what comes next depends on these": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator", DependsOn: []string{"a"}})
		}, 0},
		"a change set is a batch by itself": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "more", Role: "generator", ChangeSet: "s"})
		}, 0},
		"one at a time": {func(l *runtest.Log) {
			l.Spec.Project.Prove = spec.ProveEach
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
		"it is full": {func(l *runtest.Log) {
			l.BatchLimit = 3
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
		"a part": {func(l *runtest.Log) {
			batch(l, 1, 1, "b", "l-c", "a", "b", "c")
			l.Append("", run.LandingData{
				Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a", "b"}, {"c"}}, Tasks: tasksOf("a", "b", "c"),
			})
			l.Plan(spec.Task{ID: "more", Role: "generator"})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			c.log(l)
			first := l.Tasks["a"].Queued
			require.False(t, first.IsZero())
			m, ok := landing.Land(l.State)[0].(landing.Merge)
			require.True(t, ok)
			if require.Equal(t, c.want, m.Window); c.want == 0 {
				require.Zero(t, m.Until)
				return
			}
			require.Equal(t, first.Add(c.want), m.Until, "patches that come later prolong nothing")
		})
	}
}
