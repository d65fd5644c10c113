package reports

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/view"
)

// roleHeads are the columns of the table of roles; reuse is the share of the prompt that the service had cached.
var roleHeads = []string{"role", "calls", "prompt", "cached", "reuse", "output", "cost"}

// writeRoles writes what each role used, one a line, at most width cells wide.
func writeRoles(b *strings.Builder, roles []view.Role, width int) {
	if len(roles) == 0 {
		return
	}
	rows := [][]string{roleHeads}
	for _, r := range roles {
		rows = append(rows, roleCells(r))
	}
	b.WriteByte('\n')
	for _, line := range display.Columns(rows, 2, 1, 2, 3, 4, 5, 6) {
		b.WriteString(display.Fit(line, width) + "\n")
	}
}

func roleCells(r view.Role) []string {
	u := r.Usage
	return []string{
		display.Fit(display.Safe(r.Role), 24), fmt.Sprint(u.Calls), text.Tokens(u.Prompt), text.Tokens(u.Cached),
		fmt.Sprintf("%.0f%%", 100*r.Reuse), text.Tokens(u.Output + u.Thoughts), forecast.Cost(r.Cost, r.Unpriced),
	}
}
