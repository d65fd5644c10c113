package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/release"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// rollTime is how long workers have to say that they are there.
const rollTime = time.Second

// WorkerCall is a person's request to workers: a Verb of drain, pause (For some time) and resume, for the worker of a name or all
// with a tag.
type WorkerCall struct {
	Verb      string
	For       time.Duration
	Name, Tag string
}

// Workers returns what the workers of a server say of themselves, by name, as a JSON array, and which of them are incompatible.
func Workers(ctx context.Context, at depot.Server) (json.RawMessage, error) {
	b, err := at.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	defer closeServer(ctx, b)
	list, err := roll(ctx, b)
	if err != nil {
		return nil, err
	}
	return json.Marshal(list)
}

// CallWorkers asks something of workers and returns what each answers, in a sentence.
func CallWorkers(ctx context.Context, at depot.Server, c WorkerCall) (answers []string, err error) {
	if (c.Name == "") == (c.Tag == "") {
		return nil, usage.Errorf("name one worker, or a tag")
	}
	b, err := at.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	defer closeServer(ctx, b)
	list, err := roll(ctx, b)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p *wire.Presence) bool {
		return c.Name != "" && p.Worker != c.Name || c.Tag != "" && !slices.Contains(p.Tags, c.Tag)
	})
	if len(list) == 0 {
		return nil, usage.Errorf("no such worker is on the server: see the list of workers")
	}
	for _, p := range list {
		text, err := c.ask(ctx, b, p.Worker)
		if err != nil {
			return answers, err
		}
		answers = append(answers, text)
	}
	return answers, nil
}

// ask asks something of a worker and returns what it says.
func (c *WorkerCall) ask(ctx context.Context, b *bus.Bus, worker string) (string, error) {
	of := call.Head{ID: depot.NewID()}
	line := call.Line{Timeout: station.TellTimeout, Request: func(ctx context.Context, _ call.Who, data []byte) ([]byte, error) {
		return tellWorker(ctx, b, worker, of.ID, data)
	}, Wrap: func(err error) error {
		if errors.As(err, new(*call.Error)) {
			return fmt.Errorf("worker %s: %w", worker, err)
		}
		return err
	}}
	switch c.Verb {
	case call.WorkerDrain.Name:
		return call.Ask(ctx, line, call.WorkerDrain, of, call.None{})
	case call.WorkerPause.Name:
		return call.Ask(ctx, line, call.WorkerPause, of, call.Pause{For: c.For})
	case call.WorkerResume.Name:
		return call.Ask(ctx, line, call.WorkerResume, of, call.None{})
	}
	return "", usage.Errorf("unknown call of a worker %.80q", c.Verb)
}

// tellWorker sends a call to a worker, and returns the answer in its next presence.
func tellWorker(ctx context.Context, b *bus.Bus, worker, id string, data []byte) ([]byte, error) {
	said := make(chan []byte, 1)
	stop, err := b.Subscribe(ctx, bus.WorkerPresence(worker), func(m bus.Message, _ func([]byte) error) {
		if p, err := wire.DecodePresence(m); err == nil && call.Answers(p.Said, id) {
			select {
			case said <- p.Said:
			default:
			}
		}
	})
	if err == nil {
		defer stop()
		err = b.Publish(ctx, bus.WorkerControl(worker), data)
	}
	if err != nil {
		return nil, fmt.Errorf("ask worker %s: %w", worker, err)
	}
	select {
	case s := <-said:
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("worker %s does not answer: %w", worker, context.Cause(ctx))
	}
}

// roll asks who is there. Where no run takes workers now, they are compared with this program.
func roll(ctx context.Context, b *bus.Bus) ([]*wire.Presence, error) {
	var mu sync.Mutex
	present, conductors := map[string]*wire.Presence{}, map[string]wire.Conducting{}
	stop, err := b.Subscribe(ctx, bus.WorkersPresent(), func(m bus.Message, _ func([]byte) error) {
		if p, err := wire.DecodePresence(m); err == nil {
			mu.Lock()
			present[p.Worker] = p
			mu.Unlock()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	defer stop()
	quit, err := b.Subscribe(ctx, bus.RunsPresent(), func(m bus.Message, _ func([]byte) error) {
		if c, ok := wire.DecodeConducting(m); ok {
			mu.Lock()
			conductors[c.Run] = c
			mu.Unlock()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	defer quit()
	if err := b.Publish(ctx, bus.PresenceAsk(), nil); err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	select {
	case <-time.After(rollTime):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(conductors) == 0 {
		conductors[""] = wire.NewConducting("", release.Version())
	}
	list := wire.Sorted(present)
	for _, p := range list {
		p.Meet(slices.Collect(maps.Values(conductors))...)
	}
	return list, nil
}

func closeServer(ctx context.Context, b *bus.Bus) {
	if err := b.Close(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, context.Canceled) {
		zerolog.Ctx(ctx).Debug().Err(err).Msg("the connection to the server did not close cleanly")
	}
}
