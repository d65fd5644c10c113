package board

import (
	"strings"

	"charm.land/lipgloss/v2"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
)

// pane is a text that scrolls.
type pane struct {
	text string
	// lines are the text, wrapped to width; top is the first one that is shown, high how many are.
	lines            []string
	width, top, high int
}

// show puts a text into the pane; the same one leaves it where it is.
func (p *pane) show(text string) {
	if text != p.text {
		*p = pane{text: text, high: p.high}
	}
}

// view is the part of the text that is seen.
func (p *pane) view(width, height int) []string {
	if p.width != width {
		p.width, p.lines = width, wrap(p.text, width)
	}
	p.high = max(1, height)
	p.top = max(0, min(p.top, len(p.lines)-p.high))
	return p.lines[p.top:min(len(p.lines), p.top+p.high)]
}

// key scrolls.
func (p *pane) key(name string) {
	switch name {
	case "j", "down":
		p.top++
	case "k", "up":
		p.top--
	case "space", "pgdown":
		p.top += p.high - 1
	case "b", "pgup":
		p.top -= p.high - 1
	case "g", "home":
		p.top = 0
	case "G", "end":
		p.top = len(p.lines)
	}
	p.top = max(0, min(p.top, len(p.lines)-p.high))
}

// below counts the lines that are below, for a hint.
func (p *pane) below() string {
	rest := len(p.lines) - p.top - p.high
	if rest <= 0 {
		return ""
	}
	return " · j: " + text.Count(rest, "more line")
}

// maxPlain bounds what is shown of a text of the run, in bytes; a patch and an output have no bound.
const maxPlain = 2048

// plain is a text from elsewhere, on one line.
func plain(s string) string { return display.Sanitize(text.Clip(s, maxPlain)) }

// wrap breaks a text into lines that fit; colours continue in the next line.
func wrap(text string, width int) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\t", "    ")
	return strings.Split(lipgloss.Wrap(text, max(width, 1), ""), "\n")
}

// cut shortens a line to a width.
func cut(line string, width int) string {
	if lipgloss.Width(line) <= width {
		return line
	}
	return lipgloss.NewStyle().MaxWidth(max(1, width-1)).Render(line) + "…"
}
