package git

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConversion(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	plain := must(b.m.Conversion(t.Context(), b.base))
	require.Equal(t, Conversion{}, plain)
	keys := map[string]bool{"": true}
	for _, c := range []struct {
		name, list string
		want       Conversion
	}{
		{".gitattributes", "*.png binary\n*.go diff=golang -text\n", Conversion{}},
		{"dir/sub/.gitattributes", "*.png binary\n*.go diff=golang -text\n", Conversion{}},
		{"dir/.gitattributes", "* text=auto\n", Conversion{Lines: true}},
		{".gitattributes", "[attr]lines eol=crlf\n", Conversion{Lines: true}},
		{"dir/.gitattributes", "a working-tree-encoding=UTF-16\nb\tworking-tree-encoding=Shift_JIS\n", Conversion{All: true}},
		{".gitattributes", "a working-tree-encoding=ISO-2022-CN-EXT\r\n", Conversion{All: true, Foreign: true}},
		{"dir/.gitattributes", "a working-tree-encoding=UTF-16//TRANSLIT", Conversion{All: true, Foreign: true}},
	} {
		id := b.change(b.base, map[string]string{c.name: c.list})
		for range 2 { // the second one is remembered
			got := must(b.m.Conversion(t.Context(), id))
			keys[got.Key] = true
			got.Key = ""
			require.Equal(t, c.want, got, c.list)
		}
		other := b.change(id, map[string]string{"a.txt": "another\n"})
		require.Equal(t, must(b.m.Conversion(t.Context(), id)), must(b.m.Conversion(t.Context(), other)))
	}
	require.Len(t, keys, 8, "each set of lists has a key of its own: %v", maps.Keys(keys))
	_, err := b.m.Conversion(t.Context(), strings.Repeat("1", 40))
	require.ErrorIs(t, err, ErrNotFound)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, own settings
		want      Ends
	}{
		{settings{"core.autocrlf": {"TRUE"}}, nil, Ends{AutoCRLF: "true"}},
		{settings{"core.autocrlf": {"true"}}, settings{"core.autocrlf": {"input"}, "core.eol": {"crlf"}}, Ends{"input", "crlf"}},
		{settings{"core.autocrlf": {"on"}}, settings{"core.autocrlf": {"false"}}, Ends{}},
		{settings{"core.eol": {"lf\nx = y"}, "core.autocrlf": {"1"}}, nil, Ends{AutoCRLF: "true"}},
	} {
		got := endsOf(c.user, c.own)
		require.Equal(t, c.want, got)
		require.NoError(t, got.check())
	}
	require.ErrorIs(t, Ends{EOL: "lf\n"}.check(), ErrBadName)
	require.ErrorIs(t, Refs{Branch: "main", Remote: "o", Default: "main", Ends: Ends{AutoCRLF: "x"}}.Check(), ErrBadName)
}

func TestRefsHaveTheUsersLineEnds(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.git("config", "core.autocrlf", "input")
	refs, err := b.g.RefsOf(t.Context(), b.c, b.base)
	require.NoError(t, err)
	require.Equal(t, Ends{AutoCRLF: "input"}, refs.Ends)
	require.NoError(t, b.m.KeepRefs(refs))
	require.Equal(t, refs, must(b.m.Refs()))
}

// FuzzAsks compares with git itself, which must not find more in a list than asks does.
func FuzzAsks(f *testing.F) {
	for _, seed := range []string{
		"* text=auto\n", "a\teol=crlf", "[attr]x ident\na x", "\"a\" working-tree-encoding=UTF-8", "# a text", "a -text !eol", "a crlf=input",
		"\ufeffa text", "a text\r\n", "a\vtext", "!a text", "a text\x00eol",
	} {
		f.Add(seed)
	}
	names := []string{"text", "eol", "crlf", "ident", "working-tree-encoding"}
	f.Fuzz(func(t *testing.T, list string) {
		u := &user{t: t, dir: t.TempDir()}
		u.git("init", "-q")
		u.write(".gitattributes", list)
		out, err := userCommand(t, u.dir, append([]string{"check-attr"}, append(names, "--", "a", "b/a.txt")...)...).Output()
		require.NoError(t, err)
		c := AsksFor([]byte(list))
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), ": ")
			asked := fields[2] != "unspecified" && fields[2] != "unset"
			if asked && !c.All && (fields[1] == "working-tree-encoding" || !c.Lines) {
				t.Fatalf("%q: git finds %s", list, line)
			}
		}
	})
}
