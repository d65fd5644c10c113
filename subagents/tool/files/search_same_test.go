package files

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSearchSameWithAndWithoutRipgrep compares both ways of finding files, over trees and questions of all kinds.
func TestSearchSameWithAndWithoutRipgrep(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	top, trees := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		trees++
		dir := filepath.Join(top, strconv.Itoa(trees))
		require.NoError(rt, os.Mkdir(dir, 0o750))
		plant(rt, dir)
		root, err := os.OpenRoot(dir)
		require.NoError(rt, err)
		c := Config{Root: root, Dir: dir}
		fast, slow := &tree{c, ripgrep("")}, &tree{c, ""}
		require.NotEmpty(rt, fast.rg)
		for range 2 {
			asked := question(rt)
			with, without := fast.search(t.Context(), asked), slow.search(t.Context(), asked)
			require.Equal(rt, without, with, "%v", asked)
		}
		require.NoError(rt, root.Close())
		require.NoError(rt, os.RemoveAll(dir))
	})
}

// words are what files and patterns are made of.
var words = []string{
	"func", "Alpha", "alpha", "Straße", "K", "\u212A", "-e", "--", "beta()", "x", "\t", " ", "\r", "\r\n", "\n", "\n\n",
	"\x00", "\xff",
	"\xff\xfef\x00u\x00", "\ufeff", "\uFFFD", ".git", "ab", strings.Repeat("long ", 60), strings.Repeat("wide", longLine/4),
}

// plant fills a directory with files, links and what is no file.
func plant(t *rapid.T, dir string) {
	names := []string{
		"a.go", "b.txt", ".hidden", "-dash", "a/x.go", "a/.deep/y", "a.b/z.go", "sub/.git", "sub/.GIT", ".git/config",
		"git~1/x", "ignored",
		".ignore", ".gitignore", ".rgignore", "new\nline", "é/ü.go", "\xff.go", "bin/blob", "node_modules/m.js",
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 9, rapid.ID).Draw(t, "names") {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		mark := rapid.SampledFrom([]string{"", "", "\xff\xfe", "\xfe\xff", "\ufeff"}).Draw(t, "byte order mark")
		content := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "content"), "")
		if rapid.Bool().Draw(t, "UTF-16") {
			var wide []byte
			for _, u := range utf16.Encode([]rune(content)) {
				wide = binary.LittleEndian.AppendUint16(wide, u)
			}
			content = string(wide)
		}
		content = mark + content
		if strings.HasSuffix(name, "ignore") {
			content = "ignored\nnode_modules\n*.go\n"
		}
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
		switch rapid.IntRange(0, 20).Draw(t, "odd") {
		case 0:
			require.NoError(t, os.Truncate(full, maxSearched+int64(rapid.IntRange(-1, 1).Draw(t, "size"))))
		case 1:
			require.NoError(t, os.Symlink(filepath.Base(full), full+".link"))
		case 2:
			require.NoError(t, os.Symlink(".", full+".dir"))
		case 3:
			require.NoError(t, os.Link(full, full+".hard"))
		case 4:
			require.NoError(t, os.Symlink("/etc", full+".out"))
		}
	}
}

func question(t *rapid.T) searchArgs {
	patterns := []string{
		`func`, `func\b`, `^func`, `alpha$`, `(?i)ALPHA`, `Stra(ss|ß)e`, `k`, `-e`, `--`, `beta\(\)`, `\.git`, `x+`,
		`(ab)+x*`, `[[:^ascii:]]+`,
		`longx?`, `nowhere at all`, `wide(wide)*`, `\x{FFFD}`, "\ufeff", `\t `, `.`,
	}
	a := searchArgs{
		Pattern: rapid.SampledFrom(patterns).Draw(t, "pattern"), IgnoreCase: rapid.Bool().Draw(t, "ignore_case"),
		FilesOnly: rapid.Bool().Draw(t, "files_only"), Literal: rapid.Bool().Draw(t, "literal"),
		Context: rapid.IntRange(0, 2).Draw(t, "context"),
	}
	if rapid.Bool().Draw(t, "narrow") {
		a.Path = rapid.SampledFrom([]string{"a", ".", "sub", "a.go", "é", "node_modules"}).Draw(t, "path")
		a.Glob = rapid.SampledFrom([]string{"*.go", "**/*", "x*", "{a,b}*"}).Draw(t, "glob")
	}
	return a
}

// TestSearchEndsWithItsContext asks an expression that takes long of a line that is long.
func TestSearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"long": strings.Repeat("a", maxSearched-1)}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q, err := newQuery(searchArgs{Pattern: `(a?){900}b`})
	require.NoError(t, err)
	require.ErrorIs(t, q.file(ctx, "long", []byte(strings.Repeat("a", maxSearched))), context.Canceled)
	beats := 0
	for i := range 2*beatSearched + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(b.Dir, fmt.Sprint(i)), []byte("hit\n"), 0o600))
	}
	r := b.Set.Run(tool.WithBeat(t.Context(), func(string) { beats++ }), tool.Call{
		Name: spec.ToolSearch,
		Args: tooltest.Args{"pattern": "hit|miss"},
	})
	require.False(t, r.Err)
	require.Equal(t, 2, beats)
}
