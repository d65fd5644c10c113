package view

import (
	"fmt"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Reproof is the result of the second proofs of a run: for how many of a hundred batches they were asked, how many batches
// landed, how many of them were chosen, how many of these passed, and the runs of gates that this took.
type Reproof struct {
	Percent  float64 `json:"percent"`
	Batches  int     `json:"batches"`
	Passed   int     `json:"passed"`
	GateRuns int     `json:"gate_runs"`
	Landed   int     `json:"landed"`
}

func reproof(s *run.State) *Reproof {
	if s.Spec.Reprove == 0 {
		return nil
	}
	r := Reproof{Percent: s.Spec.Reprove, GateRuns: s.Batches.Reruns, Landed: len(s.Batches.Landed)}
	for _, l := range s.Batches.Seconds() {
		if r.Batches++; l.Second.State == run.SecondPassed {
			r.Passed++
		}
	}
	return &r
}

// String is it in one line.
func (r *Reproof) String() string {
	return fmt.Sprintf("%d of %s that landed chosen (%g%%), %d passed again; %s added",
		r.Batches, text.Count(r.Landed, "batch"), r.Percent, r.Passed, text.Count(r.GateRuns, "gate run"))
}

// Quarantine is a worker in quarantine: the tasks that have landed with its proof alone, and whether the final gates have passed
// on them since.
type Quarantine struct {
	Worker string    `json:"worker"`
	By     string    `json:"by"`
	Since  time.Time `json:"since,omitzero"`
	Alone  []string  `json:"alone,omitempty"`
	Proven bool      `json:"proven"`
}

func quarantines(s *run.State) (list []Quarantine) {
	for _, q := range s.InQuarantine() {
		list = append(list, Quarantine{q.Worker, q.By, q.Since, q.Alone, !s.Suspect()})
	}
	return list
}

// maxAlone bounds the tasks that a line names.
const maxAlone = 8

// String is it in one line.
func (q *Quarantine) String() string {
	since := "the run began"
	if !q.Since.IsZero() {
		since = q.Since.Local().Format("2006-01-02 15:04")
	}
	line := fmt.Sprintf("%s is in quarantine since %s, by %s", q.Worker, since, q.By)
	switch {
	case len(q.Alone) == 0:
		return line + "; nothing has landed with its proof alone"
	case q.Proven:
		return fmt.Sprintf("%s; with its proof alone have landed %s (%s), which others have proven since",
			line, text.Count(len(q.Alone), "change"), text.Some(q.Alone, maxAlone))
	}
	return fmt.Sprintf("%s; with its proof alone have landed %s (%s), not proven again",
		line, text.Count(len(q.Alone), "change"), text.Some(q.Alone, maxAlone))
}
