package files

import (
	"fmt"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func searchTree() map[string]string {
	files := map[string]string{
		"a.go": "package a\n\nfunc Alpha(ctx int) {}\nfunc beta() {}\n", "a/x.go": "package x\nfunc Gamma(ctx int) {}\r\n",
		"b.txt": "func in text(ctx)\n", "bin": "func Bin(ctx \x00", ".git/x": "func Git(ctx int)",
		".hidden":    "func Hidden(ctx int)\n",
		".gitignore": "ignored\n", "ignored": "func Ignored(ctx int)\n", "uni.txt": "Straße K\u212A func\n",
		"utf16": "\xff\xfef\x00u\x00",
	}
	return files
}

func TestSearch(t *testing.T) {
	t.Parallel()
	b := newBench(t, searchTree(), nil)
	out := b.OK(spec.ToolSearch, tooltest.Args{"pattern": `func \w+\(ctx`, "glob": "*.go"})
	require.Equal(t, "a/x.go:2:func Gamma(ctx int) {}\na.go:3:func Alpha(ctx int) {}\n[2 lines in 2 files match]\n", out)
	out = b.OK(spec.ToolSearch, tooltest.Args{"pattern": "Alpha", "context": 1})
	require.Equal(t, "a.go-2-\na.go:3:func Alpha(ctx int) {}\na.go-4-func beta() {}\n[1 lines in 1 files match]\n", out)
	out = b.OK(spec.ToolSearch, tooltest.Args{"pattern": "FUNC", "ignore_case": true, "files_only": true, "path": "a.go"})
	require.Equal(t, "a.go: 2\n[2 lines in 1 files match]\n", out)
	require.Contains(t, b.OK(spec.ToolSearch, tooltest.Args{"pattern": "beta()", "literal": true}), "a.go:4:")
	require.Contains(t, b.OK(spec.ToolSearch, tooltest.Args{"pattern": "nothing like it"}), "no line below . matches")
	require.Contains(t, b.OK(spec.ToolSearch, tooltest.Args{"pattern": "Ignored"}), "ignored:1:", "git's ignore rules do not hide")
	require.NotContains(t, b.OK(spec.ToolSearch, tooltest.Args{"pattern": "Git"}), ".git/x")
	require.Contains(t, b.Fails(spec.ToolSearch, tooltest.Args{"pattern": "("}), "not an RE2 expression")
	require.Contains(t, b.Fails(spec.ToolSearch, tooltest.Args{"pattern": ""}), "empty")
	require.Contains(t, b.Fails(spec.ToolSearch, tooltest.Args{"pattern": "x", "path": "../"}), "leads out")
	require.Contains(t, b.Fails(spec.ToolSearch, tooltest.Args{"pattern": "x", "glob": "{a"}), "malformed")
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("f%02d", i)] = strings.Repeat("hit\n", 10)
	}
	files["long"] = strings.Repeat("y", 5000) + "hit" + strings.Repeat("z", 5000)
	b := newBench(t, files, nil)
	out := b.OK(spec.ToolSearch, tooltest.Args{"pattern": "hit"})
	require.Equal(t, maxMatches+1, strings.Count(out, "\n"))
	require.Contains(t, out, "[100 of 301 matching lines in 31 files are shown")
	out = b.OK(spec.ToolSearch, tooltest.Args{"pattern": "hit", "path": "long"})
	require.Contains(t, out, "hit")
	require.Less(t, len(out), 600)
}

func TestSearchContextDoesNotRepeatLines(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"f": "1\nhit a\n3\nhit b\n5\n6\n7\n8\nhit c\n"}, nil)
	out := b.OK(spec.ToolSearch, tooltest.Args{"pattern": "hit", "context": 1})
	require.Equal(t, "f-1-1\nf:2:hit a\nf-3-3\nf:4:hit b\nf-5-5\n--\nf-8-8\nf:9:hit c\n[3 lines in 1 files match]\n", out)
}

func TestNeedle(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`func \w+\(ctx`: "func ", `(?i)func`: "", `a|b`: "", `x+yz`: "yz", `(hello)*world`: "world", `(hello)+`: "hello",
		`(`: "", `a\nb`: "", `.*`: "", `ab{2,3}c`: "", `[f]oo`: "foo",
	} {
		require.Equal(t, want, needle(pattern), pattern)
	}
}
