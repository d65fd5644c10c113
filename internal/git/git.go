package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"divisi/internal/lazyregexp"
	"divisi/internal/meter"
)

// The oldest version of git that has everything that this package uses (merge-tree --write-tree, cat-file -z).
const (
	minMajor = 2
	minMinor = 38
)

// Errors of New.
var (
	// ErrNoGit reports that there is no git on the PATH.
	ErrNoGit = errors.New("git was not found: install git 2.38 or newer")
	// ErrOld reports that the git on the PATH is too old.
	ErrOld = errors.New("git is too old: install git 2.38 or newer")
)

// Git runs one git program. It has no state beside its settings: any number of goroutines may use it.
type Git struct {
	path    string
	version string
	env     []string
	// userEnv lets git find the user's own global settings, from which a few harmless values are read.
	userEnv []string
	// uid is the owner of trusted files; -1 where the system has no such thing.
	uid int
	// spent counts the processes.
	spent meter.Meter
}

// Spent returns how many git processes were run and how long they took together.
func (g *Git) Spent() meter.Spent { return g.spent.Spent() }

// New finds git on the PATH and checks its version. Errors: ErrNoGit, ErrOld.
func New(ctx context.Context) (*Git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoGit, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	g := &Git{path: path, env: cleanEnv(os.Getenv("PATH")), userEnv: userEnv(os.Environ()), uid: os.Geteuid()}
	out, err := g.exec(ctx, call{dir: Dir{GitDir: nowhere}, args: []string{"version"}})
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	if g.version, err = checkVersion(string(out)); err != nil {
		return nil, err
	}
	return g, nil
}

// Version returns git's version, such as "2.39.5".
func (g *Git) Version() string { return g.version }

// Path returns the absolute path of the git program.
func (g *Git) Path() string { return g.path }

var versionPattern = lazyregexp.New(`^git version ((\d+)\.(\d+)[^\s]*)`)

func checkVersion(out string) (string, error) {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%w: its version %q could not be read", ErrOld, out)
	}
	major, errMajor := strconv.Atoi(m[2])
	minor, errMinor := strconv.Atoi(m[3])
	if errMajor != nil || errMinor != nil || major < minMajor || major == minMajor && minor < minMinor {
		return "", fmt.Errorf("%w: this is %s", ErrOld, m[1])
	}
	return m[1], nil
}
