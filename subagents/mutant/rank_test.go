package mutant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A test is tried first with what it names; what all mutants share tells nothing.
func TestLikeliest(t *testing.T) {
	t.Parallel()
	var order []int
	for _, m := range likeliest("test('has a default option', () => option.defaultValue('a'))", []Mutant{
		{Number: 1, Func: "parseOption", Old: "return value"},
		{Number: 2, Func: "addOption", Old: "this.options = value"},
		{Number: 3, Func: "setDefaultOption", Old: "x = value"},
	}) {
		order = append(order, m.Number)
	}
	require.Equal(t, []int{3, 1, 2}, order)
}
