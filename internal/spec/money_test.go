package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for m, want := range map[Money]string{
		0: "$0.00", 1: "<$0.01", Dollar/100 - 1: "<$0.01", Dollar / 100: "$0.01", Dollar*3/200 - 1: "$0.01", Dollar * 3 / 200: "$0.02",
		Dollar - 1: "$1.00", 12*Dollar + Dollar*34/100: "$12.34", 9_000_000 * Dollar: "$9000000.00",
	} {
		require.Equal(t, want, m.String())
	}
}
