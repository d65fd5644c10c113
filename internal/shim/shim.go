// Package shim finds the programs that the shims of version managers stand for. A shim is a small program on PATH that looks into
// the user's home, and into the current directory, for the version to start. Commands in a sandbox have another home, so they get
// the directories of the real programs in the place of the shims. Its input is an environment, a checkout and names of
// programs; its output another environment. It starts the version managers alone, and no program of the repository.
package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox/stage"
	"divisi/internal/text"
)

// patience is how long a version manager may take for an answer.
const patience = 5 * time.Second

// errSilent reports that a version manager did not answer.
var errSilent = errors.New("does not answer")

// maxAnswer bounds, in bytes, what is read of an answer.
const maxAnswer = 4 << 10

// Replaced is a directory of shims, and those of the programs that they stand for. Named reports whether a command names one.
type Replaced struct {
	Shims string
	Dirs  []string
	Named bool
}

// Lost is a program of a command for which a manager named none, and why. Other is the one that commands have in its place; ""
// for none.
type Lost struct{ Name, Why, Other string }

// String is the report of it in one line.
func (l Lost) String() string {
	said := fmt.Sprintf("commands do not find the %s of your shell: %s", l.Name, l.Why)
	if l.Other != "" {
		said += "; they have " + l.Other
	}
	return said
}

// Environ replaces in the PATH of an environment the directories of shims by those of the real programs, which their managers
// name in the directory dir for the programs of some commands, and for others that these can start.
func Environ(ctx context.Context, environ []string, dir string, commands [][]string, also []string) (
	env []string, replaced []Replaced, lost []Lost,
) {
	words := Words(commands)
	names := append(slices.Clone(words), also...)
	search := filepath.SplitList(stage.Lookup(environ, "PATH"))
	var kept []string
	for _, shims := range search {
		manager := managerOf(shims)
		if manager == "" {
			kept = append(kept, shims)
			continue
		}
		r, silent := Replaced{Shims: shims}, error(nil)
		// A shim of pyenv and those like it tells its manager so where it is, whatever the home of the process.
		root := strings.ToUpper(filepath.Base(manager)) + "_ROOT=" + filepath.Dir(filepath.Clean(shims))
		for _, name := range append(slices.Clone(names), others(manager, shims, names)...) {
			if !executable(filepath.Join(shims, name)) || slices.ContainsFunc(append(kept, r.Dirs...), func(dir string) bool {
				return executable(filepath.Join(dir, name))
			}) {
				continue
			}
			program, err := "", silent
			if err == nil {
				program, err = which(ctx, append(slices.Clone(environ), root), dir, manager, name)
			}
			if errors.Is(err, errSilent) {
				silent = err // it would be as long for each name
			}
			if err != nil && slices.Contains(words, name) {
				lost = append(lost, Lost{Name: name, Why: err.Error()})
			}
			if err != nil {
				continue
			}
			r.Dirs, r.Named = append(r.Dirs, filepath.Dir(program)), r.Named || slices.Contains(words, name)
		}
		replaced, kept = append(replaced, r), append(kept, r.Dirs...)
	}
	if len(replaced) == 0 {
		return environ, nil, nil
	}
	path := strings.Join(kept, string(filepath.ListSeparator))
	for i := range lost {
		lost[i].Other = Find(path, lost[i].Name)
	}
	return append(slices.Clone(environ), "PATH="+path), replaced, lost
}

// maxShims is how many shims that no command names a manager is asked for.
const maxShims = 60

// others are the shims, but for the named, of a manager of tools of several kinds, which scripts of the repository can call: one
// of a single kind has all in one directory.
func others(manager, shims string, named []string) (names []string) {
	if !slices.Contains([]string{"asdf", "mise", "volta"}, filepath.Base(manager)) {
		return nil
	}
	entries, _ := os.ReadDir(shims) // what cannot be listed is not asked for
	for _, e := range entries[:min(len(entries), maxShims)] {
		if e.Name() != filepath.Base(manager) && !slices.Contains(named, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// managerOf is the program that answers for a directory of shims; "" for a directory of programs. The managers that copy rbenv
// have it beside their shims; the others are on PATH.
func managerOf(dir string) string {
	root := filepath.Dir(filepath.Clean(dir))
	name := strings.TrimPrefix(filepath.Base(root), ".")
	switch base := filepath.Base(dir); {
	case base == "bin" && name == "volta", base == "shims" && slices.Contains([]string{"asdf", "mise"}, name):
	case base == "shims":
		// The root can have any name: the program tells.
		for _, m := range []string{"pyenv", "rbenv", "nodenv", "goenv", "jenv", "plenv"} {
			if own := filepath.Join(root, "bin", m); executable(own) {
				return own
			}
			if name == m {
				return m
			}
		}
		return ""
	default:
		return ""
	}
	if own := filepath.Join(root, "bin", name); executable(own) {
		return own
	}
	return name
}

// which asks a manager for the program that a name stands for in a directory.
func which(ctx context.Context, environ []string, dir, manager, name string) (string, error) {
	out, err := answer(ctx, environ, dir, manager, "which", name)
	if err != nil {
		return "", err
	}
	program := strings.TrimSpace(out)
	if !filepath.IsAbs(program) || strings.ContainsAny(program, "\n"+string(filepath.ListSeparator)) || !executable(program) ||
		managerOf(filepath.Dir(program)) != "" || within(dir, program) && !within(dir, manager) {
		return "", fmt.Errorf("%s which %s names no program: %q", filepath.Base(manager), name, text.Clip(program, maxLine))
	}
	return program, nil
}

// within reports whether a program lies in a checkout: one without a version manager of its own has no programs of one.
func within(dir, program string) bool {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	if target, err := filepath.EvalSymlinks(program); err == nil {
		program = target
	}
	rel, err := filepath.Rel(dir, program)
	return err == nil && filepath.IsLocal(rel) && filepath.Clean(dir) != string(filepath.Separator)
}

// maxLine bounds, in bytes, what is quoted of an answer.
const maxLine = 200

// answer is what a program of the user prints: in their environment, without a terminal or input, for a bounded time.
func answer(ctx context.Context, environ []string, dir, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path := program
	if !filepath.IsAbs(path) {
		if path = Find(stage.Lookup(environ, "PATH"), program); path == "" {
			return "", fmt.Errorf("%s is not on PATH", program)
		}
	}
	cmd := exec.CommandContext(ctx, path, args...) // the program comes from the user's PATH
	said, failed := &head{}, &head{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, environ, said, failed, time.Second
	Apart(cmd)
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s %s %w within %s", filepath.Base(program), strings.Join(args, " "), errSilent, patience)
	case err != nil:
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err,
			text.Clip(text.OneLine(failed.String()+said.String()), maxLine))
	}
	return said.String(), nil
}

// head keeps the beginning of what is written.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxAnswer-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.kept) }

// Find is the first program of a name in a search path; "" for none.
func Find(search, name string) string {
	for _, dir := range filepath.SplitList(search) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
