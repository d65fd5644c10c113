package outlier_test

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/outlier"
)

var match = regexp.MustCompile(`old\.Load`)

// file is a file of a shard before and after a rename.
func file(i int, change func(after string) string) []outlier.Change {
	before := fmt.Sprintf(`package p%d

import (
	"fmt"
	"example.org/old"
)

// Get%[1]d loads a record.
func (s *Store%[1]d) Get(ctx Context, key string, limit int) (int, error) {
	if key == "" {
		return 0, fmt.Errorf("no key in %%s", s.name%[1]d)
	}
	s.mu%[1]d.Lock()
	defer s.mu%[1]d.Unlock()
	n, err := old.Load(ctx, key, limit)
	for i := 0; i < n; i++ {
		s.seen(key, i)
	}
	return n, err
}
`, i)
	after := strings.ReplaceAll(strings.Replace(before, `"example.org/old"`, `"example.org/new"`, 1), "old.Load", "fresh.Fetch")
	if change != nil {
		changed := change(after)
		if changed == after {
			panic("nothing changed")
		}
		after = changed
	}
	return []outlier.Change{{Path: fmt.Sprintf("p%d/p.go", i), Before: []byte(before), After: []byte(after)}}
}

func replace(old, now string) func(string) string {
	return func(after string) string { return strings.Replace(after, old, now, 1) }
}

// shards makes shards; the third one has a further change.
func shards(n int, change func(string) string) (out []outlier.Shard) {
	for i := range n {
		files := file(i, nil)
		if i == 2 {
			files = file(i, change)
		}
		out = append(out, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits(files, match)})
	}
	return out
}

// TestWrongEditsAreOutliers has edits that compile, and that no other shard makes.
func TestWrongEditsAreOutliers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"number":            replace("return 0,", "return 1,"),
		"text":              replace("no key in", "no keys in"),
		"swapped arguments": replace("ctx, key, limit", "ctx, limit, key"),
		"swapped elsewhere": replace("s.seen(key, i)", "s.seen(i, key)"),
		"a call is gone":    replace("	defer s.mu2.Unlock()\n", ""),
		"negated":           replace(`key == ""`, `key != ""`),
		"off by one":        replace("i < n", "i <= n"),
		"another name":      replace("return n, err", "return limit, err"),
		"another function":  replace("fresh.Fetch", "fresh.FetchAll"),
		"an argument less":  replace("ctx, key, limit", "ctx, key"),
		"a line more":       replace("	return n, err", "	n = 3\n	return n, err"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outliers := outlier.Find(shards(8, change))
			require.Len(t, outliers, 1)
			require.Len(t, outliers["2"], 1)
			require.Equal(t, "p2/p.go", outliers["2"][0].File)
			require.Contains(t, outliers["2"][0].Usual.Is, "fresh.Fetch")
		})
	}
}

// TestWholeLines has lines that are gone, or new, beside ones that become others: they are shown alone.
func TestWholeLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(string) string
		was, is string
	}{
		"gone":    {replace("	defer s.mu2.Unlock()\n	n, err", "	n, err"), "defer s.mu2.Unlock()", ""},
		"new":     {replace("	n, err :=", "	s.reset()\n	n, err :="), "", "s.reset()"},
		"a part":  {replace("ctx, key, limit", "ctx, key"), "n, err := old.Load(ctx, key, limit)", "n, err := fresh.Fetch(ctx, key)"},
		"changed": {replace("i < n", "i <= n"), "for i := 0; i < n; i++ {", "for i := 0; i <= n; i++ {"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outliers := outlier.Find(shards(8, c.change))["2"]
			require.Len(t, outliers, 1)
			require.Equal(t, c.was, outliers[0].Was)
			require.Equal(t, c.is, outliers[0].Is)
		})
	}
}

