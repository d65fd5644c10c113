//go:build browser

package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// slow is a place whose decisions come once a test lets them.
type slow struct {
	deciding

	let chan struct{}
}

func (d slow) Decisions(ctx context.Context, id string) ([]view.Decision, error) {
	select {
	case <-d.let:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return d.deciding.Decisions(ctx, id)
}

// asking is a log with the tasks of a template, and questions of the agents of some.
func asking(t *testing.T, tasks []string, asks ...string) *memoryLog {
	t.Helper()
	log := newLog()
	log.put(t, "run", "", run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r1", Goal: "ask", OnDoubt: run.OnDoubtAsk, Roles: map[string]spec.Role{"generator": {Model: "fast"}},
	}})
	plan := run.PlanData{DecisionRecord: "Names stay."}
	for _, id := range tasks {
		plan.Tasks = append(plan.Tasks, spec.Task{ID: id, Role: "generator", ShardOf: "stores", Brief: "one\ntwo\nthree\nfour"})
	}
	log.put(t, "plan", "", plan)
	for _, id := range tasks {
		log.put(t, "task", id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"}})
	}
	log.asks(t, asks...)
	return log
}

// TestBrowserAlike: an answer for all that are alike goes to those that were listed when the box was ticked, and waits until
// what it is about is there.
func TestBrowserAlike(t *testing.T) {
	log := asking(t, []string{"a", "b", "c"}, "a", "b")
	let := make(chan struct{})
	var held *place
	s := start(t, log, func(s *Server) {
		s.surveyPause = 50 * time.Millisecond
		held = s.opts.Controller.(*place)
		s.opts.Controller = slow{deciding{held}, let}
	})
	acts := func() []did {
		held.mu.Lock()
		defer held.mu.Unlock()
		return held.acts
	}
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 2 && document.querySelectorAll(".pick").length === 3`)
	require.Zero(t, js[int](ctx, t, `document.querySelectorAll(".pick:enabled").length`))
	press(ctx, t, "1")
	until(ctx, t, `document.querySelector(".comment span").textContent.startsWith("Wait until")`)
	require.Empty(t, acts())
	close(let)
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3`)
	until(ctx, t, `document.querySelector(".alike input") !== null`)
	require.True(t, js[bool](ctx, t, `[...document.querySelectorAll("details.brief")].length === 2 &&
		[...document.querySelectorAll("details.brief")].every(e => !e.open)`), "a long brief and the decision record are folded")
	require.True(t, js[bool](ctx, t, `document.querySelector(".alike").getBoundingClientRect().top <
		document.querySelector(".comment").getBoundingClientRect().top`))

	do(ctx, t, chromedp.Click(chromedp.CSS(".alike input")))
	until(ctx, t, `[...document.querySelectorAll(".alike li a")].map(e => e.getAttribute("href")).join() === "/runs/r1/tasks/a,/runs/r1/tasks/b"`)
	picture(ctx, t, "alike")
	log.asks(t, "c")
	until(ctx, t, `document.querySelector(".alike [role=status]")?.textContent.startsWith("1 more came")`)
	answers(ctx, t, "1")
	until(ctx, t, `document.querySelector(".undo p")?.textContent.includes("for 2 decisions") && document.querySelectorAll(".need-head").length === 1`)
	require.Eventually(t, func() bool { return len(acts()) == 2 }, time.Minute, 50*time.Millisecond)
	for _, a := range acts() {
		require.NotContains(t, fmt.Sprint(a.Args), "c@")
	}
	until(ctx, t, `document.querySelectorAll(".given li").length === 2`)
	js[bool](ctx, t, `document.querySelector(".given button").click() || true`)
	until(ctx, t, `document.querySelectorAll(".given li").length === 1 && document.querySelectorAll(".need-head").length === 2`)
	require.Equal(t, "take_back", acts()[2].Act())
}

