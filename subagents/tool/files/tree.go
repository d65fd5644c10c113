package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"
)

// maxFile bounds what is read into memory.
const maxFile = 20 << 20

// tree is the work tree as the file tools see it: every path relative to its root, links resolved before a path is
// checked, and .git out of reach. The root itself keeps a path that changes underneath from leading outside.
type tree struct {
	Config

	// rg is the path of ripgrep, or empty.
	rg string
}

// clean turns what a model wrote into a slash-separated path below the root.
func (t *tree) clean(name string) (string, error) {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%q: the path contains a control character", text.Short(name, 200))
	}
	if t.Dir != "" && t.Dir != "/" {
		if rest, inside := strings.CutPrefix(name, t.Dir); inside && (rest == "" || rest[0] == '/') {
			name = strings.TrimLeft(rest, "/")
		}
	}
	switch {
	case name == "":
		return ".", nil
	case len(name) > 4096:
		return "", errors.New("the path is longer than 4096 characters")
	case strings.Contains(name, `\`):
		return "", fmt.Errorf("%q: separate directories with /, not with a backslash", name)
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~/"):
		return "", fmt.Errorf("%q is outside the work tree: give a path relative to its top, such as internal/a.go", name)
	}
	cleaned := path.Clean(name)
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", fmt.Errorf("%q leads out of the work tree: give a path relative to its top", name)
	}
	if insideGit(cleaned) {
		return "", fmt.Errorf("%q: git's own files cannot be read or written with tools", name)
	}
	return cleaned, nil
}

func insideGit(name string) bool { return slices.ContainsFunc(strings.Split(name, "/"), spec.GitDir) }

// layer is the one that a resolved path is or lies in; nil for none.
func (t *tree) layer(name string) *Layer {
	i := slices.IndexFunc(t.Layers, func(l Layer) bool { return name == l.Path || strings.HasPrefix(name, l.Path+"/") })
	if i < 0 {
		return nil
	}
	return &t.Layers[i]
}

// at returns the root that has a resolved path, and the path there.
func (t *tree) at(name string) (root *os.Root, there string) {
	if l := t.layer(name); l != nil {
		return l.Root, path.Join(".", strings.TrimPrefix(strings.TrimPrefix(name, l.Path), "/"))
	}
	return t.Root, name
}

func (t *tree) stat(name string) (fs.FileInfo, error) {
	root, there := t.at(name)
	return root.Stat(there)
}

// resolve follows the links in a path and judges where it really leads. The last part may be missing.
func (t *tree) resolve(name string) (string, error) {
	cleaned, err := t.clean(name)
	if err != nil {
		return "", err
	}
	const maxLinks = 40
	done, rest := ".", strings.Split(cleaned, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		root, there := t.at(next)
		info, err := root.Lstat(there)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q: there are too many symbolic links on the way", name)
		}
		target, err := root.Readlink(there)
		if err != nil {
			return "", explain(name, err)
		}
		if path.IsAbs(target) {
			return "", fmt.Errorf("%q leads out of the work tree through a symbolic link", name)
		}
		whole := path.Join(append([]string{path.Dir(next), target}, rest[1:]...)...)
		if whole == ".." || strings.HasPrefix(whole, "../") {
			return "", fmt.Errorf("%q leads out of the work tree through a symbolic link", name)
		}
		done, rest = ".", strings.Split(whole, "/")
	}
	if insideGit(done) {
		return "", fmt.Errorf("%q: git's own files cannot be read or written with tools", name)
	}
	return done, nil
}

// directory resolves a path that must be a directory.
func (t *tree) directory(name string) (string, error) {
	dir, err := t.resolve(name)
	if err != nil {
		return "", err
	}
	info, err := t.stat(dir)
	if err != nil {
		return "", explain(dir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file: use read_file", dir)
	}
	return dir, nil
}

// read returns a regular file's content, bounded by most bytes.
func (t *tree) read(name string, most int64) ([]byte, error) {
	target, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	data, _, err := t.readReal(target, name, most)
	return data, err
}

func (t *tree) readReal(target, name string, most int64) (data []byte, mode fs.FileMode, err error) {
	root, there := t.at(target)
	f, err := root.OpenFile(there, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, explain(name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, explain(name, err)
	}
	if err := t.ordinary(target, name, info); err != nil {
		return nil, 0, err
	}
	if info.Size() > most {
		return nil, 0, fmt.Errorf("%s has %d bytes, more than the %d that can be read: "+
			"use search, or run_command with head or tail", name, info.Size(), most)
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, 0, explain(name, err)
	}
	if int64(len(data)) > most {
		return nil, 0, fmt.Errorf("%s grew beyond %d bytes while it was read", name, most)
	}
	return data, info.Mode().Perm(), nil
}

// ordinary refuses what is not a file of this tree alone. Package managers link the files of a layer to each other.
func (t *tree) ordinary(target, name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory: use list_files", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file (%s) and cannot be read", name, info.Mode().Type())
	case linkCount(info) > 1 && t.layer(target) == nil:
		return fmt.Errorf("%s has other names (hard links), perhaps outside the work tree, and cannot be read: "+
			"inspect it with run_command if needed", name)
	}
	return nil
}

// writable resolves a path that is going to be written and asks the write set about where it really leads.
func (t *tree) writable(name string) (string, error) {
	cleaned, err := t.clean(name)
	if err != nil {
		return "", err
	}
	if cleaned == "." {
		return "", errors.New("the path is empty: name a file")
	}
	parent, err := t.resolve(path.Dir(cleaned))
	if err != nil {
		return "", err
	}
	target := path.Join(parent, path.Base(cleaned))
	if l := t.layer(target); l != nil {
		return "", fmt.Errorf("%s belongs to the environment that setup has made (%s): it is read, and no patch changes it",
			name, l.Path)
	}
	if why := t.Scope.Refuse(target); why != "" {
		return "", errors.New(why + ". If the task needs it, say so in deviations when you submit")
	}
	info, err := t.Root.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, nil
	case err != nil:
		return "", explain(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return "", fmt.Errorf("%s is a symbolic link: write the file that it leads to by its own path", name)
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory", name)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file and cannot be written", name)
	}
	return target, nil
}

// replace writes a file in one step: a reader sees the old content or the new.
func (t *tree) replace(target string, data []byte, mode fs.FileMode) error {
	if dir := path.Dir(target); dir != "." {
		if err := t.Root.MkdirAll(dir, 0o755); err != nil {
			return explain(dir, err)
		}
	}
	temp, err := t.stage(target, data, mode)
	if err != nil {
		return err
	}
	if err := t.Root.Rename(temp, target); err != nil {
		return errors.Join(explain(target, err), t.Root.Remove(temp))
	}
	return nil
}

// stage writes a file beside its target, whose directory is there.
func (t *tree) stage(target string, data []byte, mode fs.FileMode) (temp string, err error) {
	temp = tempName(target)
	f, err := t.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", explain(target, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return "", errors.Join(explain(target, err), t.Root.Remove(temp))
	}
	return temp, nil
}

// explain turns an error of the file system into a sentence about the path as it was given.
func explain(name string, err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: use list_files or search to find it", name)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: a part of the path is a file, not a directory", name)
	case errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("%s is not a regular file and cannot be read", name)
	case errors.As(err, &inner):
		return fmt.Errorf("%s: %w", name, inner.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// maxVisited bounds how many entries one walk inspects; beatEntries is after how many of them it gives a sign of life.
const (
	maxVisited  = 500_000
	beatEntries = 10_000
)

// walk calls visit for every entry below a directory in sorted order, .git left out and links not followed. Of a layer it sees
// the directory alone, unless it begins in it. It returns whether it saw everything.
func (t *tree) walk(
	ctx context.Context, dir string, visit func(name string, entry fs.DirEntry) error,
) (complete bool, err error) {
	visited := 0
	root, there := t.at(dir)
	inside := t.layer(dir)
	err = fs.WalkDir(root.FS(), there, func(name string, entry fs.DirEntry, err error) error {
		if inside != nil {
			name = path.Join(inside.Path, name)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if visited++; visited > maxVisited {
			return errStopWalk
		}
		if visited%beatEntries == 0 {
			tool.Beat(ctx, fmt.Sprintf("%d entries of the tree seen", visited))
		}
		if name != "." && insideGit(path.Base(name)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil {
			if name == dir {
				return explain(name, err)
			}
			return nil // what vanished or cannot be opened is left out, as from any listing
		}
		err = visit(name, entry)
		if err == nil && inside == nil && entry.IsDir() && t.layer(name) != nil {
			err = fs.SkipDir
		}
		return err
	})
	if errors.Is(err, errStopWalk) {
		return false, nil
	}
	return err == nil, err
}

// errStopWalk ends a walk early.
var errStopWalk = errors.New("the walk has seen enough")
