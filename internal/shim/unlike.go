package shim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// maxTried is how many programs are compared at most.
const maxTried = 20

// system are the directories whose programs belong to the machine: no home of a user decides what they do.
var system = []string{"/usr", "/bin", "/sbin", "/opt", "/nix", "/gnu"}

// variable matches a name that commands can have, and own are those that they have of their own.
var (
	variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	own      = []string{"HOME", "TMPDIR", "PATH", "LANG", "LANGUAGE", "LC_ALL", "TERM", "CI"}
)

// unwritable matches the complaint of a program about a file that it cannot write.
var unwritable = lazyregexp.New(`(?i)read-only|permission denied|cannot (?:create|write|open)|operation not permitted`)

// Unlike returns a line for each program of some commands that depends on the user's home or variables, which commands do not
// see: scripts on PATH, outside the system's directories, that print another first line for --version without them, or fail. Both
// runs are confined, in an empty directory: a script can take --version for anything, and the repository names it. Where commands
// are not confined there is nothing to compare.
func Unlike(ctx context.Context, environ []string, commands [][]string) (differ []string, err error) {
	names := scripts(stage.Lookup(environ, "PATH"), commands)
	if len(names) == 0 || !sandbox.Probe().Confined() {
		return nil, nil
	}
	for _, name := range names {
		here, broken, err := version(ctx, environ, stage.Lookup(environ, "HOME"), name)
		if err != nil {
			return nil, err
		}
		if broken && unwritable.MatchString(here) {
			continue // the home that it wants to write is shown for reading alone
		}
		there, fails, err := version(ctx, environ, "", name)
		if err != nil {
			return nil, err
		}
		if here, there = firstLine(here), firstLine(there); here != there || fails && !broken {
			differ = append(differ, fmt.Sprintf("%s is another program for commands (the shim of a version manager?): its "+
				"version is %q there, and %q in your shell", name, there, here))
		}
	}
	return differ, nil
}

// version is what a program prints for --version, and whether it fails; see confined.
func version(ctx context.Context, environ []string, home, name string) (said string, fails bool, err error) {
	room, err := os.MkdirTemp("", "divisi-programs-")
	if err != nil {
		return "", false, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer os.RemoveAll(room) // what the program wrote
	c, err := confined(environ, room, home)
	if err != nil {
		return "", false, err
	}
	c.Args = []string{name, "--version"}
	out, err := sandbox.Run(ctx, c)
	if err != nil {
		return "", false, fmt.Errorf("try the program %s: %w", name, err)
	}
	return out.Text(), out.ExitCode != 0 || out.TimedOut, nil
}

// confined is a command in a room of its own, without network. One with the user's home reads it, and sees the user's variables
// but for secrets.
func confined(environ []string, room, home string) (sandbox.Command, error) {
	place := sandbox.Place{Tree: filepath.Join(room, "tree"), Home: filepath.Join(room, "home"), Temp: filepath.Join(room, "tmp")}
	c := sandbox.Command{Dir: place.Tree, Place: place, Timeout: patience, MaxOutput: maxAnswer}
	for _, d := range []string{place.Tree, place.Home, place.Temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return c, fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	s := sandbox.Settings{Base: environ, Home: place.Seen().Home, Temp: place.Seen().Temp}
	if home != "" {
		s.Home, c.Readable = home, []string{home}
		for _, kv := range environ {
			name, _, _ := strings.Cut(kv, "=")
			if variable.MatchString(name) && !spec.SecretName(name) && !slices.Contains(own, name) {
				s.Extra = append(s.Extra, name)
			}
		}
	}
	env, err := sandbox.Env(s)
	c.Env = env
	return c, err
}

// scripts lists the words of commands that name scripts on a search path, outside the system's directories, each once.
func scripts(search string, commands [][]string) (names []string) {
	for _, name := range Words(commands) {
		if path := Find(search, name); path != "" && len(names) < maxTried && !ofSystem(path) && isScript(path) {
			names = append(names, name)
		}
	}
	return names
}

// Words lists the words of commands, and of scripts in them, that can be names of programs, each once.
func Words(commands [][]string) (names []string) {
	between := func(r rune) bool { return strings.ContainsRune(" \t\n;|&()`'\"", r) }
	for _, word := range slices.Concat(commands...) {
		for _, name := range strings.FieldsFunc(word, between) {
			if !strings.ContainsAny(name, "/=$") && !strings.HasPrefix(name, "-") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func ofSystem(path string) bool {
	return slices.ContainsFunc(system, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // a handle
	var start [2]byte
	n, _ := f.Read(start[:]) // what cannot be read is not started either
	return bytes.Equal(start[:n], []byte("#!"))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return text.Clip(strings.TrimSpace(line), maxLine)
}
