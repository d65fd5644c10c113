package symbols

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzGoSymbols(f *testing.F) {
	f.Add([]byte("package h\n\n// T is one.\ntype T interface {\n\tM(a int) error\n}\n\nvar x, y = 1, 2\n\nfunc (t T) f() {\n}\n"))
	f.Add([]byte("package h\nfunc (a\ntype T struct {\nvar ("))
	f.Add([]byte("package h\n//line x:9999999\nfunc f(" + strings.Repeat("[]func(", 50)))
	f.Fuzz(func(t *testing.T, data []byte) {
		symbols := Go(data, true).Symbols
		lines := strings.Count(string(data), "\n") + 1
		for _, s := range symbols {
			require.GreaterOrEqual(t, s.Line, 1)
			require.LessOrEqual(t, s.Line, lines)
			require.LessOrEqual(t, s.End, lines)
		}
	})
}
