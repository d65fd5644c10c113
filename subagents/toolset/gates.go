package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/tester"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
	"divisi/subagents/wire"
)

// gates runs a task's gates for its own agent, in the agent's tree and with the agents' cache. It leaves no receipts: what an
// agent's tree or cache says proves nothing.
type gates struct{ *Config }

// Names implements commands.Gates.
func (g gates) Names() []string {
	list, _ := tester.GatesOf(g.Assignment)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names
}

// Run implements commands.Gates.
func (g gates) Run(ctx context.Context, name string) (commands.GateRun, error) {
	list, _ := tester.GatesOf(g.Assignment)
	i := slices.IndexFunc(list, func(g spec.Gate) bool { return g.Name == name })
	if i < 0 {
		return commands.GateRun{}, fmt.Errorf("there is no gate %s", name)
	}
	if err := g.awaitBaseline(ctx); err != nil {
		return commands.GateRun{}, err
	}
	release, err := g.core(ctx)
	if err != nil {
		return commands.GateRun{}, err
	}
	defer release()
	c := g.Command
	where := gate.Where{
		Dir: c.Dir, Env: g.Env, Place: c.Place, Writable: c.Writable, Readable: c.Readable, Network: c.Network,
		Loopback: c.Loopback, More: true,
		OnOutput: commands.BeatOutput(ctx), Changed: g.changed,
	}
	if b, ok := g.Assignment.Baseline[name]; ok {
		where.Baseline = &b
	}
	r, err := gate.Run(ctx, list[i], where)
	if err != nil {
		return commands.GateRun{}, err
	}
	return commands.GateRun{Receipt: r, New: gate.NewSignatures(r, where.Baseline)}, nil
}

// changed returns the paths in which the work tree differs from the base commit of the run.
func (g gates) changed(ctx context.Context) ([]string, error) {
	landed, err := g.Changed(ctx, g.Mirror.Base())
	if err != nil {
		return nil, err
	}
	own, err := g.Slot.Changed(ctx)
	return append(landed, own...), err
}

// awaitBaseline waits for the baseline in the log of the conductor, where it was not known when the attempt was dispatched. The
// wait counts neither as the call's time nor as silence.
func (g gates) awaitBaseline(ctx context.Context) error {
	a := g.Assignment
	if !a.BaselineFollows {
		return nil
	}
	tool.Beat(ctx, "waits for the gates on the base commit")
	resume := tool.Queue(ctx)
	defer resume()
	for m, err := range g.Answers.Tail(ctx, bus.ConductorSubject(a.Run, string(contextscope.KindRun)), 0) {
		if err != nil {
			return fmt.Errorf("wait for the baseline: %w", err)
		}
		for _, e := range wire.DecodeEvents(m) {
			var known wire.Baseline
			if e.Kind != contextscope.KindRun || json.Unmarshal(e.Data, &known) != nil || len(known.Receipts) == 0 {
				continue
			}
			a.Baseline, a.BaselineFollows = map[string]spec.Receipt{}, false
			for _, r := range known.Receipts {
				a.Baseline[r.Gate] = r
			}
			return nil
		}
	}
	return cmp.Or(context.Cause(ctx), errors.New("the log of the run has ended"))
}

var _ commands.Gates = gates{}
