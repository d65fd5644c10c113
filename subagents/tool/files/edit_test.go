package files

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

func TestEditFileKeepsModeAndReports(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"s.sh": "one\ntwo\nthree\nfour\n", "bin": "\x00"}, nil)
	require.NoError(t, os.Chmod(filepath.Join(b.Dir, "s.sh"), 0o711))
	out := b.OK(spec.ToolEditFile, editOf("s.sh", "two", "2"))
	require.Equal(t, "s.sh changed\n     1\tone\n     2\t2\n     3\tthree\n", out)
	info, err := os.Stat(filepath.Join(b.Dir, "s.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o711), info.Mode().Perm())
	again := editOf("s.sh", "two", "3")
	require.Contains(t, b.Fails(spec.ToolEditFile, again), "s.sh was not changed")
	require.Contains(t, b.Fails(spec.ToolEditFile, editOf("no", "a", "b")), "does not exist")
	require.Contains(t, b.Fails(spec.ToolEditFile, editOf("bin", "a", "b")), "binary")
}

// A file stays what it is, whichever tool changes it, and all of them show its text.
func TestFilesKeepTheirForm(t *testing.T) {
	t.Parallel()
	wide := func(s string) string { return strings.ReplaceAll(s, "", "\x00")[1:] }
	b := newBench(t, map[string]string{
		"le.rc": "\xff\xfe" + wide("one\r\ntwo\r\n"), "be.rc": "\x00" + strings.TrimSuffix(wide("one\ntwo\n"), "\x00"),
		"mark.cs": "\ufeffone\r\ntwo\r\n",
	}, nil)
	require.Equal(t, "     1\tone\n     2\ttwo\n[the file has UTF-16, a byte order mark, lines that end with CRLF, which edit_file and "+
		"write_file keep]\n", b.OK(spec.ToolReadFile, tooltest.Args{"path": "le.rc"}))
	found := b.OK(spec.ToolSearch, tooltest.Args{"pattern": "^two$"})
	for _, name := range []string{"le.rc", "be.rc", "mark.cs"} {
		require.Contains(t, found, name+":2:two\n")
		require.Contains(t, b.OK(spec.ToolEditFile, editOf(name, "two\n", "2\n3\n")), "2\t2\n     3\t3\n")
	}
	require.Equal(t, "\xff\xfe"+wide("one\r\n2\r\n3\r\n"), b.Content("le.rc"))
	require.Equal(t, "\x00"+strings.TrimSuffix(wide("one\n2\n3\n"), "\x00"), b.Content("be.rc"))
	require.Equal(t, "\ufeffone\r\n2\r\n3\r\n", b.Content("mark.cs"))
	b.OK(spec.ToolWriteFile, tooltest.Args{"path": "le.rc", "content": "a\n"})
	b.OK(spec.ToolWriteFile, tooltest.Args{"path": "mark.cs", "content": "a\n"})
	require.Equal(t, "\xff\xfe"+wide("a\r\n"), b.Content("le.rc"))
	require.Equal(t, "\ufeffa\r\n", b.Content("mark.cs"))
}

func TestEditsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.go": "one\ntwo\n", "b/c.go": "x\nx\n", "other": "o\n"}, nil)
	edits := func(list ...any) tooltest.Args { return tooltest.Args{"edits": list} }
	one := func(path, from, to string) tooltest.Args {
		return tooltest.Args{"path": path, "old_text": from, "new_text": to}
	}
	all := one("b/c.go", "x", "y")
	all["replace_all"] = true
	list := edits(one("a.go", "one", "1"), all, one("./a.go", "1\ntwo", "1\n2"))
	require.Equal(t, "editing a.go and 2 more", b.Set.Doing(tool.Call{Name: spec.ToolEditFile, Args: list}))
	out := b.OK(spec.ToolEditFile, list)
	require.Equal(t, "a.go changed\n     1\t1\n     2\ttwo\n"+"b/c.go changed in 2 places\n     1\ty\n     2\ty\n"+
		"a.go changed\n     1\t1\n     2\t2\n", out, "an edit sees those before it")
	require.Equal(t, "1\n2\n", b.Content("a.go"))
	require.Equal(t, "y\ny\n", b.Content("b/c.go"))
}

func TestEditsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a": "one\n", "b": "x\nx\n", "bin": "\x00\n", "prot_test": "p\n", "in/c": "c\n",
	}, func(e *Config) { e.Scope = NewScope(spec.WriteSet{Protected: []string{"prot_*", "in/**"}}) })
	before := everything(b)
	var list []any
	for _, path := range []string{"a", "b", "bin", "missing", "in/c", "prot_test", "../out", ".git/hooks/x"} {
		list = append(list, tooltest.Args{"path": path, "old_text": map[string]string{"a": "one"}[path] + "x", "new_text": "z"})
	}
	list[0].(tooltest.Args)["old_text"] = "one"
	said := b.Fails(spec.ToolEditFile, tooltest.Args{"edits": list})
	for _, why := range []string{
		"nothing was changed; fix:", "edits[1]: b was not changed: old_text occurs in 2 places, at lines 1, 2",
		"edits[2]: bin is a binary file", "edits[3]: missing does not exist",
		"edits[4]: in/c is protected", "edits[5]: prot_test is protected", "edits[6]: ", "leads out", "git's own",
	} {
		require.Contains(t, said, why)
	}
	require.NotContains(t, said, "edits[0]")
	require.Contains(t, b.Fails(spec.ToolEditFile, tooltest.Args{"edits": []any{}}), "at least one")
	require.Contains(t, b.Fails(spec.ToolEditFile, tooltest.Args{"edits": []any{tooltest.Args{"path": "a", "new_text": 1}, "x"}}),
		"edits[0].new_text: is of type number and must be string\n- edits[0]: missing: old_text\n- edits[1]: is of type string")
	require.Equal(t, before, everything(b))
}

// TestChangeTakesBack lets the last of several files fail after the others were written.
func TestChangeTakesBack(t *testing.T) {
	t.Parallel()
	b, files := treeOver(t, map[string]string{"a": "a\n", "b": "b\n", "dir/c": "c\n"})
	before := everything(b)
	changes := []*change{
		{"a", []byte("a\n"), []byte("1\n"), 0o600}, {"b", []byte("b\n"), []byte("2\n"), 0o600}, {"dir", nil, []byte("3\n"), 0o600},
	}
	require.ErrorContains(t, files.change(changes), "nothing was changed: dir: ")
	require.Equal(t, before, everything(b), "temporary files go too")
	changes[2].target = "nowhere/d"
	require.ErrorContains(t, files.change(changes), "nothing was changed: nowhere/d does not exist")
	require.Equal(t, before, everything(b), "what cannot be staged changes nothing")
}

func TestEditIsNotBegunLate(t *testing.T) {
	t.Parallel()
	b, files := treeOver(t, map[string]string{"a": "a\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := files.edit(ctx, editArgs{[]oneEdit{{Path: "a", Old: "a", New: "b"}}})
	require.Contains(t, r.Output["error"], "nothing was changed: context canceled")
	require.Equal(t, "a\n", b.Content("a"))
}

// everything is all files of a tree with mode and content.
func everything(b *tooltest.Bench) map[string]string {
	b.T.Helper()
	all := map[string]string{}
	require.NoError(b.T, filepath.WalkDir(b.Dir, func(name string, entry fs.DirEntry, err error) error {
		require.NoError(b.T, err)
		info, err := entry.Info()
		require.NoError(b.T, err)
		inside, err := filepath.Rel(b.Dir, name)
		require.NoError(b.T, err)
		all[inside] = info.Mode().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			all[inside] += " " + b.Content(inside)
		}
		return nil
	}))
	return all
}
