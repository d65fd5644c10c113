package git

import (
	"bufio"
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

// Changed lists what differs from a to b, which are commits or trees, sorted by path.
func (r *Repo) Changed(ctx context.Context, a, b string) ([]Change, error) {
	if err := checkIDs(a, b); err != nil {
		return nil, err
	}
	fail := func(err error) error { return fmt.Errorf("list the changes from %s to %s: %w", a, b, err) }
	trees, err := r.infos(ctx, []string{a + "^{tree}", b + "^{tree}"})
	if err != nil {
		return nil, fail(err)
	}
	for i, t := range trees {
		if t.kind != "tree" {
			return nil, fail(fmt.Errorf("%s: %w", []string{a, b}[i], ErrNotFound))
		}
	}
	args := append([]string{"diff-tree", "--stdin", "-z", "--raw", "--numstat", "--no-renames", "--no-abbrev"}, diffFlags...)
	// Git would read an index for nothing, and a slot's can be large.
	c := call{dir: Dir{GitDir: r.dir, Index: nowhere}, args: args}
	var fields []string
	question := []byte(trees[0].id + " " + trees[1].id + "\n" + diffEnd)
	if err := r.ask(ctx, &r.diffs, c, question, func(in *bufio.Reader) (err error) {
		fields, err = readChanges(in)
		return err
	}); err != nil {
		return nil, fail(err)
	}
	return parseChanges(fields)
}

// diffEnd is a line that names no trees: diff-tree repeats it when it has printed all that comes before.
const diffEnd = "end\n"

// readChanges reads the records of one answer of diff-tree, which begins with the line of the question.
func readChanges(in *bufio.Reader) (fields []string, err error) {
	if line, err := in.ReadString('\n'); err != nil {
		return nil, err
	} else if line == diffEnd {
		return nil, fmt.Errorf("a tree cannot be read: %w", errFormat)
	}
	total := 0
	for {
		next, err := in.Peek(len(diffEnd))
		if err != nil {
			return nil, err
		}
		if string(next) == diffEnd { // other records begin with a colon, a digit or a dash
			_, err := in.Discard(len(diffEnd))
			return fields, err
		}
		parts := 1
		if next[0] == ':' {
			parts = 2 // the path is a record of its own
		}
		for range parts {
			field, err := in.ReadString(0)
			if err != nil {
				return nil, err
			}
			if total += len(field); total > maxOutput {
				return nil, ErrTooLarge
			}
			fields = append(fields, strings.TrimSuffix(field, "\x00"))
		}
	}
}

// CountLines sums the lines up that changes add and delete; binary files have none.
func CountLines(changes []Change) (added, deleted int) {
	for _, c := range changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	return added, deleted
}

// Diff returns the differences from a to b as a unified diff with renames, at most limit bytes of it; cut reports that
// there was more.
func (r *Repo) Diff(ctx context.Context, a, b string, limit int) (text string, cut bool, err error) {
	return r.DiffPath(ctx, a, b, ".", limit)
}

// parseChanges reads the records that diff-tree -z --raw --numstat prints: first the raw ones, then the counts.
func parseChanges(fields []string) ([]Change, error) {
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

// Renames returns the new names of files that a, a commit or tree, has, and b has under another name alone, alike or the same.
// Where they are very many it finds those alone that are the same.
func (r *Repo) Renames(ctx context.Context, a, b string) (map[string]string, error) {
	if err := checkIDs(a, b); err != nil {
		return nil, err
	}
	args := append([]string{"diff-tree", "-z", "-M", "-l1000", "--diff-filter=R", "--name-status"}, diffFlags...)
	args = append(args, a, b)
	out, err := r.g.exec(ctx, call{dir: Dir{GitDir: r.dir, Index: nowhere}, args: args})
	if err != nil {
		return nil, fmt.Errorf("list the renames from %s to %s: %w", a, b, err)
	}
	names := map[string]string{}
	for fields := strings.Split(string(out), "\x00"); len(fields) > 3; fields = fields[3:] { // status, old name, new name
		names[fields[1]] = fields[2]
	}
	return names, nil
}
