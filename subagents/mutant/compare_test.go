package mutant

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const joinPython = `def join(first, last):
    if first == "" and last == "":
        return "none"
    if last == "":
        return first
    return last + ", " + first
`

const joinTest = `import unittest
from names import join

class JoinTest(unittest.TestCase):
    def test_join(self):
        self.assertEqual(join("", ""), "none")
        self.assertEqual(join("Ada", ""), "Ada")
        self.assertEqual(join("Ada", "Byron"), "Byron, Ada")
`

// rowsTest has the rows of joinTest in a file.
const rowsTest = `import json, unittest
from names import join

class JoinTest(unittest.TestCase):
    def test_join(self):
        with open("testdata/names.json") as f:
            for first, last, want in json.load(f):
                self.assertEqual(join(first, last), want)
`

// In Python an assertion that moves into a block is another one.
func TestIndentedTestsDiffer(t *testing.T) {
	t.Parallel()
	for _, indented := range []bool{false, true} {
		touched := &Touched{
			was: map[string]string{"a": "with b:\n    c()\nassert d"}, now: map[string]string{"a": "with b:\n    c()\n    assert d"},
			indented: indented,
		}
		require.Equal(t, indented, len(touched.Tests()) == 1)
	}
}

// Tests are compared before and after a patch, with the code after it where they run with that.
func TestPythonTestsAreCompared(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("each takes many runs")
	}
	for name, c := range map[string]struct {
		code, test []string // before the patch and after it: texts replaced in those above
		weaker     string
		red        bool
		brief      string
		data       [2]string // that the tests read
	}{
		"an assertion that is gone": {
			test: []string{`        self.assertEqual(join("Ada", ""), "Ada")` + "\n", ""}, weaker: `last == "" made`,
		},
		"letters that are ignored": {
			test: []string{`join("", ""), "none"`, `join("", "").lower(), "none"`}, weaker: `"none" made`,
		},
		"renames": {
			code: []string{"def join", "def full"}, test: []string{"test_join", "test_names", "join(", "full(", "import join", "import full"},
		},
		"another argument": {
			code: []string{"first, last", "last, first"}, test: []string{`"Ada", "Byron"`, `"Byron", "Ada"`, `"Ada", ""`, `"", "Ada"`},
			red: true,
		},
		"an expectation that the brief names": {
			code: []string{`"none"`, `"nobody"`}, test: []string{`"none"`, `"nobody"`},
			brief: `Return "nobody" instead of "none".`, red: true,
		},
		"more than the brief names": {
			code:  []string{`"none"`, `"nobody"`},
			test:  []string{`"none"`, `"nobody"`, `        self.assertEqual(join("Ada", ""), "Ada")` + "\n", ""},
			brief: `Return "nobody" instead of "none".`, red: true, weaker: `last == "" made`,
		},
		"a row of data that is gone": {
			data:   [2]string{`[["", "", "none"], ["Ada", "", "Ada"], ["Ada", "Byron", "Byron, Ada"]]`, `[["", "", "none"]]`},
			weaker: `last == "" made`,
		},
		"a row of data that no change of the code needs": {
			data:   [2]string{"[\n[\"\", \"\", \"none\"],\n[\"Ada\", \"\", \"Ada\"],\n[\"Bob\", \"\", \"Bob\"]\n]", "[\n[\"\", \"\", \"none\"],\n[\"Ada\", \"\", \"Ada\"]\n]"},
			weaker: `tests are weaker: ["Bob", "", "Bob"] of testdata/names.json:4 is gone, and with another value there test_names.py JoinTest.test_join before the patch fails`,
		},
		"a row of data that the brief removes": {
			data:  [2]string{"[\n[\"\", \"\", \"none\"],\n[\"Ada\", \"\", \"Ada\"],\n[\"Bob\", \"\", \"Bob\"]\n]", "[\n[\"\", \"\", \"none\"],\n[\"Ada\", \"\", \"Ada\"]\n]"},
			brief: "Drop Bob from the names.",
		},
		"one more argument": {
			code: []string{"first, last", "first, last, sep"}, test: []string{`""), `, `"", 1), `, `"Byron"), `, `"Byron", 1), `},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, test := replaced(joinPython, c.code), replaced(joinTest, c.test)
			if c.data[0] != "" {
				test = rowsTest
			}
			p := pythonTree(t, map[string]string{"names.py": code, "test_names.py": test, "testdata/names.json": c.data[1]})
			p.Before = map[string][]byte{"test_names.py": []byte(joinTest)}
			if c.data[0] != "" {
				const file = "testdata/names.json"
				p.Before = nil
				p.Data = Data{
					Before: map[string][]byte{file: []byte(c.data[0])}, After: map[string][]byte{file: []byte(c.data[1])},
					Readers: []string{"test_names.py"},
				}
				require.True(t, IsData(file))
				sources := map[string][]byte{"test_names.py": []byte(rowsTest), "test_others.py": []byte(joinTest)}
				require.Equal(t, []string{"test_names.py"}, ReadersOf(p.Data.Before, sources))
			}
			if p.Base = map[string][]byte{}; code != joinPython {
				p.Base["names.py"] = []byte(joinPython)
			}
			p.Renames = RenamesOf(p.Base, map[string][]byte{"names.py": []byte(code)})
			files, after := []string{"names.py", "test_names.py"}, map[string][]byte{"test_names.py": []byte(test)}
			touched, tests, err := TouchedIn(t.Context(), &p.Experiment, p.language, ".", files, after)
			require.NoError(t, err)
			touched.Brief, touched.Product, touched.Since = c.brief, p.Base, map[string][]byte{"names.py": []byte(code)}
			if len(touched.Tests()) == 0 && !touched.All { // names alone
				tests = [2][]Test{{{File: "test_names.py"}}, {{File: "test_names.py"}}}
			}
			p.Fold = FoldOf(p.Before, after)
			p, err = Open(t.Context(), p.Experiment, p.language, files)
			require.NoError(t, err)
			told, red, err := p.Compare(t.Context(), touched, tests, time.Now().Add(2*time.Minute))
			require.NoError(t, err)
			require.Equal(t, c.red, len(red) > 0, red)
			if c.weaker == "" {
				require.Equal(t, c.red, len(red) > 0 && touched.Named("test_names.py JoinTest.test_join"))
				if require.Empty(t, told.Weaker); c.red {
					return
				}
				require.GreaterOrEqual(t, len(told.Kept), 3)
			} else {
				require.True(t, slices.ContainsFunc(told.Weaker, func(w Weakness) bool { return w.Test == "test_names.py JoinTest.test_join" }))
				require.True(t, slices.ContainsFunc(told.Weaker, func(w Weakness) bool { return strings.Contains(w.In(""), c.weaker) }))
			}
		})
	}
}

