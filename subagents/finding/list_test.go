package finding

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestAListIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	kept := map[string][]byte{}
	put := func(_ context.Context, name string, data []byte) error { kept[name] = data; return nil }
	get := func(_ context.Context, name string) ([]byte, error) { return kept[name], nil }
	name, err := Store(t.Context(), put, List{})
	require.NoError(t, err)
	require.Empty(t, name)
	none, err := Load(t.Context(), get, "")
	require.NoError(t, err)
	require.Empty(t, none)

	want := List{Cut: true, Findings: []spec.Finding{
		{Signature: "a", Message: "a", File: "a.go", Line: 2, Column: 1, Code: "X", Tool: "t", Symbol: "s", Source: "x := 1"},
		{Signature: "b", Message: "b", File: "b.go", Line: 1},
	}}
	name, err = Store(t.Context(), put, want)
	require.NoError(t, err)
	got, err := Load(t.Context(), get, name)
	require.NoError(t, err)
	require.Equal(t, want, got)

	for _, file := range []string{"../x", "/etc/passwd", "a/../../x", ".", "a\x00", "a\u202e.go", "a\n.go", "./a"} {
		name, err = Store(t.Context(), put, List{Findings: []spec.Finding{{Signature: "s\x1b[2J", Message: strings.Repeat("é", 3000), File: file, Line: -4}}})
		require.NoError(t, err)
		got, err = Load(t.Context(), get, name)
		require.NoError(t, err)
		require.Empty(t, got.Findings[0].File, file)
		require.Zero(t, got.Findings[0].Line)
		require.Equal(t, "s [2J", got.Findings[0].Signature)
		require.LessOrEqual(t, len(got.Findings[0].Message), maxText)
	}
	many := List{Findings: make([]spec.Finding, MaxList+1)}
	name, err = Store(t.Context(), put, many)
	require.NoError(t, err)
	got, err = Load(t.Context(), get, name)
	require.NoError(t, err)
	require.Len(t, got.Findings, MaxList)
	require.True(t, got.Cut)
	kept["bad"] = []byte("no")
	_, err = Load(t.Context(), get, "bad")
	require.ErrorContains(t, err, "read the findings bad")
}
