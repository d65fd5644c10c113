package gate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

const (
	eslintDocument = `[{"filePath":"/tmp/fx/a.js","messages":[{"ruleId":"eqeqeq","severity":2,"message":"Bad","line":2,"column":6},` +
		`{"ruleId":"eqeqeq","severity":2,"message":"Bad","line":7,"column":6},{"ruleId":"semi","severity":1,"message":"Old","line":1,"column":1}]}]`
	mypyDocument = `{"file":"b.py","line":6,"column":25,"message":"Wrong","hint":null,"code":"operator","severity":"error"}`
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	bad, wrong := "a.js: Bad (eqeqeq)", "b.py: Wrong (operator)"
	for output, want := range map[string][]string{
		eslintDocument + "\n" + mypyDocument:                         {bad, wrong},
		eslintDocument + mypyDocument + "\nc.go:1:2: undefined: x\n": {bad, wrong, "c.go: undefined: x"},
		"> lint\n10%\r50%\r" + eslintDocument + "\r\n":               {bad},
		"10%\rc.go:1:2: \x1b[31mundefined: x\x1b[0m\r\n":             {"c.go: undefined: x"},
		mypyDocument + "\n[\n" + eslintDocument[1:160]:               {bad, wrong},
		"{\n  x: 1,\nerror: no\n}":                                   {"error: no"},
		"{\n\"x\": 1,\n\"y\": 2\nerror: no":                          {"error: no"},
		strings.ReplaceAll(mypyDocument, `"error"`, `"warning"`):     {wrong},
		strings.ReplaceAll(mypyDocument, `"error"`, `"note"`):        {},
		"F401 [*] `os` unused\n --> a.py:1:8\n  |\n1 | import os\n\nF401 [*] `os` unused\n --> a.py:9:8\n  |\n" +
			"E711 no\n\n --> b.py:1:1\ninvalid-syntax: Expected x\n --> c.py:1:1\nFound 3 errors.\n": {"a.py: `os` unused (F401)", "c.py: Expected x (invalid-syntax)"},
	} {
		for _, format := range []string{FormatText, FormatFindings, ""} {
			found := parse(format, []byte(output), tool{})
			require.ElementsMatch(t, want, found.sorted(), "%s %q", format, output)
		}
	}
	found := parse(FormatText, []byte(eslintDocument), tool{})
	require.Equal(t, map[string]int{bad: 2}, found.counted.several())
	found = parse(FormatText, []byte(mypyDocument+"\n"+eslintDocument[:160]), tool{})
	require.Contains(t, found.hidden, spec.HiddenAll)
	require.Equal(t, []string{bad, wrong}, found.sorted())
	// Beside what a test runner reports, and as the report of a gate in JSON.
	goTest := `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n"
	require.ElementsMatch(t, []string{bad, "test: p TestA"}, parse(FormatGoTest, []byte(goTest+eslintDocument), tool{}).sorted())
	require.Equal(t, []string{wrong}, parse(FormatJSON, []byte(mypyDocument), tool{}).sorted())
}

// The findings of a tool that works in parallel come in another order each time.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"mypy1-json.txt", "staticcheck1-json.txt", "rust1-json.txt", "tsc3-two.txt", "astgrep1-stream.txt"} {
		output, err := os.ReadFile(filepath.Join("testdata", "recorded", file))
		require.NoError(t, err)
		lines := strings.SplitAfter(string(output), "\n")
		want := parse(FormatFindings, output, tool{})
		for range 5 {
			rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			got := parse(FormatFindings, []byte(strings.Join(lines, "")), tool{})
			require.Equal(t, want.sorted(), got.sorted(), file)
			require.Equal(t, want.counted.counts, got.counted.counts, file)
		}
	}
}

// Many errors stay bounded, whatever form they have.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads 32 MB")
	}
	for name, line := range map[string]string{
		"lines": "a%d.go:%d:2: undefined: x%d", "documents": strings.NewReplacer("b.py", "b%d.py", `"line":6`, `"line":%d`).Replace(mypyDocument),
		"rewritten": "\rerror: %d of %d\r", "unclosed": `{"a%d": [%d,`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var output bytes.Buffer
			for i := 0; output.Len() < 8<<20; i++ {
				fmt.Fprintf(&output, strings.ReplaceAll(line, "x%d", "x"), i, i)
				output.WriteString("\n")
			}
			found := parse(FormatFindings, output.Bytes(), tool{})
			require.LessOrEqual(t, len(found.signatures), maxSignatures+1)
			require.LessOrEqual(t, len(found.told), maxSignatures)
			require.LessOrEqual(t, found.kept.Len(), maxTail)
			require.LessOrEqual(t, len(found.hidden), maxHidden+1)
		})
	}
}

func FuzzDocuments(f *testing.F) {
	fuzzFormat(f, FormatFindings, "recorded/eslint1-json.txt", "recorded/mypy1-json.txt", "recorded/ruff3-cut.txt", "recorded/vet1-json.txt",
		"recorded/both1-json.txt")
}
