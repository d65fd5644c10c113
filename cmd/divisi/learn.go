package main

import (
	"context"

	"divisi/contextscope/memory"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// memory opens the memory of the run's repository; nil where that fails, because a run goes on without. Notes that cannot be
// read are named, and the others serve.
func (h *holder) memory(ctx context.Context) *memory.Memory {
	m, problems, err := memory.Open(ctx, memory.Options{
		Repo: h.spec.Repo, Home: memory.Home(h.g.stateDir, h.spec.Repo), Clock: now,
		Note: func(text string) { h.g.log.Warn().Msg(text) },
	})
	if err != nil {
		h.g.log.Warn().Err(err).Msg("the run has no memory")
		return nil
	}
	for i := range problems {
		h.g.log.Warn().Msg(problems[i].String())
	}
	return m
}

// forget gives the memory back.
func (h *holder) forget() {
	if h.notes == nil {
		return
	}
	if err := h.notes.Close(); err != nil {
		h.g.log.Warn().Err(err).Msg("the memory was not closed")
	}
}

// propose keeps what a run that has ended learnt, for a person to decide about. A run that cannot is no failure.
func (h *holder) propose(ctx context.Context, st *run.State) {
	if h.notes == nil || st.Status != run.Done && st.Status != run.Parked {
		return
	}
	for _, n := range report.Notes(st) {
		if _, err := h.notes.Propose(ctx, n); err != nil {
			h.g.log.Warn().Err(err).Str("note", n.Title).Msg("a note could not be proposed")
		}
	}
	// What was decided before is not proposed again, and what agents proposed waits too.
	waiting, _, err := h.notes.Proposals(ctx)
	if err != nil {
		h.g.log.Warn().Err(err).Msg("the proposals could not be counted")
	}
	h.proposed = len(waiting)
}
