package stats

import (
	"cmp"
	"fmt"
	"strings"
	"time"

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
	// Note is the noun for the count in Good.
	Note string `json:"note"`
	// Milliseconds is how long it took by the newest event. Phases overlap: the first task lands long before the last one begins.
	Milliseconds int64 `json:"ms"`
	Tokens       int   `json:"tokens"`
}

// Counts are how many tasks are in each state.
type Counts map[run.TaskState]int

// Of counts the tasks in some states.
func (c Counts) Of(states ...run.TaskState) int {
	n := 0
	for _, s := range states {
		n += c[s]
	}
	return n
}

// Given counts the tasks that were given up.
func (c Counts) Given() int { return c.Of(run.TaskParked, run.TaskCancelled) }

// all counts the tasks but for those that were skipped as not needed, or taken out.
func (c Counts) all() int {
	n := -c.Of(run.TaskSkipped, run.TaskDropped)
	for _, of := range c {
		n += of
	}
	return n
}

// tally splits the planned tasks into those whose role writes, and therefore land, and the others.
func tally(s *run.State) (writers, others Counts) {
	writers, others = Counts{}, Counts{}
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

func planning(s *run.State, writers, others Counts) Phase {
	all := writers.all() + others.all()
	p := Phase{Name: "Plan", Good: all, Total: all, Note: "tasks"}
	p.State = reached(s, s.Status == run.Planning, s.Passed[run.Running])
	if s.Passed[run.Planning] {
		p.Name, p.Note = "Survey and plan", "surveys, "+text.Count(all, "task")
		p.Good, p.Bad, p.Part, p.Total = others.Of(run.TaskDone), others.Given(), others.Of(run.TaskRunning), others.all()
	}
	return p
}

func working(s *run.State, writers, others Counts) Phase {
	p := Phase{Name: "Tasks", Total: writers.all() + others.all(), Note: "accepted"}
	for _, c := range []Counts{writers, others} {
		p.Good += c.Of(run.TaskAccepted, run.TaskLanding, run.TaskDone, run.TaskLanded)
		p.Part += c.Of(run.TaskRunning, run.TaskVerifying, run.TaskHeld)
		p.Bad += c.Given()
	}
	p.State = reached(s, s.Status == run.Running && p.Good+p.Bad < p.Total, s.Passed[run.Running] && p.Total > 0)
	return p
}

func landings(s *run.State, writers Counts) Phase {
	p := Phase{
		Name: "Landing", Good: writers.Of(run.TaskLanded, run.TaskDone), Bad: writers.Given(), Part: writers.Of(run.TaskLanding),
		Total: writers.all(), Note: "landed",
	}
	switch {
	case s.Batches.Count > 0:
		p.Note = "landed, " + text.Count(s.Batches.Count, "batch")
	}
	all := p.Total > 0 && p.Good+p.Bad == p.Total
	p.State = reached(s, s.Status == run.Running && !all, s.Passed[run.Running] && all)
	return p
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

// The phases, by their places.
const (
	ofPreflight = iota
	ofPlan
	ofTasks
	ofLanding
	ofFinal
	phases
)

// phaseCost is from when until when a phase continued, on the run's clock, and the use of its models.
type phaseCost struct {
	from, to time.Duration
	tokens   int
}

// costs are those of the phases. Preflight ends with the first baseline, and the plan with the begin of its tasks. The others go
// from their first attempt to the end of their last one. What a master uses counts for the plan, with the tasks beside it that
// change nothing: its surveys.
func costs(s *run.State) (of [phases]phaseCost) {
	now := s.Times.Clock(cmp.Or(s.Ended, s.Time))
	for id, w := range s.Works {
		at := phaseOf(s, id, w)
		if at < 0 {
			continue
		}
		for _, a := range w.Attempts {
			of[at].tokens = spec.Plus(of[at].tokens, a.Usage.Total())
			of[at].add(a, now)
		}
	}
	of[ofPreflight].from, of[ofPreflight].to = 0, preflightEnd(s, now)
	of[ofPlan].from, of[ofPlan].to = 0, 0
	if from, planned := s.Times.Entered[run.Planning]; planned {
		of[ofPlan].from, of[ofPlan].to = from, now
		if to, runs := s.Times.Entered[run.Running]; runs {
			of[ofPlan].to = to
		}
	}
	return of
}

// add has the phase continue while an attempt does.
func (c *phaseCost) add(a *run.Attempt, now time.Duration) {
	end := a.Life.Ended
	if a.Result == nil && !a.Void {
		end = now
	}
	if c.to == 0 || a.Life.Dispatched < c.from {
		c.from = a.Life.Dispatched
	}
	c.to = max(c.to, end)
}

// phaseOf is the place of the phase that a work belongs to; below 0 for none.
func phaseOf(s *run.State, id string, w *run.Work) int {
	id, _, _ = strings.Cut(id, run.VerifySuffix)
	id, _, _ = strings.Cut(id, run.RedSuffix)
	t := s.Tasks.ByID[id]
	switch {
	case id == run.SetupTask, id == run.BaselineTask:
		return ofPreflight
	case id == run.FinalTask:
		return ofFinal
	case w.Batch != nil, id == run.HeadTask:
		return ofLanding
	case id == run.MasterTask, t != nil && s.Passed[run.Planning] && !s.Spec.Roles[t.Task.Role].Writes:
		return ofPlan
	case t != nil:
		return ofTasks
	}
	return -1
}

// preflightEnd is when the gates had run on the base commit for the first time, and the run had begun.
func preflightEnd(s *run.State, now time.Duration) time.Duration {
	end, began := s.Times.Entered[run.Running], s.Passed[run.Running] || s.Passed[run.Planning]
	if at, planned := s.Times.Entered[run.Planning]; planned {
		end = at
	}
	if w := s.Works[run.BaselineTask]; w != nil && len(s.Proofs.Baseline) > 0 {
		for n := 1; n <= w.Last; n++ {
			if a := w.At(n); a != nil && a.Result != nil && len(a.Result.Receipts) > 0 {
				return max(end, a.Life.Ended)
			}
		}
	}
	if !began || !s.Baselined() {
		return now
	}
	return end
}

// isRed reports whether a gate failed beyond the baseline.
func isRed(r spec.Receipt) bool {
	return r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable
}
