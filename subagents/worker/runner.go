package worker

import (
	"context"

	"divisi/internal/sandbox"
	"divisi/subagents/gate"
	"divisi/subagents/tool/commands"
)

// maxCommandOutput is how much of a command's output is taken, in bytes: far more than a model is shown, since the whole of it
// is kept as an artifact.
const maxCommandOutput = 4 << 20

// runner runs the commands of an agent's tools, confined to its slot.
type runner struct{ at *attempt }

// Run implements commands.Runner.
func (r runner) Run(ctx context.Context, c commands.Command) (commands.Output, error) {
	args := c.Args
	if c.Shell != "" {
		args = []string{"/bin/sh", "-c", c.Shell}
	}
	confined := r.at.confined()
	confined.Args, confined.Timeout = args, c.Timeout
	confined.MaxOutput, confined.OnOutput = maxCommandOutput, commands.BeatOutput(ctx)
	out, err := sandbox.Run(ctx, confined)
	if err != nil {
		return commands.Output{}, err
	}
	text := out.Text()
	if out.OutOfMemory {
		text += "\n[" + gate.OutOfMemory + "]"
	}
	return commands.Output{Text: text, ExitCode: out.ExitCode, TimedOut: out.TimedOut}, nil
}

var _ commands.Runner = runner{}
