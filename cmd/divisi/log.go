package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/console"
)

func newLog(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "log RUN/TASK[/N]",
		Short: "Show the gate output for an attempt of a task",
		Long: `Show the gate output for an attempt, newest last: batch and other tasks, verdict, exit code, duration,
new failures of the task, and the whole output. Before it come the output of the role's command, the
gates that the agent ran itself, and the artifacts that it saved. RUN/TASK is the newest attempt,
RUN/TASK/2 is attempt 2, TASK alone is a task of the newest run. divisi context shows the requests to
a model.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi log 1f2e/rewrite-003\n  divisi log 1f2e/rewrite-003/1 --output json",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: g.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			var l attempt.Log
			look := func(r *orchestrator.Run, task string, number int) (json.RawMessage, error) {
				return r.Log(c.Context(), task, number)
			}
			return g.lookAt(c.Context(), args[0], look, &l, func() error { return writeLog(g.out, &l) })
		},
	}
}

// writeLog prints what an attempt left for people.
func writeLog(w io.Writer, l *attempt.Log) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d, role %s: %s\n", l.Task, l.Attempt, l.Role, cmp.Or(string(l.Status), "it has no result yet"))
	for _, why := range []string{l.Reason, l.Rejected} {
		if why != "" {
			fmt.Fprintf(&b, "reason: %s\n", console.Sanitize(why))
		}
	}
	writeOutput(&b, l.Printed)
	for _, o := range l.Own {
		fmt.Fprintf(&b, "\nrun_gates by the agent, turn %d: %d red\n", o.Turn, o.Red)
		writeOutput(&b, o.Output)
	}
	for _, s := range l.Saved {
		fmt.Fprintf(&b, "\nartifact %s, %d bytes: %s\n", s.Name, s.Bytes, s.Handle)
		writeOutput(&b, cmp.Or(s.Content, "[it cannot be read: "+s.Lost+"]"))
	}
	for i := range l.Gates {
		writeGateRun(&b, &l.Gates[i])
	}
	if len(l.Gates) == 0 {
		fmt.Fprintln(&b, "\nno gate has tested it")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeGateRun(b *strings.Builder, r *attempt.Gate) {
	fmt.Fprintf(b, "\ngate %s", console.Sanitize(r.Gate))
	if r.Batch > 0 {
		with := "alone"
		if len(r.With) > 0 {
			with = "with " + console.Sanitize(text.Some(r.With, 10))
		}
		fmt.Fprintf(b, ", batch %d %s", r.Batch, with)
	}
	if r.Alone {
		b.WriteString(", its tests without the change")
	}
	fmt.Fprintf(b, ": %s, exit code %d, %.1f s\n$ %s\n", r.Verdict, r.ExitCode, r.Duration.Seconds(),
		console.Sanitize(strings.Join(r.Command, " ")))
	for _, f := range r.Failures {
		fmt.Fprintf(b, "new: %s\n", console.Sanitize(f))
	}
	if others := r.New - len(r.Failures); others > 0 {
		led := "in consequence of others"
		if len(r.With) > 0 {
			led = "led to other tasks of the batch, or to none"
		}
		fmt.Fprintf(b, "%s %s\n", text.Count(others, "new failure"), led)
	}
	if r.Lost != "" {
		fmt.Fprintf(b, "the whole output is no longer there (%s): this is its end\n", console.Sanitize(r.Lost))
	}
	writeOutput(b, r.Output)
}

// writeOutput prints what a program printed, indented.
func writeOutput(b *strings.Builder, output string) {
	if output = strings.TrimRight(output, "\n"); output != "" {
		fmt.Fprintln(b, console.Indent(console.SanitizeLines(output)))
	}
}
