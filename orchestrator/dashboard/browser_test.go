//go:build browser

package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

const chromium = "/usr/bin/chromium"

// browse starts a browser of its own, with nothing that reaches beyond this machine, and opens the page.
func browse(t testing.TB, url string) context.Context {
	t.Helper()
	require.FileExists(t, chromium)
	opts := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	opts = append(opts, chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		require.NoError(t, chromedp.Cancel(ctx))
		cancel()
		stop()
	})
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(url)))
	return ctx
}

// until waits for a condition in the page.
func until(ctx context.Context, t testing.TB, condition string) {
	t.Helper()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute)))
	require.NoError(t, err, "%s; the page says: %s", condition, js[string](ctx, t, "document.body.innerText.slice(0, 2000)"))
}

func js[T any](ctx context.Context, t testing.TB, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return v
}

func do(ctx context.Context, t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// runPage is the address of the page on its run.
func runPage(s *Server) string { return strings.Replace(s.URL(), "/?", "/runs/r1?", 1) }

// unfold has the log show the lines that say little too.
func unfold(ctx context.Context, t testing.TB) {
	t.Helper()
	until(ctx, t, `document.querySelector(".chip.folded") !== null`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".chip.folded")))
	until(ctx, t, `document.querySelector(".chip.folded").getAttribute("aria-pressed") === "true"`)
}

// press has the page take a key.
func press(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	js[bool](ctx, t, fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true})) || true`, key))
}

// answers chooses an answer by its number, and sends it.
func answers(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	press(ctx, t, key)
	until(ctx, t, `document.querySelector(".comment span").textContent.startsWith("Enter sends")`)
	press(ctx, t, "Enter")
}

func mark(name, value string) string {
	return fmt.Sprintf("document.documentElement.dataset.%s === %q", name, value)
}

// shown reports that the log shows entries, and that each is as the condition on e wants it. The page draws its rows a frame
// after its counts, so it is waited for.
func shown(condition string) string {
	return fmt.Sprintf(`(() => { const rows = [...document.querySelectorAll(".entry")];
		return rows.length > 0 && rows.every(e => %s) })()`, condition)
}

func setText(selector, value string) string {
	return fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q;
		const name = e.tagName === "SELECT" ? "change" : "input";
		e.dispatchEvent(new Event(name, {bubbles: true})); return true })()`, selector, value)
}

// TestBrowserReconnect drops the connection fifty times in five thousand events: the page has seen each id once, in order.
func TestBrowserReconnect(t *testing.T) {
	log := newLog()
	log.bulk(0, 500)
	var cuts *cutter
	s := start(t, log, func(s *Server) { cuts = cutting(s, 50, 25_000) })
	ctx := browse(t, runPage(s)+"&seen")
	log.bulk(500, 5000)
	until(ctx, t, mark("events", "5000"))
	until(ctx, t, mark("lastPos", strconv.FormatUint(log.last(), 10)))
	same(t, log.ids(), js[[]string](ctx, t, "window.__seen"))
	require.Zero(t, cuts.remaining(), "all fifty cuts happened")
	require.True(t, js[bool](ctx, t, mark("repeats", "0")), "the server sent nothing twice")
	connections := js[int](ctx, t, "Number(document.documentElement.dataset.connections)")
	require.Greater(t, connections, 25, "most connections got through before they broke")
	t.Logf("%d connections", connections)
	until(ctx, t, `document.querySelector(".counts").textContent === "5,000 events"`)
}

// TestBrowserServerGoes: the page finds a server that comes back on the same port, and continues where it was.
func TestBrowserServerGoes(t *testing.T) {
	log := newLog()
	log.bulk(0, 100)
	first := start(t, log, nil)
	ctx := browse(t, runPage(first)+"&seen")
	until(ctx, t, mark("events", "100"))
	first.Stop()
	until(ctx, t, `document.documentElement.dataset.link !== "live"`)
	log.bulk(100, 200)
	o := options(log)
	o.Addr = strings.TrimSuffix(strings.TrimPrefix(base(first), "http://"), "/")
	again, err := New(o)
	require.NoError(t, err)
	again.sessions = first.sessions // a page of another process admits others
	require.NoError(t, again.Start(context.Background()))
	t.Cleanup(again.Stop)
	until(ctx, t, mark("events", "200"))
	until(ctx, t, mark("link", "live"))
	same(t, log.ids(), js[[]string](ctx, t, "window.__seen"))
}

