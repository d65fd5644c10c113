package console

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
	"divisi/orchestrator/view/result"
	"divisi/orchestrator/view/stats"
)

// maxFlakes bounds the flaky failures that the end lists, maxFirst the tasks to read first, maxUntried those whose tests were not
// tried for one reason.
const (
	maxFlakes  = 5
	maxFirst   = 3
	maxUntried = 12
)

// writeEnd writes the run's state, and why it is so, when the console is closed: a few lines and a short table.
func writeEnd(b *strings.Builder, v *feed.Followed, why string, width int, p paint, now time.Time) {
	tasks := view.Tasks(v.State)
	state := display.Safe(string(v.Status))
	fmt.Fprintf(b, "\n%s\n  ", p.state(state, "Run "+display.Safe(v.Run)+" is "+state+display.Safe(why)))
	unread, told := view.Unread(v.State)
	for _, u := range unread {
		fmt.Fprintf(b, "unread: %s\n  ", display.Safe(u.String()))
	}
	if len(tasks) > 0 {
		b.WriteString(view.Tally(tasks) + " · ")
	}
	fmt.Fprintf(b, "%s\n  wall clock: %s\n", v.Spent(now), stats.TimesOf(v.State).Wall())
	if r := result.Of(v.State); r != nil {
		writeResult(b, r)
	}
	for _, u := range told {
		fmt.Fprintf(b, "  no gate reads %s\n", display.Safe(u.String()))
	}
	for _, u := range view.UnlikeLines(v.State) {
		b.WriteString("  unlike its siblings: " + display.Safe(u) + "\n")
	}
	for _, line := range view.Untried(v.State, maxUntried) {
		b.WriteString("  changed tests not tried: " + display.Safe(line) + "\n")
	}
	if len(v.Final) > 0 {
		b.WriteString("  final gates: " + display.Safe(feed.Verdicts(v.Final)) + "\n")
	}
	for _, line := range view.CILines(v.State) {
		b.WriteString("  ci: " + display.Safe(line) + "\n")
	}
	for _, f := range text.Few(v.Proofs.Flakes(), maxFlakes) {
		b.WriteString("  flaky: " + display.Safe(f) + "\n")
	}
	if v.Ref != "" {
		fmt.Fprintf(b, "  result: %s at %s", display.Safe(v.Ref), display.Fit(display.Safe(v.Published), 12))
		if v.Unverified != "" {
			b.WriteString(", unverified: " + display.Safe(v.Unverified))
		}
		b.WriteByte('\n')
	}
	if len(tasks) == 0 {
		return
	}
	b.WriteByte('\n')
	reports.Tasks(b, view.Ranked(tasks)[:min(len(tasks), maxEndRows)], width-1)
	if n := len(tasks) - maxEndRows; n > 0 {
		fmt.Fprintf(b, "… and %d more\n", n)
	}
}

// writeResult writes what was asked, what came of it, and what to read first.
func writeResult(b *strings.Builder, r *result.Result) {
	lines := []string{"asked: " + text.Clip(text.OneLine(r.Asked), text.MaxLine)}
	if r.Files > 0 {
		change := fmt.Sprintf("change: %s, +%d -%d", text.Count(r.Files, "file"), r.Added, r.Deleted)
		if len(r.Directories) > 1 {
			change += ", most in " + r.Directories[0].Name
		}
		lines = append(lines, change)
	}
	for _, risk := range text.Few(text.Each(r.Risks), maxFirst) {
		lines = append(lines, "read first: "+risk)
	}
	for _, line := range lines {
		b.WriteString("  " + display.Safe(line) + "\n")
	}
}

// wrapped has the lines of a text that are wider than a terminal broken at words. Those with colours are short.
func wrapped(s string, width int) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		if lipgloss.Width(l) < width || strings.Contains(l, "\x1b") {
			b.WriteString(l)
			continue
		}
		indent := "  "
		for _, row := range display.Wrap(strings.TrimSpace(l), max(width-5, 1)) {
			b.WriteString(indent + row + "\n")
			indent = "    "
		}
	}
	return b.String()
}
