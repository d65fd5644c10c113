package conductor_test

import (
	"maps"
	"slices"
	"testing"
)

// medians are the figures of the rounds of a benchmark, by unit. A machine that does other work makes single rounds slow.
type medians map[string][]float64

func (m medians) add(unit string, value float64) { m[unit] = append(m[unit], value) }

// report prints the median of each figure.
func (m medians) report(b *testing.B) {
	b.Helper()
	for _, unit := range slices.Sorted(maps.Keys(m)) {
		values := slices.Sorted(slices.Values(m[unit]))
		b.ReportMetric(values[len(values)/2], unit)
	}
}
