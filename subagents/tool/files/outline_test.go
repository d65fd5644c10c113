package files

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool/commands"

	"github.com/stretchr/testify/require"
)

const goFile = `// Package p is small.
package p

import "fmt"

// Limit is the most.
// It never changes.
const Limit = 3

const (
	A, B = iota, 1
	C    = "x"
)

var table = map[string]int{
	"a": 1,
}

// Shape is a form.
type Shape[T any] interface {
	fmt.Stringer
	// Area is in metres.
	Area(scale float64) (T, error)
}

type (
	box struct{ w, h int }
	id  = string
)

//line other.go:1
// Area multiplies.
func (b *box) Area(
	scale float64, // of the map
) (int, error) {
	return b.w * b.h, nil
}
`

func TestOutlineOfGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"p/p.go": goFile, "p/z.txt": "x", "empty.go": "package e\n"}, nil)
	require.Equal(t, `p/p.go: package p
     8-8      const Limit = 3
    11-11     const A, B = iota, 1
    12-12     const C = "x"
    15-17     var table = map[string]int{ "a": 1, }
    20-24     type Shape[T any] interface
    21-21       fmt.Stringer
    23-23       Area(scale float64) (T, error)
    27-27     type box struct
    28-28     type id = string
    33-37     func (b *box) Area( scale float64, // of the map ) (int, error)
`, b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"p/p.go"}}))
	out := b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"p/p.go", "empty.go", "./p/p.go"}, "docs": true})
	require.Contains(t, out, "const Limit = 3 // Limit is the most.\n")
	require.Contains(t, out, "Area(scale float64) (T, error) // Area is in metres.\n")
	require.Contains(t, out, "empty.go: package e\n[no symbols]\n")
	require.Equal(t, 1, strings.Count(out, "package p"), "a file that is named twice is shown once")
}

func TestOutlineOfBrokenGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"half.go": "package h\n\nfunc one() {}\n\nfunc two( {\n\nfunc three() int { return }\n\ntype T struct {",
		"none.go": "hello", "nothing.go": "", "bin.go": "package p\x00",
	}, nil)
	out := b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"half.go"}})
	require.Contains(t, out, "half.go: package h\n     3-3      func one()\n")
	require.Contains(t, out, "func three() int")
	require.Regexp(t, `\[line 5: .*\. The file has syntax errors \(\d+\); only what could be parsed is shown\]`, out)
	require.Contains(t, b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"none.go"}}), "expected 'package'")
	require.Contains(t, b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"nothing.go"}}), "syntax errors")
	require.Contains(t, b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"bin.go"}}), "binary file")
	require.Contains(t, b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{}}), "paths is empty")
	said := b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"../x", "missing.go"}})
	require.Contains(t, said, "leads out")
	require.Contains(t, said, "missing.go does not exist")
	out = b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"half.go", "missing.go"}})
	require.Contains(t, out, "[not outlined: missing.go does not exist")
}

func TestOutlineOfDirectoriesIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"d/big.go":   "package d\n" + strings.Repeat("func f() {}\n", maxSymbols+7),
		"d/sub/x.go": "package x\n",
	}
	for i := range maxOutlined + 2 {
		files[fmt.Sprintf("d/f%02d.go", i)] = "package d\nfunc F() {}\n"
	}
	b := newBench(t, files, nil)
	out := b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"d"}})
	require.Contains(t, out, "[7 more symbols: ")
	require.Contains(t, out, "[3 more files: ask for fewer at once]")
	require.NotContains(t, out, "sub/x.go")
	require.Equal(t, maxOutlined, strings.Count(out, "package d\n"))
}

func TestOutlineOfOthers(t *testing.T) {
	t.Parallel()
	answer, failure := commands.Output{Text: "ctags: Warning: ignored\n" +
		`{"_type": "tag", "name": "A", "path": "./a.py", "line": 1, "kind": "class", "end": 5}` + "\n" +
		`{"_type": "tag", "name": "f", "path": "./a.py", "line": 4, "kind": "member", ` +
		`"signature": "(self, a)", "scope": "A", "end": 5}` +
		"\n" + `{"_type": "tag", "name": "evil", "path": "/etc/passwd", "line": 1, "kind": "class"}` + "\n{broken\n"}, error(nil)
	var got commands.Command
	b := newBench(t, map[string]string{"a.py": "class A:\n", "-x.md": "# T\n", "a.go": "package a\n"}, func(e *Config) {
		e.Runner = fakeRunner{output: func(c commands.Command) (commands.Output, error) { got = c; return answer, failure }}
	})
	want := "a.py\n     1-5      class A\n     4-5      member A.f(self, a)\n-x.md\n[no symbols]\na.go: package a\n[no symbols]\n"
	require.Equal(t, want, b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"a.py", "-x.md", "a.go"}}))
	require.Equal(t, []string{"ctags", "--options=NONE"}, got.Args[:2], "options that the tree holds are never read")
	require.Equal(t, []string{"./a.py", "./-x.md"}, got.Args[len(got.Args)-2:])
	require.Equal(t, 30*time.Second, got.Timeout)

	answer = commands.Output{Text: "ctags: Unknown option\n", ExitCode: 1}
	require.Contains(t, b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"a.py"}}),
		"ctags failed with exit code 1 (ctags: Unknown option)")
	require.Contains(t, b.OK(spec.ToolOutline, tooltest.Args{"paths": []any{"a.py", "a.go"}}), "package a")
	failure = errors.New("ctags: not found")
	said := b.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"a.py"}})
	require.Contains(t, said, "could not be run: ctags: not found. Use search with an expression")
	none := newBench(t, map[string]string{"a.py": "class A:\n"}, func(e *Config) { e.Runner = nil })
	require.Contains(t, none.Fails(spec.ToolOutline, tooltest.Args{"paths": []any{"a.py"}}), "only Go can be outlined here")
}
