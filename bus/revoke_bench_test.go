package bus

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// BenchmarkRevoke has fifty workers connected, and revokes them one after the other: how long until the server has cut the
// connection of each, as the worker learns of it.
func BenchmarkRevoke(b *testing.B) {
	const workers = 50
	for b.Loop() {
		s := serve(b)
		lost := make([]chan struct{}, workers)
		for i := range lost {
			w := enters(b, s.joins(b, member.Worker, fmt.Sprintf("w%d", i)))
			lost[i] = make(chan struct{})
			go func() {
				for w.nc.IsConnected() {
					<-time.After(time.Millisecond)
				}
				close(lost[i])
			}()
		}
		took := make([]time.Duration, workers)
		for i := range lost {
			began := time.Now()
			require.NoError(b, s.Disconnect(fmt.Sprintf("w%d", i)))
			<-lost[i]
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[workers/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[workers-1].Microseconds())/1000, "p99-ms") // of fifty, the slowest
		b.ReportMetric(1000, "goal-ms")
	}
}
