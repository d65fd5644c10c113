package git

import (
	"context"
	"fmt"
	"strings"
)

// Foreign makes a directory, which must not exist, a repository that reads the objects of this one: in it git inspects an index
// that others wrote, with the parts that such an index names, and with no settings of theirs.
func (r *Repo) Foreign(dir string) error {
	return skeleton{format: len(r.base), borrow: []string{r.Objects()}, shallow: []string{r.base}}.write(dir)
}

// ForeignArgs ask git for what differs in an index from a commit or tree, and ParseForeign reads the answer, and believes nothing
// of it. What is being merged has the status U, and no new side.
func ForeignArgs(id string) []string {
	args := append([]string{"diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev"}, diffFlags...)
	return append(args, "--ita-visible-in-index", id, "--")
}

// ParseForeign reads what git printed for ForeignArgs.
func ParseForeign(out []byte) ([]Change, error) {
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(out) == 0 {
		fields = nil
	}
	changes, err := parseChanges(fields)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Status == 'D' {
			continue // it is the commit's
		}
		for part := range strings.SplitSeq(c.Path, "/") {
			if part == "" || part == "." || part == ".." || gitFile(part) && !strings.EqualFold(part, ".gitmodules") {
				return nil, fmt.Errorf("the path %q: %w", c.Path, ErrBadName)
			}
		}
	}
	return changes, nil
}

// HasBlobs reports which objects the repository has as contents of files, in their order.
func (r *Repo) HasBlobs(ctx context.Context, ids []string) ([]bool, error) {
	if err := checkIDs(ids...); err != nil {
		return nil, err
	}
	infos, err := r.stat(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look for %d contents: %w", len(ids), err)
	}
	has := make([]bool, len(ids))
	for i, info := range infos {
		has[i] = info.kind == "blob"
	}
	return has, nil
}
