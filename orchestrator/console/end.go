package console

import (
	"fmt"
	"io"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/report"
)

// maxFlakes bounds the flaky failures that the end lists.
const maxFlakes = 5

// writeEnd writes the run's state, and why it is so, when the console is closed: a few lines and a short table.
func writeEnd(w io.Writer, v *view, why string, width int, p paint, now time.Time) error {
	rows := ranked(report.Rows(v.State))
	say := []string{
		"",
		p.state(string(v.Status), fmt.Sprintf("Run %s is %s%s", safe(v.run), safe(string(v.Status)), safe(why))),
	}
	sum := spent(v, now)
	if t := tally(rows); t != "" {
		sum = t + " · " + sum
	}
	say = append(say, "  "+sum)
	say = append(say, "  wall clock: "+report.TimesOf(v.State).Wall())
	if len(v.Final) > 0 {
		say = append(say, "  final gates: "+safe(report.Verdicts(v.Final)))
	}
	for _, f := range text.Few(v.Proofs.Flakes(), maxFlakes) {
		say = append(say, "  flaky: "+safe(f))
	}
	if v.Ref != "" {
		result := "  result: " + safe(v.Ref) + " at " + fit(safe(v.Published), 12)
		if v.Unverified != "" {
			result += ", unverified: " + safe(v.Unverified)
		}
		say = append(say, result)
	}
	if len(rows) > 0 {
		say = append(say, "")
	}
	var b strings.Builder
	b.WriteString(strings.Join(say, "\n") + "\n")
	if len(rows) > 0 {
		writeTasks(&b, rows[:min(len(rows), maxEndRows)], width-1)
	}
	if n := len(rows) - maxEndRows; n > 0 {
		fmt.Fprintf(&b, "… and %d more\n", n)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the end: %w", err)
	}
	return nil
}
