package assign

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// repository makes a mirror of a base commit, with a codemod's change of a.txt on it, and the head that landed meanwhile.
func repository(t *testing.T, head string) (mirror *git.Repo, patch *spec.Patch, landed string) {
	t.Helper()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "m.git")
	sh := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t",
			"GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t", "TO="+to)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	sh("git init -q -b main; printf 'one\n' > a.txt; printf 'x\n' > b.txt; git add -A; git commit -q -m base")
	g, err := git.New(t.Context())
	require.NoError(t, err)
	checkout, err := g.Inspect(t.Context(), dir)
	require.NoError(t, err)
	mirror, err = g.CreateMirror(t.Context(), to, checkout, checkout.Head)
	require.NoError(t, err)
	sh("git checkout -q -b mod; printf 'mod\n' > a.txt; git commit -q -a -m mod; git checkout -q main; " + head +
		"; git commit -q -a -m landed; git push -q $TO mod:refs/heads/a main:refs/heads/b")
	patch = &spec.Patch{
		Commit: sh("git rev-parse mod"), Base: checkout.Head, Tree: sh("git rev-parse mod^{tree}"), Files: []string{"a.txt"},
		Added: 1, Deleted: 1,
	}
	return mirror, patch, sh("git rev-parse main")
}

// The head has moved since the command ran: its change is merged onto it, or the model is told that it could not be.
func TestACommandsChangeOnAHeadThatMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		landed string
		files  []string
		merges bool
		told   string
	}{
		"elsewhere":     {"printf 'y\\n' > b.txt", []string{"a.txt"}, true, "Its change is in your work tree"},
		"the same line": {"printf 'other\\n' > a.txt", []string{"a.txt"}, false, "NOT in your work tree: it no longer merges onto the head, in a.txt."},
		"not its own":   {"printf 'y\\n' > b.txt", []string{"b.txt"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mirror, patch, head := repository(t, c.landed)
			l := runtest.New(t, run.Spec{Base: patch.Base, Plan: &spec.Plan{}, Roles: map[string]spec.Role{
				"mod": {Name: "mod", Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Writes: true},
			}}, run.Running)
			l.Plan(spec.Task{ID: "t", Role: "mod", Files: c.files})
			l.Dispatched("t", "mod", 1, patch.Base)
			l.Ended("t", 1, spec.Result{Status: spec.StatusDone, Patch: patch})
			red := spec.Fault{Class: wire.FaultGate, Message: "red", Detail: "x" + wire.ChangedByThen + "+mod"}
			l.Append("t", run.TaskData{State: run.TaskPending, Fault: &red, Choice: &run.Choice{At: 1, Uses: "model", Why: "w"}})

			var shared []string
			g := &given{NewSealer("r1", nil, mirror, func(_ context.Context, commit, onto string) error {
				shared = append(shared, onto, commit)
				return nil
			}), l.State}
			a := &wire.Assignment{Head: head, Role: l.Spec.RoleOn(l.Tasks.ByID["t"], 1)}
			task := l.Tasks.ByID["t"]
			require.NoError(t, g.continueCommand(t.Context(), a, task))
			p, err := g.prior(t.Context(), a, task, task.Faults[0])
			require.NoError(t, err)
			require.Contains(t, a.Message, c.told)
			require.Equal(t, "x", p.Fault.Detail)
			if !c.merges {
				require.Nil(t, a.Start)
				require.Contains(t, p.Diff, "+mod")
				require.Empty(t, shared)
				return
			}
			require.True(t, p.Kept)
			require.Empty(t, p.Diff)
			commit, err := mirror.Commit(t.Context(), a.Start.Commit)
			require.NoError(t, err)
			require.Equal(t, []string{head}, commit.Parents)
			require.Equal(t, []string{head, a.Start.Commit}, shared)
			for file, text := range map[string]string{"a.txt": "mod\n", "b.txt": "y\n"} {
				data, err := mirror.ReadFile(t.Context(), a.Start.Commit, file, 100)
				require.NoError(t, err)
				require.Equal(t, text, string(data))
			}
		})
	}
}
