package console

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// maxText bounds what is taken of one foreign text, in bytes, before it is looked at.
const maxText = 4096

// safe is Sanitize for text of any length.
func safe(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return Sanitize(s)
}

// fit cuts text to a width in cells, with an ellipsis where something is gone.
func fit(s string, width int) string {
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

// pad cuts or fills text to exactly a width.
func pad(s string, width int) string {
	s = fit(s, width)
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

// wrap breaks text at spaces into lines of a width; a longer word is cut up.
func wrap(s string, width int) []string {
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

func tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_500:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	default:
		return fmt.Sprintf("%.2fM", float64(n)/1_000_000)
	}
}

func span(d time.Duration) string {
	s := int(max(0, d).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
