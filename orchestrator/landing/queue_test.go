package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

func names(tasks []*run.Task) (out []string) {
	for _, t := range tasks {
		out = append(out, t.Task.ID)
	}
	return out
}

func TestPartsComeFirstInTheQueue(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c", "d")
	require.Equal(t, []string{"a", "b", "c", "d"}, names(landing.Waiting(l.State)))
	require.Empty(t, landing.Suspects(l.State))
	require.Positive(t, landing.Limit(l.State))
	batch(l, 1, 1, "b", "l-c", "a", "b", "c")
	require.Equal(t, []string{"d"}, names(landing.Waiting(l.State)))
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingSplit, Parts: [][]string{{"c"}, {"a", "b"}}, Tasks: tasksOf("a", "b", "c"),
		Search: &run.Search{Right: []string{"c"}, Odds: map[string]float64{"a": 0.2, "b": 0.8}},
	})
	require.Equal(t, []string{"c", "a", "b", "d"}, names(landing.Waiting(l.State)))
	require.Equal(t, []string{"b", "a"}, names(landing.Suspects(l.State)))
	batch(l, 2, 1, "b", "l-d", "c")
	require.True(t, landing.Searches(l.State, l.Batches.Testing[0]))
}

func TestWhyNoBatchIsMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  func(l *runtest.Log)
		want string
	}{
		"one can be": {func(*runtest.Log) {}, ""},
		"nothing waits": {func(l *runtest.Log) {
			for _, id := range []string{"a", "b"} {
				l.Append(id, run.TaskData{State: run.TaskLanded})
			}
		}, ""},
		"the base commit": {func(l *runtest.Log) {
			l.Spec.Project.Gates = append(l.Spec.Project.Gates, spec.Gate{Name: "more"})
		}, "the gates have not run on the base commit"},
		"the base commit once more": {
			func(l *runtest.Log) { l.Gates(run.AgainTask, 1, "b") }, "the gates run on the base commit once more",
		},
		"permits": {func(l *runtest.Log) { batch(l, 1, 1, "b", "l-c", "a") }, "as many batches are tested as may be at once"},
		"a held template": {func(l *runtest.Log) {
			for _, id := range []string{"a", "b"} {
				l.Templates.Held[l.Tasks.ByID[id]] = &run.Hold{}
			}
		}, "a template is held"},
		"a set": {func(l *runtest.Log) {
			l.Plan(spec.Task{ID: "c", Role: "generator", ChangeSet: "s"}, spec.Task{ID: "d", Role: "generator", ChangeSet: "s"})
			l.Dispatched("c", "generator", 1, "b")
			l.Ended("c", 1, runtest.Patched("p", "t", "b"))
			l.Append("c", run.TaskData{State: run.TaskAccepted})
			for _, id := range []string{"a", "b"} {
				l.Append(id, run.TaskData{State: run.TaskLanded})
			}
		}, "a change set is not complete"},
		"a search": {func(l *runtest.Log) {
			l.Spec.Project.GatePermits = 2
			batch(l, 1, 1, "b", "l-c", "a")
			l.Tasks.ByID["a"].Part = -1
		}, "a part of a batch that failed is tested first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b")
			c.log(l)
			require.Equal(t, c.want, landing.Idle(l.State))
			if c.want != "" {
				require.Empty(t, landing.Land(l.State))
			}
		})
	}
}
