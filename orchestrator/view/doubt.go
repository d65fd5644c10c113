package view

import (
	"fmt"
	"maps"
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Standing is an answer that stands for each patch that is alike. Given counts the other decisions that it has answered.
type Standing struct {
	ID    string `json:"id"`
	By    string `json:"by"`
	Given int    `json:"given"`
}

// String is the answer in a line.
func (a Standing) String() string {
	return fmt.Sprintf("%s accepts all that are alike to %s, until that is taken back: %d more so far", a.By, a.ID, a.Given)
}

func standings(s *run.State) (out []Standing) {
	for _, a := range s.Standing {
		out = append(out, Standing{a.ID, a.By, a.Given})
	}
	return out
}

// doubts lists the patches that were held and are not any more: one line each, the newest doubt of a task for all of it.
func doubts(s *run.State) (lines []string) {
	for t := range s.Tasks.All() {
		if len(t.Doubts) == 0 || t.Doubt() != nil {
			continue
		}
		d := &t.Doubts[len(t.Doubts)-1]
		more := ""
		if n := len(d.Evidence) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		of := wire.AgentID(t.Task.ID, d.Attempt)
		lines = append(lines, fmt.Sprintf("%s: %s%s (%s)", of, d.Evidence[0], more, Ruling(d, t.State)))
	}
	return lines
}

// Untried lists the tasks whose tests changed and were not tried, by reason, a line each: the rules alone decided about them.
// Of one reason it names so many at most.
func Untried(s *run.State, most int) (lines []string) {
	tasks, why := s.Untried()
	names := map[string][]string{}
	for _, t := range tasks {
		reason := why[t.Task.ID]
		names[reason] = append(names[reason], t.Task.ID)
	}
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, reason+": "+text.Some(names[reason], most))
	}
	return lines
}

// Ruling words the answer about a held patch, of a task in a state.
func Ruling(d *run.Doubt, state run.TaskState) string {
	switch a := d.Answer; {
	case a == nil && state != run.TaskHeld:
		return "none: the task is " + string(state)
	case a == nil:
		return "open"
	case d.Accepted() && d.Size && a.By == run.ByPolicy:
		return "noted: size alone rejects no patch"
	case a.Option == run.AddGate:
		return "tested with another gate, by " + a.By
	case d.Accepted():
		return decision.By("accepted by "+a.By, a)
	case a.Text == "":
		return "rejected by " + a.By
	default:
		return fmt.Sprintf("rejected by %s: %s", a.By, a.Text)
	}
}
