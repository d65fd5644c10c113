package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/wire"
)

// drop takes a task out while no process carries the run out, with a patch that gives its file the content of the base commit.
func (r *rig) drop(st *run.State, id, file string) (*spec.Patch, error) {
	return r.dropWith(st, id, file, "old")
}

func (r *rig) dropWith(st *run.State, id, file, text string) (*spec.Patch, error) {
	r.t.Helper()
	p := r.patch(st.Tasks.ByID[id].Commit, file, text)
	c, err := conductor.New(r.t.Context(), r.quietly())
	require.NoError(r.t, err)
	_, err = c.Do(r.t.Context(), act.Drop{Tasks: []string{id}, Patch: p}, "")
	return p, err
}

// carryOut resumes the run with a worker, to its end.
func (r *rig) carryOut() *run.State {
	r.t.Helper()
	defer r.worker(r.t.Context())()
	st, err := r.conduct(r.t.Context(), r.quietly())
	require.NoError(r.t, err)
	return st
}

// Killed anywhere behind the request, the resumed run takes the task out once, and comes to the same commit.
func TestSlowADropLandsAlsoAfterAKill(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, command("mod", "echo more >> f00.txt"), command("too", "echo more >> f01.txt"))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "two", Role: "too", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	ended := len(r.messages())
	p, err := r.drop(st, "one", "f00.txt")
	require.NoError(t, err)
	check := func(t *testing.T, st *run.State) {
		t.Helper()
		require.Equal(t, run.Done, st.Status, st.Reason)
		require.Equal(t, "2 landed, 1 dropped", st.Reason)
		require.Equal(t, run.TaskDropped, st.Tasks.ByID["one"].State)
		require.Equal(t, 1, st.Tasks.ByID["drop-one"].Attempt, "no agent had it")
	}
	st = r.carryOut()
	check(t, st)
	want := r.outcome(st.Head)
	changed, err := r.mirror.Changed(t.Context(), r.spec.Base, st.Head)
	require.NoError(t, err)
	require.Len(t, changed, 1)
	require.Equal(t, "f01.txt", changed[0].Path)

	r.killed(t, ended, p.Pack, func(t *testing.T, f *rig, st *run.State) {
		if st.Tasks.ByID["drop-one"] == nil { // the kill came before it was in the log
			_, err := f.drop(st, "one", "f00.txt")
			require.NoError(t, err)
		}
		st = f.carryOut()
		check(t, st)
		require.Equal(t, want, f.outcome(st.Head))
	})
}

// A test that a landed patch had ended runs again when that patch is taken out. The next patch that ends it is asked about.
func TestADropBringsTestsBack(t *testing.T) {
	t.Parallel()
	r := hidingRig(t, hiding)
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	unverified(t, st)
	gone, err := testnames.Load(t.Context(), r.bus, st.Batches.Gone["test"])
	require.NoError(t, err)
	require.Equal(t, testnames.List{{Name: "takes away"}}, gone)
	_, err = r.drop(st, "hide", "f00.txt")
	require.NoError(t, err)
	st = r.carryOut()
	require.Equal(t, run.Done, st.Status, "what is not proven was taken out: %s", st.Reason)
	require.Empty(t, st.Batches.Gone["test"])
}

// Gates that fail without the change leave it landed, and the branch as it was.
func TestARedDropLeavesTheTaskLanded(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Project.Gates = []spec.Gate{{Name: "test", Command: []string{"sh", "-c", "! grep -q needs f01.txt || grep -q more f00.txt"}}}
		addRoles(s, command("mod", "echo more >> f00.txt"), command("uses", "echo needs >> f01.txt"))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "user", Role: "uses", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	head := st.Head
	_, err := r.drop(st, "one", "f00.txt")
	require.NoError(t, err)
	st = r.carryOut()
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, head, st.Head)
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["one"].State)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["drop-one"].State)
	require.Contains(t, st.Tasks.ByID["drop-one"].Reason, "the patch of a person did not pass: ")
	require.Equal(t, 1, st.Tasks.ByID["drop-one"].Attempt, "no agent tries it")
}

// A run that was submitted keeps what its person has signed, also where another one has a task tried again.
func TestASubmittedRunKeepsItsRolesAndSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, command("fails", "false"))
		s.Plan = planOf(spec.Task{ID: "one", Role: "fails", Brief: "b", Files: []string{"f00.txt"}, Attempts: 1})
	})
	st := r.run(t.Context())
	require.Equal(t, run.TaskParked, st.Tasks.ByID["one"].State)
	cfg := r.quietly()
	cfg.Ordered = true
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	for _, files := range []act.Changed{
		{Notices: []string{"x"}, Project: &spec.Project{}},
		{Notices: []string{"x"}, Roles: map[string]spec.Role{"fails": command("fails", "true")}},
	} {
		_, err = c.Do(t.Context(), act.Retry{Tasks: []string{"one"}, Changed: files}, wire.Person("eve"))
		require.ErrorContains(t, err, "it keeps its plan, roles and settings, which its person has signed")
	}
	_, err = c.Do(t.Context(), act.Retry{Tasks: []string{"one"}}, wire.Person("eve"))
	require.NoError(t, err)
}

// A patch that does anything else than undo the task takes nothing out.
func TestAPatchThatUndoesNothingDropsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, command("mod", "echo more >> f00.txt"))
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	st := r.run(t.Context())
	_, err := r.dropWith(st, "one", "f00.txt", "a back door")
	require.NoError(t, err)
	head := st.Head
	st = r.carryOut()
	require.Equal(t, head, st.Head)
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["one"].State)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["drop-one"].State)
	require.Contains(t, st.Tasks.ByID["drop-one"].Reason, "does not leave the tree from before one")
}

// What depends on a task that was taken out is given up, with the reason.
func TestADependentOfADroppedTaskParks(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, command("mod", "echo more >> f00.txt"), command("fails", "false"))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "late", Role: "fails", Brief: "b", Files: []string{"f01.txt"}, DependsOn: []string{"one"}, Attempts: 1},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.TaskParked, st.Tasks.ByID["late"].State)
	_, err := r.drop(st, "one", "f00.txt")
	require.NoError(t, err)
	st = r.carryOut()
	require.Equal(t, run.TaskDropped, st.Tasks.ByID["one"].State)
	c, err := conductor.New(t.Context(), r.quietly())
	require.NoError(t, err)
	_, err = c.Do(t.Context(), act.Retry{Tasks: []string{"late"}}, wire.Person("ada"))
	require.NoError(t, err)
	st = r.carryOut()
	late := st.Tasks.ByID["late"]
	require.Equal(t, []any{run.TaskParked, "depends on one, which is dropped", 1}, []any{late.State, late.Reason, late.Attempt})
}
