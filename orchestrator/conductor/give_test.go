package conductor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// givePlan has a task that its agent cannot do, with a judge, and one that waits for it.
func givePlan(s *run.Spec) {
	addRoles(s, command("mod", "true"))
	s.Plan = planOf(
		spec.Task{ID: "hard", Role: "mod", Brief: "b", Files: []string{"f00.txt"}, Attempts: 1, Verify: spec.RoleReviewer},
		spec.Task{ID: "after", Role: "mod", Brief: "b", Files: []string{"f01.txt"}, DependsOn: []string{"hard"}},
	)
}

// giveHands fail at the task hard, and do all else.
func (r *rig) giveHands(a *wire.Assignment) spec.Result {
	switch {
	case strings.HasPrefix(a.Task.ID, "--"):
		return r.passes(a)
	case a.Task.ID == "hard":
		return failed("agent", "it cannot do it")
	case a.Task.ID == "after", a.Task.ID == "mate":
		result := done()
		result.Patch = r.patch(a.Head, "f01.txt", "after")
		return result
	}
	return done()
}

// give hands in a patch while no process carries the run out, and carries it out then.
func (r *rig) give(p *spec.Patch) *run.State {
	r.t.Helper()
	c, err := conductor.New(r.t.Context(), r.quietly())
	require.NoError(r.t, err)
	_, err = c.Do(r.t.Context(), act.Give{Task: "hard", Patch: p}, "")
	require.NoError(r.t, err)
	return r.giveOn()
}

func (r *rig) giveOn() *run.State {
	r.t.Helper()
	defer r.hands(r.t.Context(), r.giveHands)()
	st, err := r.conduct(r.t.Context(), r.quietly())
	require.NoError(r.t, err)
	return st
}

func (r *rig) messages() (log []bus.Message) {
	for m, err := range r.bus.Read(r.t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(r.t, err)
		log = append(log, m)
	}
	return log
}

func TestAGivenPatchLandsAlsoAfterAKill(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), givePlan)
	stop := r.hands(t.Context(), r.giveHands)
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status)
	ended := len(r.messages())
	p := r.patch(r.spec.Base, "f00.txt", "by hand")

	st = r.give(p)
	require.Equal(t, run.Done, st.Status, st.Reason)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"after", "hard"}, want.tasks)
	hard := st.Tasks.ByID["hard"]
	require.Equal(t, []any{2, 1, true}, []any{hard.Attempt, hard.Verify, st.Works.ByPerson(hard)}, "its judge has seen it")
	var roles []string
	log, err := r.mirror.Trailers(t.Context(), r.spec.Base, st.Head)
	require.NoError(t, err)
	for _, l := range log {
		roles = append(roles, l.Trailers["Divisi-Role"]...)
	}
	require.ElementsMatch(t, []string{spec.Person, "mod"}, roles)

	r.killed(t, ended, p.Pack, func(t *testing.T, f *rig, st *run.State) {
		if st.Status.Ended() && !st.Works.ByPerson(st.Tasks.ByID["hard"]) { // the kill came before the patch was in the log
			st = f.give(p)
		} else {
			st = f.giveOn()
		}
		require.Equal(t, run.Done, st.Status, st.Reason)
		require.Equal(t, want, f.outcome(st.Head))
		require.Equal(t, 2, st.Tasks.ByID["hard"].Attempt, "it was given once")
	})
}

// What a person hands in is checked again on receipt: nothing that reaches the log is trusted.
func TestAGivenPatchOutsideTheWriteSetParks(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), givePlan)
	stop := r.hands(t.Context(), r.giveHands)
	_, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	st := r.give(r.patch(r.spec.Base, "f01.txt", "elsewhere"))
	require.Equal(t, run.Parked, st.Status)
	hard := st.Tasks.ByID["hard"]
	require.Equal(t, run.TaskParked, hard.State)
	require.Equal(t, 2, hard.Attempt, "no attempt of an agent follows")
	require.Contains(t, hard.Reason, "the patch of a person did not pass: ")
	require.Contains(t, hard.Reason, "f01.txt is outside the write set")
}

func TestAGivenPatchCompletesAChangeSet(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		givePlan(s)
		s.Plan.Tasks[0].ChangeSet = "pair"
		s.Plan.Tasks[1] = spec.Task{ID: "mate", Role: "mod", Brief: "b", Files: []string{"f01.txt"}, ChangeSet: "pair"}
	})
	stop := r.hands(t.Context(), r.giveHands)
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["mate"].State, "the set was given up as a whole")
	mates := st.Tasks.ByID["mate"].Attempt

	st = r.give(r.patch(r.spec.Base, "f00.txt", "by hand"))
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"hard", "mate"}, r.outcome(st.Head).tasks)
	require.Len(t, st.Batches.Landed, 1, "as one")
	require.LessOrEqual(t, st.Tasks.ByID["mate"].Attempt, max(mates, 1), "a patch that was handed in is not made again")
}
