package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/console/display"
	"divisi/subagents/gate"
)

// Attempt writes what the gates printed that tested an attempt, given as JSON.
func Attempt(b *strings.Builder, data json.RawMessage) error {
	return render(data, func(l *attempt.Log) { writeLog(b, l) })
}

// writeLog prints what an attempt left for people.
func writeLog(b *strings.Builder, l *attempt.Log) {
	fmt.Fprintf(b, "%s/%d, role %s: %s\n", l.Task, l.Attempt, l.Role, cmp.Or(string(l.Status), "it has no result yet"))
	for _, why := range []string{l.Reason, l.Rejected} {
		if why != "" {
			fmt.Fprintf(b, "reason: %s\n", display.Sanitize(why))
		}
	}
	if !strings.Contains(l.Reason, l.Said) {
		fmt.Fprintf(b, "its last words: %s\n", display.Sanitize(l.Said))
	}
	writeOutput(b, l.Printed)
	for _, o := range l.Own {
		fmt.Fprintf(b, "\nrun_gates by the agent, turn %d: %d red\n", o.Turn, o.Red)
		writeOutput(b, o.Output)
	}
	for _, s := range l.Saved {
		fmt.Fprintf(b, "\nartifact %s, %d bytes: %s\n", s.Name, s.Bytes, s.Handle)
		writeOutput(b, cmp.Or(s.Content, "[it cannot be read: "+s.Lost+"]"))
	}
	for i := range l.Gates {
		writeGateRun(b, &l.Gates[i])
	}
	for _, name := range l.Idle {
		fmt.Fprintf(b, "\ngate %s: not started: the change touches none of its paths\n", display.Sanitize(name))
	}
	if len(l.Gates) == 0 {
		fmt.Fprintln(b, "\nno gate has tested it")
	}
}

func writeGateRun(b *strings.Builder, r *attempt.Gate) {
	fmt.Fprintf(b, "\ngate %s", display.Sanitize(r.Gate))
	if r.Batch > 0 {
		with := "alone"
		if len(r.With) > 0 {
			with = "with " + display.Sanitize(text.Some(r.With, 10))
		}
		fmt.Fprintf(b, ", batch %d %s", r.Batch, with)
	}
	if r.Alone {
		b.WriteString(", its tests without the change")
	}
	fmt.Fprintf(b, ": %s, exit code %d, %.1f s\n$ %s\n", r.Verdict, r.ExitCode, r.Duration.Seconds(),
		display.Sanitize(strings.Join(r.Command, " ")))
	for _, p := range r.Programs {
		fmt.Fprintf(b, "with %s\n", display.Sanitize(strings.TrimSpace(p.Path+" "+p.Version)))
	}
	for _, f := range r.Failures {
		fmt.Fprintf(b, "new: %s\n", display.Sanitize(f))
	}
	if others := r.New - len(r.Failures); others > 0 {
		led := "in consequence of others"
		if len(r.With) > 0 {
			led = "led to other tasks of the batch, or to none"
		}
		fmt.Fprintf(b, "%s %s\n", text.Count(others, "new failure"), led)
	}
	if r.Lost != "" {
		fmt.Fprintf(b, "the whole output is no longer there (%s): this is its end\n", display.Sanitize(r.Lost))
	}
	writeOutput(b, gate.Readable(r.Output))
}

// writeOutput prints what a program printed, indented.
func writeOutput(b *strings.Builder, output string) {
	if output = strings.TrimRight(output, "\n"); output != "" {
		fmt.Fprintln(b, display.Indent(display.SanitizeLines(output)))
	}
}
