package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/internal/usage"
)

// checkout is the checkout that a person merges into, seen by that person's own git: with their settings, and their hooks when it
// merges.
type checkout struct {
	top, branch, head string
	// remote is the remote whose default branch is checked out; "" for none.
	remote string
	// env are variables of git beside those of this process.
	env []string
}

// git runs git in the checkout and returns what it prints, without the last end of a line. Where it fails the error has what it
// says. It runs no hook and no monitor of files, and does not refresh the index: nothing but the merge itself does.
func (c *checkout) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-C", c.top, "-c", "core.fsmonitor=false", "-c",
		"core.hooksPath=" + os.DevNull,
	}, args...)...)
	cmd.Env = append(append(os.Environ(), "GIT_OPTIONAL_LOCKS=0"), c.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return strings.TrimRight(string(out), "\n"), fmt.Errorf("git %s: %w: %s", args[0], err, text.OneLine(said.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// has reports whether git ends well.
func (c *checkout) has(ctx context.Context, args ...string) bool {
	_, err := c.git(ctx, args...)
	return err == nil
}

// going are files of the git directory that an unfinished act of git leaves, and what that is; the first one tells.
var going = []struct{ file, what string }{
	{"MERGE_HEAD", "merge"},
	{"rebase-merge", "rebase"},
	{"rebase-apply/applying", "am"},
	{"rebase-apply", "rebase"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"sequencer", "cherry-pick"}, // or a revert of several commits: both end it
}

// maxNamed is how many files a message names.
const maxNamed = 5

// open finds the checkout that a directory is in. It is an error of usage where a merge into it cannot begin.
func open(ctx context.Context, dir string) (*checkout, error) {
	c := &checkout{top: dir}
	if in, err := c.git(ctx, "rev-parse", "--is-inside-work-tree"); err != nil || in != "true" {
		return nil, usage.Errorf("%s is in no checkout: go to one, or name it with --repo", dir)
	}
	top, err := c.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	c.top = top
	for _, g := range going {
		file, err := c.git(ctx, "rev-parse", "--git-path", g.file)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(c.top, file)
		}
		if _, err := os.Lstat(file); err == nil {
			return nil, usage.Errorf("a %s is in progress in %s: finish it first, or end it with: git %[1]s --abort",
				g.what, c.top)
		}
	}
	if c.branch, err = c.git(ctx, "symbolic-ref", "--short", "--quiet", "HEAD"); err != nil {
		return nil, usage.Errorf("no branch is checked out in %s (its HEAD is detached): check one out with: git switch BRANCH",
			c.top)
	}
	if c.head, err = c.git(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return nil, usage.Errorf("the branch %s of %s has no commit yet: commit first", c.branch, c.top)
	}
	dirty, err := c.git(ctx, "status", "--porcelain", "--untracked-files=no", "--no-renames")
	if err != nil {
		return nil, err
	}
	if dirty != "" {
		var files []string
		for _, line := range text.Lines(dirty) {
			files = append(files, strings.TrimSpace(line[min(len(line), 2):]))
		}
		return nil, usage.Errorf("%s has changes that are not committed: %s\nCommit or stash them first", c.top,
			text.Some(files, maxNamed))
	}
	c.remote = c.remoteOf(ctx)
	return c, nil
}

// remoteOf is the remote whose default branch is checked out; "" for none.
func (c *checkout) remoteOf(ctx context.Context) string {
	names, err := c.git(ctx, "remote")
	if err != nil {
		return ""
	}
	for _, name := range text.Lines(names) {
		at, err := c.git(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+name+"/HEAD")
		if err == nil && at == "refs/remotes/"+name+"/"+c.branch {
			return name
		}
	}
	return ""
}

// aside has git put the objects that it makes into a directory of their own, which remove removes.
func (c *checkout) aside(ctx context.Context) (remove func() error, err error) {
	objects, err := c.git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "divisi-merge-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the objects of a merge: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	err = os.Mkdir(filepath.Join(dir, "info"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(objects+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a directory for the objects of a merge: %w", err), remove())
	}
	c.env = []string{"GIT_OBJECT_DIRECTORY=" + dir}
	return remove, nil
}