// TestBrowserHiddenPage: a page that is hidden holds no connection to its run, and continues where it was when it is shown.
func TestBrowserHiddenPage(t *testing.T) {
	log := newLog()
	log.bulk(0, 100)
	ctx := browse(t, runPage(start(t, log, nil))+"&seen")
	until(ctx, t, mark("events", "100"))
	until(ctx, t, mark("link", "live"))
	look := `Object.defineProperty(document, "hidden", {value: %t, configurable: true});
		document.dispatchEvent(new Event("visibilitychange")); true`
	require.True(t, js[bool](ctx, t, fmt.Sprintf(look, true)))
	until(ctx, t, mark("link", "connecting"))
	log.bulk(100, 200)
	until(ctx, t, mark("feed", "live"))
	require.True(t, js[bool](ctx, t, mark("events", "100")))
	require.True(t, js[bool](ctx, t, fmt.Sprintf(look, false)))
	until(ctx, t, mark("events", "200"))
	until(ctx, t, mark("connections", "2"))
	require.True(t, js[bool](ctx, t, mark("repeats", "0")))
	same(t, log.ids(), js[[]string](ctx, t, "window.__seen"))
}

// TestBrowserManyWindows: six pages of a browser show a run, one of them has the feed, and each answers.
func TestBrowserManyWindows(t *testing.T) {
	log := newLog()
	log.bulk(0, 100)
	s := start(t, log, nil)
	first := browse(t, runPage(s)+"&seen")
	pages := []context.Context{first}
	for range 5 {
		page, cancel := chromedp.NewContext(first)
		t.Cleanup(cancel)
		do(page, t, chromedp.Navigate(base(s)+"runs/r1?seen"))
		pages = append(pages, page)
	}
	show := func(n string) {
		t.Helper()
		for _, page := range pages {
			until(page, t, mark("events", n))
			until(page, t, mark("feed", "live"))
		}
	}
	show("100")
	log.bulk(100, 200)
	show("200")
	for _, page := range pages {
		require.Equal(t, "ok", js[string](page, t, `(() => { fetch("/api/v1/me").then((r) => r.ok && (window.__asked = "ok")); return "ok" })()`))
		until(page, t, `window.__asked === "ok"`)
	}
	require.NoError(t, chromedp.Cancel(pages[1]))
	pages = append(pages[:1], pages[2:]...)
	log.bulk(200, 300)
	show("300")
	// A machine that slept connects again.
	js[bool](first, t, `(() => { const now = Date.now; Date.now = () => now() + 60_000; return true })()`)
	before := js[int](first, t, "Number(document.documentElement.dataset.connections)")
	until(first, t, fmt.Sprintf(`Number(document.documentElement.dataset.connections) > %d`, before))
	log.bulk(300, 400)
	show("400")
	same(t, log.ids(), js[[]string](first, t, "window.__seen"))
}

