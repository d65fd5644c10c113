package git

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestNameFault(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		fault string
		bad   bool
	}{
		"a.go": {}, ".gitignore": {}, "a b": {}, "auxiliary.txt": {}, "console": {}, "..a": {}, "grüße.txt": {}, "日本語": {},
		strings.Repeat("n", MaxName):            {},
		strings.Repeat("n", MaxName+1):          {"has a name of 256 bytes; 255 are allowed", true},
		strings.Repeat("ü", 128):                {"has a name of 256 bytes; 255 are allowed", true},
		"a\xff":                                 {"has a name that is not UTF-8", true},
		"a\nb":                                  {"has the control character U+000A in its name", true},
		"a\x7f":                                 {"has the control character U+007F in its name", true},
		"a\u009bb":                              {"has the control character U+009B in its name", true},
		"cod\u202eog.exe":                       {"has the control character U+202E in its name", true},
		"a\u2066":                               {"has the control character U+2066 in its name", true},
		`a\b`:                                   {"has a backslash in its name", true},
		"p.go:x":                                {"has ':' in its name, which Windows does not allow", false},
		"what?":                                 {"has '?' in its name, which Windows does not allow", false},
		"p.go.":                                 {"ends in a dot or a blank, which Windows cuts off", false},
		"p.go ":                                 {"ends in a dot or a blank, which Windows cuts off", false},
		"aux.txt":                               {"has the name of a device of Windows", false},
		"CON":                                   {"has the name of a device of Windows", false},
		"nul.tar.gz":                            {"has the name of a device of Windows", false},
		"com1 .txt":                             {"has the name of a device of Windows", false},
		"Lpt³":                                  {"has the name of a device of Windows", false},
		"a\u200bb":                              {"has a character in its name that is not seen", false},
		"a\ufe0f" + strings.Repeat("\u00a0", 2): {"has a character in its name that is not seen", false},
	} {
		fault, bad := nameFault(name)
		require.Equal(t, want.fault, fault, "%q", name)
		require.Equal(t, want.bad, bad && fault != "", "%q", name)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"Foo.go", "foo.GO"}, {"stra\u00dfe", "STRA\u00dfE"}, {"caf\u00e9", "cafe\u0301"}, {"\u212a", "k"}, {"\u03c3", "\u03c2"},
	} {
		require.Equal(t, fold(same[0]), fold(same[1]), "%q", same)
	}
	require.NotEqual(t, fold("a"), fold("b"))
}

func FuzzNameFault(f *testing.F) {
	for _, seed := range []string{"a.go", "aux.txt", "p.go.", "a\xff", "\u202e", "COM¹", strings.Repeat("x", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		fault, bad := nameFault(name)
		if !utf8.ValidString(fault) || len(fault) > 200 {
			t.Fatalf("%q: the fault %q is not fit to be shown", name, fault)
		}
		if fault != "" && bad {
			return
		}
		if len(name) > MaxName || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00\n\u202e") {
			t.Fatalf("%q is not refused", name)
		}
		if fold(fold(name)) != fold(name) {
			t.Fatalf("%q folds to %q and that to %q", name, fold(name), fold(fold(name)))
		}
	})
}

// treeOf writes a tree object as it is said, entries "mode name id".
func (b *bundle) treeOf(entries ...treeEntry) string {
	b.t.Helper()
	id, err := writeLoose(b.m.Objects(), len(b.base), "tree", must(treeContent(entries, len(b.base))))
	require.NoError(b.t, err)
	return id
}

// commitOf commits a tree on the base.
func (b *bundle) commitOf(tree string) string {
	b.t.Helper()
	return must(b.m.CommitTree(tree, []string{b.base}, "m", divisi, divisi, noon))
}

// withTop is the base's tree with one more entry.
func (b *bundle) withTop(e treeEntry) string {
	b.t.Helper()
	return b.treeOf(with(must(b.m.readTree(b.t.Context(), b.base)), e)...)
}

func (b *bundle) blob(content string) string {
	b.t.Helper()
	return must(writeLoose(b.m.Objects(), len(b.base), "blob", []byte(content)))
}

// deep is a tree of so many directories within each other around a file.
func (b *bundle) deep(depth int) string {
	b.t.Helper()
	id := b.treeOf(treeEntry{"f", ModeFile, b.blob("x\n")})
	for range depth - 1 {
		id = b.treeOf(treeEntry{"d", modeTree, id})
	}
	return id
}

