//go:build browser

package dashboard

import (
	"testing"
	"time"
)

// BenchmarkPage opens a run of a hundred thousand events in a browser, and then feeds it five thousand a second for a minute. It
// reports when the page can be used, the 95th percentile of the time between two frames and of the tasks of the main thread that are
// longer than 50 ms, how many of those there are, and the memory of the page a quarter into the minute and at its end.
func BenchmarkPage(b *testing.B) {
	const had, second, seconds = 100_000, 5000, 60
	for b.Loop() {
		log := newLog()
		log.bulk(0, had)
		s := start(b, log, nil)
		began := time.Now()
		ctx := browse(b, runPage(s))
		until(ctx, b, `document.querySelector(".phase") !== null`)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-view")
		until(ctx, b, mark("events", "100000"))
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-to-all")
		unfold(ctx, b)
		js[bool](ctx, b, `(() => { window.__gaps = []; window.__long = []; let last = performance.now();
			const tick = (now) => { window.__gaps.push(now - last); last = now; requestAnimationFrame(tick) };
			requestAnimationFrame(tick);
			new PerformanceObserver((l) => l.getEntries().forEach((e) => window.__long.push(e.duration))).observe({type: "longtask"});
			return true })()`)
		const heapOf = `performance.memory.usedJSHeapSize / 1048576`
		pace := time.NewTicker(10 * time.Millisecond)
		for i := range seconds * 100 {
			<-pace.C
			log.bulk(had+i*second/100, had+(i+1)*second/100)
			if i == seconds*25 {
				b.ReportMetric(js[float64](ctx, b, heapOf), "MB-early")
			}
		}
		pace.Stop()
		until(ctx, b, mark("events", "400000"))
		b.ReportMetric(js[float64](ctx, b, heapOf), "MB-late")
		p95 := func(list string) float64 {
			return js[float64](ctx, b, list+`.sort((a, b) => a - b)[Math.floor(0.95 * `+list+`.length)] ?? 0`)
		}
		b.ReportMetric(p95("window.__gaps"), "ms-frame-p95")
		b.ReportMetric(js[float64](ctx, b, "window.__long.length"), "long-tasks")
		b.ReportMetric(p95("window.__long"), "ms-long-p95")
	}
}
