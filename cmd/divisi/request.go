package main

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/request"
)

// ask puts a request to the conductor of a run, in whichever process it is, and returns what becomes of it. Where nobody holds
// the run this process is its conductor for a moment.
func (g *globals) ask(ctx context.Context, run string, q conductor.Request) (string, error) {
	b, err := bus.Attach(ctx, g.store().Bus(run))
	if err == nil {
		defer g.store().Close(b)
		return g.askHolder(ctx, b, run, q)
	}
	if !errors.Is(err, bus.ErrNoHolder) {
		return "", fmt.Errorf("connect to the holder of run %s: %w", run, err)
	}
	if b, _, err = g.store().Open(ctx, run); err != nil {
		return "", err
	}
	defer g.store().Close(b)
	c, err := conductor.New(ctx, conductor.Config{Run: run, Bus: b, Clock: now, NewID: newID(), Log: g.log})
	if err != nil {
		return "", err
	}
	if err := g.store().Check(c.State(), run); err != nil {
		return "", err
	}
	return asMistake(c.Do(ctx, q))
}

// askHolder asks the process that holds a run. One that does not listen has come to the run's end, or begins just now.
func (g *globals) askHolder(ctx context.Context, b *bus.Bus, run string, q conductor.Request) (string, error) {
	becomes, err := asMistake(conductor.Ask(ctx, b, run, q))
	if !errors.Is(err, bus.ErrNoListener) {
		return becomes, err
	}
	st, ferr := conductor.Fold(ctx, b, run)
	switch {
	case ferr != nil:
		return "", errors.Join(err, ferr)
	case st.Status.Ended():
		return "", usagef("run %s is over: %s; see: divisi show %s", run, st.Status, run)
	}
	return "", usagef("run %s is not accepting requests yet: try again in a moment", run)
}

// asMistake makes what cannot be done a person's mistake.
func asMistake(text string, err error) (string, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return "", usagef("%s", no.Reason)
	}
	return text, err
}
