package act

import (
	"cmp"
	"slices"
	"strings"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Of is the standing of a run that a process conducts, or that none does.
func Of(s *run.State, active bool) Standing {
	switch {
	case request.Over(&s.Agenda) != nil:
		return Ended
	case active:
		return Running
	}
	return AtRest
}

// Offers are the acts of a door for a run at a standing, or for a task of it: those that lose something last.
func Offers(d Door, s *run.State, at Standing, t *run.Task) (out []*Entry) {
	if s.Spec.Run == "" {
		return nil
	}
	for _, e := range All() {
		if s.Status == run.Cancelled && e.Conducted() { // which is for good
			continue
		}
		if e.Doors&d != 0 && e.On&at != 0 && e.about(t != nil) && (e.Fits == nil || e.Fits(s, t)) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *Entry) int { return rank(a) - rank(b) })
	return out
}

func rank(e *Entry) int {
	if e.Loses {
		return 1
	}
	return 0
}

// OfTask is the argument that names its tasks; "" for none.
func (e *Entry) OfTask() string {
	for _, name := range []string{"task", "tasks"} {
		if e.takes().Properties[name] != nil {
			return name
		}
	}
	return ""
}

// OfDecision reports whether it is about a decision.
func (e *Entry) OfDecision() bool { return e.takes().Properties["decision"] != nil }

// Alone reports whether it takes no arguments.
func (e *Entry) Alone() bool { return len(e.takes().Properties) == 0 }

// about reports whether a task alone, or a run alone, is what the act is for.
func (e *Entry) about(task bool) bool {
	switch {
	case e.OfDecision():
		return false
	case task:
		return e.OfTask() != ""
	}
	return !slices.Contains(e.takes().Required, e.OfTask())
}

// Ask is an argument for which a dialog asks a person.
type Ask struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Needs bool   `json:"needs,omitempty"` // it has to be given
}

// Asks are the texts that a dialog asks for, once the task is known.
func (e *Entry) Asks() (out []Ask) {
	s := e.takes()
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		if p.Type != "string" || p.Format != "" || name == "task" || name == "decision" {
			continue
		}
		needs := slices.Contains(s.Required, name) || slices.Contains(e.Insists, name)
		out = append(out, Ask{name, strings.TrimSuffix(p.Description, "."), needs})
	}
	return out
}

// Told is what a person is told before it is done, to a task or to a run.
func (e *Entry) Told(task bool) string {
	if task && e.WarnTask != "" {
		return e.WarnTask
	}
	return cmp.Or(e.Warn, e.Help)
}

// Undone says how the act is undone, in one sentence, by what a door calls the act that does so.
func (e *Entry) Undone(calls func(*Entry) string) string {
	switch {
	case e.Undo == "":
		return "Nothing undoes it."
	case e.Until == "":
		return "Undo it with " + calls(table[e.Undo]) + "."
	}
	return "Undo it with " + calls(table[e.Undo]) + " until " + e.Until + "."
}

// OnButton is how a door with buttons calls an act, and InTerminal how a person types it.
func OnButton(e *Entry) string { return e.Label }

// InTerminal is OnButton for a terminal.
func InTerminal(e *Entry) string { return "divisi " + e.Called }
