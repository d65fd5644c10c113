package compaction

import (
	"strings"

	"divisi/contextscope/content"
)

// Snapshot is what stands for old turns: a model's distillate in five parts, and facts that code has pinned to it.
type Snapshot struct {
	OverallGoal     string
	KeyKnowledge    string
	FileSystemState string
	RecentActions   string
	CurrentPlan     []Step
	// Pinned are written by code alone: a model's words never get there.
	Pinned []Fact
}

// Step is one step of the plan.
type Step struct {
	// Status is done, in_progress or todo.
	Status string
	Text   string
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
	Kind string
	Text string
}

// The kinds of fact.
const (
	FactConstraint  = "constraint"
	FactChangedFile = "changed_file"
	FactRedGate     = "red_gate"
	// FactOwnPlan is the newest plan that the agent keeps, a step a line.
	FactOwnPlan = "own_plan"
)

// The names of a snapshot's elements.
const (
	elemSnapshot    = "state_snapshot"
	elemGoal        = "overall_goal"
	elemKnowledge   = "key_knowledge"
	elemFiles       = "file_system_state"
	elemActions     = "recent_actions"
	elemPlan        = "current_plan"
	elemStep        = "step"
	elemPinned      = "pinned"
	attributeStatus = "status"
)

var (
	snapshotParts = []string{elemGoal, elemKnowledge, elemFiles, elemActions, elemPlan}
	stepStates    = []string{StepDone, StepInProgress, StepToDo}
	factKinds     = []string{FactConstraint, FactChangedFile, FactRedGate, FactOwnPlan}
)

// text is the place of a part that is text; nil for the plan and for what is no part.
func (s *Snapshot) text(part string) *string {
	switch part {
	case elemGoal:
		return &s.OverallGoal
	case elemKnowledge:
		return &s.KeyKnowledge
	case elemFiles:
		return &s.FileSystemState
	case elemActions:
		return &s.RecentActions
	default:
		return nil
	}
}

// Render writes the snapshot as XML: the same bytes for the same snapshot. No text in it can end an element or begin one,
// nor spell a marker of the narrative.
func (s Snapshot) Render() string {
	var b strings.Builder
	b.WriteString("<" + elemSnapshot + ">\n")
	for _, part := range snapshotParts {
		b.WriteString("<" + part + ">\n")
		if text := s.text(part); text != nil {
			b.WriteString(line(*text))
		} else {
			for _, step := range s.CurrentPlan {
				b.WriteString("<" + elemStep + " " + attributeStatus + `="` + step.Status + `">` + escapeXML(step.Text) +
					"</" + elemStep + ">\n")
			}
		}
		b.WriteString("</" + part + ">\n")
	}
	if len(s.Pinned) > 0 {
		b.WriteString("<" + elemPinned + ">\n")
		for _, f := range s.Pinned {
			b.WriteString("<" + f.Kind + ">" + escapeXML(f.Text) + "</" + f.Kind + ">\n")
		}
		b.WriteString("</" + elemPinned + ">\n")
	}
	b.WriteString("</" + elemSnapshot + ">")
	return b.String()
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

func line(text string) string {
	if text = escapeXML(text); text != "" {
		text += "\n"
	}
	return text
}

// xmlEscapes leaves > and quotes alone: code in a snapshot stays readable as code.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", "]]>", "]]&gt;")

func escapeXML(text string) string { return xmlEscapes.Replace(plainText(text)) }

// plainText makes text fit for XML without changing what it says: valid UTF-8, no control characters, one kind of line
// end, no blank edges.
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
