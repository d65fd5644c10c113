package reports

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view/advice"
)

// maxAligned is the width of a command beyond which it moves no comment of others.
const maxAligned = 72

// margins are the cells of a line beside a command and its comment.
const margins = 8

// Way is one of what a person can do next.
type Way = advice.Way

// NextSteps writes the most useful of the ways on from a run, completed by calls, and where the others are, in a width as Next.
func NextSteps(b *strings.Builder, run string, ways []Way, width int, calls func(hint string) string) {
	few := advice.Shortlist(ways)
	Next(b, called(few, calls), width)
	if more := len(ways) - len(few); more > 0 {
		fmt.Fprintf(b, "  # %d more: %s\n", more, calls(advice.All(run)))
	}
}

// called completes commands by calls.
func called(ways []Way, calls func(hint string) string) []Way {
	ways = slices.Clone(ways)
	for i := range ways {
		ways[i].Command = calls(ways[i].Command)
	}
	return ways
}

// Next writes commands, each with what it is for, one a line. Where one is wider than width, what each is for stands above it; 0
// is any width.
func Next(b *strings.Builder, ways []Way, width int) {
	wide := func(w Way) bool { return width > 0 && lipgloss.Width(w.Command+w.Why) > width-margins }
	if slices.ContainsFunc(ways, wide) {
		for _, w := range ways {
			b.WriteString("  # " + display.Safe(w.Why) + "\n  " + display.Safe(w.Command) + "\n")
		}
		return
	}
	rows := make([][]string, len(ways))
	for i, w := range ways {
		if rows[i] = []string{w.Command, "# " + w.Why}; lipgloss.Width(w.Command) > maxAligned {
			rows[i] = rows[i][:1]
		}
	}
	lines := display.Columns(rows, 3)
	for i, w := range ways {
		if len(rows[i]) == 1 {
			lines[i] += "   " + display.Safe("# "+w.Why)
		}
		b.WriteString("  " + lines[i] + "\n")
	}
}
