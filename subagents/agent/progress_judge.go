package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/loopguard"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

const (
	purposeJudge = "judge"
	// opinionTime bounds one question to a judge.
	opinionTime = 3 * time.Minute
)

// judgeProgress asks, where it is due, whether the agent still gets on: a cheap model first, and where that one is sure that it
// does not, another. It reports whether an event was appended. A judge that cannot be asked sees no loop.
func (a *Agent) judgeProgress(ctx context.Context) (bool, error) {
	s := a.session
	if s.limit != "" || !s.guard.Due(s.turns+1) {
		return false, nil
	}
	a.Doing("checking progress")
	defer a.giveBack(time.Now())
	nudge := wire.Nudge{Reason: wire.ReasonJudged}
	cheap := a.Assignment.Project.ModelName(spec.ModelCheap)
	first, events := a.opinion(ctx, cheap)
	if first != nil {
		nudge.Confidence, nudge.Detail = &first.Confidence, first.Analysis
	}
	if other := a.otherThan(cheap); first != nil && first.Loop() && other != "" {
		second, more := a.opinion(ctx, other)
		if events = append(events, more...); second != nil {
			nudge.Second, nudge.Detail = &second.Confidence, second.Analysis
		}
	}
	if err := context.Cause(ctx); err != nil { // what was paid counts all the same
		if len(events) > 0 {
			err = errors.Join(err, a.append(ctx, events...))
		}
		return false, err
	}
	return true, a.append(ctx, append(events, wire.Draft(contextscope.KindControl, nudge))...)
}

// otherThan is the model of the second opinion; "" when there is no other.
func (a *Agent) otherThan(name string) string {
	for _, other := range []string{a.Call.Model, a.Assignment.Project.ModelName(spec.ModelStrong)} {
		if other != name {
			return other
		}
	}
	return ""
}

// judged folds a judgement in.
func (s *session) judged(d wire.Nudge) {
	opinion := func(confidence *float64) *loopguard.Opinion {
		if confidence == nil {
			return nil
		}
		return &loopguard.Opinion{Analysis: d.Detail, Confidence: *confidence}
	}
	s.struck(s.guard.Judged(s.turns+1, opinion(d.Confidence), opinion(d.Second)))
}

// opinion asks one model; nil where it gives none that can be read. The events report what it cost.
func (a *Agent) opinion(ctx context.Context, name string) (*loopguard.Opinion, []contextscope.Event) {
	ctx, limit := limit.NewDeadline(ctx, opinionTime, limit.ErrCall, a.RateLimit)
	defer limit.Stop()
	meta := model.Meta{
		Run: a.Assignment.Run, Task: a.Assignment.Task.ID, Attempt: a.Assignment.Attempt, Turn: a.session.calls + 1,
		Purpose: purposeJudge,
	}
	req := &model.Request{
		Model: name, Meta: meta, Config: &genai.GenerateContentConfig{
			SystemInstruction: genai.NewContentFromText(strings.TrimSpace(loopguard.JudgeInstruction), genai.RoleUser),
		},
		Contents: []*genai.Content{userText(loopguard.JudgePrompt(a.Input.Brief.Task.Brief, entries(a.events)))},
	}
	var paid spec.Usage
	var answer string
	if r, failed := model.Ask(ctx, a.Model, req); failed != nil {
		paid = failed.Usage
		a.Log.Info().Err(failed).Str("model", name).Msg("a judge could not be asked whether the agent makes progress")
	} else {
		paid, answer = r.Usage.Add(r.Wasted), content.Text(r.Content)
	}
	var events []contextscope.Event
	if paid != (spec.Usage{}) {
		events = append(events, a.spentEvent(paid, name))
	}
	opinion, err := loopguard.ParseOpinion(bare(answer))
	if err != nil {
		a.Log.Info().Err(err).Str("model", name).Msg("no loop was judged")
		return nil, events
	}
	return &opinion, events
}

// bare takes the fence off that models like to put round JSON. A response schema would spare that, but not every service has one.
func bare(answer string) string {
	answer = strings.TrimSpace(answer)
	body, fenced := strings.CutPrefix(answer, "```json\n")
	if inner, closed := strings.CutSuffix(body, "\n```"); fenced && closed {
		return inner
	}
	return answer
}

// entries are the turns, results and messages of a session, as a judge is shown them.
func entries(events []contextscope.Event) []loopguard.Entry {
	var out []loopguard.Entry
	for _, e := range events {
		from := loopguard.Message
		switch e.Kind {
		case contextscope.KindTurn:
			from = loopguard.Agent
		case contextscope.KindTool:
			from = loopguard.Tools
		case contextscope.KindUser, contextscope.KindSteering, contextscope.KindControl:
		default:
			continue
		}
		if text := shownContent(e.Content); text != "" {
			out = append(out, loopguard.Entry{From: from, Text: text})
		}
	}
	return out
}

// shownContent is a content in words.
func shownContent(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			fmt.Fprintf(&b, "calls %s %s\n", p.FunctionCall.Name, spec.JSONText(p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			fmt.Fprintf(&b, "%s answers %s\n", p.FunctionResponse.Name, spec.JSONText(p.FunctionResponse.Response))
		case p.Thought:
			fmt.Fprintf(&b, "thinks: %s\n", p.Text)
		case p.Text != "":
			fmt.Fprintf(&b, "%s\n", p.Text)
		}
	}
	return b.String()
}