func TestCheckPatchRefusesWhatCannotBeLaidOut(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	file := func(name string) string { return b.withTop(treeEntry{name, ModeFile, b.blob("x\n")}) }
	long := func(dirs, name int) string {
		id := b.treeOf(treeEntry{strings.Repeat("n", name), ModeFile, b.blob("x\n")})
		for range dirs {
			id = b.treeOf(treeEntry{strings.Repeat("d", 99), modeTree, id})
		}
		return b.withTop(treeEntry{strings.Repeat("d", 99), modeTree, id})
	}
	for name, c := range map[string]struct{ tree, want string }{
		"name of 5,000 bytes": {file(strings.Repeat("n", 5000)), "n… has a name of 5000 bytes; 255 are allowed"},
		"name that fits":      {file(strings.Repeat("n", MaxName)), ""},
		"3,000 directories": {
			b.withTop(treeEntry{"deep", modeTree, b.deep(3000)}), "/d… is a directory within 256 others; 255 are allowed",
		},
		"depth that fits": {b.withTop(treeEntry{"deep", modeTree, b.deep(MaxDepth)}), ""},
		"depth that does not fit": {
			b.withTop(treeEntry{"deep", modeTree, b.deep(MaxDepth + 1)}), "/d… is a directory within 256 others; 255 are allowed",
		},
		"path":           {long(39, 1), "has a path of 4001 bytes; 4000 are allowed"},
		"path that fits": {long(38, 100), ""},
		"C1":             {file("a\u009bm"), `"a\u009bm" has the control character U+009B in its name`},
		"bidi":           {file("a\u202etxt.go"), `"a\u202etxt.go" has the control character U+202E in its name`},
		"no UTF-8":       {file("a\xe9"), `"a\xe9" has a name that is not UTF-8`},
		"of Windows":     {file("aux.txt"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := b.commitOf(c.tree)
			err := CheckPatch(t.Context(), b.m, b.patchOf(b.base, id), all)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var refused *PatchError
			require.ErrorAs(t, err, &refused)
			require.True(t, refused.Has(FaultName))
			require.Len(t, refused.Faults, 1)
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 400)
		})
	}
}

func TestCheckPatchLooksAtWhereLinksLead(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	base := b.change(b.base, map[string]string{ModeSymlink + ":l": "a.txt"})
	tree := must(b.m.readTree(t.Context(), base))
	for target, good := range map[string]bool{
		"dir": true, strings.Repeat("t", MaxLink): true, strings.Repeat("t", MaxLink+1): false, "a\x00b": false, "": false,
	} {
		next := b.treeOf(with(append([]treeEntry{}, tree...), treeEntry{"l", ModeSymlink, b.blob(target)})...)
		id := must(b.m.CommitTree(next, []string{base}, "m", divisi, divisi, noon))
		err := CheckPatch(t.Context(), b.m, b.patchOf(base, id), all)
		if good {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("l is a symlink to a path of %d bytes", len(target)))
	}
}

// What the base has is not the patch's fault, nor what lies beside it.
func TestNames(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	base := b.change(b.base, map[string]string{
		"aux/con.txt": "1\n", "Foo.go": "1\n", "foo.go": "1\n", ModeFile + ":x:y": "1\n", "pkg/a.go": "1\n",
		strings.Repeat("deep/", 300) + "f": "1\n",
	})
	for name, c := range map[string]struct {
		files     map[string]string
		want, bad []string
	}{
		"old ones": {map[string]string{
			"aux/con.txt": "2\n", "aux/new.txt": "2\n", "foo.go": "2\n", ModeNone + ":x:y": "", "bar.go": "2\n",
			strings.Repeat("deep/", 300) + "g": "2\n",
		}, nil, nil},
		"a third of a name": {map[string]string{"FOO.go": "2\n"}, nil, []string{"FOO.go is the same name as"}},
		"of the change": {map[string]string{"new/A": "2\n", "new/a": "2\n"}, nil, []string{
			`new/a is the same name as "A" beside it where letters have no case`,
		}},
		"of a directory": {map[string]string{"Pkg/b.go": "2\n"}, nil, []string{`Pkg is the same name as "pkg"`}},
		"accents": {map[string]string{"caf\u00e9": "1\n", "cafe\u0301": "2\n"}, []string{
			"is the same name as \"cafe\u0301\" beside it where accents have one form",
		}, nil},
		"renamed": {map[string]string{"Foo.go": "", "foo.go": "", "FOO.GO": "1\n"}, nil, nil},
		"of Windows": {map[string]string{"aux/aux.c": "1\n", "p.go.": "1\n", ModeFile + ":p.go:x": "1\n"}, []string{
			"p.go. ends in a dot", "p.go:x has ':' in its name", "aux/aux.c has the name of a device",
		}, nil},
		"of a new directory": {map[string]string{"nul/a/b": "1\n"}, []string{"nul has the name of a device"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := b.change(base, c.files)
			n, err := b.m.Names(t.Context(), base, id)
			require.NoError(t, err)
			for _, of := range []struct {
				found []PatchFault
				want  []string
			}{{n.Odd, c.want}, {n.Bad, c.bad}} {
				require.Len(t, of.found, len(of.want), "%v", of.found)
				for i, f := range of.found {
					require.Contains(t, f.String(), of.want[i])
				}
			}
			err = CheckPatch(t.Context(), b.m, b.patchOf(base, id), all)
			if c.bad == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.bad[0])
		})
	}
	_, err := b.m.Names(t.Context(), base, strings.Repeat("1", 40))
	require.ErrorIs(t, err, ErrNotFound)
}

// Trees of a few bytes that each have the one below twice are as many directories as can be named.
func TestCheckPatchRefusesTreesWithinTrees(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for name, leaf := range map[string]treeEntry{
		"of files": {"f", ModeFile, b.blob("x\n")}, "of nothing": {"e", modeTree, b.treeOf()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := b.treeOf(leaf)
			for range 40 {
				id = b.treeOf(treeEntry{"a", modeTree, id}, treeEntry{"b", modeTree, id})
			}
			id = b.commitOf(b.withTop(treeEntry{"bomb", modeTree, id}))
			p := spec.Patch{Commit: id, Base: b.base, Tree: must(b.m.Commit(t.Context(), id)).Tree, Files: []string{"bomb/a"}}
			require.ErrorIs(t, CheckPatch(t.Context(), b.m, p, all), ErrTooLarge)
		})
	}
}
