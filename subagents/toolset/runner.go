package toolset

import (
	"context"

	"divisi/internal/sandbox"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
)

// maxCommandOutput is how much of a command's output is taken, in bytes: far more than a model is shown, since the whole of it
// is kept as an artifact.
const maxCommandOutput = 4 << 20

// Runner runs the commands of an agent's tools, confined to its slot: each is Command with arguments of its own, on one of the
// cores.
type Runner struct {
	Command sandbox.Command
	Cores   *gate.Limiter
}

// Run implements commands.Runner.
func (r Runner) Run(ctx context.Context, c commands.Command) (commands.Output, error) {
	release, err := r.core(ctx)
	if err != nil {
		return commands.Output{}, err
	}
	defer release()
	args := c.Args
	if c.Shell != "" {
		args = []string{"/bin/sh", "-c", c.Shell}
	}
	confined := r.Command
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

var _ commands.Runner = Runner{}

// core waits for a free core on behalf of a tool. The wait counts neither as the call's time nor as silence.
func (r Runner) core(ctx context.Context) (release func(), err error) {
	resume := tool.Queue(ctx)
	defer resume()
	return r.Cores.Acquire(ctx)
}
