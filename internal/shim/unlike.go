package shim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/text"
)

// maxTried is how many programs are compared at most.
const maxTried = 20

// system are the directories whose programs belong to the machine: no home of a user decides what they do.
var system = []string{"/usr", "/bin", "/sbin", "/opt", "/nix", "/gnu"}

// Unlike returns a line for each program of some commands that answers commands in the sandbox otherwise than the user: scripts
// on PATH, outside the system's directories, that print another first line, or end in another way, for --version in dir. environ
// is the environment that commands get. Where commands are not confined there is nothing to compare.
func Unlike(ctx context.Context, environ []string, dir string, commands [][]string) (differ []string, err error) {
	names := scripts(stage.Lookup(environ, "PATH"), commands)
	if len(names) == 0 || !sandbox.Probe().Confined() {
		return nil, nil
	}
	room, err := os.MkdirTemp("", "divisi-programs-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer os.RemoveAll(room) // what commands wrote
	c, err := confined(environ, room)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c.Args = []string{name, "--version"}
		out, err := sandbox.Run(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("try the program %s: %w", name, err)
		}
		here, fails := answer(ctx, environ, dir, name, "--version")
		there := out.Text()
		if firstLine(here) != firstLine(there) || (fails != nil) != (out.ExitCode != 0 || out.TimedOut) {
			differ = append(differ, fmt.Sprintf("%s is another program for commands (the shim of a version manager?): its "+
				"version is %q there, and %q in your shell", name, firstLine(there), firstLine(here)))
		}
	}
	return differ, nil
}

// confined is a command in a room of its own, without network.
func confined(environ []string, room string) (sandbox.Command, error) {
	place := sandbox.Place{Tree: filepath.Join(room, "tree"), Home: filepath.Join(room, "home"), Temp: filepath.Join(room, "tmp")}
	c := sandbox.Command{Dir: place.Tree, Place: place, Timeout: patience, MaxOutput: maxAnswer}
	for _, d := range []string{place.Tree, place.Home, place.Temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return c, fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	env, err := sandbox.Env(sandbox.Settings{Base: environ, Home: place.Seen().Home, Temp: place.Seen().Temp, Offline: true})
	c.Env = env
	return c, err
}

// scripts lists the words of commands that name scripts on a search path, outside the system's directories, each once.
func scripts(search string, commands [][]string) (names []string) {
	for _, name := range Words(commands) {
		if path := find(search, name); path != "" && len(names) < maxTried && !ofSystem(path) && isScript(path) {
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
