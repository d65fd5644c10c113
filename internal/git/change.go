package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is one path that differs between two trees. Renames are shown as a deletion and an addition.
type Change struct {
	Path string
	// OldMode and NewMode are modes; ModeNone where there is no file.
	OldMode, NewMode string
	OldOID, NewOID   string
	// Status is A (added), D (deleted), M (modified) or T (its type changed).
	Status byte
	// Added and Deleted count lines; both are 0 for a binary file.
	Added, Deleted int
	Binary         bool
}

// diffFlags make a listing of changes complete: also gitlinks, whatever the settings are.
var diffFlags = []string{"-r", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--no-color", "--full-index"}

// Changed lists what differs from a to b, which are commits or trees, sorted by path, in one process.
func (r *Repo) Changed(ctx context.Context, a, b string) ([]Change, error) {
	if err := checkIDs(a, b); err != nil {
		return nil, err
	}
	args := append([]string{"diff-tree", "-z", "--raw", "--numstat", "--no-renames", "--no-abbrev"}, diffFlags...)
	// Git would read an index for nothing, and a slot's can be large.
	out, err := r.g.exec(ctx, call{dir: Dir{GitDir: r.dir, Index: nowhere}, args: append(args, a, b)})
	if err != nil {
		return nil, fmt.Errorf("list the changes from %s to %s: %w", a, b, err)
	}
	return parseChanges(string(out))
}

// CountLines sums the lines up that changes add and delete; binary files have none.
func CountLines(changes []Change) (added, deleted int) {
	for _, c := range changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	return added, deleted
}

// Diff returns the differences from a to b as a unified diff with renames, at most limit bytes of it; cut says that
// there was more.
func (r *Repo) Diff(ctx context.Context, a, b string, limit int) (text string, cut bool, err error) {
	return r.DiffPath(ctx, a, b, ".", limit)
}

// parseChanges reads what diff-tree -z --raw --numstat prints: all raw records, then all counts.
func parseChanges(out string) ([]Change, error) {
	fields := strings.Split(out, "\x00")
	if fields[len(fields)-1] != "" {
		return nil, fmt.Errorf("a change list that ends in %q: %w", fields[len(fields)-1], errFormat)
	}
	fields = fields[:len(fields)-1]
	var changes []Change
	at := map[string]int{}
	for len(fields) > 0 && strings.HasPrefix(fields[0], ":") {
		if len(fields) < 2 {
			return nil, fmt.Errorf("change record %q without a path: %w", fields[0], errFormat)
		}
		c, err := parseRaw(fields[0], fields[1])
		if err != nil {
			return nil, err
		}
		at[c.Path] = len(changes)
		changes = append(changes, c)
		fields = fields[2:]
	}
	for _, f := range fields {
		if err := parseCounts(f, changes, at); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return changes, nil
}

// parseRaw reads ":oldmode newmode oldid newid status" and the path that follows it.
func parseRaw(record, path string) (Change, error) {
	f := strings.Split(record[1:], " ")
	if len(f) != 5 || path == "" || !validMode(f[0]) || !validMode(f[1]) || len(f[4]) != 1 || checkIDs(f[2], f[3]) != nil {
		return Change{}, fmt.Errorf("change record %q for %q: %w", record, path, errFormat)
	}
	return Change{Path: path, OldMode: f[0], NewMode: f[1], OldOID: f[2], NewOID: f[3], Status: f[4][0]}, nil
}

// parseCounts reads "added\tdeleted\tpath" into the change of that path; a binary file has dashes.
func parseCounts(record string, changes []Change, at map[string]int) error {
	f := strings.SplitN(record, "\t", 3)
	if len(f) != 3 {
		return fmt.Errorf("count record %q: %w", record, errFormat)
	}
	i, ok := at[f[2]]
	if !ok {
		return fmt.Errorf("count record %q for an unchanged path: %w", record, errFormat)
	}
	if f[0] == "-" && f[1] == "-" {
		changes[i].Binary = true
		return nil
	}
	added, errAdded := strconv.Atoi(f[0])
	deleted, errDeleted := strconv.Atoi(f[1])
	if errAdded != nil || errDeleted != nil || added < 0 || deleted < 0 {
		return fmt.Errorf("count record %q: %w", record, errFormat)
	}
	changes[i].Added, changes[i].Deleted = added, deleted
	return nil
}
