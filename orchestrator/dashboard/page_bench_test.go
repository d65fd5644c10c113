//go:build browser

package dashboard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// use notes when the page can be used, in milliseconds since its address was opened: the table of tasks and the newest line of the
// log are in sight, and a click on a task has marked it.
const use = `addEventListener("DOMContentLoaded", () => { window.__use = {};
	const tick = () => {
		const rows = [...document.querySelectorAll("button.task")], line = [...document.querySelectorAll(".entry")].at(-1);
		const use = window.__use;
		if (!use.seen && rows.length > 5 && line?.dataset.pos === %q) {
			use.seen = performance.now();
			rows[2].click();
		}
		if (use.seen && document.querySelector("button.task.picked")) use.ready = performance.now();
		else requestAnimationFrame(tick);
	};
	requestAnimationFrame(tick) })`

// BenchmarkPageUse opens a run of five thousand tasks and a hundred thousand events in a browser that runs already. It reports when
// the table and the newest lines are in sight, when the page reacts to a click, when it has all lines, and for how long its main
// thread computed: until it reacted, and until it had all.
func BenchmarkPageUse(b *testing.B) {
	log := large(5000)
	for b.Loop() {
		began := time.Now()
		ctx := browse(b, "about:blank")
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-browser")
		s := start(b, log, nil)
		require.NoError(b, read(b, s, log.last()-1, 1).Close(), "the server follows the run, as it does while the run is active")
		computes(ctx, b)
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(use, fmt.Sprint(log.last()))})
		require.NoError(b, err)
		do(ctx, b, chromedp.Navigate(runPage(s)))
		until(ctx, b, "window.__use?.ready > 0")
		b.ReportMetric(js[float64](ctx, b, "window.__use.seen"), "ms-seen")
		b.ReportMetric(js[float64](ctx, b, "window.__use.ready"), "ms-ready")
		b.ReportMetric(1000*computed(ctx, b), "cpu-ms-ready")
		until(ctx, b, mark("events", fmt.Sprint(len(log.ids()))))
		b.ReportMetric(js[float64](ctx, b, "performance.now()"), "ms-all")
		b.ReportMetric(1000*computed(ctx, b), "cpu-ms-all")
	}
}

// computes has the browser count for how long the page's main thread computes, without the time in which others have the processor.
func computes(ctx context.Context, t testing.TB) {
	t.Helper()
	_, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(t, err)
}

// computed is for how many seconds it has.
func computed(ctx context.Context, t testing.TB) float64 {
	t.Helper()
	got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(t, err)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	t.Fatal("the browser has no TaskDuration")
	return 0
}

// watchFrames keeps the time between each two frames, and how long each task of the main thread took that was longer than 50 ms.
const watchFrames = `(() => { window.__gaps = []; window.__long = []; let last = performance.now();
	const tick = (now) => { window.__gaps.push(now - last); last = now; requestAnimationFrame(tick) };
	requestAnimationFrame(tick);
	new PerformanceObserver((l) => l.getEntries().forEach((e) => window.__long.push(e.duration))).observe({type: "longtask"});
	return true })()`

// BenchmarkPageFlood feeds a page that has a hundred thousand events five thousand a second for a minute. It reports the 95th
// percentile of the time between two frames and of the tasks of the main thread that are longer than 50 ms, how many of those there
// are, for how much of the minute the main thread computed, and the memory of the page a quarter into the minute and at its end.
func BenchmarkPageFlood(b *testing.B) {
	const had, second, seconds = 100_000, 5000, 60
	for b.Loop() {
		log := newLog()
		log.bulk(0, had)
		s := start(b, log, nil)
		ctx := browse(b, runPage(s))
		computes(ctx, b)
		until(ctx, b, mark("events", fmt.Sprint(had)))
		unfold(ctx, b)
		js[bool](ctx, b, watchFrames)
		before := computed(ctx, b)
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
		until(ctx, b, mark("events", fmt.Sprint(had+second*seconds)))
		b.ReportMetric(js[float64](ctx, b, heapOf), "MB-late")
		b.ReportMetric(computed(ctx, b)-before, "cpu-s")
		frames := js[float64](ctx, b, "window.__gaps.length")
		b.ReportMetric(frames, "frames")
		b.ReportMetric(1000*(computed(ctx, b)-before)/frames, "cpu-ms-frame")
		p95 := func(list string) float64 {
			return js[float64](ctx, b, list+`.sort((a, b) => a - b)[Math.floor(0.95 * `+list+`.length)] ?? 0`)
		}
		b.ReportMetric(p95("window.__gaps"), "ms-frame-p95")
		b.ReportMetric(js[float64](ctx, b, "window.__long.length"), "long-tasks")
		b.ReportMetric(p95("window.__long"), "ms-long-p95")
	}
}
