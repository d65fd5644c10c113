package view

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Phase is one bar: how much of it is good, bad and under way, of how many. Its JSON is a part of the dashboard's view.
type Phase struct {
	Name string `json:"name"`
	// State is waiting, working, done or not reached.
	State string `json:"state"`
	Good  int    `json:"good"`
	Bad   int    `json:"bad"`
	Part  int    `json:"part"`
	Total int    `json:"total"`
	// Note names what Good counts.
	Note string `json:"note"`
	// Milliseconds is how long it took by the newest event. Phases overlap: the first task lands long before the last one begins.
	Milliseconds int64 `json:"ms"`
	Tokens       int   `json:"tokens"`
}

// counts are how many tasks are in each state.
type counts map[run.TaskState]int

func (c counts) of(states ...run.TaskState) int {
	n := 0
	for _, s := range states {
		n += c[s]
	}
	return n
}

func (c counts) given() int { return c.of(run.TaskParked, run.TaskCancelled) }

// all counts the tasks but for those that were skipped as not needed, or taken out.
func (c counts) all() int {
	n := -c.of(run.TaskSkipped, run.TaskDropped)
	for _, of := range c {
		n += of
	}
	return n
}

// tally splits the planned tasks into those whose role writes, and therefore land, and the others.
func tally(s *run.State) (writers, others counts) {
	writers, others = counts{}, counts{}
	for _, t := range s.Tasks.ByID {
		if s.Spec.Roles[t.Task.Role].Writes {
			writers[t.State]++
		} else {
			others[t.State]++
		}
	}
	return writers, others
}

// Phases returns the five phases of a run in their order.
func Phases(s *run.State) []Phase {
	writers, others := tally(s)
	all := []Phase{preflight(s), planning(s, writers, others), working(s, writers, others), landings(s, writers), finals(s)}
	for i, c := range costs(s) {
		all[i].Milliseconds, all[i].Tokens = max(0, c.to-c.from).Milliseconds(), c.tokens
	}
	return all
}

// reached words how far a phase is.
func reached(s *run.State, now, was bool) string {
	switch {
	case now:
		return "working"
	case was:
		return "done"
	case !s.Ended.IsZero():
		return "not reached"
	default:
		return "waiting"
	}
}

// receipts counts the gates that have run in the newest attempt of one of the run's own gate runs.
func receipts(s *run.State, id string) int {
	if w := s.Works[id]; w != nil && w.Attempts[w.Last] != nil {
		return len(w.Attempts[w.Last].Receipts)
	}
	return 0
}

func preflight(s *run.State) Phase {
	was, n := s.Baselined() && (s.Passed[run.Planning] || s.Passed[run.Running]), len(s.Proofs.Baseline)
	now := !was && !s.Status.Ended()
	if n == 0 && now {
		n = receipts(s, run.BaselineTask)
	}
	p := Phase{Name: "Preflight", State: reached(s, now, was), Good: n, Total: max(n, len(s.Spec.Project.Gates)), Note: "gates"}
	red := 0
	for _, r := range s.Proofs.Baseline {
		if r.Verdict != spec.VerdictPass {
			red++
		}
	}
	if red > 0 {
		p.Note = fmt.Sprintf("gates, %d red before", red)
	}
	return p
}

func planning(s *run.State, writers, others counts) Phase {
	all := writers.all() + others.all()
	p := Phase{Name: "Plan", Good: all, Total: all, Note: "tasks"}
	p.State = reached(s, s.Status == run.Planning, s.Passed[run.Running])
	if s.Passed[run.Planning] {
		p.Name, p.Note = "Survey and plan", "surveys, "+text.Count(all, "task")
		p.Good, p.Bad, p.Part, p.Total = others.of(run.TaskDone), others.given(), others.of(run.TaskRunning), others.all()
	}
	return p
}

func working(s *run.State, writers, others counts) Phase {
	p := Phase{Name: "Tasks", Total: writers.all() + others.all(), Note: "accepted"}
	for _, c := range []counts{writers, others} {
		p.Good += c.of(run.TaskAccepted, run.TaskLanding, run.TaskDone, run.TaskLanded)
		p.Part += c.of(run.TaskRunning, run.TaskVerifying, run.TaskHeld)
		p.Bad += c.given()
	}
	p.State = reached(s, s.Status == run.Running && p.Good+p.Bad < p.Total, s.Passed[run.Running] && p.Total > 0)
	return p
}

func landings(s *run.State, writers counts) Phase {
	p := Phase{
		Name: "Landing", Good: writers.of(run.TaskLanded, run.TaskDone), Bad: writers.given(), Part: writers.of(run.TaskLanding),
		Total: writers.all(), Note: "landed",
	}
	switch {
	case s.Batches.Count > 0:
		p.Note = "landed, " + batches(s.Batches.Count)
	}
	all := p.Total > 0 && p.Good+p.Bad == p.Total
	p.State = reached(s, s.Status == run.Running && !all, s.Passed[run.Running] && all)
	return p
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

func finals(s *run.State) Phase {
	p := Phase{Name: "Final gates", Total: max(len(s.Spec.Project.Gates), len(s.Final)), Note: "gates"}
	n := len(s.Final)
	for _, r := range s.Final {
		if isRed(r) {
			p.Bad++
		}
	}
	if n == 0 && s.Status == run.Final {
		n = receipts(s, run.FinalTask)
	}
	p.Good = min(n, p.Total) - p.Bad
	p.State = reached(s, s.Status == run.Final, len(s.Final) > 0)
	return p
}
