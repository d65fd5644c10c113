package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// brokenOff turns what broke an attempt off into its result. What the machine lacks, or where there are others all that is not
// the task's, ends none: the error is errHalted. A worker that stops, and a bus that fails, leave it to its next delivery.
func (w *Worker) brokenOff(ctx context.Context, j *journal.Journal, err error) (spec.Result, error) {
	if errors.Is(context.Cause(ctx), errYields) && !leftToNext(err) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		note := wire.Nudge{Reason: wire.ReasonStopped, Class: wire.FaultMachine}
		_, told := j.Append(ctx, wire.Draft(contextscope.KindControl, note))
		return spec.Result{}, errors.Join(err, told)
	}
	if ctx.Err() != nil || leftToNext(err) {
		return spec.Result{}, err
	}
	f, n, why := machine.Of(err, w.cfg.Temp), wire.Nudge{Reason: wire.ReasonMachine}, err
	var trouble *troubleError
	switch {
	case f == nil && w.cfg.Broke == nil:
		return wire.Failed(wire.FaultInternal, strings.ToValidUTF8(err.Error(), "?"), ""), nil
	case f != nil:
		n.Class, n.Detail, n.Missing, why = f.What, f.Path, f.Missing, f
	case errors.As(err, &trouble):
		n.Class, n.Detail = trouble.class, trouble.why
	default:
		n.Class, n.Detail = wire.FaultInternal, err.Error()
	}
	n.Detail = text.Clip(strings.ToValidUTF8(n.Detail, "?"), maxTrouble)
	if same := w.alike(j, n); same != "" {
		return wire.Failed(wire.FaultMachine, same, ""), nil
	}
	if _, told := j.Append(ctx, wire.Draft(contextscope.KindControl, n)); told != nil {
		return spec.Result{}, errors.Join(err, told)
	}
	if w.cfg.Broke != nil {
		w.cfg.Broke(why)
	}
	return spec.Result{}, errors.Join(errHalted, err)
}

// troubleError kept an attempt from its work without saying anything about its task: on another machine it may not be so.
type troubleError struct{ class, why string }

func (e *troubleError) Error() string { return e.why }

const (
	// maxTrouble bounds, in bytes, what the log is told of a trouble.
	maxTrouble = 2000
	// maxMachines is how many machines have to lack the same for an attempt before that is the task's fault.
	maxMachines = 3
)

// alike is why an attempt ends that breaks off as it did on several other machines, or each time on this one; empty for others.
func (w *Worker) alike(j *journal.Journal, now wire.Nudge) string {
	had := map[string]int{w.cfg.Name: 1}
	for _, e := range j.Events() {
		var n wire.Nudge
		if e.Kind == contextscope.KindControl && json.Unmarshal(e.Data, &n) == nil &&
			n.Reason == now.Reason && n.Class == now.Class {
			had[e.Worker]++
		}
	}
	if w.cfg.Broke == nil || len(had) < maxMachines && had[w.cfg.Name] < maxDeliveries {
		return ""
	}
	names := slices.Sorted(maps.Keys(had))
	return fmt.Sprintf("it failed alike on worker %s, which lacked nothing before: %s",
		text.Some(names, maxMachines), now.Lack())
}

// leftToNext reports whether an attempt that broke off so continues with its next delivery.
func leftToNext(err error) bool {
	next := []error{
		bus.ErrFenced, bus.ErrUnavailable, bus.ErrFull, bus.ErrClosed, bus.ErrNoOwner, bus.ErrNoListener, agent.ErrStopped,
		wire.ErrWithheld,
	}
	return slices.ContainsFunc(next, func(e error) bool { return errors.Is(err, e) })
}