// TestHonestEditsAreNot has what formatters, imports and the place of a shard bring about.
func TestHonestEditsAreNot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"another import":  replace(`"fmt"`, "\"fmt\"\n\t\"errors\""),
		"a comment":       replace("// Get2 loads", "// Get2 fetches"),
		"a wrapped line":  replace("fresh.Fetch(ctx, key, limit)", "fresh.Fetch(\n\t\tctx,\n\t\tkey,\n\t\tlimit,\n\t)"),
		"another indent":  replace("	return n, err", "  return n,   err"),
		"an empty line":   replace("	return n, err", "\n	return n, err"),
		"a moved line":    replace("	s.mu2.Lock()\n	defer s.mu2.Unlock()\n", "	defer s.mu2.Unlock()\n	s.mu2.Lock()\n"),
		"a trailing word": replace("return n, err", "return n, err // as before"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, outlier.Find(shards(8, change)))
		})
	}
	t.Run("another alias of what the rule matches", func(t *testing.T) {
		t.Parallel()
		all := shards(8, replace("// Get2", "// G"))
		files := file(2, nil)
		files[0].Before = []byte(strings.Replace(string(files[0].Before), "old.Load", "legacy.old.Load", 1))
		all[2].Edits = outlier.Edits(files, match)
		require.Empty(t, outlier.Find(all))
	})
	t.Run("tests and prose", func(t *testing.T) {
		t.Parallel()
		all := shards(8, replace("// Get2", "// G"))
		files := file(2, nil)
		for _, path := range []string{"p2/p_test.go", "README.md", "testdata/a.go", "go.sum"} {
			files = append(files, outlier.Change{Path: path, Before: []byte("want 1\n"), After: []byte("want 2\n")})
		}
		all[2].Edits = outlier.Edits(files, match)
		require.Empty(t, outlier.Find(all))
	})
}

// TestNothingIsAnOutlierWhereNothingIsUsual has shards that are too few, or that edit each in its own way.
func TestNothingIsAnOutlierWhereNothingIsUsual(t *testing.T) {
	t.Parallel()
	wrong := replace("return 0,", "return 1,")
	require.Empty(t, outlier.Find(shards(3, wrong)))
	require.Len(t, outlier.Find(shards(4, wrong)), 1)
	var own []outlier.Shard
	for i := range 8 {
		change := replace("	return n, err", strings.Repeat("	n = -n\n", i+1)+strings.Repeat("	return n, err\n", i%3+1))
		if i%2 == 0 {
			change = replace("i < n", "i "+[]string{"<=", ">", ">=", "=="}[i/2]+" n")
		}
		own = append(own, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits(file(i, change), match)})
	}
	require.Empty(t, outlier.Find(own))
}

// TestLanguages has wrong edits beside a rename in other languages.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.py":   "from old import (\n    load,\n)\nimport os\n\n\ndef get(key):\n    \"\"\"Loads.\n\n    More of it.\n    \"\"\"\n    if key is None:  # none\n        return 7\n    return load(key, os.sep)\n",
		"b.py":   "SQL = \"\"\"\nselect\n\"\"\"\n\n\ndef get(key):\n    r\"\"\"Loads.\n\n    More of it.\n    \"\"\"\n    if key is None:\n        return 7\n    return load(key)\n",
		"a.ts":   "import {\n  load,\n} from 'old';\n/* Loads.\n   More. */\nexport function get(key: string): number {\n  if (key === 'x') return 7;\n  return load(key, 'a');\n}\n",
		"A.java": "import old.Load;\nclass A {\n  int get(String key) {\n    if (key == null) { return 7; }\n    return load(key, \"a\");\n  }\n}\n",
		"a.rs":   "use old::{\n  load,\n};\nfn get<'a>(key: &'a str) -> i32 {\n  if key == \"\" { return 7; }\n  load(key, \"a\")\n}\n",
		"a.rb":   "require 'old'\ndef get(key)\n  return 7 if key.nil? # none\n  load(key, 'a')\nend\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wrong := range []string{"7", "70"} {
				var all []outlier.Shard
				for i := range 6 {
					after := strings.ReplaceAll(text, "load", "fetch")
					if i == 4 {
						after = strings.Replace(after, "7", wrong, 1)
					}
					changes := []outlier.Change{{Path: fmt.Sprintf("src%d/%s", i, name), Before: []byte(text), After: []byte(after)}}
					all = append(all, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits(changes, nil)})
				}
				if outliers := outlier.Find(all); wrong == "7" {
					require.Empty(t, outliers)
				} else {
					require.Len(t, outliers["4"], 1)
					require.Contains(t, outliers["4"][0].Is, "70")
				}
			}
		})
	}
}

