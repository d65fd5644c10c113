package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/wire"
)

// maxOnBase is how often the gates are tried on the base commit: a service may fail to start once.
const maxOnBase = 3

// foreign does with a proof what the conductor tells, which this worker has no baseline of its environment for. The error is
// errForeign where it is left to others.
func (at *attempt) foreign(ctx context.Context, environment string) (spec.Result, error) {
	w, a := at.worker, at.assignment
	f := wire.Foreign{Worker: w.cfg.Name, Environment: environment, Task: a.Task.ID, Attempt: a.Attempt}
	for tries := 0; ; {
		part, err := w.cfg.Foreign(ctx, f)
		if err != nil {
			return spec.Result{}, err
		}
		switch part {
		case wire.PartMake:
			r, err := at.onBase(ctx)
			ran := err == nil && len(r.Receipts) >= len(a.Project.Gates)
			goesOn := err != nil && (leftToNext(err) || machine.Of(err, w.cfg.Temp) != nil)
			if ran || goesOn || ctx.Err() != nil || f.Unable != "" {
				return r, err
			}
			if tries++; tries == maxOnBase {
				f.Unable = why(&r, err) // which is no verdict on what was to be proven
				continue
			}
		case wire.PartAgain:
			return wire.Failed(wire.FaultForeign, "it was given out before the baseline of this environment was there", ""), nil
		case wire.PartLeave:
			w.foreign()
			return spec.Result{}, errForeign
		case wire.PartYield:
			return spec.Result{}, errForeign
		}
		select {
		case <-time.After(w.cfg.AckWait / 12):
		case <-ctx.Done():
			return spec.Result{}, context.Cause(ctx)
		}
		if at.inbox.Stopped() {
			_, err := at.journal.Append(ctx, wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped}))
			return spec.Result{}, errors.Join(agent.ErrStopped, err)
		}
	}
}

// barred asks about an attempt that this worker leaves to others. The error is errForeign where another one is there.
func (at *attempt) barred(ctx context.Context) error {
	w, a := at.worker, at.assignment
	if w.cfg.Foreign == nil || !slices.Contains(a.Not, w.cfg.Name) {
		return nil
	}
	f := wire.Foreign{Worker: w.cfg.Name, Barred: true, Task: a.Task.ID, Attempt: a.Attempt}
	for {
		switch part, err := w.cfg.Foreign(ctx, f); {
		case err != nil:
			return err
		case part == wire.PartProve:
			return nil
		case part != wire.PartWait:
			return errForeign
		}
		select {
		case <-time.After(w.cfg.AckWait / 12):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// why reports why the gates left no receipts.
func why(r *spec.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.Error != nil:
		return r.Error.Message
	}
	return "they left no receipts"
}

// onBase runs all gates on the base commit, in a slot of its own. The attempt ends with their receipts: it is dispatched again,
// with what they found.
func (at *attempt) onBase(ctx context.Context) (spec.Result, error) {
	a := *at.assignment
	a.Head, a.Base, a.Since, a.Baseline, a.Others = at.worker.cfg.Mirror.Base(), true, "", nil, nil
	a.Task.Gates, a.Not = nil, nil
	base := &attempt{
		worker: at.worker, assignment: &a, journal: at.journal, place: at.place, inbox: at.inbox, progress: at.progress,
		began: at.began, worked: at.worked, log: at.log,
	}
	r, err := base.inPlace(ctx)
	at.queued += base.queued
	if err != nil || len(r.Receipts) < len(a.Project.Gates) {
		return r, err
	}
	made := wire.Failed(wire.FaultForeign, "the gates ran on the base commit first, in the environment of this worker", "")
	made.Receipts = r.Receipts
	return made, nil
}
