package console

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view/feed"
)

// Escape sequences of the live part. A frame is one write between "begin" and "end", so that it never shows half drawn;
// the cursor is hidden only within it and is below the live part otherwise, also when the program is killed.
const (
	beginFrame = "\x1b[?2026h\x1b[?25l"
	endFrame   = "\x1b[?25h\x1b[?2026l"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
	setTitle   = "\x1b]2;%s\x07"
	keepTitle  = "\x1b[22;2t" // on the terminal's stack
	backTitle  = "\x1b]2;\x07\x1b[23;2t"
	hang       = 9
)

// line is one line above the live part.
type line struct {
	text string
	tone feed.Tone
}

// live is the part at the bottom of a terminal that is drawn again and again. It is owned by its console's lock.
type live struct {
	paint paint
	// above are lines that are to scroll away above the live part.
	above []line
	// drawn are the widths of the lines that are on the terminal now.
	drawn []int
}

// frame returns one redraw: up to the first line of the live part, the lines above, the new live part.
func (l *live) frame(v *feed.Followed, width, height int, now time.Time) []byte {
	var b bytes.Buffer
	b.WriteString(beginFrame)
	l.up(&b, width)
	l.flush(&b, width)
	for _, s := range l.lines(statusOf(v, now, height-1), width-1, now) {
		b.WriteString(s + eraseLine + "\n")
		l.drawn = append(l.drawn, lipgloss.Width(s))
	}
	b.WriteString(eraseBelow + endFrame)
	return b.Bytes()
}

// up moves to where the live part begins. Lines that were drawn on a wider terminal take more than one row by now.
func (l *live) up(b *bytes.Buffer, width int) {
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}

// wipe removes the live part and writes the lines above it.
func (l *live) wipe(width int) []byte {
	var b bytes.Buffer
	l.up(&b, width)
	if len(l.drawn) > 0 {
		b.WriteString(eraseBelow)
	}
	l.flush(&b, width)
	return b.Bytes()
}

// flush writes the lines above the live part.
func (l *live) flush(b *bytes.Buffer, width int) {
	for _, row := range l.takeAbove(width) {
		b.WriteString(row + eraseLine + "\n")
	}
	l.drawn = nil
}

// takeAbove takes the lines above as rows of a terminal.
func (l *live) takeAbove(width int) (rows []string) {
	for _, above := range l.above {
		for _, row := range rowsOf(above.text, width) {
			rows = append(rows, l.paint.tone(above.tone, row))
		}
	}
	l.above = nil
	return rows
}

// rowsOf wraps a line at words; rows after its first are indented by the width of the time that lines begin with.
func rowsOf(text string, width int) []string {
	if lipgloss.Width(text) < width {
		return []string{text}
	}
	stamp := ""
	if len(text) > hang && text[hang-1] == ' ' {
		stamp, text = text[:hang], text[hang:]
	}
	rows := display.Wrap(text, max(width-1-hang, 1))
	if len(rows) == 0 {
		return []string{stamp}
	}
	for i := range rows[1:] {
		rows[i+1] = strings.Repeat(" ", hang) + rows[i+1]
	}
	rows[0] = stamp + rows[0]
	return rows
}
