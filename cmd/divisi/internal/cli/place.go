package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/spec"
	"divisi/internal/usage"
)

// CheckDir refuses a --repo that is no directory.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Errorf("--repo %s: there is no such directory", dir)
	case err != nil:
		return usage.Errorf("--repo: %v", err)
	case !info.IsDir():
		return usage.Errorf("--repo %s is not a directory", dir)
	}
	return nil
}

// Top returns the top of the repository that a directory is in, and the directory itself where there is none: roles and
// configuration are the repository's, wherever in it the command was started.
func Top(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// Nearest words the suggestion for a name that does not exist; it is empty where nothing is near.
func Nearest(name string, known []string) string {
	if n := spec.Nearest(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// NeedsCommand is the action of a command that only has subcommands.
func NeedsCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage.Errorf("unknown command %q for %s%s\nSee: %[2]s --help",
			args[0], c.CommandPath(), Nearest(args[0], Names(c)))
	}
	return usage.Errorf("missing command: %s %s", c.CommandPath(), strings.Join(Names(c), "|"))
}

// Names are those of the commands below one.
func Names(c *cobra.Command) []string {
	var out []string
	for _, sub := range c.Commands() {
		out = append(out, sub.Name())
	}
	return out
}

// OpenInput opens a file that a person named; - is standard input.
func (g *Globals) OpenInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(g.In), nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, usage.Errorf("%s cannot be read: %v", name, errors.Unwrap(err))
	}
	if info.IsDir() {
		return nil, usage.Errorf("%s is a directory: name a file, or - for standard input", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage.Errorf("%s cannot be read: %v", name, errors.Unwrap(err))
	}
	return f, nil
}

// WriteNew writes a file that is not there into a checkout. The error wraps fs.ErrExist where it is there.
func WriteNew(top, file, text string) error { return WriteOver(top, file, text, false) }

// WriteOver writes a file into a checkout; with over also one that is there.
func WriteOver(top, file, text string, over bool) (err error) {
	root, err := os.OpenRoot(top) // a link in the repository leads nowhere else
	if err != nil {
		return fmt.Errorf("open the repository: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", file, err)
	}
	how := os.O_EXCL
	if over {
		how = os.O_TRUNC
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return fmt.Errorf("make %s: %w", file, err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", file, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
