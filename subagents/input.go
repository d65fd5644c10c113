package subagents

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// input gathers what every request of the agent shares.
func inputOf(ctx context.Context, b *bus.Bus, a *wire.Assignment) (contextscope.Input, error) {
	in := contextscope.Input{
		Agent: a.Agent(), Role: a.Role, Include: spec.IncludeFull, Narrative: a.Role.Narrative,
		Brief: contextscope.Brief{Task: a.Task, Goal: a.Goal, DecisionRecord: a.DecisionRecord},
	}
	for _, i := range a.Inputs {
		in.Brief.Inputs = append(in.Brief.Inputs, contextscope.Handoff(i))
	}
	for _, p := range a.Prior {
		in.Brief.Prior = append(in.Brief.Prior, contextscope.Prior(p))
	}
	if a.Slice != "" {
		data, err := b.Get(ctx, a.Slice)
		if err != nil {
			return in, fmt.Errorf("get the slice of %s: %w", a.Agent(), err)
		}
		if in.Slice, err = contextscope.DecodeSlice(data); err != nil {
			return in, fmt.Errorf("read the slice of %s: %w", a.Agent(), err)
		}
	}
	var err error
	in.Events, err = continued(ctx, b, a)
	return in, err
}

// continued reads the sessions that this one goes on with. They are the same agent's: an agent that is woken again.
func continued(ctx context.Context, b *bus.Bus, a *wire.Assignment) ([]contextscope.Event, error) {
	var out []contextscope.Event
	for _, n := range a.Continues {
		events, _, err := readSession(ctx, b, bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, n))
		if err != nil {
			return nil, fmt.Errorf("read the session that %s goes on with: %w", a.Agent(), err)
		}
		for _, e := range events {
			if e.Author == e.Agent {
				e.Author = a.Agent()
			}
			e.Agent = a.Agent()
			out = append(out, e)
		}
	}
	return out, nil
}
