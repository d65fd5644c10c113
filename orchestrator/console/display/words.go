package display

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"divisi/internal/text"
)

// maxText bounds one foreign text, in bytes, before it is cleaned.
const maxText = 4096

// Safe is Sanitize for text of any length.
func Safe(s string) string { return Sanitize(text.Clip(s, maxText)) }

// Fit cuts text to a width in cells, with an ellipsis where something is gone.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if lipgloss.Width(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		w := lipgloss.Width(string(r))
		if used+w > width-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// Pad cuts or fills text to exactly a width.
func Pad(s string, width int) string {
	s = Fit(s, width)
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

// Wrap breaks text at spaces into lines of a width; a longer word is cut up.
func Wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case lipgloss.Width(line)+1+lipgloss.Width(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
		for lipgloss.Width(line) > width {
			head := hard(line, width)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Behind writes text behind a word, broken at spaces into lines below its beginning. A width of 0 breaks none, and what is longer
// than a line, such as an address, stays whole.
func Behind(word, text string, width int) string {
	rows, at := []string{text}, lipgloss.Width(word)
	long := func(s string) bool { return at+lipgloss.Width(s) > width }
	if width > 0 && long(text) && !slices.ContainsFunc(strings.Fields(text), long) {
		rows = Wrap(text, width-at)
	}
	return word + strings.Join(rows, "\n"+strings.Repeat(" ", at))
}

// hard returns the longest beginning of text that fits, and at least one rune.
func hard(s string, width int) string {
	used := 0
	for i, r := range s {
		used += lipgloss.Width(string(r))
		if used > width && i > 0 {
			return s[:i]
		}
	}
	return s
}
