package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/tester"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
	"divisi/subagents/wire"
)

// gates runs a task's gates for its own agent, in the agent's tree and with the agents' cache. It leaves no receipts: what an
// agent's tree or cache says proves nothing.
type gates struct{ at *attempt }

// Names implements commands.Gates.
func (g gates) Names() []string {
	list, _ := tester.GatesOf(g.at.assignment)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names
}

// Run implements commands.Gates.
func (g gates) Run(ctx context.Context, name string) (commands.GateRun, error) {
	list, _ := tester.GatesOf(g.at.assignment)
	i := slices.IndexFunc(list, func(g spec.Gate) bool { return g.Name == name })
	if i < 0 {
		return commands.GateRun{}, fmt.Errorf("there is no gate %s", name)
	}
	if err := g.awaitBaseline(ctx); err != nil {
		return commands.GateRun{}, err
	}
	release, err := g.at.core(ctx)
	if err != nil {
		return commands.GateRun{}, err
	}
	defer release()
	where := gate.Where{
		Dir: g.at.slot.Dir(), Env: g.at.env, Place: g.at.ground(), Writable: g.at.cache.Writable, Readable: g.at.readable,
		Network: g.at.assignment.Role.Network, Loopback: g.at.assignment.Role.Loopback, More: true,
		OnOutput: commands.BeatOutput(ctx), Changed: g.changed,
	}
	if b, ok := g.at.assignment.Baseline[name]; ok {
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
	landed, err := g.at.changed(ctx, g.at.worker.cfg.Mirror.Base())
	if err != nil {
		return nil, err
	}
	own, err := g.at.slot.Changed(ctx)
	return append(landed, own...), err
}

// awaitBaseline waits for the baseline in the log of the conductor, where it was not known when the attempt was dispatched. The
// wait counts neither as the call's time nor as silence.
func (g gates) awaitBaseline(ctx context.Context) error {
	a := g.at.assignment
	if !a.BaselineFollows {
		return nil
	}
	tool.Beat(ctx, "waits for the gates on the base commit")
	resume := tool.Queue(ctx)
	defer resume()
	for m, err := range g.at.worker.cfg.Events(a).Tail(ctx, bus.ConductorSubject(a.Run, string(contextscope.KindRun)), 0) {
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

// core waits for a free core on behalf of a tool. The wait counts neither as the call's time nor as silence.
func (at *attempt) core(ctx context.Context) (release func(), err error) {
	resume := tool.Queue(ctx)
	defer resume()
	return at.worker.commands.Acquire(ctx)
}

var _ commands.Gates = gates{}

// maxCommandOutput is how much of a command's output is taken, in bytes: far more than a model is shown, since the whole of it
// is kept as an artifact.
const maxCommandOutput = 4 << 20

// runner runs the commands of an agent's tools, confined to its slot.
type runner struct{ at *attempt }

// Run implements commands.Runner.
func (r runner) Run(ctx context.Context, c commands.Command) (commands.Output, error) {
	release, err := r.at.core(ctx)
	if err != nil {
		return commands.Output{}, err
	}
	defer release()
	args := c.Args
	if c.Shell != "" {
		args = []string{"/bin/sh", "-c", c.Shell}
	}
	confined := r.at.confined()
	confined.Args, confined.Timeout, confined.More = args, c.Timeout, true
	confined.MaxOutput, confined.OnOutput = maxCommandOutput, commands.BeatOutput(ctx)
	out, err := sandbox.Run(ctx, confined)
	if err != nil {
		return commands.Output{}, err
	}
	text := out.Text()
	if bound := out.Exceeded(); bound != "" {
		text += "\n[killed: " + bound + "]"
	}
	return commands.Output{Text: text, ExitCode: out.ExitCode, TimedOut: out.TimedOut}, nil
}

var _ commands.Runner = runner{}
