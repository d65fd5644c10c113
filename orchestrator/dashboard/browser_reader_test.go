//go:build browser

package dashboard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// spoken is what a screen reader has of the page: the role and the name of each thing, in their order.
func spoken(ctx context.Context, t *testing.T) (all []string) {
	t.Helper()
	tree, err := chromedp.Run(ctx, func(ctx context.Context, _ *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	require.NoError(t, err)
	for _, n := range tree.Nodes {
		var role, name string
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		require.NoError(t, json.Unmarshal(n.Role.Value, &role))
		require.NoError(t, json.Unmarshal(n.Name.Value, &name))
		all = append(all, strings.TrimSpace(role+" "+strings.TrimSpace(name)))
	}
	return all
}

// late is a place where another page has answered the agent of task c already.
type late struct{ deciding }

func (l late) Act(ctx context.Context, run, by string, a act.Args) (Outcome, error) {
	held, _ := a.(act.Held)
	if d, is := held.Args.(act.Decide); is && strings.HasPrefix(d.Decision, "c") {
		return Outcome{}, usage.Errorf("it has an answer: left, by ben")
	}
	return l.deciding.Act(ctx, run, by, a)
}

// put appends an event of the run, or of the first attempt of a task.
func (l *memoryLog) put(t *testing.T, kind contextscope.Kind, task string, data any) {
	t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(t, err)
	e := contextscope.Event{ID: string(kind) + task, Run: "r1", Task: task, Time: time.Now(), Kind: kind, Data: raw}
	if task != "" {
		e.Attempt, e.Agent, e.Role = 1, task+"/1", "generator"
	}
	l.add(e)
}

// asks has the agents of tasks ask a person.
func (l *memoryLog) asks(t *testing.T, tasks ...string) {
	t.Helper()
	for _, id := range tasks {
		l.put(t, contextscope.KindRequest, id, wire.Request{
			ID: "ask-" + id, Kind: wire.RequestAsk, Question: "Which side, " + id + "?", Options: []string{"left", "right"},
		})
	}
}

// TestBrowserReader: a person who hears the page, or does not see all of it, has what the others have.
func TestBrowserReader(t *testing.T) {
	log := newLog()
	log.put(t, "run", "", run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", Goal: "ask", OnDoubt: run.OnDoubtAsk}})
	log.put(t, "plan", "", run.PlanData{Tasks: []spec.Task{
		{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}, {ID: "c", Role: "generator"},
	}})
	for _, id := range []string{"a", "b", "c"} {
		log.put(t, "task", id, run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: id, Attempt: 1, Role: "generator"}})
	}
	log.asks(t, "a", "b")
	s := start(t, log, func(s *Server) {
		s.surveyPause = 50 * time.Millisecond
		s.opts.Controller = late{deciding{s.opts.Controller.(*place)}}
	})
	ctx := browse(t, runPage(s))
	do(ctx, t, chromedp.EmulateViewport(390, 800))
	do(ctx, t, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "prefers-color-scheme", Value: "dark"},
		}})
		return err
	}))
	until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3 && document.querySelectorAll("button.task").length === 3`)
	require.Subset(t, spoken(ctx, t), []string{
		"heading Needs you 2", "button Needs you 2", "group Answers about the question a", "button 1 left", "button Snooze 1 h",
		"heading ask", "tab Tasks", "tabpanel Tasks", "listitem", "button a: running, generator, attempt 1", "progressbar Tasks",
		"searchbox Filter the log", "log Log", "status The page's connection to Divisi",
	})
	require.True(t, js[bool](ctx, t, `document.querySelector("[role=log]").ariaLive === "off"`), "lines are not read out as they come")
	require.True(t, js[bool](ctx, t, `document.querySelector(".fold").ariaExpanded === "true"`))

	// A new decision is told once, by voice and by a note of the browser, which asks a person only after a click.
	js[bool](ctx, t, `(() => { window.__asked = 0; window.__notes = []; window.__told = [];
		window.Notification = class { static permission = "default";
			static async requestPermission() { window.__asked++; return Notification.permission = "granted" }
			constructor(title, o) { window.__notes.push(title + ": " + o.body) } };
		const told = document.querySelector(".unseen[role=status]");
		new MutationObserver(() => told.textContent && window.__told.push(told.textContent)).observe(told, {childList: true, characterData: true, subtree: true});
		return document.hasFocus = () => false, true })()`)
	until(ctx, t, `[...document.querySelectorAll(".top button")].some(b => b.textContent === "Notify me")`)
	require.Zero(t, js[int](ctx, t, "window.__asked"))
	js[bool](ctx, t, `[...document.querySelectorAll(".top button")].find(b => b.textContent === "Notify me").click() || true`)
	until(ctx, t, `![...document.querySelectorAll(".top button")].some(b => b.textContent === "Notify me")`)
	require.Equal(t, 1, js[int](ctx, t, "window.__asked"))
	log.asks(t, "c")
	until(ctx, t, `document.querySelectorAll(".need-head").length === 3 && window.__notes.length > 0`)
	told := []string{"Needs you: an answer to c/1: Which side, c?"}
	require.Equal(t, told, js[[]string](ctx, t, "window.__told"))
	require.Equal(t, told, js[[]string](ctx, t, "window.__notes"))

	// After an answer the focus is on the next decision, and after the last one on the page.
	answer := `(() => { const b = document.querySelector(".pick"); b.focus(); b.click(); return true })()`
	for _, next := range []string{"b/1", "c/1"} {
		js[bool](ctx, t, answer)
		until(ctx, t, `document.activeElement.matches(".need-head[aria-expanded=true]") && document.activeElement.textContent.includes("`+next+`")`)
		until(ctx, t, `document.querySelectorAll(".pick:enabled").length === 3`)
	}
	require.Equal(t, told, js[[]string](ctx, t, "window.__told"), "not with each frame")
	require.Equal(t, "none", js[string](ctx, t, `getComputedStyle(document.querySelector(".undo p")).animationName`), "motion is reduced")

	// Another page was first: the card tells so, and when it goes a toast does.
	js[bool](ctx, t, answer)
	until(ctx, t, `document.querySelector(".need-body [role=alert]")?.textContent === "It does not fit any more: it has an answer: left, by ben"`)
	require.LessOrEqual(t, js[int64](ctx, t, "document.documentElement.scrollWidth"), int64(390))
	picture(ctx, t, "reader390")
	js[bool](ctx, t, `document.querySelector(".pick").focus() || true`)
	log.put(t, contextscope.KindResult, "c", spec.Result{Status: spec.StatusDone, Attempt: 1})
	until(ctx, t, `document.querySelector(".need-head") === null`)
	until(ctx, t, `[...document.querySelectorAll(".toast.bad")].some(e => e.textContent.includes("it has an answer: left, by ben"))`)
	until(ctx, t, `document.activeElement === document.querySelector("main")`)
	js[bool](ctx, t, `(() => { const tab = document.querySelector("[role=tab]"); tab.focus();
		return tab.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})) })()`)
	until(ctx, t, `document.activeElement.matches("[role=tab][aria-selected=true]") && document.activeElement.textContent === "Timeline"`)
	js[bool](ctx, t, `document.querySelector(".top .home").click() || true`)
	until(ctx, t, `document.querySelector("h1")?.textContent === "All runs" && document.activeElement.ariaLabel === "Runs"`)
}
