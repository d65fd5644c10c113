package tester

import (
	"context"
	"errors"
	"slices"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/service"
	"divisi/subagents/wire"
)

// serve starts what the gates need beside them; it does nothing for a project without services. A service that fails is not an
// error: on the base commit the run cannot begin, later it makes every gate red. end is never nil.
func (t *Executor) serve(ctx context.Context) (end func(), failed *service.FailedError, err error) {
	if len(t.Assignment.Project.Services) == 0 {
		return func() {}, nil, nil
	}
	t.doing("services")
	config, err := t.Services()
	if err == nil {
		t.services, err = service.Start(ctx, config)
	}
	if errors.As(err, &failed) {
		return func() {}, failed, nil
	}
	if err != nil {
		return func() {}, nil, err
	}
	return t.services.Close, nil, nil
}

// beside prepares one gate, with the variables of the services.
func (t *Executor) beside(audience sandbox.Audience) (Ground, error) {
	g, err := t.Fresh(audience)
	g.Env = slices.Concat(g.Env, service.Env(t.Assignment.Project.Services))
	return g, err
}

// served notes in a receipt that a service has ended while its gate ran: the gate proves nothing then. What the services printed
// follows the whole output of a red gate.
func (t *Executor) served(r *spec.Receipt, whole *transcript) {
	if t.services == nil {
		return
	}
	failed := t.ended()
	if failed != nil || r.Verdict != spec.VerdictPass {
		_, _ = whole.Write([]byte("\n" + t.services.Output())) // it never fails
	}
	if failed != nil {
		ofService(failed).blame(r)
	}
}

// ended is the first service that has ended by itself; nil while all run.
func (t *Executor) ended() *service.FailedError {
	if t.services == nil {
		return nil
	}
	return t.services.Failed()
}

// unserviceable is the result of a base commit whose services fail: the run does not begin.
func unserviceable(failed *service.FailedError) spec.Result {
	return wire.Failed(wire.FaultSetup, failed.Error(), text.Tail(failed.Output, gate.MaxTail))
}

// ofService is the meaning of a failed service for the gates; nil for none.
func ofService(failed *service.FailedError) *hindrance {
	if failed == nil {
		return nil
	}
	return &hindrance{signature: "gate: service " + failed.Service + " failed", message: failed.Error(), output: failed.Output}
}
