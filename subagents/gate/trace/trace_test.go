package trace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// plant writes files below a directory that it returns.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func find(t *testing.T, dir string, command []string, n Names) (paths []string, imports map[string][]string) {
	t.Helper()
	led, err := Find(dir, command, map[string]Names{"it": n})
	require.NoError(t, err)
	return led.Paths["it"], led.Imports
}

// goFile is a file of a package that imports others.
func goFile(imports ...string) string {
	text := "package p\n"
	for _, name := range imports {
		text += fmt.Sprintf("import _ %q\n", name)
	}
	return text
}

func TestImports(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{
		"go.mod":          "// the module\nmodule \"example.com/m\"\n\ngo 1.26\n",
		"top.go":          goFile("example.com/m/a"),
		"a/a.go":          goFile("fmt", "example.com/m/b", "github.com/x/errors", "C"),
		"a/a_windows.go":  goFile("example.com/m/win"),
		"a/a_test.go":     goFile("example.com/m/a", "example.com/m/help", "example.com/m/gone"),
		"a/broken.go":     "package p\nimport \"example.com/m/broken\"\nimport",
		"a/a.txt":         goFile("example.com/m/text"),
		"b/b.go":          goFile("example.com/m/c"),
		"b/b_test.go":     goFile("example.com/m/onlyb"),
		"c/c.go":          goFile("example.com/m/a", "example.com/m/tools/gen", "lib/sub"),
		"help/h.go":       goFile("example.com/m"),
		"errors/e.go":     goFile(),
		"win/w.go":        goFile(),
		"onlyb/o.go":      goFile(),
		"broken/b.go":     goFile(),
		"text/t.go":       goFile(),
		"tools/go.mod":    "module example.com/other/tools\n",
		"tools/gen/g.go":  goFile("example.com/other/tools/in"),
		"tools/in/i.go":   goFile(),
		"vendored/lib.go": goFile(),
	})
	for name, c := range map[string]struct {
		names   Names
		paths   []string
		imports map[string][]string
	}{
		"a package, directly and through others, with what its tests import": {
			Names{Owners: []string{"example.com/m/a"}},
			[]string{"a"},
			map[string][]string{"a": {".", "b", "c", "help", "tools/gen", "tools/in", "win"}},
		},
		"the package of a file": {
			Names{Text: "b/b.go:3:1: undefined: c.X"},
			[]string{"b/b.go"},
			map[string][]string{"b": {"a", "c", "onlyb", "tools/gen", "tools/in", "win"}},
		},
		"the top": {
			Names{Owners: []string{"example.com/m"}},
			[]string{"."},
			map[string][]string{".": {"a", "b", "c", "tools/gen", "tools/in", "win"}},
		},
		"a module in the module": {
			Names{Owners: []string{"example.com/other/tools/gen"}}, []string{"tools/gen"}, map[string][]string{"tools/gen": {"tools/in"}},
		},
		"a package that imports nothing": {Names{Owners: []string{"example.com/m/win"}}, []string{"win"}, map[string][]string{"win": {}}},
		"a package of another tree":      {Names{Owners: []string{"example.com/m/gone"}}, nil, map[string][]string{}},
		"a function of a package": {
			Names{Text: "example.com/m/errors.New(0x12)"}, []string{"errors"}, map[string][]string{"errors": {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths, imports := find(t, dir, nil, c.names)
			require.Equal(t, c.paths, paths)
			require.Equal(t, c.imports, imports)
		})
	}
}

