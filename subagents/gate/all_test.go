package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/subagents/finding"

	"github.com/stretchr/testify/require"
)

func TestAllFindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"sub/a.js": "one\n  two = 2\nthree", "c.go": "package c\n", "b.py": "x = 1\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link.go")))
	all := func(r spec.Receipt, output string, command ...string) finding.List {
		r.ExitCode, r.Command = 1, command
		l, err := allOf(&r, parse(FormatFindings, []byte(output), tool{}), newNormaliser(dir), dir)
		require.NoError(t, err)
		return l
	}
	places := func(l finding.List) (out []string) {
		for _, f := range l.Findings {
			out = append(out, f.String()+" | "+f.Source)
		}
		return out
	}
	document := strings.ReplaceAll(eslintDocument, "/tmp/fx/a.js", dir+"/sub/a.js")
	require.Equal(t, []string{"sub/a.js:2:6: Bad (eqeqeq) | two = 2", "sub/a.js:7:6: Bad (eqeqeq) | "},
		places(all(spec.Receipt{}, document+"\n"+document, "eslint")), "each place once, with its source")
	require.Equal(t, []string{"sub/a.js:1:1: bad (x) | one"}, places(all(spec.Receipt{}, "a.js:1:1: error: bad [x]\n", "npm", "--prefix", "sub", "run", "lint")))
	l := all(spec.Receipt{}, "../x.go:1:2: undefined: x\n/etc/passwd.go:1:2: undefined: y\nlink.go:1:1: undefined: z\nc.go:1:1: undefined: p\n", "go")
	require.Equal(t, []string{"undefined: x | ", "undefined: y | ", "undefined: z | ", "c.go:1:1: undefined: p | package c"}, places(l))
	require.Empty(t, all(spec.Receipt{Kind: spec.KindTests}, document, "x").Findings)
	require.Empty(t, places(all(spec.Receipt{}, "all good\n", "x")))

	var many strings.Builder
	for i := range finding.MaxList + 10 {
		fmt.Fprintf(&many, "c.go:%d:1: undefined: x%d\n", i+1, i)
	}
	l = all(spec.Receipt{}, many.String(), "go")
	require.True(t, l.Cut)
	require.Len(t, l.Findings, finding.MaxList, "more than the signatures of a receipt")
}
