package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxDirty bounds the paths in Checkout.Dirty.
const MaxDirty = 1000

// Checkout describes a user's checkout at the time of Inspect.
type Checkout struct {
	// Top is the top of the work tree; GitDir its repository directory; CommonDir what linked work trees share;
	// Objects the object store. All are absolute.
	Top, GitDir, CommonDir, Objects string
	// Head is the commit that is checked out; Branch its branch without refs/heads/, "" when detached.
	Head, Branch string
	// Shallow reports whether the history is cut off.
	Shallow bool
	// Dirty are paths that differ from Head, in the index or on disk, or that are untracked and not ignored, relative to
	// Top; an untracked directory counts once and ends in a slash. At most MaxDirty; MoreDirty reports that there are more.
	Dirty     []string
	MoreDirty bool
	// Untracked are those of Dirty that git does not track. Filtered are none of Dirty: files of a filter that were written since
	// git last compared them; the filter alone, which does not run, can tell whether they differ.
	Untracked, Filtered []string
	// Submodules are the paths of gitlinks at Head.
	Submodules []string
	// Author is who the user is by their settings; empty where these do not tell.
	Author Ident

	// outer is the checkout that has this one as a submodule.
	outer   *Checkout
	format  int
	head    string
	shallow []string
	exclude []byte
	// promisor is the remote of a partial clone; lent are the objects of it that were fetched for Divisi alone.
	promisor promisor
	lent     []string
	origin   string // the address of the remote of that name
	// sparse reports that the work tree has a part of the files alone.
	sparse bool
}

// Exclude is the content of the lists, beside the repository's own files, of what git ignores in the checkout.
func (c *Checkout) Exclude() []byte { return c.exclude }

// Identity returns 16 hex digits that stand for this repository on this machine: the digest of the real path of its common git
// directory. Linked work trees share it; a fork, a second clone and a repository with the same root commit do not. Any checkout
// can name any git directory: one that this directory does not know has a digest of its own.
func (c *Checkout) Identity() (string, error) {
	common, err := filepath.EvalSymlinks(c.CommonDir)
	if err != nil {
		return "", fmt.Errorf("resolve the git directory %s: %w", c.CommonDir, err)
	}
	about := common
	if !c.known(common) {
		about += "\x00" + c.Top
	}
	digest := sha256.Sum256([]byte(about))
	return hex.EncodeToString(digest[:8]), nil
}

// known reports whether the common git directory lies in the work tree, or names it as a linked one.
func (c *Checkout) known(common string) bool {
	dot := filepath.Join(c.Top, ".git")
	if c.GitDir == common {
		return common == dot
	}
	data, err := readSmall(filepath.Join(c.GitDir, "gitdir"))
	if err != nil || filepath.Dir(c.GitDir) != filepath.Join(common, "worktrees") {
		return false
	}
	back, err := filepath.EvalSymlinks(filepath.Dir(resolve(c.GitDir, strings.TrimRight(string(data), "\r\n"))))
	return err == nil && filepath.Join(back, ".git") == dot
}

// Inspect finds the repository at path or above it and inspects it without running anything of it and without
// writing to it. Errors: ErrNotRepository, ErrBare, ErrNoCommits, ErrOwner, ErrUnsupported.
func (g *Git) Inspect(ctx context.Context, path string) (*Checkout, error) {
	l, err := discover(path)
	if err != nil {
		return nil, err
	}
	user, err := g.userSettings(ctx, l.gitDir)
	if err != nil {
		return nil, err
	}
	if err := g.checkOwner(l, user.safeDirectories()); err != nil {
		return nil, err
	}
	own, err := g.repoSettings(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", l.top, err)
	}
	c := &Checkout{Top: l.top, GitDir: l.gitDir, CommonDir: l.commonDir, Objects: filepath.Join(l.commonDir, "objects")}
	c.promisor, c.sparse = own.promisor(), isTrue(own.last("core.sparsecheckout"))
	c.origin = own.last("remote.origin.url")
	c.Author = authorOf(user, own)
	if err := c.checkFormat(own); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", l.top, err)
	}
	if err := c.readFiles(user.globalExclude()); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", l.top, err)
	}
	if err := g.look(ctx, c, inertFlags(user, own)); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", l.top, err)
	}
	return c, nil
}

// checkFormat refuses repositories whose files this package cannot read or add to.
func (c *Checkout) checkFormat(own settings) error {
	c.format = 40
	if own.last("extensions.objectformat") == "sha256" {
		c.format = 64
	}
	if v := own.last("extensions.refstorage"); v != "" && v != "files" {
		return fmt.Errorf("%w: its refs are stored as %s: git refs migrate --ref-format=files", ErrUnsupported, v)
	}
	if c.GitDir == c.CommonDir && isTrue(own.last("core.bare")) {
		return ErrBare
	}
	return nil
}

