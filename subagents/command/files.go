package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/spec"
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
func (c *Executor) runs() (runs []commandRun, why string, err error) {
	args, files := c.args(), c.Assignment.Task.Files
	each := c.Assignment.Role.Each
	if each || slices.Contains(args, spec.ArgFiles) {
		if files, err = filesOf(c.Dir, files); err != nil {
			return nil, "", err
		}
		if len(files) == 0 {
			return nil, "the command is given the files of the task, and there are none", nil
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

// filesOf are the files of a write set in a work tree: each entry that is no glob and no directory as it stands, and the regular
// files that a glob matches or a directory holds, sorted.
func filesOf(dir string, entries []string) (out []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
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
		found, err := doublestar.Glob(root.FS(), glob, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", entry, err)
		}
		out = append(out, slices.DeleteFunc(found, func(f string) bool {
			info, err := fs.Stat(root.FS(), f)
			return err != nil || !info.Mode().IsRegular()
		})...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
