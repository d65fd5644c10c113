package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// commandRun is one run of a role's command, with the files that it is given.
type commandRun struct {
	args, files []string
	// file is the one file of the run, n of so many, where the role's command runs once for each.
	file string
	n    int
	of   int
}

// on adds the file of the run to what is told of it.
func (r commandRun) on(what string) string {
	if r.file == "" {
		return what
	}
	return fmt.Sprintf("%s (on file %d of %d, %s)", what, r.n, r.of, r.file)
}

// runs are the runs that carry the task out, or why there can be none.
func (c *Executor) runs(ctx context.Context) (runs []commandRun, why string, err error) {
	args, files := c.args(), c.Assignment.Task.Files
	each := c.Assignment.Role.Each
	if each || slices.Contains(args, spec.ArgFiles) {
		if files, err = c.filesOf(ctx, files); err != nil {
			return nil, "", err
		}
		if len(files) == 0 {
			why := "the command is given the files of the task, and there are none"
			return nil, strings.Join(append([]string{why}, c.leftOut()...), "; "), nil
		}
	}
	if each {
		for i, f := range files {
			runs = append(runs, commandRun{fill(args, []string{f}), []string{f}, f, i + 1, len(files)})
		}
		return runs, "", nil
	}
	if n := len(strings.Join(files, "\n")); n > MaxNames {
		return nil, fmt.Sprintf("the names of its %d files have %d bytes, more than the %d that one run can be "+
			"given: give the task "+
			"fewer files, its shard rule a smaller max_files, or the role each: true", len(files), n, MaxNames), nil
	}
	return []commandRun{{args: fill(args, files), files: files}}, "", nil
}

// fill puts the files in the place of the arguments that stand for them. None of them looks like an option.
func fill(args, files []string) []string {
	var out []string
	for _, arg := range args {
		if arg != spec.ArgFiles && arg != spec.ArgFile {
			out = append(out, arg)
			continue
		}
		for _, f := range files {
			if strings.HasPrefix(f, "-") {
				f = "./" + f
			}
			out = append(out, f)
		}
	}
	return out
}

// filesOf are the files of a write set in the work tree: each entry that is no glob and no directory as it stands, and the
// tracked files that a glob matches or a directory holds, sorted. Symbolic links are left out, and noted.
func (c *Executor) filesOf(ctx context.Context, entries []string) (out []string, err error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var tracked []string
	for _, entry := range entries {
		info, err := root.Lstat(entry)
		glob := entry
		switch {
		case err == nil && info.IsDir():
			glob = path.Join(entry, "**")
		case err == nil || !strings.ContainsAny(entry, "*?[{\\"):
			out = append(out, entry)
			continue
		}
		if tracked == nil {
			if tracked, err = c.Tracked(ctx); err != nil {
				return nil, fmt.Errorf("list the files of %s: %w", entry, err)
			}
		}
		for _, f := range tracked {
			if _, err := root.Lstat(f); err == nil && doublestar.MatchUnvalidated(glob, f) {
				out = append(out, f)
			}
		}
	}
	slices.Sort(out)
	c.links = nil
	return slices.DeleteFunc(slices.Compact(out), func(f string) bool {
		info, err := root.Lstat(f)
		link := err == nil && info.Mode()&fs.ModeSymlink != 0
		if link {
			c.links = append(c.links, f)
		}
		return link
	}), nil
}

// leftOut names the symbolic links that the command is not given.
func (c *Executor) leftOut() []string {
	if len(c.links) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the command is not given %s: %s", text.Count(len(c.links), "symbolic link"),
		text.Some(c.links, maxLost))}
}
