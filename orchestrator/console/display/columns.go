// Package display makes text from elsewhere safe for a terminal, and fits it into cells: its input and its output are text.
package display

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// maxCell bounds the cells of a column that others stand behind: a text from elsewhere would pad each line.
const maxCell = 200

// Columns aligns the cells of rows, gap blanks apart, and returns a line for each row. Cells are made safe for a terminal, in
// place, and cut where they are long, but for the last; those of the columns in right are flush right. The last cell of a row
// with fewer cells than others widens no column.
// (The table of lipgloss cuts every cell on a narrow terminal, ids too, and lets the escape sequences of cells through.)
func Columns(rows [][]string, gap int, right ...int) []string {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
	}
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = Safe(cell); i+1 < len(row) {
				row[i] = Fit(row[i], maxCell)
			}
			if i+1 < len(row) || i+1 == len(widths) {
				widths[i] = max(widths[i], lipgloss.Width(row[i]))
			}
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			blanks := strings.Repeat(" ", max(0, widths[i]-lipgloss.Width(cell)))
			if slices.Contains(right, i) {
				cell, blanks = blanks+cell, ""
			}
			lines[n] += cell + blanks + strings.Repeat(" ", gap)
		}
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}

// Table is rows as text, one a line.
func Table(rows [][]string) string {
	var b strings.Builder
	for _, line := range Columns(rows, 2) {
		b.WriteString(line + "\n")
	}
	return b.String()
}
