//go:build browser

package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/run"
)

// evil is text of a repository that a page must not obey.
const evil = "<img src=x onerror=\"window.__owned=1\">\u202egnp.exe"

// explained is a place whose tasks have a patch and the output of a gate.
type explained struct{ *place }

func (explained) Show(_ context.Context, q Query) (json.RawMessage, error) {
	if q.What == ShowDiff {
		return json.Marshal(attempt.Patch{Diff: "diff --git a/a.go b/a.go\n@@ -1 +1 @@\n-old\n+new of " + q.Task + " " + evil + "\n"})
	}
	return json.Marshal(attempt.Log{Status: spec.StatusFailed, Printed: "printed " + evil, Idle: []string{"lint"}, Gates: []attempt.Gate{{
		Receipt: spec.Receipt{
			Gate: "test", Command: []string{"go", "test", "-run", "A b"}, ExitCode: 3, Verdict: spec.VerdictFail, Duration: 2 * time.Second,
			Programs: []spec.Program{{Path: "/usr/bin/go", Version: "1.26"}},
		},
		Batch: 7, Failures: []string{"TestA " + evil}, Output: "--- FAIL: TestA\n" + evil,
	}}})
}

// endedLog is the log of a run that has ended: one task landed with a changed test, one was parked.
func endedLog(t *testing.T) *memoryLog {
	t.Helper()
	log, n := newLog(), 0
	put := func(kind contextscope.Kind, task string, data any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		n++
		e := contextscope.Event{ID: fmt.Sprint(n), Run: "r1", Task: task, Time: time.Unix(int64(n), 0), Kind: kind, Data: raw}
		if kind == contextscope.KindResult {
			e.Attempt, e.Agent, e.Role = 1, task+"/1", "generator"
		}
		log.add(e)
	}
	project := spec.Project{Gates: []spec.Gate{{Name: "test"}}}
	put("run", "", run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", Goal: "Move " + evil, Repo: "/r", Base: "b", Project: project}})
	put("plan", "", run.PlanData{Tasks: []spec.Task{
		{ID: "good", Title: evil, Role: "generator"}, {ID: "lost", Role: "generator", Brief: "do it", Command: []string{"sed", "-i", "s/a b/c/"}},
	}})
	for _, id := range []string{"good", "lost"} {
		put("task", id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"}})
		put(contextscope.KindResult, id, spec.Result{Task: id, Attempt: 1, Status: spec.StatusDone, Patch: &spec.Patch{
			Commit: "c", Files: []string{"x/" + evil + "_test.go"}, Added: 2, Deleted: 1,
		}})
	}
	put("task", "good", run.TaskData{State: run.TaskAccepted})
	landed := run.Landed{Task: "good", Attempt: 1, Commit: "l", Files: 1, Added: 2, Deleted: 1}
	put("landing", "", run.LandingData{Batch: 1, State: run.LandingLanded, Head: "h", Tasks: []run.Landed{landed}})
	put("task", "lost", run.TaskData{State: run.TaskParked, Reason: evil})
	put("run", "", run.Data{
		State: run.Parked, Reason: "1 landed, 1 parked", Ref: "refs/heads/divisi/r1",
		Final: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}},
	})
	return log
}

func resultPage(t *testing.T) (context.Context, *Server, *place) {
	t.Helper()
	var held *place
	s := start(t, endedLog(t), func(s *Server) {
		held, s.opts.Called = s.opts.Controller.(*place), "divisi --state-dir /s"
		s.opts.Controller = explained{held}
	})
	return browse(t, runPage(s)), s, held
}

const (
	copied = `navigator.clipboard.writeText = (text) => { window.__copied = text; return Promise.resolve() }, true`
	fits   = "document.documentElement.scrollWidth"
)