func TestModulesOfAWorkspace(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{
		"go.work":           "go 1.26\nuse (\n\t./one // it\n\t./deep/two\n\t../outside\n)\n",
		"one/go.mod":        "module x.org/first\n",
		"one/p/p.go":        goFile("y.org/second/q"),
		"deep/two/go.mod":   "module y.org/second\n",
		"deep/two/q/q.go":   goFile(),
		"deep/three/go.mod": "module z.org/third\n",
		"deep/three/r.go":   goFile("z.org/third/s"),
		"deep/three/s/s.go": goFile(),
	})
	paths, imports := find(t, dir, nil, Names{Owners: []string{"x.org/first/p"}})
	require.Equal(t, []string{"one/p"}, paths)
	require.Equal(t, map[string][]string{"one/p": {"deep/two/q"}}, imports)
	paths, imports = find(t, dir, []string{"go", "-C", "deep/three", "test"}, Names{Owners: []string{"z.org/third"}, Text: "s/s.go:1: no"})
	require.Equal(t, []string{"deep/three", "deep/three/s/s.go"}, paths)
	require.Equal(t, map[string][]string{"deep/three": {"deep/three/s"}, "deep/three/s": {}}, imports)
}

// A tool prints paths relative to the directory that it runs in.
func TestTheCommandNamesADirectory(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{"web/src/a.ts": "", "web/Cargo.toml": "", "src/b.ts": ""})
	for _, command := range [][]string{
		{"npm", "--prefix", "web", "test"},
		{"npm", "--prefix=web", "test"},
		{"cargo", "--manifest-path", "web/Cargo.toml"},
		{"sh", "-c", "true; cd ./web && npm test"},
		{"make", "-C", "web/"},
	} {
		paths, _ := find(t, dir, command, Names{Text: "src/a.ts:1: no\nsrc/b.ts:1: no"})
		require.Equal(t, []string{"src/b.ts", "web/src/a.ts"}, paths, command)
	}
	for _, command := range [][]string{nil, {"npm", "test"}, {"make", "-C", "../web"}, {"make", "-C", "/web"}} {
		paths, _ := find(t, dir, command, Names{Text: "src/a.ts:1: no"})
		require.Empty(t, paths, command)
	}
}

// A path of the output is data: nothing outside the tree, no link, no pipe and nothing that does not exist is returned or opened.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	outside := plant(t, map[string]string{"secret/s.go": goFile("example.com/m/ok"), "x.go": ""})
	dir := plant(t, map[string]string{
		"go.mod": "module example.com/m\n", "ok/o.go": goFile(), "real/r.go": goFile("example.com/m/ok"), "..x/a..b.go": goFile(),
		"loop/l.go": goFile("example.com/m/out/secret", "example.com/m/../ok", "example.com/m//etc", "./ok", "example.com/m/link"),
	})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("real/r.go", filepath.Join(dir, "link.go")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "x.go"), filepath.Join(dir, "ok", "out.go")))
	require.NoError(t, os.Symlink("self", filepath.Join(dir, "self")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe.go"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "pipes"), 0o700))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipes", "p.go"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "dir.go"), 0o700))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "sub", "go.mod"), 0o600))
	for _, word := range []string{
		"../" + filepath.Base(outside) + "/x.go", outside + "/x.go", "/etc/passwd", "out/x.go", "out/secret/s.go", "out/secret", "link.go",
		"link/r.go", "self/self/x.go", "pipe.go", "pipes/p.go", "ok/out.go", "ok/../../x.go", ".", "./", "..", "./.", "a\x00b.go",
		strings.Repeat("d/", 4000) + "x.go", strings.Repeat("n", 4000) + ".go", "//ok/o.go", "\xff.go", "ok/missing.go", "example.com/m/../x",
	} {
		paths, imports := find(t, dir, []string{"make", "-C", word, "--x=" + word, "cd " + word}, Names{
			Owners: []string{word}, Text: word + ":1:2: bad\n" + word + "\n(" + word + ")",
		})
		require.Empty(t, paths, word)
		require.Empty(t, imports, word)
	}
	paths, imports := find(t, dir, nil, Names{
		Owners: []string{"sub", "example.com/m/pipes", "example.com/m/loop", "m/sub"}, Text: "ok/../real/r.go:1: x\n..x/a..b.go: y\n./sub/dir.go\n",
	})
	require.Equal(t, []string{"..x/a..b.go", "loop", "pipes", "real/r.go", "sub", "sub/dir.go"}, paths)
	require.Equal(t, map[string][]string{"..x": {}, "loop": {}, "real": {"ok"}}, imports)
	_, err := Find(filepath.Join(dir, "missing"), nil, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A failure's own place is kept where it names too many others, and each of many failures keeps a share.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"z/z.py": ""}
	var text strings.Builder
	for i := range 100 {
		name := fmt.Sprintf("d/f%03d.py", i)
		files[name] = ""
		text.WriteString(name + ":1: no\n")
	}
	dir := plant(t, files)
	paths, _ := find(t, dir, nil, Names{Owners: []string{"z/z.py"}, Text: text.String()})
	require.Len(t, paths, maxEach)
	require.Contains(t, paths, "z/z.py")
	require.True(t, slices.IsSorted(paths))
	failures := map[string]Names{}
	for i := range maxPaths + 1 {
		failures[fmt.Sprint(i)] = Names{Text: text.String()}
	}
	led, err := Find(dir, nil, failures)
	require.NoError(t, err)
	require.Len(t, led.Paths, maxPaths)
	for _, list := range led.Paths {
		require.Len(t, list, 1)
	}
}

func TestImportsAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"go.mod": "module m\n"}
	failures := map[string]Names{"file": {Text: "all/a.go:1: no"}}
	var every []string
	for i := range maxImporters + 50 {
		name := fmt.Sprintf("p%03d", i)
		every = append(every, "m/"+name)
		files[name+"/a.go"] = goFile("m/all")
		failures[name] = Names{Owners: []string{"m/" + name}}
	}
	files["all/a.go"] = goFile(every...)
	led, err := Find(plant(t, files), nil, failures)
	require.NoError(t, err)
	require.Len(t, led.Paths, len(failures))
	require.Len(t, led.Imports, maxImporters)
	require.NotContains(t, led.Imports, "all", "directories of tests come first")
	total := 0
	for dir, list := range led.Imports {
		total += len(list)
		require.Contains(t, list, "all", "the nearest comes first")
		require.NotContains(t, list, dir)
		require.True(t, slices.IsSorted(list))
	}
	require.LessOrEqual(t, total, maxImports+maxImporters)
}

// The head of a large file is enough; a file whose imports are not at its beginning is left out.
func TestLargeGoFiles(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{
		"go.mod": "module m\n", "x/x.go": goFile(), "y/y.go": goFile(),
		"a/long.go": goFile("m/x") + strings.Repeat("// more\n", maxGoHead/4),
		"a/late.go": strings.Repeat("// more\n", maxGoHead/4) + goFile("m/y"),
	})
	_, imports := find(t, dir, nil, Names{Owners: []string{"m/a"}})
	require.Equal(t, map[string][]string{"a": {"x"}}, imports)
}

func FuzzFind(f *testing.F) {
	dir := plant(f, map[string]string{"go.mod": "module m\n", "a/b.go": goFile("m/c d"), "c d/e.py": "", "f": ""})
	for _, line := range []string{
		"a/b.go:3:1: undefined", `File "c d/e.py", line 3`, "m/a.TestX(0x1)", "../../etc/passwd", "f:3:", "(a/b.go:1)", "file:///a/b.go", "c d.e",
	} {
		f.Add(line, line)
	}
	f.Fuzz(func(t *testing.T, owner, text string) {
		n := Names{Owners: []string{owner}, Text: text}
		for _, word := range words(text) {
			require.LessOrEqual(t, len(word.path), maxLine)
		}
		require.LessOrEqual(t, len(words(text)), maxWords)
		paths, imports := find(t, dir, []string{"make", "-C", owner}, n)
		for _, p := range paths {
			require.True(t, fs.ValidPath(p), p)
			_, err := os.Lstat(filepath.Join(dir, p))
			require.NoError(t, err)
		}
		again, _ := find(t, dir, []string{"make", "-C", owner}, n)
		require.Equal(t, paths, again)
		require.LessOrEqual(t, len(imports), 1)
	})
}
