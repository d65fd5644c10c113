package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// carry carries a run of the rig on, from its first event unless resume is set.
func (r *rig) carry(resume, allow bool) (*run.State, error) {
	r.t.Helper()
	cfg := r.config()
	cfg.AllowUnverified = allow
	c, err := conductor.New(r.t.Context(), cfg)
	require.NoError(r.t, err)
	if !resume {
		require.NoError(r.t, c.Start(r.t.Context(), r.spec))
	}
	stop := r.worker(r.t.Context())
	defer stop()
	err = c.Run(r.t.Context())
	return c.State(), err
}

func TestAGateThatCannotBeComparedStopsTheRunUntilThatIsAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Project.Gates = append(s.Project.Gates, spec.Gate{Name: "lint", Command: []string{"sh", "-c", "echo lint says no; exit 1"}})
		addRoles(s, command("wreck", `for f in $DIVISI_FILES; do echo garbage > "$f"; done`))
		// Its own gate can be compared; the project's other one cannot, and nobody runs it on the patch.
		s.Plan = planOf(spec.Task{ID: "one", Role: "wreck", Brief: "b", Files: []string{"f00.txt"}, Gates: []string{"ok"}})
	})
	for _, resume := range []bool{false, true} {
		st, err := r.carry(resume, false)
		require.ErrorIs(t, err, proof.ErrUnverified)
		require.Equal(t, run.Stopped, st.Status)
		require.True(t, proof.Unproven(&st.Agenda, &st.Proofs))
		require.Equal(t, st.Spec.Base, st.Head, "nothing landed")
		require.Empty(t, st.Batches.Testing)
		gates := proof.Incomparables(&st.Spec, &st.Proofs)
		require.Len(t, gates, 1)
		require.Equal(t, "lint", gates[0].Gate)
		require.Equal(t, "lint says no", gates[0].Error)
	}
	st, err := r.carry(true, true)
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, "what is unverified is no success")
	require.Equal(t, []string{"one"}, r.landed())
	require.Contains(t, st.Reason, "1 landed unverified")
	rep := view.Of(st)
	require.NotEmpty(t, rep.Unverified)
	require.True(t, rep.Tasks[0].Unverified)
	require.Contains(t, sh(t, r.checkout.Top, "git log -1 --format=%B divisi/r1"), "Divisi-Unverified: no comparison")
	events, err := eventlog.Fold(t.Context(), r.bus, "r1")
	require.NoError(t, err)
	require.Equal(t, rep, view.Of(events), "the log tells it")
}

func TestARunWithoutGatesIsUnverified(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Project.Gates = nil
		addRoles(s, command("wreck", `for f in $DIVISI_FILES; do echo garbage > "$f"; done`))
		s.Plan = planOf(spec.Task{ID: "one", Role: "wreck", Brief: "b", Files: []string{"f00.txt"}})
	})
	_, err := r.carry(false, false)
	require.ErrorIs(t, err, proof.ErrUnverified)
	st, err := r.carry(true, true)
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, "1 landed unverified, 0 parked: the repository has no gates", st.Reason)
}

func TestAMasterThatPlansNothingIsNoSuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { s.Goal = "tidy up" })
	r.play(parts{"master": {submits("It is unclear what to tidy up.")}})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, "the master planned nothing: It is unclear what to tidy up.", st.Reason)
	require.Equal(t, "It is unclear what to tidy up.", view.Of(st).Tasks[0].Summary)
}

func TestAGoalThatChangesNothingIsNoSuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { s.Goal = "tidy up" })
	reads := callOf("dispatch", map[string]any{"tasks": []any{map[string]any{"id": "survey", "role": "reader", "brief": "read"}}})
	r.play(parts{
		"master/1": {calls(reads)},
		"master":   {submits("All is tidy.")},
		"survey":   {submits("I read it.")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.TaskDone, st.Tasks.ByID["survey"].State)
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, "nothing landed: no task changed a file: All is tidy.", st.Reason)
}