// errConflict is the class of merges with conflicts.
var errConflict = errors.New("conflict")

// merged is the tree that a merge would make. Its error is errConflict with the files.
func (c *checkout) merged(ctx context.Context, head string) (string, error) {
	if c.has(ctx, "merge-base", "--is-ancestor", c.head, head) { // git before 2.38 can do that too
		return c.git(ctx, "rev-parse", head+"^{tree}")
	}
	out, err := c.git(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", c.head, head)
	parts := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 && len(parts) > 1 {
		return "", fmt.Errorf("%w: %s", errConflict, text.Some(parts[1:], maxNamed))
	}
	return parts[0], err
}

// commit makes a merge of a tree, as an object that no branch has.
func (c *checkout) commit(ctx context.Context, tree, head string) (string, error) {
	return c.git(ctx, "-c", "user.name=Divisi", "-c", "user.email=", "-c", "commit.gpgsign=false", "commit-tree", tree,
		"-p", c.head, "-p", head, "-m", "Merged, to be proven")
}

// excluded are some changed Go files that are part of a build at the head of a run, and of none in a merged tree.
func (c *checkout) excluded(ctx context.Context, head, tree string, changed []string) (out []string, err error) {
	both, err := c.git(ctx, "diff", "--name-only", "--no-renames", "--diff-filter=M", "-z", head, tree)
	for file := range strings.SplitSeq(both, "\x00") {
		if err == nil && strings.HasSuffix(file, ".go") && slices.Contains(changed, file) {
			var before, now bool
			before, err = c.builds(ctx, head, file)
			if before && err == nil {
				now, err = c.builds(ctx, tree, file)
			}
			if before && !now {
				out = append(out, "no build has "+file+" any more")
			}
		}
	}
	return out, err
}

// builds reports whether the constraints of a Go file in a commit or a tree let it be a part of a build here.
func (c *checkout) builds(ctx context.Context, in, file string) (bool, error) {
	b := build.Default
	b.OpenFile = func(string) (io.ReadCloser, error) {
		source, err := c.git(ctx, "show", in+":"+file)
		return io.NopCloser(strings.NewReader(source)), err
	}
	return b.MatchFile(path.Split(file))
}

// isOf reports whether a run was of this repository: of this checkout, of another one of it, or its branch is here.
func (c *checkout) isOf(ctx context.Context, l landed) bool {
	if l.Repo == c.top || l.Ref != "" && c.has(ctx, "rev-parse", "--verify", "--quiet", l.Ref) {
		return true
	}
	const common = "--git-common-dir"
	here, err := c.git(ctx, "rev-parse", "--path-format=absolute", common)
	there, gone := (&checkout{top: l.Repo}).git(ctx, "rev-parse", "--path-format=absolute", common)
	return err == nil && gone == nil && here == there
}

// wrong is what is wrong after a merge that should have made a tree, "" for nothing; undo is the way back.
func (c *checkout) wrong(ctx context.Context, l landed, tree string, squash bool) (what, undo string) {
	git := "git -C " + text.Shell(c.top)
	now, err := c.git(ctx, "rev-parse", "HEAD")
	is, terr := c.git(ctx, "rev-parse", "HEAD^{tree}")
	staged, serr := c.git(ctx, "write-tree")
	undo = git + " reset --keep " + c.head
	if now == c.head {
		undo = git + " reset --merge"
	}
	switch err = errors.Join(err, terr, serr); {
	case c.has(ctx, "rev-parse", "--verify", "--quiet", "MERGE_HEAD"):
		return "the merge has begun and is not finished: finish it with git commit, or take it back", git + " merge --abort"
	case err != nil:
		return fmt.Sprintf("what it has made cannot be read: %v", err), undo
	case now == c.head && staged == is:
		return "it has merged nothing", ""
	case squash && now == c.head && staged == tree, is == tree && c.has(ctx, "merge-base", "--is-ancestor", l.Head, now):
		return "", undo
	}
	return "the commit or the files of " + c.branch + " are not the merged ones: see branch." + c.branch +
		".mergeOptions of your git settings, and the hooks", undo
}