// replaced is a text with some replaced by others.
func replaced(text string, pairs []string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

// A test that needs another one of its file is compared with it.
func TestPythonTestsThatPassOnlyTogether(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes many runs")
	}
	before := replaced(joinTest, []string{
		"class", "begun = []\n\nclass", "    def test_join(self):\n",
		"    def test_begin(self):\n        begun.append(1)\n\n    def test_join(self):\n        self.assertTrue(begun)\n",
	})
	after := replaced(before, []string{`        self.assertEqual(join("Ada", ""), "Ada")` + "\n", ""})
	p := pythonTree(t, map[string]string{"names.py": joinPython, "test_names.py": after})
	p.Before, p.Base = map[string][]byte{"test_names.py": []byte(before)}, map[string][]byte{}
	files := []string{"names.py", "test_names.py"}
	touched, tests, err := TouchedIn(t.Context(), &p.Experiment, p.language, ".", files, map[string][]byte{"test_names.py": []byte(after)})
	require.NoError(t, err)
	require.Equal(t, []Test{{"test_names.py", "JoinTest.test_join"}}, tests[1])
	p, err = Open(t.Context(), p.Experiment, p.language, files)
	require.NoError(t, err)
	told, _, err := p.Compare(t.Context(), touched, tests, time.Now().Add(2*time.Minute))
	require.NoError(t, err)
	require.NotEmpty(t, told.Weaker)
	require.Contains(t, told.Weaker[0].In(""), `last == "" made`)
}

func TestAlteredData(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		`{"a": 1, "b": "x"},`: {`{"a": 1, "b": "xx"},`, `{"a": 2, "b": "xx"},`},
		`10,1.5,yes`:          {`10,1.5,yesx`, `11,1.51,yesx`},
		`on: true`:            {`on: false`, `on: false`},
		`"key": {`:            {},
		`],`:                  {},
	} {
		require.Equal(t, want, [2]string{altered(line, false), altered(line, true)}, line)
	}
}
