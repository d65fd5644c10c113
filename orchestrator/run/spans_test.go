package run

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// In whatever order stretches come, their union has the seconds that any of them covers.
func TestSpansAreTheUnion(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		covered, list := map[int]bool{}, spans(nil)
		for range dice.IntN(30) {
			from := dice.IntN(100)
			to := from + 1 + dice.IntN(10)
			for i := from; i < to; i++ {
				covered[i] = true
			}
			list = list.add(span{time.Duration(from), time.Duration(to)})
			for i := 1; i < len(list); i++ {
				require.Less(t, list[i-1].to, list[i].from, "seed %d", seed)
			}
		}
		require.Equal(t, time.Duration(len(covered)), list.length(), "seed %d", seed)
	}
}
