package main

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func draw(seed uint64, workers int, three bool) []fault {
	return drawFaults(rand.New(rand.NewPCG(seed, 0)), workers, three)
}

// A seed gives the same faults again, no process has two at once, and a worker and two servers are left.
func TestFaultsAreDrawn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		workers, three := 2+int(seed%2), seed%4 > 1
		faults := draw(seed, workers, three)
		require.Equal(t, faults, draw(seed, workers, three))
		busy, gone := map[string]time.Duration{}, 0
		for _, f := range faults {
			if strings.HasPrefix(f.whom, "nats") {
				f.whom = "a server"
			}
			require.GreaterOrEqual(t, f.at, busy[f.whom], "seed %d: %s", seed, describe(faults))
			busy[f.whom] = f.at + f.lasts
			if f.lasts == 0 {
				gone, busy[f.whom] = gone+1, time.Hour
			}
		}
		require.Less(t, gone, workers)
	}
}

// The rounds continue behind the last one of the table.
func TestTableIsResumed(t *testing.T) {
	t.Parallel()
	table := table{filepath.Join(t.TempDir(), "table.tsv")}
	last, err := table.last()
	require.NoError(t, err)
	require.Zero(t, last)
	require.NoError(t, table.add(line{seed: 6, verdict: verdictOK}))
	require.NoError(t, table.add(line{seed: 7, verdict: verdictWrong, what: "kill w1 at 2.0", why: "one\ntwo"}))
	last, err = table.last()
	require.NoError(t, err)
	require.EqualValues(t, 7, last)
}
