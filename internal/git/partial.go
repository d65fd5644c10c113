package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/text"
)

// PartialError reports that a partial clone lacks objects that are needed. Nothing is damaged: its remote has them.
type PartialError struct {
	// Top is the clone, which lacks the objects Missing of a commit.
	Top, Commit string
	Missing     []string
	// Remote is the name of the remote that has promised them.
	Remote string

	url string
}

// Error names the cause and the commands that mend it.
func (e *PartialError) Error() string {
	return fmt.Sprintf("%s is a partial clone, and lacks %s of the commit %s that a run needs\n"+
		"Fetch them into the clone: git fetch --refetch --no-filter %s\nOr work in a full clone: git clone %s",
		e.Top, text.Count(len(e.Missing), "object"), e.Commit[:12], text.Shell(e.Remote), text.Shell(e.URL()))
}

// URL is that of the remote, without a password. A name alone can be one too, but for ssh.
func (e *PartialError) URL() string {
	scheme, rest, found := strings.Cut(e.url, "://")
	host, _, _ := strings.Cut(rest, "/")
	who := host[:strings.LastIndexByte(host, '@')+1]
	if !found || scheme == "ssh" && !strings.Contains(who, ":") {
		return e.url
	}
	return scheme + "://" + strings.TrimPrefix(rest, who)
}

// promisor is a remote that has what a partial clone lacks; one without a name is none.
type promisor struct{ name, url string }

// promisor returns the first remote from which git would fetch what is missing.
func (s settings) promisor() promisor {
	names := s["extensions.partialclone"]
	for _, key := range slices.Sorted(maps.Keys(s)) {
		name, isRemote := strings.CutPrefix(key, "remote.")
		name, isPromisor := strings.CutSuffix(name, ".promisor")
		if isRemote && isPromisor && isTrue(s.last(key)) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if at := s.last("remote." + name + ".url"); at != "" {
			return promisor{name, at}
		}
	}
	return promisor{}
}

// isTrue reads a value as git does.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// from is the remote's address for a git that works elsewhere: a path is relative to the clone.
func (p promisor) from(top string) string {
	if before, _, isHost := strings.Cut(p.url, ":"); isHost && !strings.Contains(before, "/") {
		return p.url
	}
	return resolve(top, p.url)
}

// borrow are the directories of the checkout's objects.
func (c *Checkout) borrow() []string { return append([]string{c.Objects}, c.lent...) }

// Lend has a checkout read what FetchMissing has brought to a directory, where it is there.
func (c *Checkout) Lend(dir string) {
	if objects := filepath.Join(dir, "objects"); isDir(objects) && !slices.Contains(c.lent, objects) {
		c.lent = append(c.lent, objects)
	}
}

// FetchMissing brings what a partial clone lacks of a commit from the clone's remote, with the settings and credentials of the
// user of this process, into a repository of Divisi's own at a directory, which is made where it is not there, and has the
// checkout read it. Nothing is written to the clone. One caller at a time may make the directory.
func (g *Git) FetchMissing(ctx context.Context, c *Checkout, lacks *PartialError, dir string) error {
	if !isDir(dir) {
		if err := g.makeCollection(dir, len(lacks.Commit)); err != nil {
			return fmt.Errorf("make a place for the missing objects of a partial clone: %w", err)
		}
	}
	asked := map[string]bool{}
	for {
		for _, id := range lacks.Missing {
			if asked[id] {
				return fmt.Errorf("fetch the missing objects of a partial clone: %w: %s does not have "+
					"%s", ErrNotFound, lacks.URL(), id)
			}
			asked[id] = true
		}
		if err := g.fetchObjects(ctx, dir, lacks); err != nil {
			return err
		}
		c.Lend(dir)
		// What is below a tree that was missing shows only now.
		if err := g.Lacks(ctx, c, lacks.Commit); err == nil || !errors.As(err, &lacks) {
			return err
		}
	}
}

func (g *Git) fetchObjects(ctx context.Context, dir string, lacks *PartialError) error {
	_, err := g.exec(ctx, call{
		dir: Dir{GitDir: dir}, own: true, config: []string{"fetch.unpackLimit=1"},
		stdin: strings.NewReader(strings.Join(lacks.Missing, "\n") + "\n"),
		args: []string{
			"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--stdin", "--", lacks.url,
		},
	})
	if err != nil {
		return fmt.Errorf("fetch the missing objects of a partial clone: %w", err)
	}
	return nil
}

// Lacks returns a *PartialError where a partial clone lacks objects of a commit, and nil for every other repository.
func (g *Git) Lacks(ctx context.Context, c *Checkout, commit string) (err error) {
	source, remove, err := g.cutOff(c, commit)
	if err != nil {
		return fmt.Errorf("find the missing objects of a partial clone: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	return source.promised(ctx, c, commit)
}

// promised returns a *PartialError where a partial clone lacks objects of a commit; r reads the clone's objects.
func (r *Repo) promised(ctx context.Context, c *Checkout, commit string) error {
	if c.promisor.name == "" {
		return nil
	}
	out, err := r.run(ctx, "rev-list", "--quiet", "--objects", "--no-walk", "--missing=print", commit, "--")
	if err != nil {
		return fmt.Errorf("find the missing objects of a partial clone: %w", packError(err))
	}
	e := &PartialError{Top: c.Top, Commit: commit, Remote: c.promisor.name, url: c.promisor.from(c.Top)}
	for line := range strings.Lines(string(out)) {
		if id, isMissing := strings.CutPrefix(strings.TrimSpace(line), "?"); isMissing {
			e.Missing = append(e.Missing, id)
		}
	}
	if err := checkIDs(e.Missing...); err != nil || len(e.Missing) == 0 {
		return err
	}
	return e
}
