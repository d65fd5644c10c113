package inspect

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/explain"
)

// newContext makes divisi debug context.
func newContext(g *Globals) *cobra.Command {
	var v orchestrator.ContextView
	diff := ""
	c := &cobra.Command{
		Use:   "context RUN/TASK",
		Short: "Show what a model saw at one turn of a task, and why",
		Long: `Show the request that was compiled for one turn of a task: its contents, and a trace: which processor
wrote what from which events, and what was left out and why. RUN/TASK is the newest attempt; RUN/TASK/2
is attempt 2; TASK alone is a task of the newest run. One turn more than there are is what would be
sent next. --diff shows what changed from one turn's request to another's, --raw the body that was sent
to Gemini's API, --sizes the tokens of each part, --compactions the snapshots that replaced older
turns, and why.`,
		Example: "  divisi debug context 1f2e/rewrite-003 --turn 2\n  divisi debug context 1f2e/rewrite-003 --diff 2..3\n" +
			"  divisi debug context compile session.json",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return g.explain(c.Context(), args[0], diff, v) },
	}
	c.Flags().IntVar(&v.Turn, "turn", 0, "number of the model call, from 1; 0 means the newest")
	c.Flags().StringVar(&diff, "diff", "", "show what changed between two turns, `N..M`")
	c.Flags().BoolVar(&v.Raw, "raw", false, "print the request's body as it was sent")
	c.Flags().BoolVar(&v.Sizes, "sizes", false,
		"list what the request holds: the instruction, each tool and part, with its tokens")
	c.Flags().BoolVar(&v.Compactions, "compactions", false, "show the snapshots that replaced older turns, with ranges and sizes")
	c.MarkFlagsMutuallyExclusive("turn", "diff", "compactions")
	c.MarkFlagsMutuallyExclusive("raw", "sizes", "diff", "compactions")
	c.AddCommand(newCompile(g))
	return c
}

func newCompile(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "compile FILE|-",
		Short: "Compile a session given as JSON, and print contents and trace",
		Long: `Compile a session given as JSON into what a model would see, with a trace. The session is
  {"agent":"coder","include_contents":"none|full","branch":"","narrative":"plain|fenced","strict":false,
   "events":[{"author":"user","role":"user","branch":"","invocation_id":"i1","timestamp":1,"parts":[…]}]}
with parts as the Gemini API writes them. It prints {"contents":[…],"trace":[…]}. Any history compiles;
the trace names what was broken in it. The contents have the shape that Google's ADK gives them; with
"strict":true they are healed as the API demands: the user begins, roles alternate, and every call is
answered once, in call order, in the content after it.`,
		Example: "  divisi debug context compile session.json\n  divisi debug context compile - < session.json | jq .trace",
		RunE:    func(c *cobra.Command, args []string) error { return g.compile(c.Context(), args[0]) },
	}
}

// maxSession bounds a session file, in bytes.
const maxSession = 256 << 20

func (g *Globals) compile(_ context.Context, name string) error {
	in := g.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usage.Errorf("%v", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSession+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxSession {
		return usage.Errorf("%s is larger than %d MB", name, maxSession>>20)
	}
	compiled, err := explain.Compile(data)
	if err != nil {
		return usage.Errorf("%s: %v", name, err)
	}
	return cli.EncodeLine(g.Out, compiled)
}
