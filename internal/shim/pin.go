package shim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
)

// Pin is a version of a program that a file of the repository names.
type Pin struct{ File, Program, Version string }

// maxVersion bounds, in bytes, a version.
const maxVersion = 40

// maxPinFile bounds, in bytes, a file that names a version.
const maxPinFile = 1 << 20

// pinFiles name the version of one program alone. What rust-toolchain names, rustup finds itself.
var pinFiles = []struct{ file, program string }{
	{".nvmrc", "node"}, {".node-version", "node"}, {".python-version", "python3"}, {".ruby-version", "ruby"},
}

// tools are the programs of the names in .tool-versions.
var tools = map[string]string{
	"nodejs": "node", "node": "node", "python": "python3", "ruby": "ruby", "pnpm": "pnpm", "yarn": "yarn",
}

// number matches a version at the beginning of a pin, or anywhere in an answer.
var number = lazyregexp.New(`\d+(?:\.\d+)*`)

// Pins reads the versions that files of a checkout name, for each program the first. A pin without a number, as lts/* or a name,
// is none.
func Pins(dir string) (pins []Pin) {
	add := func(file, program, version string) {
		version = strings.TrimPrefix(strings.TrimSpace(version), "v")
		found := number.FindString(version)
		if program == "" || !strings.HasPrefix(version, found) || found == "" || len(found) > maxVersion ||
			slices.ContainsFunc(pins, func(p Pin) bool { return p.Program == program }) {
			return
		}
		pins = append(pins, Pin{file, program, found})
	}
	for _, p := range pinFiles {
		line, _, _ := strings.Cut(readPin(dir, p.file), "\n")
		add(p.file, p.program, strings.TrimPrefix(line, p.program+"-"))
	}
	for line := range strings.Lines(readPin(dir, ".tool-versions")) {
		if words := strings.Fields(line); len(words) > 1 {
			add(".tool-versions", tools[words[0]], words[1])
		}
	}
	var node struct {
		PackageManager string `json:"packageManager"`
	}
	if json.Unmarshal([]byte(readPin(dir, "package.json")), &node) == nil {
		name, version, _ := strings.Cut(node.PackageManager, "@")
		if slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name) {
			add("package.json", name, version)
		}
	}
	return pins
}