// TestBrowserHiddenPages: of two pages one has the feed, of two hidden pages one keeps a connection, and hands it over when it is shown.
func TestBrowserHiddenPages(t *testing.T) {
	s := start(t, sampleLog(t, 50), nil)
	first := browse(t, runPage(s))
	second, cancel := chromedp.NewContext(first)
	defer cancel()
	do(second, t, chromedp.Navigate(base(s)+"runs/r1"))
	tabs := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tabs == want }, time.Minute, 50*time.Millisecond)
	}
	look := func(ctx context.Context, hidden bool) {
		js[bool](ctx, t, fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true});
			document.dispatchEvent(new Event("visibilitychange")); true`, hidden))
	}
	look(first, false)
	tabs(3)
	look(first, true)
	look(second, true)
	tabs(1)
	look(first, false)
	tabs(3)
	look(second, false)
	tabs(3)
}

// TestBrowserForeignText: what looks like markup stays text, wherever it stands, and nothing runs.
func TestBrowserForeignText(t *testing.T) {
	const evil = `<img src=x onerror="window.__owned=1"><script>window.__owned=1</script>`
	put := func(kind contextscope.Kind, task string, data any) contextscope.Event {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		return contextscope.Event{
			ID: evil, Run: evil, Task: task, Attempt: 1, Agent: task, Role: evil, Time: time.Now(), Kind: kind, Data: raw,
		}
	}
	log := newLog()
	log.add(
		put("run", "", run.Data{
			State: run.Running, Reason: evil, Notices: []string{evil}, Ref: evil, Head: evil,
			Spec: &run.Spec{Goal: evil, Base: evil, Branch: evil, Repo: evil},
		}),
		put("plan", "", run.PlanData{
			By: evil, Tasks: []spec.Task{{ID: evil, Title: evil, Role: evil}, {ID: "two", Title: evil}},
		}),
		put("task", "two", run.TaskData{State: run.TaskState(evil), Reason: evil}),
		put("task", evil, run.TaskData{
			State: run.TaskRunning, Dispatch: &run.Dispatch{Task: evil, Attempt: 1, Role: evil},
		}),
		put("started", evil, map[string]any{"worker": evil, "delivery": 1}),
		put("progress", evil, map[string]any{"doing": evil}),
		put(contextscope.Kind(evil), evil, evil),
	)
	s := start(t, log, nil)
	ctx := browse(t, runPage(s))
	until(ctx, t, mark("events", "7"))
	unfold(ctx, t)
	until(ctx, t, `document.querySelectorAll(".entry").length === 7`)
	until(ctx, t, `document.querySelector(".agent") !== null`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".entry")))
	until(ctx, t, `document.querySelector(".whole .fields")?.textContent.includes("onerror")`)
	for _, where := range []string{".goal", ".head .why", ".agent", ".tasks .c-id", ".entry .text", ".facts", ".word"} {
		text := fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent).join()`, where)
		require.Contains(t, js[string](ctx, t, text), "<img src=x", where)
	}
	require.True(t, js[bool](ctx, t, `window.__owned === undefined`))
	require.True(t, js[bool](ctx, t, `[...document.images].every(i => i.src.endsWith("/icon.svg"))`))
	require.Equal(t, 1, js[int](ctx, t, `document.scripts.length`))
	require.True(t, js[bool](ctx, t, `(() => { const s = document.createElement("script"); s.textContent = "window.__owned = 1";
		document.body.append(s); return window.__owned === undefined })()`), "the policy stops inline scripts")
}

// TestBrowserManyEvents: fifty thousand events; the page stays responsive, holds few rows, and counts exactly.
func TestBrowserManyEvents(t *testing.T) {
	log := newLog()
	log.bulk(0, 50_000)
	s := start(t, log, nil)
	ctx := browse(t, runPage(s))
	js[bool](ctx, t, `(() => { let last = performance.now(); window.__gap = 0;
		const tick = (now) => { window.__gap = Math.max(window.__gap, now - last); last = now; requestAnimationFrame(tick) };
		requestAnimationFrame(tick); return true })()`)
	until(ctx, t, mark("events", "50000"))
	unfold(ctx, t)
	until(ctx, t, `document.querySelector(".counts").textContent === "50,000 events"`)
	t.Logf("longest frame: %.0f ms", js[float64](ctx, t, "window.__gap"))
	require.Less(t, js[float64](ctx, t, "window.__gap"), 1500.0)
	require.Less(t, js[int](ctx, t, "document.querySelectorAll('.entry').length"), 200)
	newest := js[string](ctx, t, "[...document.querySelectorAll('.entry .text')].at(-1).textContent")
	require.Equal(t, "step 49999 of the work", newest)
	js[bool](ctx, t, setText("[name=q]", "step 1234"))
	until(ctx, t, `document.querySelector(".counts").textContent === "15 of 50,000 events"`)
	js[bool](ctx, t, setText("[name=q]", "step 1234 task:task-34"))
	until(ctx, t, `document.querySelector(".counts").textContent === "5 of 50,000 events"`)
}

