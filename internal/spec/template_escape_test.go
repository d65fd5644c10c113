package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEscapeTemplate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Use {goal}.":                 "Use {{goal}}.",
		"func() {} and {\"a\": 1}":    "func() {} and {\"a\": 1}",
		"${{ secrets.X }} {unknown?}": "${{{{ secrets.X }}}} {{unknown?}}",
		"}} {artifact.x}":             "}} {{artifact.x}}",
		"":                            "",
	} {
		require.Equal(t, want, EscapeTemplate(text), text)
	}
}

func TestEscapedTextIsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("{}{}{}goal?artifact.x é\n"))).Draw(t, "text")
		tmpl, problems := ParseTemplate(EscapeTemplate(text))
		require.Empty(t, problems)
		require.Empty(t, tmpl.Keys())
		got, err := tmpl.Expand(nil)
		require.NoError(t, err)
		require.Equal(t, text, got)
	})
}
