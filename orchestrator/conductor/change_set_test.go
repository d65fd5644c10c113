package conductor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A set of three is red with one of them. Its next attempt sees the changes of all, its own included; beside it another task
// lands, so that the set is merged again.
func TestAChangeSetLandsAsOneCommit(t *testing.T) {
	t.Parallel()
	for _, commits := range []string{"", spec.CommitsEach} {
		t.Run("commits "+commits, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(5), func(s *run.Spec) {
				second := s.Roles["generator"]
				second.Name = "second"
				s.Roles["second"] = second
				s.Plan = planOf(
					spec.Task{ID: "a", Role: "generator", Brief: "b", Files: []string{"f00.txt"}, ChangeSet: "rename"},
					spec.Task{ID: "b", Role: "generator", Brief: "b", Files: []string{"f01.txt"}, ChangeSet: "rename"},
					spec.Task{ID: "c", Role: "generator", Brief: "b", Files: []string{"f02.txt"}, ChangeSet: "rename"},
					spec.Task{ID: "idle", Role: "generator", Brief: "b", Files: []string{"f03.txt"}, ChangeSet: "rename"},
					spec.Task{ID: "other", Role: "second", Brief: "b", Files: []string{"f04.txt"}},
				)
				s.Parallel, s.Project.Commits = 8, commits
			})
			first := make(chan struct{}) // is closed when the set was red
			stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				patched := func(file, text string) spec.Result {
					return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, file, text)}
				}
				switch agent := a.Agent(); agent {
				case "a/1":
					return patched("f00.txt", "good")
				case "b/1":
					return patched("f01.txt", "bad")
				case "c/1":
					return patched("f02.txt", "good")
				case "idle/1":
					return done()
				case "other/1":
					<-first
					return patched("f04.txt", "good")
				case "b/2":
					close(first)
					require.Equal(t, "f00.txt f01.txt f02.txt", r.changed(a.Head), "it begins with the changes of all")
					require.Contains(t, a.Prior[0].Fault.Message, "f01.txt: it says bad")
					return patched("f01.txt", "better")
				default:
					return r.grepped(a)
				}
			})
			defer stop()
			st, err := r.conduct(t.Context(), r.config())
			require.NoError(t, err)
			require.Equal(t, run.Parked, st.Status, st.Reason) // a task changed nothing
			require.Equal(t, map[run.TaskState]int{run.TaskLanded: 4, run.TaskDone: 1}, st.Tasks.Counts())
			require.Equal(t, "f00.txt f01.txt f02.txt f04.txt", r.changed(st.Head))
			log := sh(t, r.checkout.Top, "git log --format='%s%n%b--' main..divisi/r1")
			if commits == spec.CommitsEach {
				require.Equal(t, 5, strings.Count(log, "--\n"), log) // b has two patches
				return
			}
			require.Equal(t, 2, strings.Count(log, "--\n"), log)
			require.Contains(t, log, "rename (change set of 3 tasks)\nDivisi-Run: r1\nDivisi-Set: rename\nDivisi-Task: a\nDivisi-Attempt: 1\n")
			require.Contains(t, log, "Divisi-Task: b\nDivisi-Attempt: 2\n")
			require.NotContains(t, log, "idle")
		})
	}
}

// changed lists the files that differ from the base commit.
func (r *rig) changed(commit string) string {
	return strings.Join(strings.Fields(sh(r.t, r.mirror.Dir(), fmt.Sprintf("git diff --name-only %s %s", r.spec.Base, commit))), " ")
}

// Both change the same line and have no write set: the later one is made again on what the other one changed.
func TestAConflictInAChangeSetIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Plan = planOf(
			spec.Task{ID: "a", Role: "generator", Brief: "b", ChangeSet: "both"},
			spec.Task{ID: "b", Role: "generator", Brief: "b", ChangeSet: "both"},
		)
	})
	stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		switch a.Agent() {
		case "b/2":
			require.Equal(t, "of-a\n", sh(t, r.mirror.Dir(), "git show "+a.Head+":f00.txt"))
			require.Equal(t, wire.FaultConflict, a.Prior[0].Fault.Class)
			fallthrough
		case "a/1", "b/1":
			return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, "f00.txt", "of-"+a.Task.ID)}
		default:
			return r.passes(a)
		}
	})
	defer stop()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, "of-b\n", sh(t, r.mirror.Dir(), "git show "+st.Head+":f00.txt"))
	require.Equal(t, 1, st.Batches.Count)
}

// The set is red in a file of no task of it. Without a master it parks, and names the file.
func TestAChangeSetThatIsNotWholeParks(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Plan = planOf(
			spec.Task{ID: "a", Role: "generator", Brief: "b", Files: []string{"f00.txt"}, ChangeSet: "rename"},
			spec.Task{ID: "b", Role: "generator", Brief: "b", Files: []string{"f01.txt"}, ChangeSet: "rename"},
			spec.Task{ID: "after", Role: "generator", Brief: "b", DependsOn: []string{"a"}},
		)
	})
	stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		switch a.Task.ID {
		case "a":
			return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, "f00.txt", "good")}
		case "b":
			return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, "f01.txt", "good")}
		case run.BaselineTask, run.HeadTask:
			return r.passes(a)
		}
		red := r.passes(a)
		red.Status, red.Error = spec.StatusFailed, &spec.Fault{Class: wire.FaultGate, Message: "undefined: old"}
		red.Receipts[0].Verdict, red.Receipts[0].Signatures = spec.VerdictFail, []string{"error: undefined: old"}
		red.Receipts[0].Paths = map[string][]string{"error: undefined: old": {"f02.txt"}}
		return red
	})
	defer stop()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, "the change set rename fails in f02.txt, which no task of it may change: error: undefined: old. "+
		"If it must change, a retry of run r1 can add a task for it, tested with the submitted patch", st.Tasks.ByID["a"].Reason)
	require.Equal(t, "its change set rename was parked with a", st.Tasks.ByID["b"].Reason)
	require.Equal(t, "depends on a, which is parked", st.Tasks.ByID["after"].Reason)
	require.Equal(t, 2, st.Batches.GateRuns, "red runs once more: it may be a flake")
}
