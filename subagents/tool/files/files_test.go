package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func TestListFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a.go": "", "b/c.go": "", "b/d/e.go": "", "b/d/f.txt": "", ".hidden": "", ".git/HEAD": "",
		"sub/.git": "gitdir: x", "new\nline": "",
	}, nil)
	require.Equal(t, ".hidden\na.go\nb/c.go\nb/d/\n\"new\\nline\"\n", b.OK(spec.ToolListFiles, nil))
	require.Equal(t, "a.go\nb/c.go\nb/d/e.go\n", b.OK(spec.ToolListFiles, tooltest.Args{"glob": "*.go"}))
	require.Equal(t, "b/d/e.go\n", b.OK(spec.ToolListFiles, tooltest.Args{"glob": "d/*.go", "path": "b"}))
	require.Equal(t, "b/c.go\nb/d/\n", b.OK(spec.ToolListFiles, tooltest.Args{"path": "b", "depth": 1}))
	require.Contains(t, b.OK(spec.ToolListFiles, tooltest.Args{"glob": "*.rs"}), "no file below . matches")
	require.Contains(t, b.OK(spec.ToolListFiles, tooltest.Args{"path": "sub"}), "is empty")
	require.Contains(t, b.Fails(spec.ToolListFiles, tooltest.Args{"glob": "[a"}), "malformed")
	require.Contains(t, b.Fails(spec.ToolListFiles, tooltest.Args{"path": "a.go"}), "is a file")
	require.Contains(t, b.Fails(spec.ToolListFiles, tooltest.Args{"path": "nowhere"}), "does not exist")
}

func TestListFilesIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	for i := range maxListed + 5 {
		name := filepath.Join(b.Dir, fmt.Sprintf("f%04d", i))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	out := b.OK(spec.ToolListFiles, nil)
	require.Equal(t, maxListed+1, strings.Count(out, "\n"))
	require.Contains(t, out, "[5 more: ")
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"three": "one\ntwo\nthree\n", "empty": "", "bin": "a\x00b", "crlf": "a\r\nb\r\n", "latin": "caf\xe9\n",
		"long": strings.Repeat("x", maxLine+10) + "\n", "many": strings.Repeat("l\n", maxLines+10),
	}, nil)
	require.Equal(t, "     1\tone\n     2\ttwo\n     3\tthree\n", b.OK(spec.ToolReadFile, tooltest.Args{"path": "three"}))
	second := tooltest.Args{"path": "three", "start_line": 2, "end_line": 2}
	require.Equal(t, "     2\ttwo\n[lines 2 to 2 of 3]\n", b.OK(spec.ToolReadFile, second))
	require.Equal(t, "[there are only 3 lines]", b.OK(spec.ToolReadFile, tooltest.Args{"path": "three", "start_line": 4}))
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "three", "start_line": 3, "end_line": 2}), "behind end_line")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "three", "start_line": -5, "end_line": 99}), "1\tone")
	require.Equal(t, "[the file is empty]", b.OK(spec.ToolReadFile, tooltest.Args{"path": "empty"}))
	require.Contains(t, b.Fails(spec.ToolReadFile, tooltest.Args{"path": "bin"}), "binary file of 3 bytes")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "crlf"}), "     1\ta\n     2\tb\n[the file has lines that end with CRLF")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "latin"}), "caf\uFFFD\n[the file is not UTF-8")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "long"}), "x… [10 more characters]")
	require.Contains(t, b.OK(spec.ToolReadFile, tooltest.Args{"path": "many"}), "[lines 1 to 2000 of 2010; continue with start_line 2001]")
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"run.sh": "old\n"}, nil)
	require.NoError(t, os.Chmod(filepath.Join(b.Dir, "run.sh"), 0o755))
	require.Contains(t, b.OK(spec.ToolWriteFile, tooltest.Args{"path": "run.sh", "content": "new\n"}), "replaced run.sh, 1 lines")
	require.Equal(t, "new\n", b.Content("run.sh"))
	info, err := os.Stat(filepath.Join(b.Dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	require.Contains(t, b.OK(spec.ToolWriteFile, tooltest.Args{"path": "x/y/z.txt", "content": ""}), "created x/y/z.txt, 0 lines")
	require.Contains(t, b.Fails(spec.ToolWriteFile, tooltest.Args{"path": "run.sh/x", "content": ""}), "is a file")
	left, err := filepath.Glob(filepath.Join(b.Dir, ".divisi-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
