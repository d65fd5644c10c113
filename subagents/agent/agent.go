// Package agent runs one attempt with a model, turn by turn. Its input is an assignment, the tools and the journal of the
// attempt, its output the attempt's result; each step is computed from the journal's events, so that an agent whose worker
// stopped responding continues after its last append. It never touches the queue or a slot and runs no gate.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/compact"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/tool/files"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"google.golang.org/genai"
)

// ErrStopped reports that an agent stopped at a turn boundary because its run stops. It is no result: the attempt continues when
// it is delivered again.
var ErrStopped = errors.New("the run stops")

// Tree is the work tree of an attempt.
type Tree interface {
	// Save makes one commit on the attempt's head of what is in the tree and stores its pack; nil when nothing differs from
	// the head. A *workspace.ContentError is the agent's to fix.
	Save(ctx context.Context) (*spec.Patch, error)
	// Diff is the difference to the head, as a unified diff of about limit bytes at most.
	Diff(ctx context.Context, limit int) (string, error)
}

// Memory finds what outlives a run.
type Memory interface {
	// Recall returns the notes that fit a turn best, together of at most maxTokens estimated tokens, and why there are none where
	// something went wrong.
	Recall(ctx context.Context, query string, maxTokens int) (recalled []contextscope.Recalled, notes []string)
}

// Agent carries one attempt out with a model: the turn loop. It holds no truth of its own: each step is computed from the
// session, which is a fold over the journal, so that an agent that was lost continues where its last append left off.
type Agent struct {
	Assignment *wire.Assignment
	Journal    *journal.Journal
	Model      model.Model
	Call       Call
	Compiler   *compile.Compiler
	Tools      *tool.Set
	// Input is shared by every request: role, brief and slice; its events are those of the sessions that this one continues.
	Input compile.Input
	// Memory and Compact may be nil: then nothing is recalled, and a history that outgrows its window ends the attempt.
	Memory  Memory
	Compact *compact.Runner
	// Tree is nil for roles without a work tree or without writing tools.
	Tree Tree
	// Remaining finds what of the task's shard still matches its rule; nil where it has none.
	Remaining func(context.Context) ([]string, error)
	// Held names what the git of the work tree holds and its files do not show. It may be nil.
	Held func(context.Context) (string, error)
	// Scope is the current write set of the attempt. Delegated is what others have used for the agent, which counts against its
	// tokens.
	Scope     *files.Scope
	Delegated func() spec.Usage
	Bounds    limit.Bounds
	// Inbox brings messages; Doing is told what the agent does, often.
	Inbox *Inbox
	Doing func(string)
	// Background may be nil.
	Background Background
	// Rest is called when all that the agent does is wait for others; what it returns is called before the agent continues, and
	// returns when there is room for it again.
	Rest func() (resume func())
	// RateLimit may be nil: then waiting for it counts like other time.
	RateLimit limit.RateLimit
	// Siblings are the worker's.
	Siblings *Siblings
	Clock    func() time.Time
	Log      zerolog.Logger

	session *session
	// sibling is the agent's place among its siblings, from its first call on.
	sibling *sibling
	// events are the whole conversation; offset is what their numbers are ahead of the journal's, after continued sessions.
	events []contextscope.Event
	offset int
	// tools are the declarations of Tools.
	tools []*genai.FunctionDeclaration
	// named are the values that the instruction names.
	named []string
	// kept is the list of results that the other calls of a turn kept when it ends with submit_result.
	kept []contextscope.Listed
	// whole is the newest turn as the model gave it, while the session may hold a shrunk copy.
	whole *genai.Content
	// began is when this delivery's work began, waited how long it waited: for the model's service, or for others. late says
	// that all of its time but the wrap-up turn's is over.
	began  time.Time
	waited time.Duration
	limit  *limit.Deadline
	late   bool
}

// Run carries the attempt out. The error is ErrStopped, bus.ErrFenced, a cause of the context, or a fault of the machinery:
// then there is no result, and another delivery continues. A result comes without an error, whatever its status.
func (a *Agent) Run(ctx context.Context) (spec.Result, error) {
	a.began = a.Clock()
	s, err := restore(a.Journal.Events())
	if err != nil {
		return spec.Result{}, fmt.Errorf("resume %s: %w", a.Assignment.Agent(), err)
	}
	a.session, a.named = s, named(a.Input.Role.Instruction)
	a.open()
	defer a.settle(ctx)
	defer func() { a.sibling.stepAside() }()
	var result *spec.Result
	left := a.Bounds.Left() - a.Bounds.Grace()
	// An earlier delivery may have come to the wrap-up turn already, whose result is not to be cut off.
	if a.late = s.limit == wire.FaultTime || s.limit != "" && left <= 0; !a.late {
		result, err = a.until(ctx, left)
		a.late = errors.Is(err, limit.ErrTime) && context.Cause(ctx) == nil
	}
	if a.late {
		result, err = a.until(ctx, a.Bounds.Grace())
	}
	if err != nil {
		return a.interrupted(ctx, err)
	}
	return *result, nil
}

