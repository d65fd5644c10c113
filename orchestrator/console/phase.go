package console

import (
	"fmt"

	"divisi/orchestrator/run"
)

// phase is one bar: how much of it is good, bad and under way, of how many.
type phase struct {
	name                   string
	word                   string
	good, bad, part, total int
}

// counts are how many tasks stand where.
type counts map[run.TaskState]int

func (c counts) of(states ...run.TaskState) int {
	n := 0
	for _, s := range states {
		n += c[s]
	}
	return n
}

func (c counts) given() int { return c.of(run.TaskParked, run.TaskCancelled) }

// count splits the planned tasks into those whose role writes, and therefore land, and the others.
func (v *view) count() (writers, others counts, w, o int) {
	writers, others = counts{}, counts{}
	for _, r := range v.rows() {
		if v.Spec.Roles[r.Role].Writes {
			writers[r.State]++
			w++
		} else {
			others[r.State]++
			o++
		}
	}
	return writers, others, w, o
}

func (v *view) phases() []phase {
	return []phase{v.preflight(), v.planning(), v.working(), v.landing(), v.finals()}
}

// word says how far a phase is in one word.
func (v *view) word(now, was bool) string {
	switch {
	case now:
		return "working"
	case was:
		return "done"
	case !v.ended.IsZero():
		return "not reached"
	default:
		return "waiting"
	}
}

func (v *view) preflight() phase {
	now, n := v.Status == run.Preflight || v.Status == run.Created, len(v.Baseline)
	if n == 0 && now {
		n = v.receipts(run.BaselineTask)
	}
	was := len(v.Baseline) > 0 || v.passed[run.Planning] || v.passed[run.Running]
	return phase{name: "preflight", word: v.word(now, was), good: n, total: max(n, len(v.Spec.Project.Gates))}
}

func (v *view) planning() phase {
	_, others, w, o := v.count()
	p := phase{name: "plan", word: v.word(v.Status == run.Planning, v.passed[run.Running])}
	if v.passed[run.Planning] {
		p.name = "survey, plan"
		p.good, p.bad, p.total = others.of(run.TaskDone), others.given(), o
		p.part = others.of(run.TaskRunning)
		return p
	}
	p.good, p.total = w+o, w+o
	return p
}

func (v *view) working() phase {
	writers, others, w, o := v.count()
	p := phase{name: "tasks", total: w + o}
	for _, c := range []counts{writers, others} {
		p.good += c.of(run.TaskProven, run.TaskUnverified, run.TaskLanding, run.TaskDone,
			run.TaskLanded)
		p.part += c.of(run.TaskRunning, run.TaskVerifying)
		p.bad += c.given()
	}
	running := v.Status == run.Running
	p.word = v.word(running && p.good+p.bad < p.total, v.passed[run.Running] && p.total > 0)
	return p
}

func (v *view) landing() phase {
	writers, _, w, _ := v.count()
	p := phase{name: "landing", total: w, bad: writers.given(), part: writers.of(run.TaskLanding)}
	p.good = writers.of(run.TaskLanded, run.TaskDone)
	all := w > 0 && p.good+p.bad == w
	p.word = v.word(v.Status == run.Running && !all, v.passed[run.Running] && all)
	return p
}

func (v *view) finals() phase {
	p := phase{name: "final gates"}
	n := len(v.Final)
	for _, r := range v.Final {
		if isRed(r) {
			p.bad++
		}
	}
	if n == 0 && v.Status == run.Final {
		n = v.receipts(run.FinalTask)
	}
	p.total = max(len(v.Spec.Project.Gates), len(v.Final))
	p.good = min(n, p.total) - p.bad
	p.word = v.word(v.Status == run.Final, len(v.Final) > 0)
	return p
}

// sum says the phase in figures.
func (p phase) sum() string {
	if p.total == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.good+p.bad, p.total)
}
