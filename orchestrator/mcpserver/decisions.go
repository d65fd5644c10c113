package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

const (
	// usualOpen and mostOpen bound a page of the open decisions of a run.
	usualOpen = 5
	mostOpen  = 20
	// maxPatch bounds what a decision shows of a patch, in bytes: the tool diff shows all of it.
	maxPatch = 8 << 10
	// maxAnswerText bounds the words of an answer, in bytes, as a run does.
	maxAnswerText = 32 << 10
)

type whichOpen struct {
	ofRun
	page
}

type openPage struct {
	Decisions []open `json:"decisions" jsonschema:"What blocks most tasks comes first."`
	Total     int    `json:"total"`
	Next      int    `json:"next_offset,omitempty" jsonschema:"The offset of the next page; left out at the end."`
}

// open is a decision that waits for an answer.
type open struct {
	view.Decision

	Plan *plan `json:"plan,omitempty"`
}

// decisions lists what is open in a run.
func (s *Server) decisions(ctx context.Context, _ caller, in whichOpen) (out openPage, err error) {
	if err := s.known(ctx, in.Run); err != nil {
		return out, err
	}
	all, err := s.opts.Controller.Decisions(ctx, in.Run)
	if err != nil {
		return out, err
	}
	shown, next, err := of(all, in.page, usualOpen, mostOpen)
	out = openPage{Decisions: []open{}, Total: len(all), Next: next}
	for i := range shown {
		d, err := openOf(&shown[i])
		if err != nil {
			return out, err
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out, err
}

// openOf has of a decision what a client needs to answer it.
func openOf(d *view.Decision) (out open, err error) {
	out.Decision = view.Decision{
		ID: d.ID, Kind: d.Kind, About: d.About, Attempt: d.Attempt, Text: text.Clip(d.Text, maxText), Evidence: few(d.Evidence),
		Choices: few(d.Choices), Options: d.Options, Suggests: d.Suggests, Decider: d.Decider, Why: d.Why, Reserved: d.Reserved,
		Blocks: d.Blocks,
	}
	for _, p := range d.Patches[:min(len(d.Patches), maxFew)] {
		most := maxPatch / len(d.Patches)
		p.Files, p.Diff, p.Cut = few(p.Files), text.Head(text.Valid(p.Diff), most), len(p.Diff) > most
		out.Patches = append(out.Patches, p)
	}
	if len(d.Plan) > 0 {
		p, err := planOf(d.Plan, page{})
		if err != nil {
			return out, err
		}
		out.Plan = &p
	}
	return out, nil
}

type answer struct {
	ofRun

	Decision string `json:"decision" jsonschema:"The id of the decision, as the tool decisions shows it."`
	Option   string `json:"option" jsonschema:"The name of one of its options, or one of the choices of a question."`
	Attempt  int    `json:"attempt,omitempty" jsonschema:"The attempt that you were shown; an answer to another one is refused."`
	Text     string `json:"text,omitempty" jsonschema:"The words that the option needs: a reason, or the answer to a question."`
	Task     string `json:"task,omitempty" jsonschema:"The task whose patch the answer is for, where the decision is about several."`
}

// decide answers a decision. What is reserved for a person is refused.
func (s *Server) decide(ctx context.Context, by caller, in answer) (done, error) {
	if err := within("text", in.Text, maxAnswerText); err != nil {
		return done{}, err
	}
	if err := s.known(ctx, in.Run); err != nil {
		return done{}, err
	}
	all, err := s.opts.Controller.Decisions(ctx, in.Run)
	if err != nil {
		return done{}, err
	}
	at := slices.IndexFunc(all, func(d view.Decision) bool { return d.ID == in.Decision })
	switch {
	case in.Option == "":
		return done{}, usage.Errorf("an answer names an option")
	case at >= 0 && all[at].Reserved:
		return done{}, usage.With(usage.Errorf("decision %s is for a person, not for a program: %s", in.Decision,
			strings.TrimSpace(all[at].Why)), usage.Person, in.Run, in.Decision)
	}
	if at >= 0 && slices.Contains(all[at].Choices, in.Option) && in.Text == "" {
		in.Option, in.Text = view.Reply, in.Option
	}
	out, err := s.act(ctx, by.by, in.Run, act.Decide{
		Decision: in.Decision, Attempt: in.Attempt, Option: in.Option, Text: in.Text, Task: in.Task,
	})
	if err != nil && at < 0 {
		err = fmt.Errorf("decision %.80q is not open: %w", in.Decision, err)
	}
	return out, err
}
