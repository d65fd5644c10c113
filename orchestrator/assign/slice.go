package assign

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/contextscope/narrative"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/agent"
	"divisi/subagents/brief"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// slice freezes what a task inherits from upstream and returns its name in the object store. Siblings of one dispatch get
// the same bytes, and so the same name.
func (g *given) slice(ctx context.Context, a *wire.Assignment, t *run.Task) (string, error) {
	in := slice.Input{
		Include: t.Task.IncludeContents, DecisionRecord: a.DecisionRecord, Last: t.Task.Last, MaxTokens: t.Task.MaxTokens,
	}
	if in.MaxTokens == 0 {
		in.MaxTokens = sliceCap(a)
	}
	if t.Task.IncludeContents == spec.IncludeFull {
		if err := g.upstream(ctx, t, &in); err != nil {
			return "", err
		}
	}
	before, err := g.handedDown(ctx, t)
	if err != nil {
		return "", err
	}
	if len(before) > 0 {
		in.Include, in.Inputs = spec.IncludeFull, append(in.Inputs, before...)
	}
	data, digest, err := slice.Build(in).Encode()
	if err != nil {
		return "", fmt.Errorf("encode the slice of %s: %w", t.Task.ID, err)
	}
	name := "slice-" + digest
	if g.stored[name] {
		return name, nil
	}
	if err := g.bus.Put(ctx, name, data); err != nil {
		return "", fmt.Errorf("store the slice of %s: %w", t.Task.ID, err)
	}
	g.stored[name] = true
	return name, nil
}

const (
	// toolTokens bounds the declarations of tools; the conductor does not build them.
	toolTokens = 4_000
	// capSteps is into how many steps a window is divided: what siblings have of their own is rounded up to one, so that they
	// inherit the same bytes although their briefs differ a little.
	capSteps = 8
)

// sliceCap is how many tokens a task's slice may have where the task sets no cap: slice and everything that is
// never trimmed are half of the window together. 0 means no cap, where the window is not known.
func sliceCap(a *wire.Assignment) int {
	window := agent.WindowOf(&a.Project, a.Role.Model)
	step := window / capSteps
	if step == 0 {
		return 0
	}
	fixed := toolTokens
	given := brief.Of(a)
	given.DecisionRecord = "" // the slice counts it itself
	for _, s := range compile.Fixed(compile.Input{Role: a.Role, Brief: given}) {
		fixed += s.Tokens
	}
	return max(1, window/2-(fixed+step-1)/step*step)
}

// upstream reads the dispatching agent's session, all of its attempts, then the accepted session of
// each task in inputs, in plan order. A task that is an input with one artifact alone adds nothing else.
func (g *given) upstream(ctx context.Context, t *run.Task, in *slice.Input) error {
	task, n, ok := run.SplitAgent(g.st.Plans.All[t.Plan].By)
	if w := g.st.Works[task]; ok && w != nil {
		first, role := n, w.RoleAt(n)
		if task == run.MasterTask {
			first = 1
		}
		for i := first; i <= n; i++ {
			events, err := Session(ctx, g.bus, g.run, role, task, i)
			if err != nil {
				return err
			}
			if i > first {
				// A master that is woken is given its brief again; its session has it once.
				events = slices.DeleteFunc(events, func(e contextscope.Event) bool { return e.Kind == contextscope.KindBrief })
			}
			in.Dispatcher = append(in.Dispatcher, events...)
		}
	}
	if q := g.st.Requests.ByID[g.st.Plans.All[t.Plan].Request]; q != nil { // what it said after that is nothing to the child
		in.Dispatcher = slices.DeleteFunc(in.Dispatcher, func(e contextscope.Event) bool { return e.Seq >= q.Seq })
	}
	for _, up := range wholeInputs(&g.st.Tasks, t) {
		id := up.Task.ID
		toldOnce(in.Dispatcher, up.Result.Handoff)
		events, err := Session(ctx, g.bus, g.run, up.Task.Role, id, up.Result.Attempt)
		if err != nil {
			return err
		}
		in.Inputs = append(in.Inputs, events)
	}
	return nil
}

// toldOnce takes a handoff that the brief has out of the reports that the dispatching agent was woken with.
func toldOnce(events []contextscope.Event, h spec.Handoff) {
	report := "report: " + narrative.Elide(text.Quote(h))
	for _, e := range events {
		if e.Kind != contextscope.KindUser || e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			p.Text = strings.ReplaceAll(p.Text, report, "report: see the handoff in your brief")
		}
	}
}

// wholeInputs are the tasks that a task has as inputs as a whole, in plan order: not those that it wants one artifact of.
func wholeInputs(tasks *run.Tasks, t *run.Task) []*run.Task {
	var whole []*run.Task
	for _, w := range wantedBy(tasks, t) {
		if w.artifact == "" {
			whole = append(whole, w.task)
		}
	}
	slices.SortFunc(whole, run.PlanOrder)
	return slices.Compact(whole)
}

// Session reads the events of one attempt, in order.
func Session(ctx context.Context, b *bus.Bus, run, role, task string, attempt int) ([]contextscope.Event, error) {
	events, _, err := journal.ReadSession(ctx, b, bus.AttemptFilter(run, role, task, attempt))
	return events, err
}

// handedDown reads the sessions of the agents that had a task and gave it away.
func (g *given) handedDown(ctx context.Context, t *run.Task) ([][]contextscope.Event, error) {
	var out [][]contextscope.Event
	for _, h := range t.Handovers {
		events, err := Session(ctx, g.bus, g.run, h.Role, t.Task.ID, h.Attempt)
		if err != nil {
			return nil, err
		}
		out = append(out, events)
	}
	return out, nil
}