// TestBrowserControls: a task that is picked filters the log, chips and the search do too, and the log follows its end until a
// person scrolls away.
func TestBrowserControls(t *testing.T) {
	log := sampleLog(t, 230)
	s := start(t, log, nil)
	ctx := browse(t, runPage(s))
	until(ctx, t, mark("events", "230"))
	unfold(ctx, t)
	until(ctx, t, `document.querySelectorAll(".agent").length === 4`)
	phases := js[[]string](ctx, t, `[...document.querySelectorAll(".phase")].map(e => [".name", ".sum"].map(
		p => e.querySelector(p).innerText.replace(/\s+/g, " ")).join(" "))`)
	require.Equal(t, []string{
		"Preflight done 3 of 3 gates, 1 red before", "Survey and plan done 2 of 2 surveys, 14 tasks",
		"Tasks working 9 of 14 accepted", "Landing working 6 of 12 landed, 2 batches", "Final gates waiting 0 of 3 gates",
	}, phases)

	first := `document.querySelector("button.task .c-id b").textContent`
	require.Equal(t, "log-search", js[string](ctx, t, first), "running tasks come first")
	do(ctx, t, chromedp.Click(chromedp.CSS(".heads .c-lines")))
	until(ctx, t, first+` === "log-http"`)
	do(ctx, t, chromedp.Click(chromedp.CSS("button.task")))
	until(ctx, t, `document.querySelector("[name=q]").value === "task:log-http"`)
	until(ctx, t, shown(`e.querySelector(".of").textContent.startsWith("log-http")`))
	require.Equal(t, "?task=log-http&q=task%3Alog-http", js[string](ctx, t, "location.search"), "the address keeps it")
	do(ctx, t, chromedp.Click(chromedp.CSS(".clear")))
	until(ctx, t, `document.querySelector(".counts").textContent === "230 events"`)
	press(ctx, t, "p")
	until(ctx, t, `document.querySelector(".counts").textContent.endsWith(" of 230 events")`)
	until(ctx, t, shown(`/bad|warn/.test(e.className)`))
	do(ctx, t, chromedp.Click(chromedp.CSS(".chip.problems")))
	until(ctx, t, `document.querySelector(".counts").textContent === "230 events"`)
	last := `[...document.querySelectorAll(".entry")].at(-1).dataset.pos`
	until(ctx, t, last+" === "+strconv.Quote(strconv.FormatUint(log.last(), 10)))

	js[bool](ctx, t, `(document.querySelector(".log .list").scrollTop = 0, true)`)
	until(ctx, t, `document.querySelector(".newest")?.textContent === "↓ newest"`)
	log.bulk(0, 30)
	until(ctx, t, mark("events", "260"))
	until(ctx, t, `document.querySelector(".newest").textContent === "↓ 30 new"`)
	require.Equal(t, 0, js[int](ctx, t, `document.querySelector(".log .list").scrollTop`), "who reads above is left alone")
	do(ctx, t, chromedp.Click(chromedp.CSS(".newest")))
	until(ctx, t, last+" === "+strconv.Quote(strconv.FormatUint(log.last(), 10)))
}

// TestBrowserLine: the address of a line shows it whole, also where the filter hides it; a task has its own page, and Escape
// leads back.
func TestBrowserLine(t *testing.T) {
	log := sampleLog(t, 230)
	s := start(t, log, nil)
	pos := strconv.FormatUint(log.batches[40].Pos, 10)
	ctx := browse(t, runPage(s)+"&line="+pos+"&q=level:bad")
	until(ctx, t, `document.querySelector(".entry.picked")?.dataset.pos === `+strconv.Quote(pos))
	until(ctx, t, `document.querySelector(".whole .fields") !== null`)
	until(ctx, t, `document.querySelector(".near") !== null`)
	press(ctx, t, "Escape")
	until(ctx, t, `document.querySelector(".whole") === null && !location.search.includes("line")`)

	do(ctx, t, chromedp.Navigate(base(s)+"runs/r1/tasks/log-http"))
	until(ctx, t, `document.querySelector(".task-page h1")?.textContent === "log-http"`)
	until(ctx, t, `document.querySelectorAll(".attempt").length > 0`)
	press(ctx, t, "Escape")
	until(ctx, t, `location.pathname === "/runs/r1" && document.querySelector("button.task") !== null`)
	press(ctx, t, "?")
	until(ctx, t, `document.querySelector("dialog .keys") !== null`)
}