// TestBrowserGroup: a reason for all shards of a group, or for one of them, goes with the rejection.
func TestBrowserGroup(t *testing.T) {
	log := asking(t, []string{"a", "b"})
	for _, id := range []string{"a", "b"} {
		log.put(t, "task", id, run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{id + " skips"}, Kinds: []string{"skips"}}})
	}
	var held *place
	s := start(t, log, func(s *Server) {
		held = s.opts.Controller.(*place)
		s.opts.Controller = deciding{held}
	})
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 1 && document.querySelectorAll(".pick:enabled").length > 2`)
	for i, of := range []string{"", "b"} {
		for selector, value := range map[string]string{".for-task select": of, ".comment textarea": "No skips."} {
			js[bool](ctx, t, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q;
				e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true })()`, selector, value))
		}
		answers(ctx, t, "2")
		var said act.Decide
		require.Eventually(t, func() bool {
			held.mu.Lock()
			defer held.mu.Unlock()
			if len(held.acts) > 2*i {
				said, _ = held.acts[2*i].Args.(act.Held).Args.(act.Decide)
			}
			return said.Decision != ""
		}, time.Minute, 20*time.Millisecond)
		require.Equal(t, []string{run.Reject, "No skips.", of}, []string{said.Option, said.Text, said.Task})
		until(ctx, t, `document.querySelector(".undo .strong") !== null`)
		do(ctx, t, chromedp.Click(chromedp.CSS(".undo .strong")))
		until(ctx, t, `document.querySelector(".undo p") === null && document.querySelectorAll(".pick:enabled").length > 2`)
	}
}

// planned is a place with one plan to decide about.
type planned struct {
	deciding

	plan run.PlanData
}

func (p planned) Decisions(ctx context.Context, id string) ([]view.Decision, error) {
	out, err := p.deciding.Decisions(ctx, id)
	if err == nil && len(out) > 0 {
		out[0].Plan, err = json.Marshal(p.plan)
	}
	return out, err
}

// TestBrowserPlan: a plan is approved where its tokens stand, and with two strokes.
func TestBrowserPlan(t *testing.T) {
	log := newLog()
	log.put(t, "run", "", run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r1", Goal: "Rename all", Roles: map[string]spec.Role{"generator": {Name: "generator", Model: "fast", Writes: true}},
	}})
	plan := run.PlanData{
		By: "master/1", Tasks: []spec.Task{{ID: "a", Title: "Rename in a", Role: "generator", Files: []string{"a.go"}}},
		Likely: &forecast.Estimate{Low: 20_000, High: 90_000}, Ceiling: 400_000,
	}
	log.put(t, "plan", "", plan)
	var held *place
	s := start(t, log, func(s *Server) {
		held = s.opts.Controller.(*place)
		s.opts.Controller = planned{deciding{held}, plan}
	})
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelector(".plan caption")?.textContent === "1 task, likely 20.0k to 90.0k tokens, no history, at most 400k tokens"`)
	for name, width := range map[string]int64{"plan1280": 1280, "plan480": 480} {
		look(ctx, t, width, "dark")
		require.LessOrEqual(t, js[int64](ctx, t, fits), width)
		picture(ctx, t, name)
	}
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 2`)
	answers(ctx, t, "1")
	until(ctx, t, `document.querySelector(".need-head") === null`)
	held.mu.Lock()
	defer held.mu.Unlock()
	require.Len(t, held.acts, 1)
	require.Contains(t, fmt.Sprint(held.acts[0].Args), run.Yes)
}

