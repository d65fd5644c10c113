package subagents

import (
	"context"

	"divisi/internal/sandbox"
	"divisi/subagents/tool"
)

// maxCommandOutput is how much of a command's output is taken, in bytes: far more than a model is shown, since the whole of it
// is kept as an artifact.
const maxCommandOutput = 4 << 20

// runner runs the commands of an agent's tools, confined to its slot.
type runner struct{ at *attempt }

// Run implements tool.Runner.
func (r runner) Run(ctx context.Context, c tool.Command) (tool.Output, error) {
	args := c.Args
	if c.Shell != "" {
		args = []string{"/bin/sh", "-c", c.Shell}
	}
	dir := r.at.private
	if r.at.slot != nil {
		dir = r.at.slot.Dir()
	}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: args, Dir: dir, Env: append(r.at.env[:len(r.at.env):len(r.at.env)], taskEnv(r.at.assignment)...),
		Writable: r.at.writable(), Timeout: c.Timeout, MaxOutput: maxCommandOutput,
	})
	if err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Text: out.Text(), ExitCode: out.ExitCode, TimedOut: out.TimedOut}, nil
}

var _ tool.Runner = runner{}
