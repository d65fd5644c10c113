package grade

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// several are trees of one language with files that its gate reads and others that it does not.
var several = map[string]struct {
	command string
	files   func() map[string]string
}{
	"go test ./...": {"go test ./...", goFiles},
	"make with a search": {"make", func() map[string]string {
		files := goFiles()
		files["Makefile"] = "check:\n\tgrep -rc package . >/dev/null\n\tgo vet ./...\n"
		return files
	}},
	"unittest":    {"python3 -m unittest", pythonFiles},
	"pytest":      {"pytest -q", pythonFiles},
	"a script":    {"python3 run.py", pythonFiles},
	"node --test": {"node --test", nodeFiles},
	"npm with a formatter": {"npm test", func() map[string]string {
		files := nodeFiles()
		files["package.json"] = `{"type":"module","scripts":{"test":"cat src/*.js >/dev/null && node --test"}}`
		return files
	}},
	"tsc":                       {"tsc --noEmit -p .", typeScriptFiles},
	"make":                      {"make", func() map[string]string { return cFiles("$(CC) $(CFLAGS)") }},
	"make, dependency files":    {"make swept", func() map[string]string { return cFiles("$(CC) $(CFLAGS)") }},
	"make that is not followed": {"make", func() map[string]string { return cFiles("$(or $(X),cc)") }},
	"cargo":                     {"cargo test --offline -q", rustFiles},
}

func goFiles() map[string]string {
	files := map[string]string{
		"go.mod": "module m\n\ngo 1.24\n", "cgo/c.go": "package cgo\n\n// int f(void);\nimport \"C\"\n\nfunc F() { C.f() }\n",
		"cgo/f.c": "int f(void) { return 0; }\n", "cgo/f.h": "int f(void);\n", "asm/a.go": "package asm\n", "asm/a_amd64.s": "\n",
		"asm/a_arm64.s": "\n", "c/alone.c": "int x;\n", "nested/go.mod": "module n\n", "nested/n.go": "package n\n",
	}
	for i := range 2 {
		p := fmt.Sprintf("p%d/", i)
		files[p+"a.go"], files[p+"b_linux.go"], files[p+"a_test.go"] = "package p\n", "package p\n", "package p\n"
		files[p+"x_test.go"] = "package p_test\n"
		files[p+"c_windows.go"], files[p+"d.go"] = "package p\n", "//go:build never && !unix\n\npackage p\n"
		files[p+"main.go"] = "//go:build ignore\n\npackage main\n"
	}
	return files
}

func pythonFiles() map[string]string {
	files := map[string]string{"pkg/__init__.py": "", "run.py": "import pkg.m0\n"}
	for i := range 2 {
		files[fmt.Sprintf("pkg/m%d.py", i)], files[fmt.Sprintf("pkg/unused%d.py", i)] = "X = 1\n", "X = 1\n"
		files[fmt.Sprintf("test_%d.py", i)] = fmt.Sprintf(
			"import unittest\nimport pkg.m%d\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n", i)
	}
	return files
}

func nodeFiles() map[string]string {
	files := map[string]string{"package.json": `{"type":"module","scripts":{"test":"node --test"}}`}
	for i := range 2 {
		files[fmt.Sprintf("src/a%d.js", i)], files[fmt.Sprintf("src/unused%d.js", i)] = "export const x = 1\n", "export const x = 1\n"
		files[fmt.Sprintf("a%d.test.js", i)] = fmt.Sprintf(
			"import test from 'node:test'\nimport { x } from './src/a%d.js'\ntest('a', () => x)\n", i)
	}
	return files
}

func typeScriptFiles() map[string]string {
	files := map[string]string{"tsconfig.json": `{"include":["src"],"compilerOptions":{"strict":true,"skipLibCheck":false}}`}
	for i := range 2 {
		files[fmt.Sprintf("src/a%d.ts", i)] = fmt.Sprintf("import { y } from '../lib/b%d'\nexport const x: number = y\n", i)
		files[fmt.Sprintf("src/c%d.tsx", i)] = "export {}\n"
		files[fmt.Sprintf("lib/b%d.ts", i)], files[fmt.Sprintf("lib/unused%d.ts", i)] = "export const y = 1\n", "export const y = 1\n"
	}
	return files
}