// deciding is a place whose decisions are questions that are alike.
type deciding struct{ *place }

func (d deciding) Decisions(ctx context.Context, id string) (out []view.Decision, err error) {
	st := run.NewState()
	for _, b := range d.Log.(*memoryLog).batches {
		for _, e := range placed(b) {
			if err := st.Apply(&e); err != nil {
				return nil, err
			}
		}
	}
	out = view.Open(st)
	for i := range out {
		out[i].Run, out[i].Alike = id, "x"
	}
	return out, ctx.Err()
}

// TestBrowserDecides: a key and Enter answer the first decision; what the runs hold back is undone, or done at once.
func TestBrowserDecides(t *testing.T) {
	log := newLog()
	put := func(kind contextscope.Kind, task string, data any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		e := contextscope.Event{ID: fmt.Sprint(kind, task), Run: "r1", Task: task, Time: time.Now(), Kind: kind, Data: raw}
		if task != "" {
			e.Attempt, e.Agent, e.Role = 1, task+"/1", "generator"
		}
		log.add(e)
	}
	put("run", "", run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", Goal: "ask", OnDoubt: run.OnDoubtAsk}})
	put("plan", "", run.PlanData{Tasks: []spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}, {ID: "c", Role: "generator"}}})
	for _, id := range []string{"a", "b", "c"} {
		put("task", id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"}})
		put(contextscope.KindRequest, id, wire.Request{
			ID: "ask-" + id, Kind: wire.RequestAsk, Question: "Which side?", Options: []string{"left", "right"},
		})
	}
	var held *place
	s := start(t, log, func(s *Server) {
		held = s.opts.Controller.(*place)
		s.opts.Controller = deciding{held}
	})
	acts := func() []did {
		held.mu.Lock()
		defer held.mu.Unlock()
		return held.acts
	}
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 3`)
	until(ctx, t, `document.title.startsWith("(3) ")`)
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3`)
	answers(ctx, t, "2")
	until(ctx, t, `document.querySelector(".undo p") !== null && document.querySelectorAll(".need-head").length === 2`)
	require.Len(t, acts(), 1)
	answer := acts()[0].Args.(act.Held).Args.(act.Decide)
	require.Equal(t, "answer right", answer.Option+" "+answer.Text)
	do(ctx, t, chromedp.Click(chromedp.CSS(".undo .act:not(.strong)")))
	until(ctx, t, `document.querySelector(".undo p") === null`)
	require.Equal(t, act.Apply{Decision: answer.Decision}, acts()[1].Args)

	do(ctx, t, chromedp.Click(chromedp.CSS(".alike input")))
	until(ctx, t, `document.querySelectorAll(".alike li").length === 2`)
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3`)
	answers(ctx, t, "1")
	until(ctx, t, `document.querySelector(".undo p")?.textContent.includes("for 2 decisions") && document.querySelector(".need-head") === null`)
	require.Len(t, acts(), 4, "the runs have them, also if the page is left")
	picture(ctx, t, "undo")
	do(ctx, t, chromedp.Click(chromedp.CSS(".undo .strong")))
	until(ctx, t, `document.querySelector(".undo p") === null && document.querySelectorAll(".need-head").length === 2`)
	require.Equal(t, "take_back", acts()[5].Act())
}

// TestBrowserAcceptsLaterOnesToo: an answer that stands is sent once for a run, which gives it to the others.
func TestBrowserAcceptsLaterOnesToo(t *testing.T) {
	log := newLog()
	put := func(kind contextscope.Kind, task string, data any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		log.add(contextscope.Event{ID: fmt.Sprint(kind, task), Run: "r1", Task: task, Time: time.Now(), Kind: kind, Data: raw})
	}
	put("run", "", run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", Goal: "ask", Review: true}})
	put("plan", "", run.PlanData{Tasks: []spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}}})
	for _, id := range []string{"a", "b"} {
		put("task", id, run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"seen"}, Review: true}})
	}
	var held *place
	s := start(t, log, func(s *Server) {
		held = s.opts.Controller.(*place)
		s.opts.Controller = deciding{held}
	})
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 2 && document.querySelectorAll(".alike input").length === 2`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".alike label:nth-of-type(2) input")))
	until(ctx, t, `document.querySelectorAll(".alike li").length === 2`)
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length > 2`)
	answers(ctx, t, "3")
	until(ctx, t, `document.querySelector(".comment span").textContent.startsWith("Only accept")`)
	answers(ctx, t, "1")
	until(ctx, t, `document.querySelector(".undo p") !== null`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".undo .act:not(.strong)")))
	until(ctx, t, `document.querySelector(".undo p") === null && document.querySelector(".need-head") === null`)
	held.mu.Lock()
	defer held.mu.Unlock()
	require.Len(t, held.acts, 2)
	answer, _ := held.acts[0].Args.(act.Held).Args.(act.Decide)
	require.Equal(t, "accept", answer.Option)
	require.True(t, answer.Alike)
}

// TestBrowserPictures draws the page in every size and scheme: nothing may stick out sideways. With DIVISI_PICTURES set to a
// folder it leaves the pictures there.
func TestBrowserPictures(t *testing.T) {
	for name, c := range map[string]struct {
		width, height int64
		scheme        string
		events        int
	}{
		"dark1280":  {1280, 800, "dark", 230},
		"light1280": {1280, 800, "light", 230},
		"end1280":   {1280, 800, "light", 9999},
		"dark400":   {400, 800, "dark", 230},
		"light400":  {400, 800, "light", 230},
	} {
		t.Run(name, func(t *testing.T) {
			log := sampleLog(t, c.events)
			log.shift()
			s := start(t, log, nil)
			ctx := browse(t, runPage(s))
			do(ctx, t, chromedp.EmulateViewport(c.width, c.height))
			do(ctx, t, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}},
				})
				return err
			}))
			until(ctx, t, mark("lastPos", strconv.FormatUint(log.last(), 10)))
			until(ctx, t, `document.querySelectorAll(".entry").length > 5`)
			require.LessOrEqual(t, js[int64](ctx, t, "document.documentElement.scrollWidth"), c.width)
			picture(ctx, t, name)
			for _, other := range []struct{ name, path, there string }{
				{"runs", "runs", ".runs tbody tr"},
				{"timeline", "runs/r1?tab=timeline", ".lane i"},
				{"landing", "runs/r1?tab=landing", ".landing"},
				{"task", "runs/r1/tasks/log-http", ".attempt .diff, .attempt .empty"},
			} {
				do(ctx, t, chromedp.Navigate(base(s)+other.path))
				until(ctx, t, fmt.Sprintf("document.querySelector(%q) !== null", other.there))
				require.LessOrEqual(t, js[int64](ctx, t, "document.documentElement.scrollWidth"), c.width, other.name)
				picture(ctx, t, name+"-"+other.name)
			}
			do(ctx, t, chromedp.Navigate(base(s)+"runs/r1"))
			until(ctx, t, `document.querySelectorAll(".entry").length > 5`)
			js[bool](ctx, t, `(document.querySelector(".log").scrollIntoView(), true)`)
			until(ctx, t, `(() => { const box = document.querySelector(".log .list").getBoundingClientRect();
				return [...document.querySelectorAll(".entry")].filter(e => { const r = e.getBoundingClientRect();
				return r.top >= box.top - 1 && r.bottom <= box.bottom + 1 }).length > 8 })()`)
			picture(ctx, t, name+"-log")
		})
	}
}

// shift moves the log in time, so that its newest event happens now.
func (l *memoryLog) shift() {
	newest := l.batches[len(l.batches)-1].Events[0].Time
	by := time.Since(newest)
	for _, b := range l.batches {
		for i := range b.Events {
			e := &b.Events[i]
			e.Time = e.Time.Add(by)
			e.Data = json.RawMessage(strings.ReplaceAll(string(e.Data), `"created":"2026-03-02T09:00:00Z"`,
				fmt.Sprintf(`"created":%q`, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).Add(by).Format(time.RFC3339))))
		}
	}
}

func picture(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("DIVISI_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}
