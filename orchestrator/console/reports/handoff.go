package reports

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// The bounds of the handoffs in a run's report; a task's own report has all of them.
const (
	maxHandoffLines = 40
	maxHandoffLine  = 240
)

// writeHandoffs prints the handoffs of all tasks, at most maxHandoffLines lines.
func writeHandoffs(w *strings.Builder, r *view.Report) {
	left, more := maxHandoffLines, 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, l := range t.Handoff() {
			if left--; left < 0 {
				more++
				continue
			}
			if left == maxHandoffLines-1 {
				w.WriteByte('\n')
			}
			fmt.Fprintf(w, "%s of %s: %s\n", l[0], t.ID, text.Clip(display.Sanitize(l[1]), maxHandoffLine))
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d more: see the reports of the tasks\n", more)
	}
}

// Unverified marks a branch on which nothing is proven.
func Unverified(why string) string {
	if why == "" {
		return ""
	}
	return " (unverified: " + display.Sanitize(why) + ")"
}
