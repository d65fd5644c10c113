package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// logFormat is read by parseLanded.
const logFormat = "--format=%H%x1e%P%x1e%s%x1e%(trailers:only=true,unfold=true,key_value_separator=%x1f,separator=%x1e)"

// Trailers lists the commits of base..head, those behind a merge commit too, with their trailers: each behind its parents.
func (r *Repo) Trailers(ctx context.Context, base, head string) ([]Landed, error) {
	return r.landed(ctx, base, head, "", "--reverse", "--topo-order")
}

// Log lists the newest commits of base..head along the first parents, newest first, at most limit; of one path where it is
// not ".".
func (r *Repo) Log(ctx context.Context, base, head, path string, limit int) ([]Landed, error) {
	return r.landed(ctx, base, head, path, "--first-parent", "--max-count="+strconv.Itoa(limit))
}

func (r *Repo) landed(ctx context.Context, base, head, path string, flags ...string) ([]Landed, error) {
	if err := checkIDs(base, head); err != nil {
		return nil, err
	}
	args := append([]string{"log", "-z", "--no-decorate", "--no-notes", "--no-color", logFormat}, flags...)
	out, err := r.run(ctx, append(append(args, base+".."+head, "--"), pathspec(path)...)...)
	if err != nil {
		return nil, fmt.Errorf("list the commits of %s..%s: %w", base, head, err)
	}
	return parseLanded(string(out))
}

// DiffPath returns the differences from a to b in one path, or in all for ".", as Diff does.
func (r *Repo) DiffPath(ctx context.Context, a, b, path string, limit int) (text string, cut bool, err error) {
	if err := checkIDs(a, b); err != nil {
		return "", false, err
	}
	args := append(append([]string{"diff-tree", "-p", "-M"}, diffFlags...), a, b, "--")
	out, err := r.g.exec(ctx, call{dir: Dir{GitDir: r.dir}, limit: max(limit, 1), args: append(args, pathspec(path)...)})
	if errors.Is(err, ErrTooLarge) {
		return strings.ToValidUTF8(string(out), ""), true, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("diff %s and %s: %w", a, b, err)
	}
	return string(out), false, nil
}

// Show returns the differences from a to b whole, as git prints them with renames, or how many lines of each file differ.
func (r *Repo) Show(ctx context.Context, a, b string, stat bool) ([]byte, error) {
	if err := checkIDs(a, b); err != nil {
		return nil, err
	}
	format := map[bool]string{false: "-p", true: "--stat"}[stat]
	return r.run(ctx, slices.Concat([]string{"diff-tree", format, "-M"}, diffFlags, []string{a, b})...)
}

// pathspec names one path, taken as it is written; none stands for all.
func pathspec(path string) []string {
	if path == "" || path == "." {
		return nil
	}
	return []string{path}
}

// Roots lists the commits with which the history of a commit begins, or where a shallow clone cut it, in the order of their ids.
func (g *Git) Roots(ctx context.Context, c *Checkout, commit string) (roots []string, err error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	v, err := c.openView()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{"rev-list", "--max-parents=0", commit, "--"}})
	if err != nil {
		return nil, fmt.Errorf("find where the history of %s begins: %w", commit, err)
	}
	return slices.Sorted(strings.FieldsSeq(string(out))), nil
}
