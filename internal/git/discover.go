package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Errors of Inspect.
var (
	// ErrNotRepository reports that there is no git repository at a path or above it.
	ErrNotRepository = errors.New("not a git repository")
	// ErrBare reports that the repository has no work tree.
	ErrBare = errors.New("a bare git repository has no work tree: run in a clone of it")
	// ErrNoCommits reports that the repository has no commit to start from.
	ErrNoCommits = errors.New("the repository has no commits: make a first commit")
	// ErrOwner reports that another user owns the repository.
	ErrOwner = errors.New("another user owns the repository")
	// ErrUnsupported reports that the repository uses something that this package does not know.
	ErrUnsupported = errors.New("the repository's format is not supported")
)

// layout is where the parts of a user's repository are.
type layout struct {
	top, gitDir, commonDir string
}

// discover looks for the repository at path and above, by looking at files only: git is not asked, because it would
// read the settings of whatever it finds.
func discover(path string) (layout, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return layout{}, fmt.Errorf("find %s: %w", path, err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return layout{}, fmt.Errorf("find %s: %w", path, err)
	}
	for {
		gitDir, err := gitDirIn(dir)
		if err != nil {
			return layout{}, err
		}
		if gitDir != "" {
			return newLayout(dir, gitDir)
		}
		if isGitDir(dir) {
			return layout{}, fmt.Errorf("%s: %w", dir, ErrBare)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return layout{}, fmt.Errorf("%s: %w", path, ErrNotRepository)
		}
		dir = parent
	}
}

// gitDirIn returns the repository directory that dir/.git is or points to, or "" if there is none.
func gitDirIn(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && !isGitDir(dot) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("inspect %s: %w", dot, err)
	}
	if info.IsDir() {
		return filepath.EvalSymlinks(dot)
	}
	data, err := readSmall(dot)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not name a repository: %w", dot, ErrNotRepository)
	}
	target = resolve(dir, strings.TrimRight(target, "\r\n"))
	if !isGitDir(target) {
		return "", fmt.Errorf("%s names %s, which is no repository: %w", dot, target, ErrNotRepository)
	}
	return filepath.EvalSymlinks(target)
}

func newLayout(top, gitDir string) (layout, error) {
	l := layout{top: top, gitDir: gitDir, commonDir: gitDir}
	data, err := readSmall(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.commonDir = resolve(gitDir, strings.TrimRight(string(data), "\r\n"))
	if !isDir(filepath.Join(l.commonDir, "objects")) || !isDir(filepath.Join(l.commonDir, "refs")) {
		return l, fmt.Errorf("%s shares %s, which is no repository: %w", gitDir, l.commonDir, ErrNotRepository)
	}
	return l, nil
}

// isGitDir tells by the same three names as git whether a directory is a repository.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	return isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func resolve(dir, target string) string {
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(dir, target)
}

// readSmall reads a regular file of at most 4 KiB: no FIFO or device can hold it up.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 4<<10 {
		return nil, fmt.Errorf("%s is not a small regular file: %w", path, ErrNotRepository)
	}
	return os.ReadFile(path)
}

// checkOwner refuses a repository of another user unless the user's own settings call it safe, as git does.
func (g *Git) checkOwner(l layout, safe []string) error {
	if slices.Contains(safe, "*") || slices.Contains(safe, l.top) || g.uid < 0 {
		return nil
	}
	for _, path := range []string{l.top, filepath.Join(l.top, ".git"), l.gitDir, l.commonDir} {
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("inspect %s: %w", path, err)
		}
		if uid, ok := OwnerOf(info); ok && uid != g.uid && !sudoOwner(g.uid, uid) {
			return fmt.Errorf("%w: %s belongs to user id %d, you are %d; if you trust it: "+
				"git config --global --add safe.directory %s", ErrOwner, path, uid, g.uid, l.top)
		}
	}
	return nil
}

// sudoOwner accepts files of the user who called sudo.
func sudoOwner(uid, owner int) bool {
	return uid == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(owner)
}
