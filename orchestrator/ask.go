package orchestrator

import (
	"context"
	"fmt"

	"divisi/subagents/wire"
)

// forMaster reports whether a question is the master's to answer. What it leaves open when its turn has ended is a person's.
func (s *State) forMaster(q *RequestView) bool {
	if s.Spec.Plan != nil || q.Of == MasterTask || s.MasterDone || s.masterGaveUp() != "" {
		return false
	}
	told := 0
	if w := s.Works[MasterTask]; w != nil {
		for n := 1; n <= w.Last && told == 0; n++ {
			if a := w.Attempts[n]; a != nil && a.Pos > q.Pos {
				told = n
			}
		}
	}
	return told == 0 || s.Woken < told || s.MasterAgain || s.MasterFails > 0
}

// Questions are the open ones that only a person can answer, oldest first.
func (s *State) Questions() []*RequestView {
	var out []*RequestView
	for _, q := range s.open() {
		if q.Kind == wire.RequestAsk && !s.forMaster(q) {
			out = append(out, q)
		}
	}
	return out
}

// stuck stops a run in which nothing can happen until a person answers, and no person is there: others can answer it while it
// stands, and resume goes on.
func (c *Conductor) stuck(ctx context.Context) (bool, error) {
	if c.cfg.Interactive || c.asked > c.st.Approved || c.st.Run != RunRunning && c.st.Run != RunPlanning {
		return false, nil
	}
	working, _ := c.st.AtWork()
	questions := c.st.Questions()
	if working > 0 || len(questions) == 0 {
		return false, nil
	}
	q := questions[0]
	to := c.cfg.Run
	if q.Of != MasterTask {
		to += "/" + q.AskedBy()
	}
	return true, c.stopped(ctx, fmt.Sprintf(
		"waits for an answer to %s: %s (answer: divisi send %s \"…\", then: divisi resume %s)",
		q.Agent(), line(q.Question), to, c.cfg.Run))
}
