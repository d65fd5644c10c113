//go:build unix

package workspace_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

// canaries are programs that leave a file behind when anybody runs them.
type canaries struct {
	t         *testing.T
	bin, seen string
}

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	return &canaries{t: t, bin: t.TempDir(), seen: t.TempDir()}
}

// program returns the path of a canary; it passes its input on, as a filter does.
func (c *canaries) program(name string) string {
	c.t.Helper()
	path := filepath.Join(c.bin, name)
	script := fmt.Sprintf("#!/bin/sh\necho >%s/%s\n[ $# = 0 ] && exec cat\ncat \"$1\" 2>/dev/null || true\n", c.seen, name)
	require.NoError(c.t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

func (c *canaries) ran() []string {
	c.t.Helper()
	entries, err := os.ReadDir(c.seen)
	require.NoError(c.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// plant puts everything into a repository's directory by which git can be made to run something.
func (c *canaries) plant(gitDir, tag string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(filepath.Join(gitDir, "hooks"), 0o755))
	for _, hook := range []string{
		"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
		"post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
		"pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive",
		"push-to-checkout", "reference-transaction", "sendemail-validate", "update",
	} {
		require.NoError(c.t, os.Symlink(c.program(tag+"-hook-"+hook), filepath.Join(gitDir, "hooks", hook)))
	}
	var config strings.Builder
	for key, value := range map[string]string{
		"core.fsmonitor": "", "core.pager": "", "core.editor": "", "core.askpass": "", "core.sshCommand": "",
		"core.gitProxy": "", "core.alternateRefsCommand": "", "gpg.program": "", "gpg.ssh.program": "",
		"credential.helper": "", "sequence.editor": "", "diff.external": "", "interactive.diffFilter": "",
		"uploadpack.packObjectsHook": "", "trailer.evil.command": "", "filter.evil.clean": "", "filter.evil.smudge": "",
		"filter.long.process": "", "filter.evil.required": "=true", "diff.evil.textconv": "", "diff.evil.command": "",
		"merge.evil.driver": "", "merge.default": "=evil", "commit.gpgSign": "=true", "log.showSignature": "=true",
		"alias.status": "!", "alias.read-tree": "!", "alias.update-ref": "!", "alias.ls-files": "!", "pager.log": "",
		"remote.evil.promisor": "=true", "remote.evil.url": "ext::", "remote.evil.uploadpack": "",
		"core.untrackedCache": "=true", "core.logAllRefUpdates": "=always", "gc.auto": "=1", "submodule.recurse": "=true",
		"submodule.sub.update": "!", "hook.evil.command": "", "hook.evil.event": "=reference-transaction",
	} {
		if !strings.HasPrefix(value, "=") {
			value = "=" + value + c.program(tag+"-"+strings.ReplaceAll(key, ".", "-"))
		}
		name := key[strings.LastIndex(key, ".")+1:]
		fmt.Fprintf(&config, "[%s]\n\t%s %s\n", section(key), name, strings.Replace(value, "=", "= ", 1))
	}
	f, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(c.t, err)
	_, err = f.WriteString(config.String())
	require.NoError(c.t, err)
	require.NoError(c.t, f.Close())
	require.NoError(c.t, os.MkdirAll(filepath.Join(gitDir, "info"), 0o755))
	write(c.t, filepath.Join(gitDir, "info", "attributes"), evilAttributes)
}

func section(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) == 2 {
		return parts[0]
	}
	return parts[0] + ` "` + strings.Join(parts[1:len(parts)-1], ".") + `"`
}

const evilAttributes = "* filter=evil diff=evil merge=evil\n*.p filter=long\n"

// hostileUser is a repository with everything planted: in its directory, in its tree, and in repositories within it.
func hostileUser(t *testing.T, c *canaries) string {
	t.Helper()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	write(t, filepath.Join(user, "a.txt"), "1\n2\n3\n")
	write(t, filepath.Join(user, "dir/b.txt"), "b\n")
	write(t, filepath.Join(user, "long.p"), "p\n")
	write(t, filepath.Join(user, ".gitattributes"), evilAttributes)
	write(t, filepath.Join(user, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ../x\n\tignore = none\n")
	userGit(t, t.TempDir(), "init", "-q", "--bare", filepath.Join(user, "bare"))
	require.NoError(t, os.RemoveAll(filepath.Join(user, "bare", "hooks")))
	c.plant(filepath.Join(user, "bare"), "bare")
	write(t, filepath.Join(user, "bare", "objects", "keep"), "")
	write(t, filepath.Join(user, "bare", "refs", "heads", "keep"), "")
	nested(t, filepath.Join(user, "sub"), "sub")
	userGit(t, user, "add", "-A")
	userGit(t, user, "commit", "-q", "-m", "first")
	require.Contains(t, userGit(t, user, "ls-tree", "HEAD"), "160000 commit")
	c.arm(filepath.Join(user, "sub"))
	nested(t, filepath.Join(user, "untracked"), "untracked")
	c.arm(filepath.Join(user, "untracked"))
	write(t, filepath.Join(user, "a.txt"), "1\n2\nthe user's\n")
	write(t, filepath.Join(user, "long.p"), "the user's\n")
	require.NoError(t, os.RemoveAll(filepath.Join(user, ".git", "hooks")))
	c.plant(filepath.Join(user, ".git"), "top")
	return user
}

// nested makes a repository with a commit and a dirty file.
func nested(t *testing.T, dir, tag string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	userGit(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "x"), "x\n")
	userGit(t, dir, "add", "-A")
	userGit(t, dir, "commit", "-q", "-m", tag)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git", "hooks")))
	write(t, filepath.Join(dir, ".git", "tag"), tag)
}

// arm plants the canaries in a repository and makes it look changed, so that git has a reason to look closer.
func (c *canaries) arm(dir string) {
	c.t.Helper()
	c.plant(filepath.Join(dir, ".git"), read(c.t, filepath.Join(dir, ".git", "tag")))
	write(c.t, filepath.Join(dir, "x"), "y\n")
}

func TestNothingOfAHostileRepositoryRuns(t *testing.T) {
	t.Parallel()
	c := newCanaries(t)
	user := hostileUser(t, c)
	require.Empty(t, c.ran(), "the preparations are silent")
	before := everything(t, user)

	b := mirrorOf(t, user)
	require.Contains(t, b.checkout.Filtered, "a.txt", "its filter did not run")
	require.Equal(t, []string{"sub"}, b.checkout.Submodules)
	_, err := b.git.Resolve(t.Context(), b.checkout, "main")
	require.NoError(t, err)
	head := landHostile(t, c, b)
	require.NoError(t, b.git.Publish(t.Context(), b.checkout, b.mirror, "refs/heads/divisi/r1", head, b.base, ""))

	require.Empty(t, c.ran(), "nothing that was planted ran")
	var changed []string
	after := everything(t, user)
	for path, value := range after {
		if before[path] != value && !strings.HasPrefix(path, ".git/objects/") {
			changed = append(changed, path)
		}
	}
	for path := range before {
		require.Contains(t, after, path)
	}
	slices.Sort(changed)
	require.Equal(t, []string{".git/refs/heads/divisi", ".git/refs/heads/divisi/r1"}, changed)
	require.Equal(t, head+"\n", read(t, filepath.Join(user, ".git/refs/heads/divisi/r1")))

	// The proof of the proof: the canaries do sing when git is called as usual.
	for _, line := range []string{"status", "diff", "add a.txt", "checkout -q -- a.txt", "checkout -q -- long.p"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields(line)...)
		cmd.Dir = user
		_ = cmd.Run() // it may well fail: what counts is what it ran
	}
	sang := strings.Join(c.ran(), " ")
	for _, name := range []string{
		"top-core-fsmonitor", "top-filter-evil-clean", "top-filter-evil-smudge", "top-filter-long-process",
		"top-diff-evil-command", "top-hook-post-checkout", "top-hook-post-index-change",
		"sub-core-fsmonitor", "sub-filter-evil-clean",
	} {
		require.Contains(t, sang, name)
	}
}

// landHostile lets two agents edit and plant, merges what they made, and returns the landed commit.
func landHostile(t *testing.T, c *canaries, b *bundle) string {
	t.Helper()
	one, two := b.slot(t), b.slot(t)
	write(t, filepath.Join(one.Dir(), "a.txt"), "ONE\n2\n3\n")
	c.plant(filepath.Join(one.Dir(), ".git"), "slot")
	// The submodule is checked out at the very commit that the tree names: only its files are changed.
	nested(t, filepath.Join(one.Dir(), "sub"), "sub")
	c.arm(filepath.Join(one.Dir(), "sub"))
	write(t, filepath.Join(two.Dir(), "a.txt"), "1\n2\nTHREE\n")
	write(t, filepath.Join(two.Dir(), "long.p"), "two's\n")
	write(t, filepath.Join(two.Dir(), "dir", ".gitattributes"), evilAttributes)
	write(t, filepath.Join(two.Dir(), ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\tignore = none\n")
	for _, dir := range []string{"sub", "new", "dir/deep"} {
		nested(t, filepath.Join(two.Dir(), dir), "agent")
		write(t, filepath.Join(two.Dir(), dir, ".git", "tag"), "agent-"+strings.ReplaceAll(dir, "/", "-"))
		c.arm(filepath.Join(two.Dir(), dir))
	}
	var refused *workspace.ContentError
	_, _, err := one.Collect(t.Context(), b.base, "one", author, noon)
	require.ErrorAs(t, err, &refused, "its submodule is not left alone")
	require.NoError(t, os.RemoveAll(filepath.Join(one.Dir(), "sub")))
	_, _, err = two.Collect(t.Context(), b.base, "two", author, noon)
	require.ErrorAs(t, err, &refused)
	_, _, err = two.Diff(t.Context(), b.base, 1000)
	require.ErrorAs(t, err, &refused)
	for _, dir := range []string{"sub", "new", "dir/deep"} {
		require.Contains(t, refused.Why, dir)
		require.NoError(t, os.RemoveAll(filepath.Join(two.Dir(), dir, ".git")))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(two.Dir(), "sub")))

	head := b.base
	for _, s := range []*workspace.Slot{one, two} {
		p, pack, err := s.Collect(t.Context(), b.base, "work", author, noon)
		require.NoError(t, err)
		_, _, err = s.Diff(t.Context(), b.base, 10_000)
		require.NoError(t, err)
		require.NoError(t, b.mirror.Import(t.Context(), pack))
		err = git.CheckPatch(t.Context(), b.mirror, *p, func(string, bool) bool { return true })
		if slices.Contains(p.Files, ".gitmodules") {
			var fault *git.PatchError
			require.ErrorAs(t, err, &fault)
			require.True(t, fault.Has(git.FaultGitFile))
		} else {
			require.NoError(t, err)
		}
		m, err := b.mirror.MergeTree(t.Context(), head, p.Commit)
		require.NoError(t, err)
		require.True(t, m.Clean(), "%+v", m)
		head, err = b.mirror.CommitTree(m.Tree, []string{head, p.Commit}, "land", author, author, noon)
		require.NoError(t, err)
		require.NoError(t, s.Reset(t.Context(), head))
		hooks, err := os.ReadDir(filepath.Join(s.Dir(), ".git", "hooks"))
		require.NoError(t, err)
		require.Empty(t, hooks)
		require.NotContains(t, read(t, filepath.Join(s.Dir(), ".git", "config")), "slot-")
	}
	return head
}

// TestForeignWorkTreeIsNotTouched has a repository whose settings put its work tree over a user's home.
func TestForeignWorkTreeIsNotTouched(t *testing.T) {
	t.Parallel()
	victim := t.TempDir()
	write(t, filepath.Join(victim, "a.txt"), "mine\n")
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	write(t, filepath.Join(user, "a.txt"), "theirs\n")
	userGit(t, user, "add", "-A")
	userGit(t, user, "commit", "-q", "-m", "first")
	userGit(t, user, "config", "core.worktree", victim)
	b := mirrorOf(t, user)
	require.Equal(t, user, b.checkout.Top)
	require.Empty(t, b.checkout.Dirty)
	s := b.slot(t)
	require.Equal(t, "theirs\n", read(t, filepath.Join(s.Dir(), "a.txt")))
	require.Equal(t, "mine\n", read(t, filepath.Join(victim, "a.txt")))
	require.Equal(t, victim, userGit(t, user, "rev-parse", "--show-toplevel"), "git itself would go there")
}

// everything is each path below a directory with its kind, content and time.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		value := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			value += fmt.Sprintf("%x %s", sha256.Sum256(data), info.ModTime())
		}
		rel, err := filepath.Rel(dir, path)
		all[rel] = value
		return err
	}))
	return all
}

func TestCollectPassesOverPipes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a": "a\n", "b": "b\n"})
	s := b.slot(t)
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "a")))
	for _, name := range []string{"a", "new"} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(s.Dir(), name), 0o600))
	}
	p, _, err := s.Collect(t.Context(), b.base, "pipe", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, p.Files, "for git it is gone")
	require.Equal(t, 1, p.Deleted)
}
