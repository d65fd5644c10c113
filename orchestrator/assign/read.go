package assign

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Read reads the assignment of an attempt; 0 is the newest.
func Read(ctx context.Context, works run.Works, b *bus.Bus, id string, attempt int) (*wire.Assignment, error) {
	w := works[id]
	if w == nil {
		return nil, fmt.Errorf("%s: %w", id, ErrNoAttempt)
	}
	if attempt == 0 {
		attempt = w.Last
	}
	v := w.Attempts[attempt]
	switch {
	case v == nil:
		return nil, fmt.Errorf("%s has %d attempts: %w: %d", id, w.Last, ErrNoAttempt, attempt)
	case v.Assignment == "":
		return nil, fmt.Errorf("%s: %w", wire.AgentID(id, attempt), ErrNotKept)
	}
	a, err := wire.Unseal(ctx, b, v.Assignment)
	if err != nil {
		return nil, fmt.Errorf("read the assignment of %s: %w", wire.AgentID(id, attempt), err)
	}
	return a, nil
}

var (
	// ErrNoAttempt reports that a task has no such attempt.
	ErrNoAttempt = errors.New("there is no such attempt")
	// ErrNotKept reports that the attempt had no assignment.
	ErrNotKept = errors.New("the attempt has no assignment: a person made its patch")
)
