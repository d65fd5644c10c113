package reports

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

// column is one column of a table of things: its head, and from which width of the terminal on it is shown.
type column[T any] struct {
	head  string
	from  int
	right bool
	cell  func(*T) string
}

var taskColumns = []column[view.Task]{
	{"task", 0, false, func(t *view.Task) string { return t.ID }},
	{"status", 0, false, func(t *view.Task) string { return t.Status() }},
	{"role", 60, false, func(t *view.Task) string { return t.Role }},
	{"try", 50, true, func(t *view.Task) string { return unless0(t.Attempts, fmt.Sprint(t.Attempts)) }},
	{"lines", 50, true, func(t *view.Task) string {
		return unless0(t.Added+t.Deleted, fmt.Sprintf("+%d -%d", t.Added, t.Deleted))
	}},
	{"tokens", 70, true, func(t *view.Task) string { return unless0(t.Usage.Total(), text.Tokens(t.Usage.Total())) }},
	{"took", 90, true, func(t *view.Task) string { return unless0(int(t.Took()), text.Span(t.Took())) }},
	{"commit", 100, false, func(t *view.Task) string { return display.Fit(t.Commit, 10) }},
	{"title", 80, false, func(t *view.Task) string { return t.Title }},
}

func unless0(n int, s string) string {
	if n == 0 {
		return ""
	}
	return s
}

// table returns a head and a line for each thing, at most width cells wide. Columns without content, and those for which there is
// no room, are left out; of the last one is cut what does not fit.
func table[T any](columns []column[T], things []T, width int) []string {
	width = max(width, 20)
	rows, left, right := make([][]string, len(things)+1), width, []int(nil)
	for i, c := range columns {
		cells, widest := []string{c.head}, 0
		for n := range things {
			cells = append(cells, display.Safe(c.cell(&things[n])))
			widest = max(widest, lipgloss.Width(cells[n+1]))
		}
		if width < c.from || widest == 0 {
			continue
		}
		widest = min(left, max(widest, len(c.head)))
		switch {
		case c.head == "task":
			widest = min(widest, max(12, width*2/5))
		case c.head == "goal" && slices.ContainsFunc(things, func(t T) bool { return columns[i+1].cell(&t) != "" }):
			widest = min(widest, max(12, width/5)) // there is no room for much else
		}
		if widest < len(c.head) {
			continue
		}
		if c.right {
			right = append(right, len(rows[0]))
		}
		for i, cell := range cells {
			rows[i] = append(rows[i], display.Fit(cell, widest))
		}
		left -= widest + 2
	}
	return display.Columns(rows, 2, right...)
}

// Tasks writes a table of tasks; the reason of a task that did not end well is below it, that of tasks which were parked by
// one cause below the first of them, with the others. Below one that is unchanged or parked is what a coding agent said last.
func Tasks(b *strings.Builder, tasks []view.Task, width int) {
	alike := feed.Alike(tasks)
	lines := table(taskColumns, tasks, width)
	b.WriteString(lines[0] + "\n")
	for i := range tasks {
		b.WriteString(lines[i+1] + "\n")
		writeReason(b, &tasks[i], alike[i], max(width, 20))
	}
}

const (
	// maxAlike bounds the tasks that are named behind the first one with their cause.
	maxAlike = 20
	// maxSaid bounds, in bytes, what a table of tasks has of the last words of a coding agent.
	maxSaid = 500
)

func writeReason(b *strings.Builder, t *view.Task, alike []string, width int) {
	var lines []string
	if !t.Landed() && !t.Unchanged() && (len(alike) == 0 || alike[0] == t.ID) {
		lines = display.Wrap(display.Safe(t.Reason), width-4)
		if len(alike) > 1 {
			lines = append(lines, display.Wrap(display.Safe("same cause: "+text.Some(alike[1:], maxAlike)), width-4)...)
		}
	}
	if t.Said != "" && !strings.Contains(t.Reason, t.Said) {
		lines = append(lines, display.Wrap(display.Safe("its last words: "+text.Clip(t.Said, maxSaid)), width-4)...)
	}
	for _, l := range lines {
		b.WriteString("    " + l + "\n")
	}
}
