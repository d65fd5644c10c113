package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
)

// Step is one item of the plan that an agent keeps of its own work.
type Step struct {
	State string `json:"state"`
	Text  string `json:"text"`
}

// The states of a step.
const (
	StepDone  = "done"
	StepDoing = "doing"
	StepToDo  = "todo"
)

// The bounds of a plan of steps: their number, and the characters of one.
const (
	maxSteps    = 20
	maxStepText = 120
)

// ReadSteps reads steps as String writes them. The error names every item that is wrong.
func ReadSteps(items []string) ([]Step, error) {
	var faults []error
	if len(items) == 0 || len(items) > maxSteps {
		faults = append(faults, fmt.Errorf("the plan has %d items: keep from 1 to %d", len(items), maxSteps))
	}
	steps, doing := make([]Step, 0, min(len(items), maxSteps)), 0
	for i, item := range items[:min(len(items), maxSteps)] {
		state, words, _ := strings.Cut(item, ":")
		s := Step{strings.ToLower(strings.TrimSpace(state)), strings.TrimSpace(text.Short(text.OneLine(words), maxStepText))}
		switch {
		case !slices.Contains([]string{StepDone, StepDoing, StepToDo}, s.State):
			faults = append(faults, fmt.Errorf("item %d, %q, has no known state: done:, doing: or todo: begins an item", i+1,
				text.Short(text.OneLine(item), maxStepText)))
		case s.Text == "":
			faults = append(faults, fmt.Errorf("item %d has no text after its state, %s", i+1, s.State))
		case s.State == StepDoing && doing > 0:
			faults = append(faults, fmt.Errorf("items %d and %d are both doing: do one after the other", doing, i+1))
		case s.State == StepDoing:
			doing = i + 1
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(faults...)
}

// String writes the step as an agent does.
func (s Step) String() string { return s.State + ": " + s.Text }

// Standing sums up a plan in a line: how many steps are done, and the one under way; empty without a plan.
func Standing(steps []Step) string {
	if len(steps) == 0 {
		return ""
	}
	done, now := 0, ""
	for _, s := range steps {
		switch s.State {
		case StepDone:
			done++
		case StepDoing:
			now = " " + s.Text
		}
	}
	return fmt.Sprintf("%d/%d%s", done, len(steps), now)
}