// readFiles reads HEAD, the shallow commits and the lists of ignored files.
func (c *Checkout) readFiles(globalExclude string) error {
	path := filepath.Join(c.GitDir, "HEAD")
	if target, err := os.Readlink(path); err == nil {
		c.head = "ref: " + target
	} else {
		data, err := readSmall(path)
		if err != nil {
			return fmt.Errorf("read HEAD: %w", err)
		}
		c.head = strings.TrimSpace(string(data))
	}
	if ref, ok := strings.CutPrefix(c.head, "ref:"); ok {
		c.Branch = strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/")
	}
	data, err := os.ReadFile(filepath.Join(c.CommonDir, "shallow"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the shallow commits: %w", err)
	}
	c.shallow = strings.Fields(string(data))
	c.Shallow = len(c.shallow) > 0
	c.exclude = ignoreLists(globalExclude, filepath.Join(c.CommonDir, "info", "exclude"))
	return nil
}

// ignoreLists joins the user's lists of ignored files, the weaker first; one that cannot be read counts as empty, as it
// does for git.
func ignoreLists(paths ...string) []byte {
	var all []byte
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		all = append(append(all, data...), '\n')
	}
	return all
}

// look asks git, through a view, for what needs objects and the index.
func (g *Git) look(ctx context.Context, c *Checkout, config []string) (err error) {
	v, err := c.openView()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}})
	if exitCode(err) == 1 {
		return ErrNoCommits
	}
	if err != nil {
		return fmt.Errorf("resolve HEAD: %w", err)
	}
	c.Head = strings.TrimSpace(string(out))
	if err := v.copyIndex(c.GitDir); err != nil {
		return err
	}
	if err := g.status(ctx, c, v, config); err != nil {
		return fmt.Errorf("compare the work tree with HEAD: %w", err)
	}
	if out, err = g.exec(ctx, call{dir: v.dir, args: []string{"ls-tree", "-r", "-z", "--full-tree", c.Head}}); err != nil {
		return fmt.Errorf("list HEAD: %w", err)
	}
	entries, err := parseTree(out)
	for _, e := range entries {
		if e.Mode == ModeGitlink {
			c.Submodules = append(c.Submodules, e.Path)
		}
	}
	return err
}

func (g *Git) status(ctx context.Context, c *Checkout, v *view, config []string) error {
	dir := Dir{GitDir: v.dir.GitDir, WorkTree: c.Top}
	out, err := g.exec(ctx, call{dir: dir, config: config, args: []string{
		"status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames",
	}})
	if err != nil {
		return err
	}
	var touched []string // on disk alone
	for item := range bytes.SplitSeq(out, []byte{0}) {
		if len(item) < 4 {
			continue
		}
		if len(c.Dirty) == MaxDirty {
			c.MoreDirty = true
			return nil
		}
		path := string(item[3:])
		c.Dirty = append(c.Dirty, path)
		if bytes.HasPrefix(item, []byte("??")) {
			c.Untracked = append(c.Untracked, path)
		}
		if bytes.HasPrefix(item, []byte(" M")) {
			touched = append(touched, path)
		}
	}
	return g.setApart(ctx, c, dir, touched)
}

// setApart moves the files of a filter from Dirty to Filtered.
func (g *Git) setApart(ctx context.Context, c *Checkout, dir Dir, touched []string) error {
	if len(touched) == 0 {
		return nil
	}
	given, err := g.filters(ctx, dir, touched)
	if err != nil {
		return err
	}
	c.Dirty = slices.DeleteFunc(c.Dirty, func(p string) bool {
		if given[p] {
			c.Filtered = append(c.Filtered, p)
		}
		return given[p]
	})
	return nil
}

// filters are those of some paths to which attributes give a filter.
func (g *Git) filters(ctx context.Context, dir Dir, paths []string) (map[string]bool, error) {
	in := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := g.exec(ctx, call{dir: dir, stdin: in, args: []string{"check-attr", "-z", "--stdin", "filter"}})
	if err != nil {
		return nil, fmt.Errorf("read the attributes: %w", err)
	}
	found := map[string]bool{}
	fields := strings.Split(string(out), "\x00") // path, attribute and value of each
	for ; len(fields) >= 3; fields = fields[3:] {
		found[fields[0]] = !slices.Contains([]string{"unspecified", "unset", "set"}, fields[2])
	}
	return found, nil
}

// Resolve turns a revision of the user's repository (a branch, a tag, HEAD~2, an id) into a commit id. A revision that
// names no commit is ErrNotFound.
func (g *Git) Resolve(ctx context.Context, c *Checkout, rev string) (id string, err error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n") {
		return "", fmt.Errorf("revision %q: %w", rev, ErrBadName)
	}
	v, err := c.openView()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{"rev-parse", "--verify", "--quiet", rev + "^{commit}"}})
	if code := exitCode(err); code == 1 || code == 128 {
		return "", fmt.Errorf("revision %q in %s: %w", rev, c.Top, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("resolve revision %q: %w", rev, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Remote returns the address of the remote origin in a form that its spellings share, by which Divisi knows clones of one
// repository; "" for a checkout without one. Its path can hold a secret: it is digested, and never shown.
func (c *Checkout) Remote() string { return addressOf(c.origin, c.Top) }