// TestBrowserResult: a run that has ended shows what was asked and what came, what to read first with its change, what is left with
// its act, and the command that merges; text of the repository stays text.
func TestBrowserResult(t *testing.T) {
	ctx, _, held := resultPage(t)
	until(ctx, t, `document.querySelector(".result") !== null`)
	text := `document.querySelector(".result").innerText.replace(/\s+/g, " ")`
	said := js[string](ctx, t, text)
	for _, want := range []string{
		"Result asked: Move <img src=x", "What came of 2 tasks", "1 landed, proven by gates: test", "1 left", "Where 1 file +2 −1",
		"Read first good +2 −1 changes tests: x/<img", "lost parked <img src=x", "divisi --state-dir /s merge r1 --repo /r",
	} {
		require.Contains(t, said, want)
	}
	until(ctx, t, `document.title.startsWith("parked · ")`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".risk summary")))
	until(ctx, t, `document.querySelector(".risk .diff .plus")?.textContent.includes("new of good <img")`)
	require.True(t, js[bool](ctx, t, `document.querySelector(".risk .destroys").textContent.startsWith("Drop")`))
	js[bool](ctx, t, copied)
	do(ctx, t, chromedp.Click(chromedp.CSS(".now .copied button")))
	until(ctx, t, `window.__copied === "divisi --state-dir /s merge r1 --repo /r"`)
	do(ctx, t, chromedp.Click(chromedp.CSS(".left-over .act")))
	until(ctx, t, `document.querySelector("dialog .act.strong") !== null`)
	for _, asks := range []string{`textContent.endsWith("with nothing changed")`, `disabled`} { // what comes too soon is no answer
		until(ctx, t, `(() => { const b = document.querySelector("dialog .act.strong"); if (!b || b.`+asks+`) return true; b.click() })()`)
	}
	require.Eventually(t, func() bool {
		held.mu.Lock()
		defer held.mu.Unlock()
		return len(held.acts) == 1
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, act.Retry{Tasks: []string{"lost"}}, held.acts[0].Args)
	require.True(t, js[bool](ctx, t, `window.__owned === undefined`))
	for name, c := range map[string]struct {
		width  int64
		scheme string
	}{"result1280": {1280, "light"}, "result1280dark": {1280, "dark"}, "result390": {390, "light"}, "result390dark": {390, "dark"}} {
		look(ctx, t, c.width, c.scheme)
		require.LessOrEqual(t, js[int64](ctx, t, fits), c.width)
		require.LessOrEqual(t, js[float64](ctx, t, `document.querySelector(".risk .destroys").getBoundingClientRect().right`), float64(c.width))
		picture(ctx, t, name)
	}
}

// TestBrowserTask: the page of a task has what divisi log has: command, exit code, cause, the output, and what did not start.
func TestBrowserTask(t *testing.T) {
	ctx, s, _ := resultPage(t)
	do(ctx, t, chromedp.Navigate(base(s)+"runs/r1/tasks/lost"))
	until(ctx, t, `document.querySelector(".attempt .gate pre") !== null && document.querySelector(".attempt .diff") !== null`)
	said := js[string](ctx, t, `document.querySelector(".attempt .gates").innerText.replace(/\s+/g, " ")`)
	for _, want := range []string{
		"test fail exit code 3 2s · batch 7", "$ go test -run 'A b'", "TestA <img src=x", "with /usr/bin/go 1.26", "--- FAIL: TestA",
		"touches none of their paths: lint", "What its command printed",
	} {
		require.Contains(t, said, want)
	}
	do(ctx, t, chromedp.Click(chromedp.CSS(".brief summary")))
	until(ctx, t, `document.querySelector(".brief").innerText.includes("sed -i 's/a b/c/'")`)
	require.True(t, js[bool](ctx, t, `window.__owned === undefined`))
	for _, width := range []int64{1280, 390} {
		look(ctx, t, width, "light")
		require.LessOrEqual(t, js[int64](ctx, t, fits), width)
		picture(ctx, t, fmt.Sprintf("task%d", width))
	}
}

// look gives the page a width and a colour scheme.
func look(ctx context.Context, t *testing.T, width int64, scheme string) {
	t.Helper()
	do(ctx, t, chromedp.EmulateViewport(width, 1100), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}
