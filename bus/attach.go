package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// Attach connects to the process that owns dir, as server.json there tells. ErrNoOwner when there is none: then the
// directory can be opened. When that owner ends, so does what this Bus can do. Reports go to the logger of ctx.
func Attach(ctx context.Context, dir string) (*Bus, error) {
	deadline := time.Now().Add(attachPatience)
	for {
		b, err := attach(ctx, dir)
		if err == nil {
			return b, nil
		}
		free, lockErr := lockFree(dir)
		switch {
		case lockErr != nil:
			return nil, lockErr
		case free:
			return nil, fmt.Errorf("%w in %s", ErrNoOwner, dir)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%w: %s is locked, but its owner does not answer: %w", ErrUnavailable, dir, err)
		}
		// The owner is starting or closing.
		if err := pause(ctx, nil, lockPoll); err != nil {
			return nil, fmt.Errorf("attach to %s: %w", dir, err)
		}
	}
}

func attach(ctx context.Context, dir string) (*Bus, error) {
	h, err := readOwner(dir)
	if err != nil {
		return nil, err
	}
	if !h.Embedded { // its server outlives it
		if free, err := lockFree(dir); err != nil || free {
			return nil, errors.Join(err, ErrNoOwner)
		}
	}
	b := &Bus{dir: dir, run: h.Run, attached: h.Embedded, log: *zerolog.Ctx(ctx)}
	b.init()
	if err = b.connect(h); err == nil {
		err = b.findStreams(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	b.retryPatience = retryPatience
	return b, nil
}
