package dashboard

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkTabs opens fifty pages of a run with a hundred thousand events. It reports what a page more takes of the memory of the
// process, which the reading half of the connection is in too.
func BenchmarkTabs(b *testing.B) {
	const tabs, events = 50, 100_000
	log := newLog()
	log.bulk(0, events)
	s := start(b, log, nil)
	open := func() *http.Response {
		res := get(b, data(s)+"events", nil)
		c := &seen{}
		c.take(b, res.Body, events)
		require.Len(b, c.ids, events)
		return res
	}
	require.NoError(b, open().Body.Close())
	for b.Loop() {
		before := heap()
		all := make([]*http.Response, tabs)
		for i := range all {
			all[i] = open()
		}
		b.ReportMetric(float64(heap()-before)/tabs/1024, "KiB/tab")
		for _, res := range all {
			require.NoError(b, res.Body.Close())
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