func cFiles(cc string) map[string]string {
	files := map[string]string{
		"Makefile": "OBJ = $(patsubst %.c,%.o,$(wildcard src/*.c))\nall: prog\n\t./prog\nswept: CFLAGS = -MMD\nswept:\n\tgrep -c int src/*.c other/*.c\n" +
			"\t$(MAKE) CFLAGS=-MMD all\nprog: $(OBJ)\n\t$(CC) -o $@ $^\n%.o: %.c\n\t" + cc + " -c $< -o $@\n",
		"src/main.c": "int main(void) { return 0; }\n",
	}
	for i := range 2 {
		files[fmt.Sprintf("src/a%d.c", i)] = fmt.Sprintf("#include \"a%d.h\"\nint a%d(void) { return A; }\n", i, i)
		files[fmt.Sprintf("src/a%d.h", i)], files[fmt.Sprintf("other/a%d.c", i)] = "#define A 1\n", "int x;\n"
	}
	return files
}

func rustFiles() map[string]string {
	files := map[string]string{
		"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "", "tests/t.rs": "#[test]\nfn t() {}\n",
		"benches/b.rs": "fn main() {}\n",
	}
	for i := range 3 {
		files["src/lib.rs"] += fmt.Sprintf("pub mod a%d;\n#[cfg(windows)]\nmod w%d;\n", i, i)
		files[fmt.Sprintf("src/a%d.rs", i)], files[fmt.Sprintf("src/w%d.rs", i)] = "", ""
	}
	return files
}

// A syntax error in a file that is called compiled or ran turns the gate red; in one that is called unread it does not. What the
// probe finds out counts.
func TestSlowPlantedErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("a run of each gate for each file")
	}
	t.Parallel()
	red, green := map[string]int{}, map[string]int{}
	for name, c := range several {
		t.Run(name, func(t *testing.T) {
			files, command := c.files(), strings.Fields(c.command)
			dir := tree(t, files)
			grades := probed(t, dir, names(files), command)
			for _, file := range names(files) {
				kind := kindOf(file)
				if kind.Language == "" || strings.HasPrefix(grades[file], "not known") {
					continue
				}
				dir := tree(t, files)
				at := filepath.Join(dir, file)
				require.NoError(t, os.WriteFile(at, []byte(files[file]+"\n)) (\n"), 0o755))
				run := exec.CommandContext(t.Context(), command[0], command[1:]...)
				run.Dir, run.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "CI=1")
				failed := run.Run() != nil
				counts := map[bool]map[string]int{true: red, false: green}[failed]
				if grades[file] == "" {
					counts["read"]++
					require.True(t, failed, "%s is read", file)
				} else {
					counts["unread"]++
					require.False(t, failed, "%s: %s", file, grades[file])
				}
			}
		})
	}
	t.Logf("red %v, green %v", red, green)
}

// probed is read with the answers of a probe.
func probed(t *testing.T, dir string, files, command []string) map[string]string {
	t.Helper()
	grades := read(t, dir, files, command...)
	texts := map[string]string{}
	var open []string
	for file, grade := range grades {
		if strings.HasPrefix(grade, "not known?") {
			data, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			texts[file], open = string(data), append(open, file)
		}
	}
	for range MaxRounds {
		if len(open) == 0 {
			break
		}
		marks, err := Plant(dir, open)
		require.NoError(t, err)
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir, run.Env = dir, KeepGoing(append(os.Environ(), "GOFLAGS=-mod=mod", "CI=1"))
		out, err := run.CombinedOutput()
		named := Named(marks, string(out), true)
		for _, file := range open {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(texts[file]), 0o755))
		}
		if err == nil {
			for _, file := range open {
				grades[file] = string(spec.GradeUnread)
			}
			break
		}
		for _, file := range named {
			delete(grades, file)
		}
		maps.DeleteFunc(marks, func(name string, _ Mark) bool { return grades[name] == "" })
		open = slices.Sorted(maps.Keys(marks))
	}
	return grades
}
