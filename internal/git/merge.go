package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Conflict is one reason why two commits do not merge by themselves.
type Conflict struct {
	// Path is the first path concerned.
	Path string
	// Type is git's word for it, such as "contents" or "modify/delete".
	Type string
	// Message is git's sentence for people.
	Message string
}

// Merge is the outcome of merging two commits.
type Merge struct {
	// Tree is the merged tree. With conflicts it holds conflict markers.
	Tree string
	// Conflicts is empty when the merge is clean.
	Conflicts []Conflict
	// Paths are the files that are left in conflict, sorted by git.
	Paths []string
}

// Clean reports whether the two merged by themselves.
func (m Merge) Clean() bool { return len(m.Conflicts) == 0 && len(m.Paths) == 0 }

// mergeConfig fixes how merges are done. A file that one side adds to a directory that the other side renamed is a
// conflict: neither leaving it behind nor moving it is sure to be right.
var mergeConfig = []string{
	"merge.directoryRenames=conflict", "merge.renameLimit=0", "merge.renames=true", "merge.conflictStyle=diff3",
}

// MergeTree merges theirs into ours in memory: no work tree, no index and no ref is touched, so that any number of
// merges may run at once. The merge base is the one that the commits' parents say. A conflict is no error.
func (r *Repo) MergeTree(ctx context.Context, ours, theirs string) (Merge, error) {
	d := r.Draft()
	m, err := d.MergeTree(ctx, ours, theirs)
	if err == nil {
		err = d.Flush(ctx)
	}
	return m, err
}

// MergeTree merges as MergeTree of a repository does.
func (d *Draft) MergeTree(ctx context.Context, ours, theirs string) (Merge, error) {
	if err := checkIDs(ours, theirs); err != nil {
		return Merge{}, err
	}
	tree, ok, err := d.mergeEdits(ctx, ours, theirs)
	if errors.Is(err, ErrTooLarge) {
		err = nil // not for git
	}
	if err == nil && ok {
		return Merge{Tree: tree}, nil
	}
	if err == nil {
		err = d.Flush(ctx) // git reads it
	}
	if err != nil {
		return Merge{}, fmt.Errorf("merge %s into %s: %w", theirs, ours, err)
	}
	m, err := d.r.mergeTree(ctx, ours, theirs)
	if err == nil && m.Clean() {
		err = d.r.findNames(ctx, &m, ours, theirs)
	}
	return m, err
}

// findNames adds the conflicts to a merge that git does not see: names that are wrong in the merged tree, and in neither side.
// Two patches that add Foo.go and foo.go are each right without the other.
func (r *Repo) findNames(ctx context.Context, m *Merge, ours, theirs string) error {
	n, err := r.Names(ctx, ours, m.Tree)
	wrong := slices.Concat(n.Bad, n.Odd)
	if err != nil || len(wrong) == 0 {
		return err
	}
	c, err := r.Commit(ctx, theirs)
	if err == nil && len(c.Parents) > 0 {
		n, err = r.Names(ctx, c.Parents[0], theirs)
	}
	for _, f := range wrong {
		if !slices.Contains(n.Bad, f) && !slices.Contains(n.Odd, f) {
			m.Conflicts = append(m.Conflicts, Conflict{Path: f.Path, Type: "name", Message: f.String()})
			m.Paths = append(m.Paths, f.Path)
		}
	}
	return err
}

func (r *Repo) mergeTree(ctx context.Context, ours, theirs string) (Merge, error) {
	out, err := r.g.exec(ctx, call{
		dir:    Dir{GitDir: r.dir},
		config: mergeConfig,
		args:   []string{"merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs},
	})
	// Exit code 1 means a conflict, but some versions of git also use it for a commit that does not exist: only output
	// that begins with a tree is a merge.
	id, _, _ := strings.Cut(string(out), "\x00")
	if err != nil && (exitCode(err) != 1 || !ValidID(id)) {
		return Merge{}, fmt.Errorf("merge %s into %s: %w", theirs, ours, err)
	}
	conflicted := err != nil
	m, err := parseMerge(string(out))
	if err != nil {
		return Merge{}, fmt.Errorf("merge %s into %s: %w", theirs, ours, err)
	}
	if conflicted == m.Clean() {
		return Merge{}, fmt.Errorf("merge %s into %s: exit code and messages disagree: %w", theirs, ours, errFormat)
	}
	return m, nil
}

// parseMerge reads "tree\0 (path\0)* \0 (count\0 path\0{count} type\0 message\0)*".
func parseMerge(out string) (Merge, error) {
	fields := strings.Split(out, "\x00")
	if len(fields) < 2 || !ValidID(fields[0]) || fields[len(fields)-1] != "" {
		return Merge{}, fmt.Errorf("merge output %.80q: %w", out, errFormat)
	}
	m := Merge{Tree: fields[0]}
	fields = fields[1 : len(fields)-1]
	for len(fields) > 0 && fields[0] != "" {
		m.Paths = append(m.Paths, fields[0])
		fields = fields[1:]
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	for len(fields) > 0 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 0 || n > len(fields)-3 {
			return Merge{}, fmt.Errorf("merge message %.80q: %w", fields[0], errFormat)
		}
		paths, kind, message := fields[1:1+n], fields[1+n], fields[2+n]
		fields = fields[3+n:]
		if name, ok := strings.CutPrefix(kind, "CONFLICT ("); ok {
			c := Conflict{Type: strings.TrimSuffix(name, ")"), Message: strings.TrimSpace(message)}
			if n > 0 {
				c.Path = paths[0]
			}
			m.Conflicts = append(m.Conflicts, c)
		}
	}
	return m, nil
}
