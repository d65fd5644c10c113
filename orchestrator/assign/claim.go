package assign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// maxClaims bounds how often a conductor tries to claim an attempt whose worker appends meanwhile.
const maxClaims = 10

// Claim takes an attempt over, as a worker that hands it back at once, unless that was done behind a position of the log. A
// worker that was at it on the server before, or at another one of its number that a copy of the log does not have, is fenced
// from then on: the newest event of the attempt is the claim's.
func Claim(ctx context.Context, b *bus.Bus, a *wire.Assignment, behind uint64, clock func() time.Time, id func() string) error {
	stamp := journal.Stamp{Worker: bus.Local, Clock: clock, IDs: id}
	var err error
	for range maxClaims {
		if err = claimOnce(ctx, b, a, behind, stamp); !errors.Is(err, bus.ErrFenced) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("claim %s: %w", a.Agent(), err)
	}
	return nil
}

func claimOnce(ctx context.Context, b *bus.Bus, a *wire.Assignment, behind uint64, stamp journal.Stamp) error {
	j, err := journal.Open(ctx, b, b, a, stamp)
	if err != nil {
		return err
	}
	for _, e := range j.Events() {
		if e.Worker == bus.Local && e.Pos > behind {
			return nil
		}
	}
	newest, _, err := j.Deliveries()
	if err != nil {
		return err
	}
	_, err = j.Append(ctx,
		wire.Draft(contextscope.KindStarted, wire.Started{Delivery: newest + 1, Time: stamp.Clock()}),
		wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped}))
	return err
}
