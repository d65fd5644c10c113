package tool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, old, replacement, want string
		all                                   bool
		how                                   string
	}{
		{name: "exact", content: "a\nb\nc\n", old: "b", replacement: "x", want: "a\nx\nc\n"},
		{name: "inside a line", content: "foo(bar)\n", old: "bar", replacement: "baz", want: "foo(baz)\n"},
		{name: "delete", content: "a\nb\nc\n", old: "b\n", replacement: "", want: "a\nc\n"},
		{name: "all", content: "aXaXa", old: "X", replacement: "-", all: true, want: "a-a-a"},
		{name: "all, overlapping", content: "aaaa", old: "aa", replacement: "b", all: true, want: "bb"},
		{name: "crlf", content: "a\r\nb\r\nc\r\n", old: "a\nb\n", replacement: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "mixed line ends stay", content: "a\nb\r\nc\nd\n", old: "c", replacement: "x\ny", want: "a\nb\r\nx\ny\nd\n"},
		{name: "crlf in both", content: "a\r\nb\r\n", old: "a\r\nb", replacement: "c\r\nd", want: "c\r\nd\r\n"},
		{name: "no newline at the end", content: "a\nb", old: "b", replacement: "c", want: "a\nc"},
		{
			name: "trailing space", content: "if x {  \n\ty()\n}\n", old: "if x {\n\ty()", replacement: "if z {\n\ty()",
			want: "if z {\n\ty()\n}\n", how: "spaces at line ends",
		},
		{
			name: "trailing space, other indentation in the new text", content: "\tx  \n\ty\n", old: "\tx\n\ty\n",
			replacement: "\tx\nlabel:\n    y\n", want: "\tx\nlabel:\n    y\n", how: "spaces at line ends",
		},
		{
			name: "deeper", content: "func f() {\n\t\tif x {\n\t\t\ty()\n\t\t}\n}\n", old: "if x {\n\ty()\n}",
			replacement: "if x {\n\tfor {\n\t\ty()\n\t}\n}",
			want:        "func f() {\n\t\tif x {\n\t\t\tfor {\n\t\t\t\ty()\n\t\t\t}\n\t\t}\n}\n", how: "indentation",
		},
		{
			name: "shallower", content: "x:\n  y: 1\n  z: 2\n", old: "    y: 1\n    z: 2\n",
			replacement: "    y: 3\n      w: 4\n",
			want:        "x:\n  y: 3\n    w: 4\n", how: "indentation",
		},
		{
			name: "spaces for tabs", content: "a {\n\tb {\n\t\tc\n\t}\n}\n", old: "a {\n    b {\n        c\n    }\n}",
			replacement: "a {\n    b {\n        d\n    }\n}", want: "a {\n\tb {\n\t\td\n\t}\n}\n", how: "indentation",
		},
		{name: "delete whole lines", content: "a\n  b\n  c\nd\n", old: "b\nc\n", want: "a\nd\n", how: "indentation"},
		{name: "no utf-8 elsewhere", content: "\xff\nb\n", old: "b", replacement: "c", want: "\xff\nc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := edit([]byte(c.content), c.old, c.replacement, c.all)
			require.NoError(t, err)
			require.Equal(t, c.want, string(e.data))
			require.Contains(t, e.how, c.how)
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, old, replacement, why string
		all                                  bool
	}{
		{name: "twice", content: "x\ny\nx\n", old: "x", replacement: "z", why: "2 places, at lines 1, 3"},
		{name: "twice by overlap", content: "aaa", old: "aa", replacement: "b", why: "2 places, at lines 1"},
		{
			name: "twice without indentation", content: "\tx()\n\ty()\n\t\tx()\n\t\ty()\n", old: "x()\ny()", replacement: "z",
			why: "2 places, at lines 1, 3",
		},
		{name: "all is exact", content: "x \nx \n", old: "x\n", replacement: "z", all: true, why: "not in the file"},
		{name: "empty", content: "x", old: "", replacement: "z", why: "old_text is empty"},
		{name: "same", content: "x", old: "x", replacement: "x", why: "are the same"},
		{name: "same but for line ends", content: "x\n", old: "x\r\n", replacement: "x\n", why: "are the same"},
		{name: "nothing like it", content: "abc\n", old: "zzzzzz", replacement: "x", why: "nothing there is like it"},
		{name: "blank lines", content: "a\n\n\nb\n", old: "  \n", replacement: "x", why: "not in the file"},
		{
			name: "near by one line", content: "one\ntwo\nthree\nfour\n", old: "one\ntwo!\nthree\n", replacement: "x",
			why: "nearest place is at line 1; copy from there exactly:\n     1\tone\n     2\ttwo\n     3\tthree\n",
		},
		{
			name: "near by letters", content: "aaa\nfunc handler(w http.ResponseWriter) {\n",
			old: "func handlr(w http.ResponseWriter) {", replacement: "x", why: "line 2",
		},
		{
			name: "unclear indentation", content: "\ta\n\tb\n", old: "a\nb", replacement: "a {\n    b\n}",
			why: "not clear how to indent",
		},
		{name: "uneven indentation", content: "\ta\n\t\tb\n", old: "a\nb", replacement: "c\nd", why: "shifted unevenly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := edit([]byte(c.content), c.old, c.replacement, c.all)
			require.ErrorContains(t, err, c.why)
		})
	}
}

