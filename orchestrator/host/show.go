package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/redact"
	"divisi/subagents/wire"
)

// A viewer who was not granted what commands printed reads neither the log nor its objects on the server. Its host shows the
// log, a page for each call, with those texts concealed:
//
//	viewer ── host.view.<name>: log, from a position ──▶ host ──▶ reads ev.<run>.> ──▶ redactor ──▶ a page
//	viewer ── host.view.<name>: summary, decisions, diff ──▶ host ──▶ folds the log behind the redactor

// pageSize is from how many bytes on a page is full. One message can be larger.
const pageSize = 256 << 10

// page reads the log of a run from a position on, and conceals it.
func (h *Host) page(ctx context.Context, run string, from uint64) (page []call.Shown, err error) {
	v, size, knows := redact.New(run, h.secret), 0, from <= 1
	for m, err := range h.bus.Read(ctx, bus.RunFilter(run), from) {
		if err == nil && from <= 1 && len(page) == 0 {
			err = wire.CheckFormat(run, m)
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", run, err)
		}
		events := wire.DecodeEvents(m)
		if !knows && slices.ContainsFunc(events, func(e contextscope.Event) bool { return redact.Signed(&e) }) {
			if err := h.learn(ctx, v, run, m.Pos); err != nil {
				return nil, err
			}
			knows = true
		}
		for i := range events {
			events[i] = v.Event(events[i])
		}
		data, err := wire.EncodeEvents(events)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > pageSize && len(page) > 0 {
			break
		}
		page = append(page, call.Shown{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Events: data})
	}
	return page, nil
}

// learn gives a redactor the keys that the workers of a run had before a position.
func (h *Host) learn(ctx context.Context, v *redact.Redactor, run string, before uint64) error {
	for m, err := range h.bus.Read(ctx, bus.ConductorSubject(run, string(contextscope.KindRun)), 0) {
		if err != nil {
			return fmt.Errorf("read the keys of the workers of run %s: %w", run, err)
		}
		if m.Pos >= before {
			break
		}
		for _, e := range eventlog.Events(m) {
			v.Learn(&e)
		}
	}
	return nil
}

// conceal has a run of this host read its log behind the redactor.
func (h *Host) conceal(r *client.Run) {
	r.At.Log().Bus.ReadThrough(func(ctx context.Context, from uint64) ([]bus.Message, error) {
		page, err := h.page(ctx, r.Name, from)
		return client.Messages(page), err
	})
}

// viewed is the summary of a run as a viewer is shown it: the one that is kept has what was printed.
func (h *Host) viewed(ctx context.Context, id string) (s client.Summary, err error) {
	r, err := client.Attach(ctx, h.Dir, id)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	h.conceal(r)
	st, err := eventlog.Fold(ctx, r.At.Log().Bus, id)
	if err == nil {
		err = r.Dir.Check(st, id)
	}
	if err != nil {
		return s, err
	}
	s, shown := client.SummaryOf(st, r.NotRunning())
	return s, client.Place(h.Dir.Path).Complete(ctx, id, &s, &shown)
}
