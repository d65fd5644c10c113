package console

import (
	"strings"

	"divisi/orchestrator/report"
)

// maxAligned is the width of a command beyond which it moves no comment of others.
const maxAligned = 72

// Way is one of what a person can do next.
type Way = report.Way

// Next writes commands, each with what it is for, one a line.
func Next(b *strings.Builder, ways []Way) {
	rows := make([][]string, len(ways))
	for i, w := range ways {
		if rows[i] = []string{w.Command, "# " + w.Why}; cellWidth(w.Command) > maxAligned {
			rows[i] = []string{w.Command + "   # " + w.Why}
		}
	}
	for _, line := range Columns(rows, 3) {
		b.WriteString("  " + line + "\n")
	}
}
