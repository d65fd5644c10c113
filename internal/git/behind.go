package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Behind is how far a commit is behind a branch of a remote, as the user's git has fetched that last.
type Behind struct {
	// Ref is the branch, such as origin/main; "" where no remote has one for the user's branch.
	Ref string
	// Commits are those that it has and the commit has not, up to maxBehind.
	Commits int
	// Fetched is when the user's git fetched last; zero where that is not known.
	Fetched time.Time
}

// maxBehind bounds how many commits are counted.
const maxBehind = 1000

// Behind compares a commit of a checkout with the branch of a remote that the user's branch follows, else the one of its name,
// else the main one. It fetches nothing.
func (g *Git) Behind(ctx context.Context, c *Checkout, commit string) (b Behind, err error) {
	own, err := g.repoSettings(ctx, layout{top: c.Top, gitDir: c.GitDir, commonDir: c.CommonDir})
	if err != nil {
		return b, err
	}
	v, err := c.openView()
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	there, err := g.remoteRefs(ctx, v.dir)
	if err != nil {
		return b, fmt.Errorf("list the branches of remotes in %s: %w", c.Top, err)
	}
	of := "branch." + c.Branch
	remote := cmp.Or(own.last(of+".remote"), remoteOf(own, c.Branch, there))
	followed := strings.TrimPrefix(own.last(of+".merge"), "refs/heads/")
	for _, branch := range []string{followed, c.Branch, mainOf(there, remote, c.Branch)} {
		name := remote + "/" + branch
		at := there["refs/remotes/"+name].id
		if branch == "" || at == "" {
			continue
		}
		b.Ref = name
		if info, err := os.Stat(filepath.Join(c.GitDir, "FETCH_HEAD")); err == nil {
			b.Fetched = info.ModTime()
		}
		out, err := g.exec(ctx, call{dir: v.dir, args: []string{
			"rev-list", "--count", fmt.Sprintf("--max-count=%d", maxBehind), commit + ".." + at,
		}})
		if err == nil {
			b.Commits, err = strconv.Atoi(strings.TrimSpace(string(out)))
		}
		if err != nil {
			return b, fmt.Errorf("compare %.12s with %s: %w", commit, name, err)
		}
		return b, nil
	}
	return b, nil
}

// Unrelated reports whether a commit of a checkout does not have another one in its history.
func (g *Git) Unrelated(ctx context.Context, c *Checkout, had, now string) (is bool, err error) {
	if err := checkIDs(had, now); err != nil {
		return false, err
	}
	v, err := c.openView()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	_, err = g.exec(ctx, call{dir: v.dir, args: []string{"merge-base", "--is-ancestor", had, now}})
	if exitCode(err) == 1 {
		return true, nil
	}
	return false, err
}

// Touched names the newest commits of a checkout that have changed a path since another one, each by its id and subject, but for
// those in without.
func (g *Git) Touched(
	ctx context.Context, c *Checkout, since, head, path string, without map[string]bool, limit int,
) (names []string, err error) {
	if err := checkIDs(since, head); err != nil {
		return nil, err
	}
	v, err := c.openView()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{
		"log", "--no-decorate", "--no-color", "--format=%H %s", fmt.Sprintf("--max-count=%d", limit+len(without)),
		since + ".." + head, "--", path,
	}})
	if err != nil {
		return nil, fmt.Errorf("list what has changed %s: %w", path, err)
	}
	for line := range strings.Lines(string(out)) {
		id, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !without[id] && len(names) < limit {
			names = append(names, fmt.Sprintf("%.12s %s", id, subject))
		}
	}
	return names, nil
}
