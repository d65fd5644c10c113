package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/view"
)

const (
	// usualPlanned and mostPlanned bound a page of the tasks of a plan.
	usualPlanned = 50
	mostPlanned  = 200
	// maxName bounds the name of a file, in bytes.
	maxName = 4 << 10
)

// Preview is a plan file that was expanded: the event plan, with the gates of a run of it, a setup that the repository's files
// show and that it does not have, and the reasons for which a run would not begin. Detected reports that the repository names no
// gates, and that its files showed these. Requests are what the repository's files request beyond confined
// commands without network; Trusted reports that a person agreed to them, or that there are none.
type Preview struct {
	Plan     json.RawMessage
	Notes    []string
	Gates    []Gate
	Detected bool
	Setup    []string
	Refused  []string
	Requests []string
	Trusted  bool
}

// Gate is a command that proves changes.
type Gate struct {
	Gate    string   `json:"gate"`
	Command []string `json:"command"`
}

type whichPlan struct {
	page

	Plan  string   `json:"plan" jsonschema:"The plan file (YAML), as a path in the repository."`
	Agent string   `json:"agent,omitempty" jsonschema:"As that of start."`
	Roles []string `json:"roles,omitempty" jsonschema:"As those of start."`
}

// previewed is a plan with what a run needs before it can begin.
type previewed struct {
	plan

	Gates    []Gate   `json:"gates" jsonschema:"The commands that would prove each change. They were not run: that they work here is known once a run has begun."`
	Detected bool     `json:"gates_detected,omitempty" jsonschema:"The repository names no gates: its files showed these."`
	Setup    []string `json:"missing_setup,omitempty" jsonschema:"The repository names no setup, and its files show this one: gates that need it fail without."`
	Refused  []string `json:"start_refuses,omitempty" jsonschema:"Why start would refuse now, beyond trust: what is not committed, a program or a key that is missing."`
	Requests []string `json:"requests,omitempty" jsonschema:"What the repository's files request beyond confined commands without network."`
	Trusted  bool     `json:"trusted" jsonschema:"A person agreed to the requests, or there are none. Else no run can start here."`
}

// plan is a plan whose templates are expanded.
type plan struct {
	Tasks    []planned `json:"tasks" jsonschema:"A page of the tasks, in plan order."`
	Total    int       `json:"total"`
	Next     int       `json:"next_offset,omitempty" jsonschema:"The offset of the next page; left out at the end."`
	Decided  string    `json:"decision_record,omitempty" jsonschema:"What was decided once, for every task that writes."`
	Notes    []string  `json:"notes,omitempty"`
	Overlaps []string  `json:"overlaps,omitempty" jsonschema:"Tasks whose write sets meet: they take turns."`
	Estimate string    `json:"estimate,omitempty" jsonschema:"What the tasks are likely to use: the range that eight of ten such plans are in."`
	Ceiling  int       `json:"ceiling,omitempty" jsonschema:"The most tokens that the tasks may use, all attempts counted; left out when no model takes part."`
}

type planned struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Role     string   `json:"role"`
	Brief    string   `json:"brief,omitempty"`
	Files    []string `json:"files,omitempty" jsonschema:"The write set: paths and globs that it may change."`
	After    []string `json:"after,omitempty" jsonschema:"The tasks that end before it starts."`
	Template string   `json:"template,omitempty" jsonschema:"The template that it is a shard of."`
	Command  []string `json:"command,omitempty"`
}

// preview expands a plan file.
func (s *Server) preview(ctx context.Context, _ caller, in whichPlan) (out previewed, err error) {
	if err := errors.Join(within("plan", in.Plan, maxName), fewRoles(in.Roles)); err != nil {
		return out, err
	}
	p, err := s.opts.Preview(ctx, Work{Plan: in.Plan, Agent: in.Agent, Roles: in.Roles})
	if err != nil {
		return out, err
	}
	out = previewed{
		Gates: append([]Gate{}, p.Gates[:min(len(p.Gates), maxFew)]...), Detected: p.Detected, Setup: p.Setup,
		Refused:  few(p.Refused),
		Requests: few(p.Requests), Trusted: p.Trusted,
	}
	if out.plan, err = planOf(p.Plan, in.page); err == nil {
		out.Notes = append(out.Notes, few(p.Notes)...)
	}
	return out, err
}

// planOf is a page of an expanded plan.
func planOf(data json.RawMessage, p page) (out plan, err error) {
	var d view.Plan
	if err := json.Unmarshal(data, &d); err != nil {
		return out, fmt.Errorf("read the plan: %w", err)
	}
	shown, next, err := of(d.Tasks, p, usualPlanned, mostPlanned)
	out = plan{
		Tasks: []planned{}, Total: len(d.Tasks), Next: next, Decided: text.Clip(d.DecisionRecord, maxText), Notes: few(d.Notes),
		Ceiling: d.Ceiling,
	}
	if d.Likely != nil {
		out.Estimate = d.Likely.String()
	}
	for i := range shown {
		out.Tasks = append(out.Tasks, plannedOf(&shown[i]))
	}
	for _, o := range d.Overlaps[:min(len(d.Overlaps), maxFew)] {
		out.Overlaps = append(out.Overlaps, fmt.Sprintf("%s and %s: %s", o.A, o.B, o.Path))
	}
	return out, err
}

func plannedOf(t *spec.Task) planned {
	return planned{
		ID: t.ID, Title: text.Clip(t.Title, text.MaxLine), Role: t.Role, Brief: text.Clip(t.Brief, text.MaxLine),
		Files: few(t.Files), After: few(t.DependsOn), Template: t.ShardOf, Command: few(t.Command),
	}
}
