package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"divisi/contextscope/content"
	"divisi/internal/spec"
)

// Snapshot replaces old turns: a model's distillate in five parts, and facts that code has pinned to it.
type Snapshot struct {
	OverallGoal     string `json:"overall_goal"`
	KeyKnowledge    string `json:"key_knowledge"`
	FileSystemState string `json:"file_system_state"`
	RecentActions   string `json:"recent_actions"`
	CurrentPlan     []Step `json:"current_plan"`
	// Pinned are written by code alone: a model's words never get there.
	Pinned []Fact `json:"pinned,omitempty"`
}

// Step is one step of the plan.
type Step struct {
	// Status is done, in_progress or todo.
	Status string `json:"status"`
	Text   string `json:"text"`
}

// The states of a step.
const (
	StepDone       = "done"
	StepInProgress = "in_progress"
	StepToDo       = "todo"
)

// Fact is something that a snapshot has to hold word for word.
type Fact struct {
	// Kind is one of the kinds of fact below.
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// The kinds of fact.
const (
	FactConstraint  = "constraint"
	FactChangedFile = "changed_file"
	FactRedGate     = "red_gate"
	// FactOwnPlan is the newest plan that the agent keeps, a step a line.
	FactOwnPlan = "own_plan"
)

// partPinned is the part of a snapshot that code writes.
const partPinned = "pinned"

var (
	snapshotParts = []string{"overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"}
	stepStates    = []string{StepDone, StepInProgress, StepToDo}
	factKinds     = []string{FactConstraint, FactChangedFile, FactRedGate, FactOwnPlan}
)

// part is the place of a part.
func (s *Snapshot) part(name string) any {
	return map[string]any{
		"overall_goal": &s.OverallGoal, "key_knowledge": &s.KeyKnowledge, "file_system_state": &s.FileSystemState,
		"recent_actions": &s.RecentActions, "current_plan": &s.CurrentPlan, partPinned: &s.Pinned,
	}[name]
}

// plain returns the snapshot with texts that can be shown.
func (s Snapshot) plain() Snapshot {
	for _, text := range []*string{&s.OverallGoal, &s.KeyKnowledge, &s.FileSystemState, &s.RecentActions} {
		*text = plainText(*text)
	}
	s.CurrentPlan, s.Pinned = append([]Step(nil), s.CurrentPlan...), append([]Fact(nil), s.Pinned...)
	for i := range s.CurrentPlan {
		s.CurrentPlan[i].Text = plainText(s.CurrentPlan[i].Text)
	}
	for i := range s.Pinned {
		s.Pinned[i].Text = plainText(s.Pinned[i].Text)
	}
	return s
}

// Render writes the snapshot as JSON, a field a line: the same bytes for the same snapshot. No text in it can spell a marker of
// the narrative.
func (s Snapshot) Render() string {
	var b bytes.Buffer
	s = s.plain()
	s.CurrentPlan = append([]Step{}, s.CurrentPlan...) // never null
	if err := json.Indent(&b, []byte(spec.JSONText(s)), "", ""); err != nil {
		panic(fmt.Sprintf("compaction: %v", err)) // strings can always be written
	}
	return strings.ReplaceAll(b.String(), "<", `\u003c`)
}

// words is everything that the model wrote in the snapshot.
func (s Snapshot) words() string {
	parts := []string{s.OverallGoal, s.KeyKnowledge, s.FileSystemState, s.RecentActions}
	for _, step := range s.CurrentPlan {
		parts = append(parts, step.Text)
	}
	return strings.Join(parts, "\n")
}

// tokens estimates the rendered snapshot.
func (s Snapshot) tokens() int { return content.TokensOf(len(s.Render())) }

// plainText makes text fit to be shown without changing what it says: valid UTF-8, no control characters, one kind of line end,
// no blank edges.
func plainText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r == 0xFFFE, r == 0xFFFF:
			return '\uFFFD'
		default:
			return r
		}
	}, text)
	return strings.TrimSpace(text)
}
