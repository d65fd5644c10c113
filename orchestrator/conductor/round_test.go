package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// checker reports each line that begins with bad or, where its file has none, that begins with worse.
const checker = `for f in f*.txt; do grep -n '^bad' $f /dev/null || grep -n '^worse' $f /dev/null; done |
	sed -E 's/^([^:]*):([0-9]+):(.*)/\1:\2:1: error: \3 is not allowed/' | grep . && exit 1; exit 0`

// roundsPlan is a template by finding whose fixers are a tool over the tree that fixes one kind, and a command for files.
func roundsPlan(s *run.Spec) {
	s.Project.Gates = append(s.Project.Gates, spec.Gate{Name: "lint", Command: []string{"sh", "-c", checker}, Format: "findings"})
	s.Roles["tool"] = command("tool", "sed -i '/^bad easy/d' f*.txt")
	s.Roles["mod"] = command("mod", `for f in $DIVISI_FILES; do grep -q '^bad' $f && sed -i '/^bad [^h]/d' $f || sed -i '/^worse/d' $f; done`)
	s.Plan = planOf(
		spec.Task{
			ID: "fix", Role: "mod", Brief: "b", Mends: []string{"lint"}, Shard: &spec.Shard{By: spec.ByFinding},
			Fixers: []spec.Fixer{{Role: "tool", Whole: true}, {}},
		},
		spec.Task{ID: "last", Role: "last", Brief: "b", DependsOn: []string{"fix"}, Files: []string{"f00.txt"}},
	)
	s.Roles["last"] = command("last", "echo last >> $DIVISI_FILES")
}

func findings(more map[string]string) map[string]string {
	all := map[string]string{
		"f00.txt": "good\nbad easy 1\nbad 2\n", "f01.txt": "bad easy 3\nbad easy 4\nworse\n", "f02.txt": "bad 5\nbad 6\nworse\nworse\n",
		"f03.txt": "good\n",
	}
	for name, text := range more {
		all[name] = text
	}
	return all
}

func TestRoundsUntilItIsSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t, findings(nil), roundsPlan)
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	fix := st.Tasks.ByID["fix"]
	require.Equal(t, run.TaskDone, fix.State, fix.Reason)
	require.Len(t, fix.Rounds, 3)
	require.Equal(t, []int{6, 4, 2}, []int{fix.Rounds[0].Left, fix.Rounds[1].Left, fix.Rounds[2].Left})
	require.Equal(t, 4, st.Batches.GateRuns, "one run a round, and one for the last task")
}

func TestRoundsThatStall(t *testing.T) {
	t.Parallel()
	r := newRig(t, findings(map[string]string{"f03.txt": "bad hard\n"}), roundsPlan)
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason)
	fix := st.Tasks.ByID["fix"]
	require.Contains(t, fix.Reason, "stalled: 2 rounds closed none; 1 finding left")
	require.Equal(t, "depends on fix, which is parked", st.Tasks.ByID["last"].Reason)
}

func TestARoundDoesNotDestroyAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, findings(nil), func(s *run.Spec) {
		roundsPlan(s)
		s.Project.Gates[len(s.Project.Gates)-1].Command[2] = `for f in f*.txt; do if grep -q '^(' $f; then echo "$f:1:1: cannot be parsed ("; else
			sed -n "/^bad/{=;}" $f | sed "s/.*/$f:&:1: bad word/"; fi; done | grep . && exit 1; exit 0`
		s.Roles["mod"] = command("mod", `for f in $DIVISI_FILES; do echo "(" > $f; done`)
		s.Plan.Tasks[0].Fixers = nil
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Zero(t, st.Tasks.Count(run.TaskLanded))
}

func TestRoundsBehindATaskThatMovesFindings(t *testing.T) {
	t.Parallel()
	r := newRig(t, findings(nil), func(s *run.Spec) {
		roundsPlan(s)
		s.Roles["prep"] = command("prep", "echo good > f00.txt && sed -i '1i good' f02.txt")
		s.Plan.Tasks = []spec.Task{{ID: "prep", Role: "prep", Brief: "b", Files: []string{"f00.txt", "f02.txt"}}, s.Plan.Tasks[0]}
		s.Plan.Tasks[1].DependsOn = []string{"prep"}
	})
	st := r.run(t.Context())
	fix := st.Tasks.ByID["fix"]
	require.Equal(t, run.TaskDone, fix.State, fix.Reason)
	require.Equal(t, 4, fix.Rounds[0].Left, "those of the head")
	require.Equal(t, 2, fix.Rounds[1].Closed)
}