// TestEncodings has shards with a byte order mark and in UTF-16: the mark is no edit, and a wrong one of them is found.
func TestEncodings(t *testing.T) {
	t.Parallel()
	utf8 := func(s string) []byte { return []byte(s) }
	marked := func(s string) []byte { return []byte("\ufeff" + s) }
	wide := func(s string) (out []byte) {
		for _, unit := range utf16.Encode([]rune("\ufeff" + s)) {
			out = binary.LittleEndian.AppendUint16(out, unit)
		}
		return out
	}
	for name, encode := range map[string]func(string) []byte{"byte order mark": marked, "UTF-16": wide} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, now := range []string{"use fresh\n", "lose fresh\n"} {
				var all []outlier.Shard
				for i := range 6 {
					after, in := "use fresh\n", utf8
					if i == 4 {
						after, in = now, encode
					}
					changes := []outlier.Change{{Path: fmt.Sprintf("f%d.x", i), Before: in("use old\n"), After: in(after)}}
					all = append(all, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits(changes, nil)})
				}
				if outliers := outlier.Find(all); now == "use fresh\n" {
					require.Empty(t, outliers)
				} else {
					require.Len(t, outliers["4"], 1)
					require.Equal(t, []string{"use old", "lose fresh"}, []string{outliers["4"][0].Was, outliers["4"][0].Is})
				}
			}
		})
	}
}

// FuzzFind has texts that are no programs: the edits end within their bounds, and equal files have none.
func FuzzFind(f *testing.F) {
	f.Add("a.go", "import (\nf(\"x", "f('y', `z")
	f.Add("b.py", "\"\"\"doc", "x = 1 # a\n'''")
	f.Add("c.js", "/* \x00 \xff", "a/*b*/c // d\n\\'\\")
	f.Fuzz(func(t *testing.T, name, before, after string) {
		var all []outlier.Shard
		for i := range 4 {
			now := after
			if i == 3 {
				now += before
			}
			all = append(all, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits([]outlier.Change{
				{Path: name, Before: []byte(before), After: []byte(now)},
			}, nil)})
		}
		outlier.Find(all)
		require.Empty(t, outlier.Edits([]outlier.Change{{Path: name, Before: []byte(before), After: []byte(before)}}, nil))
	})
}

// BenchmarkFind compares a thousand shards.
func BenchmarkFind(b *testing.B) {
	all := shards(1000, replace("return 0,", "return 1,"))
	for b.Loop() {
		outlier.Find(all)
	}
}

// BenchmarkEdits compares two files of a megabyte that have no line in common.
func BenchmarkEdits(b *testing.B) {
	before, after := &strings.Builder{}, &strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(before, "old%d(a, b, %d)\n", i, i)
		fmt.Fprintf(after, "new%d(a, %d, b)\n", i, i)
	}
	changes := []outlier.Change{{Path: "a.go", Before: []byte(before.String()), After: []byte(after.String())}}
	for b.Loop() {
		outlier.Edits(changes, nil)
	}
}

// TestOwnLiteralsThatMove has shards whose separators are their own, and change their place with a rename.
func TestOwnLiteralsThatMove(t *testing.T) {
	t.Parallel()
	var all []outlier.Shard
	for i, sep := range []string{" - ", " | ", " - ", " / ", " | ", " ~ ", " - ", " | "} {
		before := fmt.Sprintf("x := old.Load([]string{a, b}, %q)\ny := old.Load(tags, \", \")\n", sep)
		after := fmt.Sprintf("x := fresh.Fetch(%q, a, b)\ny := fresh.Fetch(\", \", tags...)\n", sep)
		changes := []outlier.Change{{Path: fmt.Sprintf("p%d/p.go", i), Before: []byte(before), After: []byte(after)}}
		all = append(all, outlier.Shard{ID: fmt.Sprint(i), Edits: outlier.Edits(changes, match)})
	}
	require.Empty(t, outlier.Find(all))
}