func TestEditFileKeepsModeAndReports(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"s.sh": "one\ntwo\nthree\nfour\n", "bin": "\x00"}, nil)
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "s.sh"), 0o711))
	out := b.ok(spec.ToolEditFile, oneEdit("s.sh", "two", "2"))
	require.Equal(t, "s.sh changed\n     1\tone\n     2\t2\n     3\tthree\n", out)
	info, err := os.Stat(filepath.Join(b.dir, "s.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o711), info.Mode().Perm())
	again := oneEdit("s.sh", "two", "3")
	require.Contains(t, b.fails(spec.ToolEditFile, again), "s.sh was not changed")
	require.Contains(t, b.fails(spec.ToolEditFile, oneEdit("no", "a", "b")), "does not exist")
	require.Contains(t, b.fails(spec.ToolEditFile, oneEdit("bin", "a", "b")), "binary")
}

func TestEditsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.go": "one\ntwo\n", "b/c.go": "x\nx\n", "other": "o\n"}, nil)
	edits := func(list ...any) args { return args{"edits": list} }
	one := func(path, from, to string) args { return args{"path": path, "old_text": from, "new_text": to} }
	all := one("b/c.go", "x", "y")
	all["replace_all"] = true
	list := edits(one("a.go", "one", "1"), all, one("./a.go", "1\ntwo", "1\n2"))
	require.Equal(t, "editing a.go and 2 more", b.set.Doing(Call{Name: spec.ToolEditFile, Args: list}))
	out := b.ok(spec.ToolEditFile, list)
	require.Equal(t, "a.go changed\n     1\t1\n     2\ttwo\n"+"b/c.go changed in 2 places\n     1\ty\n     2\ty\n"+
		"a.go changed\n     1\t1\n     2\t2\n", out, "an edit sees those before it")
	require.Equal(t, "1\n2\n", b.content("a.go"))
	require.Equal(t, "y\ny\n", b.content("b/c.go"))
}

func TestEditsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a": "one\n", "b": "x\nx\n", "bin": "\x00\n", "prot_test": "p\n", "in/c": "c\n",
	}, func(e *Env) { e.Protected = []string{"prot_*", "in/**"} })
	before := b.everything()
	var list []any
	for _, path := range []string{"a", "b", "bin", "missing", "in/c", "prot_test", "../out", ".git/hooks/x"} {
		list = append(list, args{"path": path, "old_text": map[string]string{"a": "one"}[path] + "x", "new_text": "z"})
	}
	list[0].(args)["old_text"] = "one"
	said := b.fails(spec.ToolEditFile, args{"edits": list})
	for _, why := range []string{
		"nothing was changed; put right:", "edits[1]: b was not changed: old_text stands in 2 places, at lines 1, 2",
		"edits[2]: bin is a binary file", "edits[3]: missing does not exist",
		"edits[4]: in/c is protected", "edits[5]: prot_test is protected", "edits[6]: ", "leads out", "git's own",
	} {
		require.Contains(t, said, why)
	}
	require.NotContains(t, said, "edits[0]")
	require.Contains(t, b.fails(spec.ToolEditFile, args{"edits": []any{}}), "at least one")
	require.Contains(t, b.fails(spec.ToolEditFile, args{"edits": []any{args{"path": "a", "new_text": 1}, "x"}}),
		"edits[0].new_text: is of type number and must be string\n- edits[0]: missing: old_text\n- edits[1]: is of type string")
	require.Equal(t, before, b.everything())
}

// TestChangeTakesBack lets the last of several files fail after the others were written.
func TestChangeTakesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "a\n", "b": "b\n", "dir/c": "c\n"}, nil)
	files := b.set.tools[spec.ToolEditFile].(*editFile).files
	before := b.everything()
	changes := []*change{
		{"a", []byte("a\n"), []byte("1\n"), 0o600}, {"b", []byte("b\n"), []byte("2\n"), 0o600}, {"dir", nil, []byte("3\n"), 0o600},
	}
	require.ErrorContains(t, files.change(changes), "nothing was changed: dir: ")
	require.Equal(t, before, b.everything(), "temporary files go too")
	changes[2].target = "nowhere/d"
	require.ErrorContains(t, files.change(changes), "nothing was changed: nowhere/d does not exist")
	require.Equal(t, before, b.everything(), "what cannot be staged changes nothing")
}

func TestEditIsNotBegunLate(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "a\n"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := b.set.tools[spec.ToolEditFile].Run(ctx, Call{Args: oneEdit("a", "a", "b")})
	require.Contains(t, r.Output["error"], "nothing was changed: context canceled")
	require.Equal(t, "a\n", b.content("a"))
}

func TestEditOfRepeatedTextEnds(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a\n", 500_000)
	_, err := edit([]byte(content), strings.Repeat("a \n", 20_000)+"b", "x", false)
	require.Error(t, err)
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\n", "b", "c", false)
	f.Add("\tif x {\n\t\ty()\n\t}\n", "if x {\n  y()\n}", "z\n", false)
	f.Add("aaa", "a", "aa", true)
	f.Fuzz(func(t *testing.T, content, old, replacement string, all bool) {
		e, err := edit([]byte(content), old, replacement, all)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, e.report("f"))
		if e.how != "" { // what lies before and behind whole lines is untouched
			return
		}
		plain := strings.ReplaceAll(content, "\r\n", "\n")
		old, replacement = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(replacement, "\r\n", "\n")
		n := 1
		if all {
			n = -1
		} else {
			require.Equal(t, 1, strings.Count(plain, old))
		}
		if strings.Contains(replacement, "\r") || strings.Contains(old, "\r") || strings.Contains(plain, "\r") {
			return // a lone carriage return can become a line end beside a new one
		}
		require.Equal(t, strings.Replace(plain, old, replacement, n), strings.ReplaceAll(string(e.data), "\r\n", "\n"))
	})
}

// everything is all files of a tree with mode and content.
func (b *bench) everything() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(b.dir, func(name string, entry fs.DirEntry, err error) error {
		require.NoError(b.t, err)
		info, err := entry.Info()
		require.NoError(b.t, err)
		inside, err := filepath.Rel(b.dir, name)
		require.NoError(b.t, err)
		all[inside] = info.Mode().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			all[inside] += " " + b.content(inside)
		}
		return nil
	}))
	return all
}
