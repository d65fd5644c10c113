package mutant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFold(t *testing.T) {
	t.Parallel()
	require.Equal(t, `NOT FOUND: %s OF {name} IN \n ${X}`, Letters.Of(`not found: %s of {name} in \n ${X}`))
	require.Equal(t, "hELLO wORLD", Letters.Of("Hello World"))
	require.Equal(t, "a  b", Blanks.Of("a b"))
	require.Empty(t, Blanks.Of("ab"))
	require.Empty(t, Fold("").Of("a b"))
	require.Empty(t, Letters.Of("12"))
}

func TestFoldOfAPatch(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]Fold{
		"expect(f().toLowerCase()).toBe('a')":         Letters,
		"expect(f()).toMatch(/not found/i)":           Letters,
		"require.True(t, strings.EqualFold(a, b))":    Letters,
		"assert f().casefold() == 'a'":                Letters,
		"assert f().split() == ['a', 'b']":            Blanks,
		"expect(f().replace(/\\s+/g, ' ')).toBe('a')": Blanks,
		"expect(f()).toBe('A')":                       "",
	} {
		require.Equal(t, want, FoldOf(map[string][]byte{"t": []byte("expect(f()).toBe('A')")}, map[string][]byte{"t": []byte(after)}), after)
	}
	both := map[string][]byte{"t": []byte("x.lower() == y")}
	require.Empty(t, FoldOf(both, both))
}

func TestAnInterpretedTextIsFolded(t *testing.T) {
	t.Parallel()
	source := []byte(`x = "Not found" + f`)
	c := Change{Mutant: Mutant{Kind: Constant, Old: string(source), New: `x = "Not" + f`}, From: 4, To: 15, Alt: `"Not"`}
	c.fold(Letters, source)
	require.Equal(t, `"nOT FOUND"`, c.Alt)
	require.Equal(t, `x = "nOT FOUND" + f`, c.New)
	c = Change{Mutant: Mutant{Kind: Constant}, From: 4, To: len(source), Alt: "1"}
	c.fold(Letters, source)
	require.Equal(t, "1", c.Alt)
}
