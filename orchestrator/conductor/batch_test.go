package conductor_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Patches that wait are proven together, and only those that are wrong are tested apart.
func TestPatchesAreProvenTogether(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("several whole runs")
	}
	for name, c := range map[string]struct {
		tasks    int
		prove    string
		permits  int
		gateRuns int
	}{
		"together":        {64, spec.ProveBatch, 1, 0},
		"one at a time":   {8, spec.ProveEach, 1, 5 + 3*2},
		"several at once": {8, spec.ProveBatch, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(c.tasks), func(s *run.Spec) {
				tasks := make([]spec.Task, c.tasks)
				for i := range tasks {
					tasks[i] = spec.Task{ID: fmt.Sprintf("t%02d", i), Role: "generator", Brief: "b", Attempts: 1, Files: []string{fileOf(i)}}
				}
				s.Plan, s.Parallel = planOf(tasks...), 2*c.tasks
				s.Project.Prove, s.Project.GatePermits = c.prove, c.permits
			})
			var written sync.WaitGroup
			written.Add(c.tasks)
			stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				var n int
				if _, err := fmt.Sscanf(a.Task.ID, "t%d", &n); err == nil {
					defer written.Done()
					text := "good"
					if n%3 == 1 && n < 9 {
						text = "bad"
					}
					return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, fileOf(n), text)}
				}
				if a.Task.ID == "--batch-1" {
					written.Wait()
				}
				return r.grepped(a)
			})
			defer stop()
			st, err := r.conduct(t.Context(), r.config())
			require.NoError(t, err)
			require.Equal(t, run.Parked, st.Status)
			for i := range c.tasks {
				task := st.Tasks.ByID[fmt.Sprintf("t%02d", i)]
				if i%3 == 1 && i < 9 {
					require.Equal(t, run.TaskParked, task.State, task.Task.ID)
					require.Regexp(t, "^failed 1 of 1 attempts: (red|the gates fail in the changes of this task: .*"+fileOf(i)+".*)$", task.Reason,
						"it is its own fault")
				} else {
					require.Equal(t, run.TaskLanded, task.State, task.Reason)
				}
			}
			require.Len(t, r.landed(), c.tasks-3)
			require.Equal(t, c.tasks, st.Tasks.Queued)
			if c.gateRuns > 0 {
				require.Equal(t, c.gateRuns, st.Batches.GateRuns)
			}
			require.Empty(t, st.Proofs.Flakes())
		})
	}
}

// The first patch waits until the others are there, but not for one that ends when the gates have begun.
func TestABatchWaitsForPatchesThatAreUnderWay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("several whole runs")
	}
	for name, c := range map[string]struct {
		tasks, late int
		took        time.Duration
		gateRuns    int
	}{
		"all that are under way": {18, 0, time.Hour, 1},
		"not for long":           {2, 1, time.Second, 2},
		"one alone":              {1, 0, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(c.tasks), func(s *run.Spec) {
				tasks := make([]spec.Task, c.tasks)
				for i := range tasks {
					tasks[i] = spec.Task{ID: fmt.Sprintf("t%02d", i), Role: "generator", Brief: "b", Attempts: 1, Files: []string{fileOf(i)}}
				}
				s.Plan, s.Parallel = planOf(tasks...), 4
			})
			begun := make(chan struct{})
			stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				var n int
				if _, err := fmt.Sscanf(a.Task.ID, "t%d", &n); err == nil {
					if n >= c.tasks-c.late {
						<-begun
					}
					return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, fileOf(n), "good")}
				}
				if a.Task.ID == "--batch-1" {
					close(begun)
				}
				result := r.passes(a)
				result.Receipts[0].Duration = c.took
				return result
			})
			defer stop()
			began := time.Now()
			st, err := r.conduct(t.Context(), r.config())
			require.NoError(t, err)
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Equal(t, c.gateRuns, st.Batches.GateRuns)
			require.Len(t, r.landed(), c.tasks)
			require.Less(t, time.Since(began), time.Minute, "it waits for nothing that does not come")
		})
	}
}

func fileOf(i int) string { return fmt.Sprintf("f%02d.txt", i) }

// grepped is the result of a gate that fails for each file that says "bad", and names it.
func (r *rig) grepped(a *wire.Assignment) spec.Result {
	result := r.passes(a)
	bad := strings.Fields(sh(r.t, r.mirror.Dir(), "git grep -l bad "+a.Head+" || true"))
	if len(bad) == 0 {
		return result
	}
	red := failed(wire.FaultGate, "red")
	for _, receipt := range result.Receipts {
		receipt.Verdict, receipt.ExitCode, receipt.Paths = spec.VerdictFail, 1, map[string][]string{}
		for _, line := range bad {
			_, file, _ := strings.Cut(line, ":")
			signature := file + ": it says bad"
			receipt.Signatures = append(receipt.Signatures, signature)
			receipt.Paths[signature] = []string{file}
		}
		red.Receipts = append(red.Receipts, receipt)
	}
	return red
}
