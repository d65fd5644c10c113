package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a.go": "", "b/c.go": "", "b/d/e.go": "", "b/d/f.txt": "", ".hidden.go": "", ".git/x.go": "", "build/out.go": "",
	}, nil)
	require.NoError(t, os.Symlink("a.go", filepath.Join(b.Dir, "link.go")))
	glob := func(patterns ...any) tooltest.Args { return tooltest.Args{"patterns": patterns} }
	all := ".hidden.go\na.go\nb/c.go\nb/d/e.go\n"
	require.Equal(t, all+"link.go@\n[1 more match that git ignores; set ignored to see them]\n", b.OK(spec.ToolGlob,
		glob("*.go")))
	require.Equal(t, "b/c.go\nb/d/e.go\nb/d/f.txt\n", b.OK(spec.ToolGlob, glob("./b/*.go", "**/d/*", "f.txt")))
	require.Equal(t, "b/d/e.go\n", b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"d/*.{go,rs}"}, "path": "b"}))
	require.Equal(t, "build/out.go\n", b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"out.*"}, "ignored": true}))
	require.Equal(t, "[no file below b matches]\n", b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"*.rs"}, "path": "b"}))
	said := b.Fails(spec.ToolGlob, glob("[a", "../x", "/etc/*", "", strings.Repeat("{a,a}", 30), strings.Repeat("a", 1001)))
	for _, why := range []string{
		`"[a" is malformed`, `"../x" leads out`, `"/etc/*" leads out`, "is empty",
		"too many alternatives",
	} {
		require.Contains(t, said, why)
	}
	require.Equal(t, 2, strings.Count(said, "malformed"))
	require.Contains(t, b.Fails(spec.ToolGlob, tooltest.Args{"patterns": []any{}}), "at least one pattern")
	require.Contains(t, b.Fails(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}, "path": "a.go"}), "is a file")
	require.Contains(t, b.Fails(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}, "path": "../"}), "leads out")
	require.Contains(t, b.Fails(spec.ToolListFiles, tooltest.Args{"glob": strings.Repeat("{a,a}", 30)}), "too many alternatives")
}

func TestGlobWithoutGit(t *testing.T) {
	t.Parallel()
	files := map[string]string{"build/out.go": ""}
	b := newBench(t, files, func(e *Config) { e.History = &fakeHistory{root: e.Root, fail: errors.New("no slot")} })
	require.Contains(t, b.Fails(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}}), "no slot. Set ignored")
	require.Equal(t, "build/out.go\n", b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}, "ignored": true}))
	b = newBench(t, files, func(e *Config) { e.History = nil })
	require.Equal(t, "build/out.go\n", b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}}))
}

func TestGlobIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	for i := range maxListed + 5 {
		require.NoError(t, os.WriteFile(filepath.Join(b.Dir, fmt.Sprintf("f%04d", i)), nil, 0o600))
	}
	out := b.OK(spec.ToolGlob, tooltest.Args{"patterns": []any{"*"}})
	require.Equal(t, maxListed+1, strings.Count(out, "\n"))
	require.Contains(t, out, "[5 more: ")
}