// TestBrowserRows: a row tells its task and template; many rows can be filtered, and stay unfolded after a reload.
func TestBrowserRows(t *testing.T) {
	tasks := []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "b4", "b5"}
	log := asking(t, tasks, tasks...)
	var held *place
	s := start(t, log, func(s *Server) {
		held = s.opts.Controller.(*place)
		s.opts.Controller = deciding{held}
	})
	ctx := browse(t, runPage(s))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 4`)
	require.Equal(t, "a1 of stores", js[string](ctx, t, `document.querySelector(".facts-of").innerText.trim()`))
	do(ctx, t, chromedp.Click(chromedp.CSS(".needs > .more")))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 10`)
	do(ctx, t, chromedp.Navigate(base(s)+"runs/r1"))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 10`)
	picture(ctx, t, "rows")
	js[bool](ctx, t, setText(".sift", "stores b"))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 5`)
	until(ctx, t, `document.querySelector(".need-head[aria-expanded=true] b").textContent === "b1"`)
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3`)
	js[bool](ctx, t, setText(".sift", "zz"))
	until(ctx, t, `document.querySelector(".needs .empty") !== null`)
	press(ctx, t, "1")
	js[bool](ctx, t, setText(".sift", ""))
	until(ctx, t, `document.querySelectorAll(".need-head").length === 10`)
	held.mu.Lock()
	defer held.mu.Unlock()
	require.Empty(t, held.acts, "a key answers nothing that is not shown")
}

// TestBrowserActsOnATask: an attempt at work has no change yet, what cancels a task does not speak of the run, and a retry that changes nothing is asked for twice.
func TestBrowserActsOnATask(t *testing.T) {
	log := asking(t, []string{"a", "b"})
	log.put(t, "task", "b", run.TaskData{State: run.TaskParked, Reason: "it failed"})
	var held *place
	s := start(t, log, func(s *Server) { held = s.opts.Controller.(*place) })
	acts := func() []did {
		held.mu.Lock()
		defer held.mu.Unlock()
		return held.acts
	}
	c := browse(t, runPage(s))
	do(c, t, chromedp.Navigate(base(s)+"runs/r1/tasks/a"))
	click := func(words string) {
		t.Helper()
		find := `[...document.querySelectorAll("button.act")].find(b => b.textContent.trim() === "` + words + `")`
		until(c, t, find+` !== undefined`)
		js[bool](c, t, find+`.click() || true`)
	}
	until(c, t, `document.querySelector(".attempt .empty")?.textContent.startsWith("It has no result yet")`)
	click("Cancel")
	until(c, t, `document.querySelector("dialog p")?.textContent.includes("The run goes on")`)
	require.False(t, js[bool](c, t, `document.querySelector("dialog").textContent.includes("cannot be resumed")`))

	do(c, t, chromedp.Navigate(base(s)+"runs/r1/tasks/b"))
	click("Retry")
	until(c, t, `[...document.querySelectorAll("dialog datalist option")].map(o => o.value).join() === "generator,fast"`)
	// A click right after the one that opened the dialog does nothing.
	warned := `document.querySelector("dialog [role=alert]") !== null || (document.querySelector("dialog .strong").click(), false)`
	until(c, t, warned)
	require.Empty(t, acts())
	click("Retry with nothing changed")
	require.Eventually(t, func() bool { return len(acts()) == 1 }, time.Minute, 50*time.Millisecond)
	until(c, t, `document.querySelector("dialog") === null && document.querySelector(".toast") !== null`)

	// Many outcomes are three notes, and a number.
	held.mu.Lock()
	held.fails = usage.Errorf("it runs already")
	held.mu.Unlock()
	click("Retry")
	until(c, t, `document.querySelector("dialog .strong") !== null`)
	until(c, t, warned)
	for n := 2; n <= 6; n++ {
		click("Retry with nothing changed")
		require.Eventually(t, func() bool { return len(acts()) == n }, time.Minute, 20*time.Millisecond)
		until(c, t, `document.querySelector("dialog .strong:enabled") !== null`)
	}
	until(c, t, `document.querySelectorAll(".toast").length === 3 && /^[23] more$/.test(document.querySelector(".toasts .more").textContent)`)
	js[bool](c, t, `document.querySelector(".toasts .more").click() || true`)
	until(c, t, `document.querySelectorAll(".toast").length > 4`)
}
