package inspect

import (
	"fmt"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/explain"
)

// newLoopcheck makes divisi debug loopcheck.
func newLoopcheck(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "loopcheck FILE|-",
		Short: "Debug loop detection: replay the events of an agent",
		Long: `Replay the words and calls of an agent through the loop guard, and print a line of JSON for each strike:

  {"event":8,"kind":"call","strike":1,"detail":"ls {}: 5 times in a row, each with the same result"}

FILE, or standard input for -, has a line of JSON for each event, in order:

  {"text":"…"}     a piece of the agent's answer; pieces may be cut anywhere
  {"thought":"…"}  a piece of its thoughts
  {"call":{"name":"read_file","args":{"path":"a.go"}}}
  {"result":…}     the result of the oldest call without one, any JSON; may be missing
  {"prompt":…}     a new task: everything is forgotten, strikes too

Events count from 0, one a line; blank lines count too. A turn of the agent ends where a result or a prompt
follows, and the next begins with the event behind it. Strike 1 is a nudge and clears the events that
led to it; strike 2 ends the agent: the rest is read, but nothing of it counts until a prompt. Strikes are
printed as their lines are read. Kinds are call, cycle, text and thought; the verdicts of a judging model
are not replayed. A line that cannot be read ends the replay.`,
		Example: "  divisi debug loopcheck events.jsonl\n  tail -f events.jsonl | divisi debug loopcheck -",
		RunE:    func(_ *cobra.Command, args []string) error { return g.loopcheck(args[0]) },
	}
}

func (g *Globals) loopcheck(name string) error {
	in, err := g.OpenInput(name)
	if err != nil {
		return err
	}
	defer in.Close()
	err = explain.CheckLoop(in, func(s explain.Strike) error { return cli.EncodeLine(g.Out, s) })
	if code, values := orchestrator.CodeOf(err); code == usage.Line {
		return usage.Errorf("%s:%v: %v\nSee: divisi debug loopcheck --help", name, values[0], err)
	}
	if err != nil {
		return fmt.Errorf("loopcheck %s: %w", name, err)
	}
	return nil
}
