package replace

import (
	"strings"
	"testing"
	"unicode/utf8"

	"divisi/internal/textfile"

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
		{
			name: "UTF-16 with a mark and CRLF", content: "\xff\xfea\x00\r\x00\n\x00b\x00\r\x00\n\x00", old: "a\nb", replacement: "é\nc",
			want: "\xff\xfe\xe9\x00\r\x00\n\x00c\x00\r\x00\n\x00",
		},
		{name: "UTF-16 without a mark", content: "\x00a\x00b\x00b\x00\n", old: "bb\n", replacement: "c\n", want: "\x00a\x00c\x00\n"},
		{name: "a mark", content: "\ufeffa\r\nb\r\n", old: "a\n", replacement: "c\nd\n", want: "\ufeffc\r\nd\r\nb\r\n"},
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
			e, err := In(file(t, c.content), c.old, c.replacement, c.all)
			require.NoError(t, err)
			require.Equal(t, c.want, string(e.Data))
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
			_, err := In(file(t, c.content), c.old, c.replacement, c.all)
			require.ErrorContains(t, err, c.why)
		})
	}
}

// file is a file with a content.
func file(t *testing.T, content string) *textfile.File {
	t.Helper()
	f, ok := textfile.Read([]byte(content))
	require.True(t, ok)
	return f
}

func TestEditOfRepeatedTextEnds(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a\n", 500_000)
	_, err := In(file(t, content), strings.Repeat("a \n", 20_000)+"b", "x", false)
	require.Error(t, err)
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\n", "b", "c", false)
	f.Add("\tif x {\n\t\ty()\n\t}\n", "if x {\n  y()\n}", "z\n", false)
	f.Add("aaa", "a", "aa", true)
	f.Fuzz(func(t *testing.T, content, old, replacement string, all bool) {
		f, ok := textfile.Read([]byte(content))
		if !ok || !f.Plain() && !utf8.Valid(f.Text) {
			return
		}
		if strings.HasPrefix(content, "\xff\xfe") || strings.HasPrefix(content, "\xfe\xff") || strings.HasPrefix(content, "\ufeff") {
			return // package textfile is tested with these
		}
		e, err := In(f, old, replacement, all)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, e.Report("f"))
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
		require.Equal(t, strings.Replace(plain, old, replacement, n), strings.ReplaceAll(string(e.Data), "\r\n", "\n"))
	})
}
