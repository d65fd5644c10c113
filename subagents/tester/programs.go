package tester

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/shim"
	"divisi/internal/spec"
)

// told are the programs that tell their version. No other one is asked, since it can take that for anything.
var told = strings.Fields(`bun bundle cargo cc cmake composer deno dotnet gcc go golangci-lint gradle java make meson mvn mypy
	node npm npx php pnpm poetry pytest python python3 ruby ruff rustc uv yarn`)

// behind are the programs that run what another one starts.
var behind = map[string]string{
	"npm": "node", "npx": "node", "pnpm": "node", "yarn": "node", "cargo": "rustc", "mvn": "java", "mvnw": "java",
	"gradle": "java", "gradlew": "java", "pytest": "python3", "bundle": "ruby", "composer": "php", "cmake": "cc",
}

// ask prints a line for each program that it finds: its path, and the first line of what it says of its version. The arguments
// are names, each with the argument that asks for the version, empty for none.
const ask = `while test $# -gt 1; do
	if p=$(command -v "$1"); then echo "$p	$(test -z "$2" || "$1" "$2" 2>/dev/null </dev/null | head -n 1)"; fi
	shift 2
done`

const askTime = 10 * time.Second

// programs are those that commands have found, by environment and names: they do not change while the environment is the same.
var programs sync.Map

// programsOf returns the programs that a gate begins with, and those that run what it starts, as its commands find them.
func (t *Executor) programsOf(ctx context.Context, audience sandbox.Audience, command []string) ([]spec.Program, error) {
	args := []string{"sh", "-c", ask, "sh"}
	for _, name := range namesOf(command) {
		version := ""
		if slices.Contains(told, path.Base(name)) {
			version = spec.VersionArg(name)
		}
		args = append(args, name, version)
	}
	key := t.environment + "\x00" + strings.Join(args, "\x00")
	if had, ok := programs.Load(key); ok {
		found, _ := had.([]spec.Program)
		return found, nil
	}
	ground, err := t.beside(audience)
	if err != nil {
		return nil, err
	}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: args, Dir: t.Dir, Env: ground.Env, Place: ground.Place, Writable: ground.Writable, Readable: ground.Readable,
		Timeout: askTime, More: true,
	})
	if err != nil || out.Cancelled {
		return nil, nil // what is wrong with the machine the gate itself tells
	}
	var found []spec.Program
	for line := range strings.Lines(out.Text()) {
		if file, version, ok := strings.Cut(line, "\t"); ok && strings.Contains(file, "/") {
			found = append(found, spec.Program{Path: file, Version: spec.VersionIn(version)})
		}
	}
	programs.Store(key, found)
	return found, nil
}

// namesOf lists the programs of a command: the first word behind env, of a script for a shell the known ones among its words, and
// those behind them.
func namesOf(command []string) (names []string) {
	add := func(name string) {
		for ; name != "" && !slices.Contains(names, name); name = behind[path.Base(name)] {
			names = append(names, name)
		}
	}
	at := slices.IndexFunc(command, func(word string) bool {
		return path.Base(word) != "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=")
	})
	if at < 0 {
		return nil
	}
	add(command[at])
	if rest := command[at:]; len(rest) > 2 && strings.HasPrefix(rest[1], "-") && strings.HasSuffix(path.Base(rest[0]), "sh") {
		for _, word := range shim.Words([][]string{rest[2:3]}) {
			if slices.Contains(told, word) {
				add(word)
			}
		}
	}
	return names
}
