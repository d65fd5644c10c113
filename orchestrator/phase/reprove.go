package phase

import (
	"fmt"
	"strings"

	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Reprove has landed batches proven a second time, by another worker than the first, while a gate permit is free. Nothing waits
// for it but the end of the run. Where no other worker is there at that end, the run continues without, and tells so.
func Reprove(s *run.State) []run.Action {
	if s.Spec.Reprove == 0 || s.Status != run.Planning && s.Status != run.Running && s.Status != run.Final || !s.Baselined() {
		return nil
	}
	free := s.Batches.Free(s.Crew.Permits(s.Spec.Project.GatePermits), s.Works)
	var open []*run.Landing
	for _, l := range s.Batches.Seconds() {
		switch {
		case l.Second.State != run.SecondOpen:
			continue
		case s.Works[l.ReproveID()].Outstanding():
			free--
		}
		open = append(open, l)
	}
	for _, l := range open {
		if actions := reprove(s, l, free); len(actions) > 0 {
			return actions
		}
	}
	return nil
}

func reprove(s *run.State, l *run.Landing, free int) []run.Action {
	w, not := s.Works[l.ReproveID()], l.Provers()
	switch alone := !s.May(not, false); {
	case alone && nothingLeft(s):
		return unreproven(s.Works, l, fmt.Sprintf("no other worker than %s is there", strings.Join(not, ", ")))
	case alone, w.Outstanding(), free <= 0:
		return nil
	case w != nil && vain(&s.Agents, w) >= recovery.MaxGateTries+s.Works.Foreign(w.ID):
		return unreproven(s.Works, l, "its gates could not be run: "+run.FaultOf(s.Works.Settled(w.ID)).Message)
	}
	return s.Works.AssignGates(run.Dispatch{
		Task: l.ReproveID(), Head: l.Head, Gates: l.GateNames(), Since: l.Old, Not: not,
	})
}

// vain counts the attempts of this conductor that told nothing.
func vain(agents *run.Agents, w *run.Work) (n int) {
	for _, a := range w.Attempts {
		if a.Epoch == agents.Epoch && a.Result != nil {
			n++
		}
	}
	return n
}

// unreproven ends a second proof without one.
func unreproven(works run.Works, l *run.Landing, why string) []run.Action {
	d := run.Data{
		Reproved: &run.Reproved{Batch: l.Batch, State: run.SecondNone},
		Notices:  []string{fmt.Sprintf("batch %d was not proven a second time: %s", l.Batch, why)},
	}
	w := works[l.ReproveID()]
	if !w.Outstanding() {
		return []run.Action{run.SetRun(d)}
	}
	d.Void = w.ID
	return []run.Action{run.SetRun(d), run.TakeBack{Work: w}, run.Tell{Work: w.ID}}
}