// readPin is the content of a regular file; "" for none that can be read.
func readPin(dir, name string) string {
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxPinFile {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// Meets reports whether a version begins with the numbers of the pin.
func (p Pin) Meets(version string) bool {
	return version == p.Version || strings.HasPrefix(version, p.Version+".")
}

// Pinned puts the go that a checkout names, and the node of nvm, first into the PATH of an environment: nvm is a function of the
// shell, and has no shims. conflicts tell of programs of the names whose version is another one than the checkout names.
func Pinned(ctx context.Context, environ []string, dir string, names []string) (env, notes, conflicts []string) {
	if slices.Contains(names, "go") {
		environ, notes, conflicts = switched(ctx, environ, dir)
	}
	for _, p := range Pins(dir) {
		if !slices.Contains(names, p.Program) || !sandbox.Probe().Confined() {
			continue
		}
		version := versionOf(ctx, environ, p.Program)
		if version == "" || p.Meets(version) || switches(dir, p.Program, version) {
			continue
		}
		if bin := nvm(environ, p); bin != "" {
			environ = append(slices.Clone(environ), "PATH="+bin+string(filepath.ListSeparator)+stage.Lookup(environ, "PATH"))
			notes = append(notes,
				fmt.Sprintf("commands have the %s in %s, because %s names %s", p.Program, bin, p.File, p.Version))
			continue
		}
		conflicts = append(conflicts, conflict(p, version))
	}
	return environ, notes, conflicts
}

func conflict(p Pin, version string) string {
	return fmt.Sprintf("%s names %s %s, and your shell and commands have %s: install %s, or correct the file",
		p.File, p.Program, p.Version, version, p.Version)
}

// module matches the lines of go.mod and go.work that name a version of go, which is the oldest that will do.
var module = lazyregexp.New(`(?m)^(?:go[ \t]+|toolchain[ \t]+go)(\d+(?:\.\d+)*)`)

// switched puts the go that a module names first into the PATH of an environment: the go of the user's shell has downloaded it,
// which commands without network cannot. See "go help toolchain".
func switched(ctx context.Context, environ []string, dir string) (env, notes, conflicts []string) {
	search := slices.DeleteFunc(filepath.SplitList(stage.Lookup(environ, "PATH")), func(entry string) bool {
		return !filepath.IsAbs(entry) || within(dir, entry) // go starts a toolchain that it finds there
	})
	asks := append(slices.Clone(environ), "GOPROXY=off", "PATH="+strings.Join(search, string(filepath.ListSeparator)))
	program := Find(stage.Lookup(asks, "PATH"), "go")
	if program == "" {
		return environ, nil, nil
	}
	said, err := answer(ctx, asks, dir, program, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return environ, nil, []string{fmt.Sprintf("go does not work in the checkout, where \"go version\" downloads the "+
			"toolchain that go.mod names: %v", err)}
	}
	root, version, _ := strings.Cut(said, "\n")
	for _, file := range []string{"go.work", "go.mod"} {
		for _, m := range module.FindAllStringSubmatch(readPin(dir, file), -1) {
			if has := number.FindString(version); has != "" && len(conflicts) == 0 && newer(m[1], has) {
				conflicts = []string{conflict(Pin{file, "go", m[1]}, has)}
			}
		}
	}
	bin := filepath.Join(strings.TrimSpace(root), "bin")
	target, err := filepath.EvalSymlinks(program)
	if err != nil || filepath.Dir(target) == bin || within(dir, bin) || !executable(filepath.Join(bin, "go")) {
		return environ, nil, conflicts
	}
	return append(slices.Clone(environ), "PATH="+bin+string(filepath.ListSeparator)+stage.Lookup(environ, "PATH")),
		[]string{fmt.Sprintf("commands have the go in %s, which the module names", bin)}, conflicts
}

// switches reports whether a program starts by itself, in a checkout, the version that this names: pnpm from 9.7 on, and yarn
// where its settings have a path.
func switches(dir, program, version string) bool {
	return program == "pnpm" && newer(version, "9.6.999") ||
		program == "yarn" && strings.Contains(readPin(dir, ".yarnrc.yml"), "yarnPath:")
}

// versionOf is the first number that a program prints for --version; "" for none.
func versionOf(ctx context.Context, environ []string, name string) string {
	said, fails, err := version(ctx, environ, "", name)
	if err != nil || fails {
		return "" // a program that does not start is another matter
	}
	return number.FindString(firstLine(said))
}

// nvm is the directory of the newest node of nvm that meets a pin; "" for none.
func nvm(environ []string, p Pin) string {
	root := stage.Lookup(environ, "NVM_DIR")
	if p.Program != "node" || !filepath.IsAbs(root) {
		return ""
	}
	versions := filepath.Join(root, "versions", "node")
	entries, _ := os.ReadDir(versions) // without nvm there is none
	best := ""
	for _, e := range entries {
		version := strings.TrimPrefix(e.Name(), "v")
		if p.Meets(version) && executable(filepath.Join(versions, e.Name(), "bin", "node")) && newer(version, best) {
			best = version
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join(versions, "v"+best, "bin")
}

// newer reports whether a version is newer than another, number by number.
func newer(a, b string) bool {
	numbers := func(version string) (list []int) {
		for _, n := range number.FindAllString(strings.ReplaceAll(version, ".", " "), -1) {
			var i int
			_, _ = fmt.Sscan(n, &i) // one that is too large counts as none
			list = append(list, i)
		}
		return list
	}
	return slices.Compare(numbers(a), numbers(b)) > 0
}
