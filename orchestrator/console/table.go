package console

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// well reports whether a task ended well.
func well(r report.Row) bool {
	return r.State == run.TaskLanded || r.State == run.TaskDone
}

func changed(r report.Row) string {
	if r.Added == 0 && r.Deleted == 0 {
		return ""
	}
	return fmt.Sprintf("+%d -%d", r.Added, r.Deleted)
}

// column is one column of a table: its head, its widest width, and from which width of the terminal on it is shown.
type column struct {
	head  string
	from  int
	right bool
	cell  func(report.Row) string
}

var columns = []column{
	{"task", 0, false, func(r report.Row) string { return safe(r.ID) }},
	{"status", 0, false, func(r report.Row) string { return safe(r.Status()) }},
	{"role", 60, false, func(r report.Row) string { return safe(r.Role) }},
	{"try", 50, true, func(r report.Row) string { return unless0(r.Attempt, fmt.Sprint(r.Attempt)) }},
	{"lines", 50, true, func(r report.Row) string { return changed(r) }},
	{"tokens", 70, true, func(r report.Row) string { return unless0(r.Tokens, report.Tokens(r.Tokens)) }},
	{"took", 90, true, func(r report.Row) string { return unless0(int(r.Took), report.Span(r.Took)) }},
	{"commit", 100, false, func(r report.Row) string { return fit(safe(r.Commit), 10) }},
	{"title", 80, false, func(r report.Row) string { return safe(r.Title) }},
}

func cellWidth(s string) int { return lipgloss.Width(s) }

func unless0(n int, s string) string {
	if n == 0 {
		return ""
	}
	return s
}

// writeTasks writes a table of tasks, one a line, at most width cells wide; the reason of a task that did not end well
// is below it. Columns without content, and those for which there is no room, are left out.
func writeTasks(b *strings.Builder, rows []report.Row, width int) {
	width = max(width, 20)
	cols, widths := layout(rows, width)
	heads := make([]string, len(cols))
	for i, c := range cols {
		heads[i] = c.head
	}
	writeCells(b, cols, widths, heads)
	for _, r := range rows {
		cells := make([]string, len(cols))
		for i, c := range cols {
			cells[i] = c.cell(r)
		}
		writeCells(b, cols, widths, cells)
		if r.Reason != "" && !well(r) {
			for _, l := range wrap(safe(r.Reason), width-4) {
				b.WriteString("    " + l + "\n")
			}
		}
	}
}

// layout chooses the columns and their widths: content decides, the last column takes what is left.
func layout(rows []report.Row, width int) ([]column, []int) {
	var cols []column
	var widths []int
	left := width
	for _, c := range columns {
		widest := 0
		for _, r := range rows {
			widest = max(widest, cellWidth(c.cell(r)))
		}
		if width < c.from || widest == 0 {
			continue
		}
		widest = max(widest, len(c.head))
		if c.head == "task" {
			widest = min(widest, max(12, width*2/5))
		}
		if widest > left {
			widest = left
		}
		if widest < len(c.head) {
			continue
		}
		cols, widths = append(cols, c), append(widths, widest)
		left -= widest + 2
	}
	return cols, widths
}

func writeCells(b *strings.Builder, cols []column, widths []int, cells []string) {
	var row strings.Builder
	for i, c := range cols {
		cell := pad(cells[i], widths[i])
		if c.right {
			cell = strings.Repeat(" ", widths[i]-cellWidth(fit(cells[i], widths[i]))) + fit(cells[i], widths[i])
		}
		if i > 0 {
			row.WriteString("  ")
		}
		row.WriteString(cell)
	}
	b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
}
