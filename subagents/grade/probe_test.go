package grade

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A gate that prints files as they are, such as one that runs git diff, has compiled none of them.
func TestACopyNamesNoFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report string
		copies bool
		want   bool
	}{
		"a.go": {"vet: ./a.go:3:9: undefined: MARK\n", true, true},
		"a.c":  {"a.c:3:2: error: #error MARK\n    3 | #error MARK\n      |  ^~~~~\n", true, true},
		"b.c":  {"src/error.c:3:#error MARK\n", true, false},
		"a.cc": {"a.cc:3:2: error: MARK\n", true, true},
		"a.rs": {"error: MARK\n --> src/a.rs:2:1\n2 | compile_error!(\"MARK\");\n", true, true},
		"A.java": {
			"A.java:4: error: cannot find symbol\n    int x = MARK;\n            ^\n  symbol:   variable MARK\n", true, true,
		},
		"a.ts":  {"a.ts(2,1): error TS2304: Cannot find name 'MARK'.\n", true, true},
		"a.py":  {"    raise Exception(\"MARK\")\nException: MARK\n", true, true},
		"a.js":  {"Error: MARK\n    at file:///a.js:3:7\n", true, true},
		"a.sh":  {"MARK\n", true, true},
		"a.hs":  {"a.hs:3:1: error: parse error on input\n3 | )) MARK ((\n", true, false},
		"b.hs":  {"a.hs:3:1: error: parse error on input\n3 | )) MARK ((\n", false, true},
		"a.f90": {"    3 | MARK MARK\n      | 1\nError: Unclassifiable statement at (1)\n", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("\n"), 0o600))
			marks, err := Plant(dir, []string{name})
			require.NoError(t, err)
			mark := marks[name]
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			var diff, listed strings.Builder
			for line := range strings.Lines(string(text)) {
				diff.WriteString("+" + line)
				listed.WriteString(name + ":" + line)
			}
			require.Empty(t, Named(marks, diff.String(), true))
			require.Empty(t, Named(marks, listed.String(), true))
			report := diff.String() + strings.ReplaceAll(c.report, "MARK", mark.word)
			require.Equal(t, c.want, len(Named(marks, report, c.copies)) == 1, "%s", report)
		})
	}
}
