package orchestrator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
	"divisi/orchestrator/depot"
)

// Two members with a machine, an account and a place of the repository that are called alike share nothing on the server; one
// member has the same there from two clones of a repository, wherever they lie.
func TestMembersShareNothingThatTheServerKeeps(t *testing.T) {
	t.Parallel()
	serveDir := served(t)
	at := map[string]orchestrator.Server{}
	for _, name := range []string{"ada", "bob"} {
		var err error
		_, at[name], err = depot.Join(t.Context(), t.TempDir(), tokenFrom(t, serveDir, "person"), "", name)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	place := filepath.Join(dir, "work", "app")
	git := func(dir string, args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=U", "-c", "user.email=u@localhost"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	repository := func(text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(place, ".divisi"), 0o700))
		git(place, "init", "-q")
		require.NoError(t, os.WriteFile(filepath.Join(place, "a.txt"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(place, ".divisi", "divisi.yaml"),
			[]byte("gates:\n  - {name: test, command: ['true']}\n"), 0o600))
		git(place, "add", "-A")
		git(place, "commit", "-q", "-m", text)
	}
	kept := func(who, repo string) (caches, collections []string) {
		r, err := orchestrator.Submit(t.Context(), orchestrator.Options{
			Machine: orchestrator.Machine{StateDir: t.TempDir(), Notice: func(string, string) {}}, Repo: repo,
			Plan: &orchestrator.File{Name: "plan.yaml", Data: []byte(
				"goal: Write\ntasks:\n  - {id: write, role: editor, brief: Write the file., files: [notes.txt]}\n")},
			Roles: []orchestrator.File{{Name: "editor.md", Data: []byte(
				"---\nname: editor\ndescription: Edits files\nexecutor: command\ncommand: ['true']\n---\nThe command does the work.\n")}},
		}, at[who])
		require.NoError(t, err)
		require.NoError(t, r.Close())
		caches, err = filepath.Glob(filepath.Join(serveDir, "caches", "*.lock"))
		require.NoError(t, err)
		collections, err = filepath.Glob(filepath.Join(serveDir, "mirrors", "*", "HEAD"))
		require.NoError(t, err)
		return caches, collections
	}
	repository("of ada\n")
	caches, collections := kept("ada", place)
	require.Len(t, caches, 1)
	require.Len(t, collections, 2, "commits, and a history")
	clone := filepath.Join(dir, "elsewhere", "app")
	git(dir, "clone", "-q", place, clone)
	git(clone, "commit", "-q", "--allow-empty", "-m", "more")
	again, _ := kept("ada", clone)
	require.Equal(t, caches, again, "the same member's other clone")
	require.NoError(t, os.Rename(place, place+"-before"))
	repository("of bob\n")
	caches, collections = kept("bob", place)
	require.Len(t, caches, 2, "another member, whose repository lies at the same place")
	require.Len(t, collections, 4)
	caches, _ = kept("bob", clone)
	require.Len(t, caches, 3, "another member with the same repository")
	caches, _ = kept("ada", place)
	require.Len(t, caches, 4, "the same member with another repository at the place")
}
