package landing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

var notBuilt = spec.Unread{
	Path: "of-b/x.go", Grade: spec.GradeOpened, Source: true, Reason: "//go:build windows", Command: []string{"env", "GOOS=windows", "go", "vet", "./..."},
}

// notRead is a green result whose gate has not read some files.
func notRead(tree string, unread ...spec.Unread) spec.Result {
	r := green(tree)
	r.Receipts[0].Version, r.Receipts[0].Unread = spec.ReceiptVersion, unread
	return r
}

// says are the reasons why tasks of a batch that lands are unverified.
func says(t *testing.T, actions []run.Action) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, action := range actions {
		if a, ok := action.(run.Append); ok {
			if d, ok := a.Data.(run.LandingData); ok && d.State == run.LandingLanded {
				for _, l := range d.Tasks {
					out[l.Task] = l.Unverified
				}
			}
		}
	}
	return out
}

func remadeAs(t *testing.T, l *runtest.Log, tree string) []run.Action {
	t.Helper()
	actions := landing.Settle(l.State)
	require.Len(t, actions, 1)
	m, ok := actions[0].(landing.Merge)
	require.True(t, ok, "%T", actions[0])
	chain := chainOf(m.Candidates, nil)
	chain.Tree = tree
	return m.Then(chain)
}

func TestAGreenBatchWithFilesThatNoGateReads(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T, unread ...spec.Unread) *runtest.Log {
		l := newLog(t, "a", "b")
		batch(l, 1, 1, "b", "h", "a", "b")
		l.Ended("--batch-1", 1, notRead("tree-h", unread...))
		return l
	}
	why := "no gate reads of-b/x.go: //go:build windows; a gate that reads it: env GOOS=windows go vet ./..."
	t.Run("its task is held, the other one waits for the next batch", func(t *testing.T) {
		t.Parallel()
		l := begun(t, notBuilt)
		require.Equal(t, []string{"landing dropped a b", "task b held " + why + " doubt: " + why}, runtest.Describe(landing.Settle(l.State)))
		l.Do(landing.Settle(l.State))
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["a"].State)
		merge := landing.Land(l.State)[0].(landing.Merge)
		require.Len(t, merge.Candidates, 1, "the held one is not tested again")
	})
	t.Run("a person accepts, and it lands unverified without being asked about again", func(t *testing.T) {
		t.Parallel()
		l := begun(t, notBuilt)
		l.Do(landing.Settle(l.State))
		d := decision.Open(l.State)[0]
		taken, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Accept, By: wire.Person("ada")})
		require.NoError(t, err)
		l.Do(taken)
		l.Do(decision.Carry(l.State, time.Time{}))
		require.Equal(t, run.TaskRunning, l.Tasks.ByID["b"].State)
		l.Append("b", run.TaskData{State: run.TaskAccepted})
		merge := landing.Land(l.State)[0].(landing.Merge)
		require.Equal(t, []string{"", why}, []string{merge.Candidates[0].Unverified, merge.Candidates[1].Unverified})
		chain := chainOf(merge.Candidates, nil)
		chain.Tree = "tree-h"
		require.Equal(t, map[string]string{"a": "", "b": why}, says(t, merge.Then(chain)), "its tree has passed")
	})
	for name, allow := range map[string]func(*run.Spec){
		"--allow-unread":     func(s *run.Spec) { s.AllowUnread = true },
		"--allow-unverified": func(s *run.Spec) { s.AllowUnverified = true },
	} {
		t.Run(name+": commits that say so land, and what is built on the others is dropped", func(t *testing.T) {
			t.Parallel()
			l := begun(t, notBuilt)
			allow(&l.Spec)
			batch(l, 2, 1, "h", "h2", "a")
			actions := remadeAs(t, l, "tree-h")
			require.Equal(t, []string{
				"landing dropped a", "take back --batch-2", "tell --batch-2", "landing landed a b", "move the branch",
			}, runtest.Describe(actions))
			require.Equal(t, map[string]string{"a": "", "b": why}, says(t, actions))
			l.Do(actions)
			require.Equal(t, []spec.Unread{notBuilt}, l.Tasks.ByID["b"].Landed.Unread)
			require.Equal(t, "1 of 2 landed patches (b): "+why, proof.UnverifiedLanded(&l.Agenda, &l.Branch))
			asked, told := proof.UnreadLanded(&l.Tasks, &l.Batches)
			require.Len(t, asked, 1)
			require.Empty(t, told)
		})
	}
	t.Run("prose lands as proven, and is told", func(t *testing.T) {
		t.Parallel()
		l := begun(t, spec.Unread{Path: "shared", Grade: spec.GradeUnknown})
		l.Do(landing.Settle(l.State))
		require.Equal(t, run.TaskLanded, l.Tasks.ByID["b"].State)
		require.Empty(t, proof.UnverifiedLanded(&l.Agenda, &l.Branch))
		_, told := proof.UnreadLanded(&l.Tasks, &l.Batches)
		require.Len(t, told, 1)
	})
	t.Run("a file of an earlier patch is nothing of this batch", func(t *testing.T) {
		t.Parallel()
		l := begun(t, spec.Unread{Path: "elsewhere.go", Grade: spec.GradeUnread})
		l.Do(landing.Settle(l.State))
		require.Equal(t, run.TaskLanded, l.Tasks.ByID["b"].State)
	})
	t.Run("what no gate proves anyway was asked about before", func(t *testing.T) {
		t.Parallel()
		l := begun(t, notBuilt)
		l.Proofs.Unprovable = []run.Unprovable{{Path: "of-b", Why: "it did not run"}}
		l.Do(landing.Settle(l.State))
		require.Equal(t, run.TaskLanded, l.Tasks.ByID["b"].State)
	})
	t.Run("killed before the task is held, it is held", func(t *testing.T) {
		t.Parallel()
		l := begun(t, notBuilt)
		l.Do(landing.Settle(l.State)[:1])
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["b"].State)
		merge := landing.Land(l.State)[0].(landing.Merge)
		chain := chainOf(merge.Candidates, nil)
		chain.Tree = "tree-h"
		require.Contains(t, runtest.Describe(merge.Then(chain)), "task b held "+why+" doubt: "+why, "its tree has passed, which is not enough")
	})
}

// A gate that was added decides about tasks that name their gates too.
func TestAnAddedGateDecidesAboutEachTask(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a")
	l.Tasks.ByID["a"].Task.Gates = []string{"test"}
	l.Append("", run.Data{Gate: &run.AddedGate{Gate: spec.Gate{Name: "windows", Command: []string{"w"}}, By: "user:ada"}})
	require.Empty(t, landing.Land(l.State), "it has not run on the base commit")
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "windows", Verdict: spec.VerdictPass}}})
	merge := landing.Land(l.State)[0].(landing.Merge)
	for _, action := range merge.Then(chainOf(merge.Candidates, nil)) {
		if a, ok := action.(run.Assign); ok {
			require.Equal(t, []string{"test", "windows"}, a.Dispatch.Gates)
			return
		}
	}
	require.Fail(t, "no gates were assigned")
}
