package landing

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// scripted merges by concatenation; a commit named in conflicts does not merge.
type scripted struct {
	conflicts map[string]bool
	fail      error
	// merged are the commits that were to be merged, where a test wants them.
	merged *[]string
}

func (s scripted) Merge(_ context.Context, ours, theirs string) (string, []string, string, error) {
	if s.merged != nil {
		*s.merged = append(*s.merged, theirs)
	}
	if s.conflicts[theirs] {
		return "", []string{"a.go"}, "CONFLICT in a.go", nil
	}
	return "tree(" + ours + "+" + theirs + ")", nil, "", s.fail
}

func (s scripted) Commit(_ context.Context, tree, _ string, _ time.Time, parents ...string) (string, error) {
	return "commit(" + tree + "<" + strings.Join(parents, "+") + ")", nil
}

func TestBuildLeavesOutWhatConflictsAndGoesOn(t *testing.T) {
	t.Parallel()
	chain, err := Build(t.Context(), scripted{conflicts: map[string]bool{"p2": true}}, Merge{Head: "h", Onto: "h", Candidates: []Candidate{
		{Task: "one", Commit: "p1"}, {Task: "two", Commit: "p2"}, {Task: "three", Commit: "p3"},
	}}, time.Unix(1, 0))
	require.NoError(t, err)
	require.Len(t, chain.Merged, 2)
	require.Equal(t, "three", chain.Merged[1].Task)
	require.Equal(t, chain.Merged[1].Landed, chain.Head)
	require.Equal(t, "tree("+chain.Merged[0].Landed+"+p3)", chain.Tree)
	require.Equal(t, []Conflict{{Candidate: Candidate{Task: "two", Commit: "p2"}, Paths: []string{"a.go"}, Message: "CONFLICT in a.go"}}, chain.Conflicts)
}

// A chain is made again only where it holds an earlier patch of the task that conflicts.
func TestBuildLeavesOutAllPatchesOfATaskThatConflicts(t *testing.T) {
	t.Parallel()
	var asked []string
	m := scripted{conflicts: map[string]bool{"p2": true, "p6": true}, merged: &asked}
	chain, err := Build(t.Context(), m, Merge{Set: "s", Onto: "h", Candidates: []Candidate{
		{Task: "one", Commit: "p1"},
		{Task: "two", Commit: "p2"},
		{Task: "three", Commit: "p3"},
		{Task: "two", Commit: "p4"},
		{Task: "five", Commit: "p5"},
		{Task: "three", Commit: "p6"},
		{Task: "five", Commit: "p7"},
	}}, time.Unix(1, 0))
	require.NoError(t, err)
	require.Equal(t, []string{"p1", "p2", "p3", "p5", "p6", "p1", "p5", "p7"}, asked)
	require.Len(t, chain.Merged, 3)
	require.Len(t, chain.Conflicts, 2)
}

func TestBuildNamesTheTaskOfAFailure(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	_, err := Build(t.Context(), scripted{fail: boom}, Merge{Candidates: []Candidate{{Task: "one", Commit: "p1"}}}, time.Unix(1, 0))
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "task one")
}

func TestMessageHasTrailers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Move a\n\nDivisi-Run: r\nDivisi-Task: t\nDivisi-Attempt: 2\nDivisi-Role: generator\nDivisi-Model: m\n",
		Message(Candidate{Run: "r", Task: "t", Title: "Move a\nDivisi-Task: forged", Role: "generator", Model: "m", Attempt: 2}))
	require.Equal(t, "t\n\nDivisi-Task: t\nDivisi-Attempt: 1\nCo-authored-by: G <g@x.y>\n",
		Message(Candidate{Task: "t", Title: " ", Attempt: 1, CoAuthor: "G <g@x.y>"}))
}

// A person and a command are no co-authors: an agent is, once for a set.
func TestAnAgentIsACoAuthor(t *testing.T) {
	t.Parallel()
	roles := runtest.Roles()
	roles["codemod"] = spec.Role{Name: "codemod", Executor: spec.ExecutorCommand, Writes: true}
	l := runtest.New(t, run.Spec{Base: "b", Roles: roles, Project: spec.Project{CoAuthor: "G <g@x.y>"}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "c", Role: "codemod"})
	for id, want := range map[string]string{"a": "G <g@x.y>", "c": ""} {
		l.Dispatched(id, l.Tasks.ByID[id].Task.Role, 1, "b")
		l.Ended(id, 1, runtest.Patched("p", "t", "b"))
		require.Equal(t, want, candidateOf(factsOf(l.State), l.Tasks.ByID[id]).CoAuthor, id)
	}
	both := []Merged{{Candidate: Candidate{Task: "c"}}, {Candidate: Candidate{Task: "a", CoAuthor: "G <g@x.y>"}}}
	require.Regexp(t, `Divisi-Task: a\n[^\n]*\nCo-authored-by: G <g@x.y>\n$`, Merge{Set: "s"}.message(both))
}

// A task whose patch of an earlier attempt was kept is in a set twice.
func TestTheMessageOfASetNamesEachTaskOnce(t *testing.T) {
	t.Parallel()
	of := func(task string, attempt int) Merged {
		return Merged{Candidate: Candidate{Run: "r", Task: task, Role: "generator", Attempt: attempt}}
	}
	require.Equal(t, "s (change set of 2 tasks)\n\nDivisi-Run: r\nDivisi-Set: s\n"+
		"Divisi-Task: b\nDivisi-Attempt: 1\nDivisi-Role: generator\n"+
		"Divisi-Task: a\nDivisi-Attempt: 2\nDivisi-Role: generator\n",
		Merge{Set: "s"}.message([]Merged{of("a", 1), of("b", 1), of("a", 2)}))
}

// A passage becomes a commit with two parents: the branch first, and the tree of its last commit.
func TestBuildSealsAPassage(t *testing.T) {
	t.Parallel()
	chain, err := Build(t.Context(), scripted{}, Merge{Head: "h", Onto: "h", Sealed: "p", Message: "m"}, time.Unix(1, 0))
	require.NoError(t, err)
	require.Equal(t, Chain{Head: "commit(tree(p+p)<h+p)", Tree: "tree(p+p)"}, chain)
}