// until continues step by step until there is a result. When the time is over the error is limit.ErrTime.
func (a *Agent) until(ctx context.Context, left time.Duration) (*spec.Result, error) {
	ctx, a.limit = limit.NewDeadline(ctx, max(0, left), limit.ErrTime, a.RateLimit)
	defer a.limit.Stop()
	for {
		result, err := a.step(ctx)
		if err != nil && errors.Is(context.Cause(ctx), limit.ErrTime) && !errors.Is(err, bus.ErrFenced) {
			err = errors.Join(limit.ErrTime, err)
		}
		if result != nil || err != nil {
			return result, err
		}
	}
}

// step does the next thing that the session asks for. Each appends at least one event, or returns the result.
func (a *Agent) step(ctx context.Context) (*spec.Result, error) {
	s := a.session
	switch {
	case s.end != nil:
		return a.finished()
	case s.open != nil:
		return nil, a.runCalls(ctx)
	case s.silent && a.plans():
		return &spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{Summary: s.said}, LimitHit: s.limit}, nil
	}
	if moved, err := a.boundary(ctx); moved || err != nil {
		return nil, err
	}
	if s.tooLong() {
		if moved, err := a.compacted(ctx); moved || err != nil {
			return nil, err
		}
	}
	if end := a.exhausted(); end != nil {
		return a.failed(ctx, *end)
	}
	if text, why := a.nudge(); why.Reason != "" {
		return nil, a.say(ctx, why, text)
	}
	if judged, err := a.judgeProgress(ctx); judged || err != nil {
		return nil, err
	}
	if moved, err := a.compacted(ctx); moved || err != nil {
		return nil, err
	}
	return nil, a.turn(ctx)
}

// boundary takes what has come in since the last turn. It reports whether an event was appended.
func (a *Agent) boundary(ctx context.Context) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if !a.session.briefed {
		return true, a.append(ctx, a.opening()...)
	}
	if a.Inbox.Stopped() {
		if err := a.append(ctx, wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped})); err != nil {
			return false, err
		}
		return false, ErrStopped
	}
	var events []contextscope.Event
	came, err := a.messages(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range came {
		if a.session.steered[m.ID] {
			continue
		}
		e := wire.Draft(contextscope.KindSteering, wire.Steered{ID: m.ID, From: m.From})
		e.Author, e.Content = "user", userText(m.Text)
		events = append(events, e)
	}
	if len(events) == 0 {
		return false, nil
	}
	return true, a.append(ctx, events...)
}

// opening is the beginning of an attempt's session: the brief, and what wakes a session that continues.
func (a *Agent) opening() []contextscope.Event {
	brief := contextscope.Event{Kind: contextscope.KindBrief, Author: "user", Content: a.Input.Brief.Content(a.Input.Narrative)}
	if a.Assignment.Message == "" {
		return []contextscope.Event{brief}
	}
	return []contextscope.Event{brief, {Kind: contextscope.KindUser, Author: "user", Content: userText(a.Assignment.Message)}}
}

// say appends a control event: words of the runtime to the model.
func (a *Agent) say(ctx context.Context, why wire.Nudge, text string) error {
	e := wire.Draft(contextscope.KindControl, why)
	e.Content = userText(text)
	return a.append(ctx, e)
}

func (a *Agent) append(ctx context.Context, events ...contextscope.Event) error {
	stored, err := a.Journal.Append(ctx, events...)
	if err != nil {
		return err
	}
	return a.fold(stored)
}

// fold takes in what is in the log now.
func (a *Agent) fold(stored []contextscope.Event) error {
	for i := range stored {
		if err := a.session.apply(&stored[i]); err != nil {
			return err
		}
	}
	a.events = append(a.events, shifted(stored, a.offset)...)
	return nil
}

// open reads the conversation from the log.
func (a *Agent) open() {
	var earlier []contextscope.Event
	earlier, a.offset = sequence(a.Input.Events)
	a.events = append(earlier, shifted(a.Journal.Events(), a.offset)...)
	a.tools = a.Tools.Declarations()
}

// input is the input of the next request, without its tail.
func (a *Agent) input() compile.Input {
	in := a.Input
	in.Events, in.Tools = a.events, declared(a.tools, &a.Input, a.session)
	return in
}

// spent is the attempt's use of its limits, its delegates included.
func (a *Agent) spent() limit.Spent {
	s := a.session
	return limit.Spent{Calls: s.calls, ToolCalls: s.toolCalls, Usage: s.usage.Add(a.Delegated()), Request: s.prompt}
}

func userText(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) }
