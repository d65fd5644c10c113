package conductor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// An answer for all that are alike is given to patches that come later, by the next process too; one that differs waits.
func TestAnAnswerStandsForPatchesThatComeLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"a/a.txt": "x\n", "b/b.txt": "x\n", "c/c.txt": "x\n", "d/d.txt": "x\n"}, func(s *run.Spec) {
		s.Review, s.Parallel = true, 1
		s.Roles["mod"] = command("mod", "true")
		s.Plan = planOf(
			spec.Task{ID: "a", Role: "mod", Brief: "b", Files: []string{"a/a.txt"}},
			spec.Task{ID: "b", Role: "mod", Brief: "b", Files: []string{"b/b.txt"}, DependsOn: []string{"a"}},
			spec.Task{ID: "c", Role: "mod", Brief: "b", Files: []string{"c/c.txt"}, DependsOn: []string{"b"}},
			spec.Task{ID: "d", Role: "mod", Brief: "b", Files: []string{"d/d.txt"}, DependsOn: []string{"b"}},
		)
	})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		id := a.Task.ID
		if strings.HasPrefix(id, "--") {
			return r.passes(a)
		}
		result := done()
		result.Patch = r.patch(a.Head, id+"/"+id+".txt", map[bool]string{true: "other", false: "new"}[id == "c"])
		return result
	})()
	st, err := r.conduct(t.Context(), r.quietly())
	require.NoError(t, err)
	require.Equal(t, run.Stopped, st.Status, st.Reason)
	open := decision.Open(st)
	require.Len(t, open, 1)
	_, err = r.do(act.Decide{Decision: open[0].ID, Option: run.Accept, Alike: true})
	require.NoError(t, err)

	st, err = r.conduct(t.Context(), r.quietly())
	require.NoError(t, err)
	require.Equal(t, run.Stopped, st.Status, st.Reason)
	for _, id := range []string{"a", "b", "d"} {
		require.Equal(t, run.TaskLanded, st.Tasks.ByID[id].State, id)
		require.Equal(t, wire.Person("ada"), st.Tasks.ByID[id].Doubts[0].Answer.By, id)
	}
	require.Empty(t, st.Tasks.ByID["a"].Doubts[0].Answer.Standing)
	require.Equal(t, open[0].ID, st.Tasks.ByID["d"].Doubts[0].Answer.Standing)
	require.Equal(t, run.TaskHeld, st.Tasks.ByID["c"].State, "another line")
	require.Equal(t, 2, st.Standing.Of(open[0].ID).Given)
}

// A patch that cannot be read is like no other one: its decision stays open for a person.
func TestNoAnswerStandsForAPatchThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Review = true
		s.Roles["mod"] = command("mod", "true")
		s.Plan = planOf(spec.Task{ID: "a", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		if strings.HasPrefix(a.Task.ID, "--") {
			return r.passes(a)
		}
		result := done()
		result.Patch = r.patch(a.Head, "f00.txt", "new")
		return result
	})()
	st, err := r.conduct(t.Context(), r.quietly())
	require.NoError(t, err)
	open := decision.Open(st)
	sh(t, r.dir, "rm -r repo.git/objects && mkdir repo.git/objects")
	_, err = r.do(act.Decide{Decision: open[0].ID, Option: run.Accept, Alike: true})
	require.ErrorContains(t, err, "no other patch is alike to that of "+open[0].ID)
	st, err = r.fold(t.Context())
	require.NoError(t, err)
	require.Len(t, decision.Open(st), 1, "nothing was answered")
}
