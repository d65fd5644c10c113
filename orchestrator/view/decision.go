package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

type (
	// Decision is the same from the rule that opens it to the button that answers it.
	Decision = run.Decision
	// Option is a way to answer one.
	Option = run.Option
	// Patch is the patch that it is about.
	Patch = run.Patch
)

// Options that a display knows by name.
const (
	Yes    = run.Yes
	Change = run.Change
	Reply  = run.Reply
)

// Reasoned reports whether an option that needs no text takes one.
var Reasoned = decision.Reasoned

// ForPerson are the open ones that only a person can decide.
var ForPerson = decision.ForPerson

// Open lists the open decisions of a run, those that block most first.
func Open(s *run.State) []Decision {
	open := decision.Open(s)
	decision.Count(&s.Agenda, open)
	for i := range open {
		d := &open[i]
		d.Run = s.Spec.Run
		if t := s.Tasks.ByID[d.About]; t != nil {
			d.Template = t.Task.ShardOf
		}
		for _, id := range d.Tasks {
			if t := s.Tasks.ByID[id]; t != nil && t.Result != nil && t.Result.Patch != nil {
				d.Added, d.Deleted = d.Added+t.Result.Patch.Added, d.Deleted+t.Result.Patch.Deleted
			}
		}
	}
	return open
}

// Recall adds to a decision the brief of its task, and the earlier decisions about it.
func Recall(s *run.State, d *Decision) {
	t := s.Tasks.ByID[d.About]
	if t == nil {
		return
	}
	d.Brief = t.Task.Brief
	if t.Plan < len(s.Plans.All) {
		d.Record = s.Plans.All[t.Plan].DecisionRecord
	}
	for _, b := range t.Doubts {
		if a := b.Answer; a != nil && b.Attempt < d.Attempt {
			d.Before = append(d.Before, run.Said{Attempt: b.Attempt, Option: a.Option, Text: a.Text, By: a.By})
		}
	}
}

// Answered words the answer that a decision has, with its author; "" for none.
func Answered(s *State, id string) string {
	given := s.Decisions.Given(id)
	if given == nil {
		return ""
	}
	return given.Answer.Option + " by " + given.Answer.By
}

// Reported is a decision as a report has it: in a line, and without the count of what waits for it, which takes long to make.
type Reported struct {
	Decision

	Blocks any `json:"blocks,omitempty"`
}

// decisions are those that are not closed.
func decisions(s *run.State) (out []Reported) {
	for _, d := range decision.All(s) {
		shown := Reported{Decision: Decision{ID: d.ID, Kind: d.Kind, Text: d.Text, Decider: d.Decider, Why: d.Why}}
		if given := s.Decisions.Given(d.ID); given != nil {
			shown.Answer = &given.Answer
		}
		out = append(out, shown)
	}
	return out
}

// String is the decision in a line.
func (d Reported) String() string {
	who := d.Decider + " decides: " + d.Why
	if d.Answer != nil {
		who = decision.By("answered by "+d.Answer.By, d.Answer) + ": " +
			strings.TrimSuffix(d.Answer.Option+": "+text.Line(d.Answer.Text), ": ")
	}
	return fmt.Sprintf("%s  %s: %s (%s)", d.ID, d.Kind, d.Text, who)
}

// Named are decisions in JSON under the names that their fields have in Go: so hosts tell them to one another, and `divisi
// decide` to programs.
type Named []Decision

// MarshalJSON implements json.Marshaler.
func (n Named) MarshalJSON() ([]byte, error) {
	out := make([]map[string]any, len(n))
	for i, d := range n {
		var options []namedOption
		for _, o := range d.Options {
			options = append(options, namedOption(o))
		}
		var patches []namedPatch
		for _, p := range d.Patches {
			patches = append(patches, namedPatch{p.Task, p.Files, p.Diff, p.Fault})
		}
		out[i] = map[string]any{
			"Run": d.Run, "ID": d.ID, "Kind": d.Kind, "About": d.About, "Attempt": d.Attempt, "Text": d.Text,
			"Evidence": d.Evidence, "Choices": d.Choices, "Patches": patches, "Options": options, "Suggests": d.Suggests,
			"Decider": d.Decider, "Why": d.Why, "Blocks": d.Blocks, "Alike": d.Alike,
		}
		if len(d.Plan) > 0 {
			out[i]["Plan"] = d.Plan
		}
		if d.Reserved {
			out[i]["Reserved"] = true
		}
	}
	return json.Marshal(out) //nolint:wrapcheck // it is called by json
}

// UnmarshalJSON implements json.Unmarshaler. The names of fields are read without regard to case.
func (n *Named) UnmarshalJSON(data []byte) error {
	var all []struct {
		Decision

		Options []namedOption `json:"options"`
	}
	if err := json.Unmarshal(data, &all); err != nil { //nolint:musttag // options are read under the names of their fields
		return err //nolint:wrapcheck // it is called by json
	}
	*n = nil
	for i := range all {
		d := all[i].Decision
		for _, o := range all[i].Options {
			d.Options = append(d.Options, Option(o))
		}
		for _, p := range d.Patches {
			d.Tasks = append(d.Tasks, p.Task)
		}
		*n = append(*n, d)
	}
	return nil
}

type (
	namedOption struct {
		Name, Does string
		NeedsText  bool
	}
	namedPatch struct {
		Task        string
		Files       []string
		Diff, Fault string
	}
)
