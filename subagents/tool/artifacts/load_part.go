package artifacts

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// What one inspect an artifact shows, in characters.
const (
	maxLoaded  = spec.MaxToolOutput
	maxPattern = 1000
	// maxLine is the longest line, in characters, that is shown whole.
	maxLine = 2000
	// around is how many lines are shown above and below one that matches.
	around = 2
)

// part is the part of an artifact that a call asks for. Lines and bytes count from 1, and both ends belong to it; an end of 0 is
// the last.
type part struct {
	from, to int
	bytes    bool
	search   string
	pattern  *regexp.Regexp
}

// readPart reads what a call asks for. Its errors report what to ask instead.
func readPart(a loadArgs) (part, error) {
	p := part{search: a.Search, bytes: a.StartByte != nil || a.EndByte != nil}
	unit, from, to := "line", a.StartLine, a.EndLine
	if p.bytes {
		if from != nil || to != nil || p.search != "" {
			return p, errors.New("give bytes, or lines, or lines with search: bytes go with nothing else")
		}
		unit, from, to = "byte", a.StartByte, a.EndByte
	}
	p.from = 1
	if from != nil {
		p.from = *from
	}
	if to != nil {
		p.to = *to
	}
	switch {
	case p.from < 1:
		return p, fmt.Errorf("start_%s is %d: %ss count from 1", unit, p.from, unit)
	case to != nil && p.to < p.from:
		return p, fmt.Errorf("end_%s %d is before start_%s %d", unit, p.to, unit, p.from)
	case utf8.RuneCountInString(p.search) > maxPattern:
		return p, fmt.Errorf("search has more than %d characters", maxPattern)
	}
	// What is no regular expression is looked for as it stands; what is one, too.
	p.pattern, _ = regexp.Compile(p.search)
	return p, nil
}

// of returns the part of a text, and what it is: how much there is, and how to continue where not all of it is shown. Where
// shown is empty there is nothing to show.
func (p *part) of(ctx context.Context, whole string) (what, shown string, err error) {
	if p.bytes {
		return p.byteRange(whole)
	}
	lines := text.Lines(whole)
	if p.from > len(lines) {
		return "", "", fmt.Errorf("there are only %d lines", len(lines))
	}
	if p.to == 0 || p.to > len(lines) {
		p.to = len(lines)
	}
	if p.search != "" {
		return p.matches(ctx, lines)
	}
	what, shown = p.lineRange(whole, lines)
	return what, shown, nil
}

func (p *part) byteRange(whole string) (what, shown string, err error) {
	if p.from > len(whole) {
		return "", "", fmt.Errorf("there are only %d bytes", len(whole))
	}
	from, to := p.from-1, len(whole)
	if p.to > 0 {
		to = min(p.to, len(whole))
	}
	for from > 0 && !utf8.RuneStart(whole[from]) {
		from--
	}
	for to < len(whole) && !utf8.RuneStart(whole[to]) {
		to++
	}
	shown = text.Runes(whole[from:to], maxLoaded)
	end := from + len(shown)
	what = fmt.Sprintf("bytes %d-%d of %d", from+1, end, len(whole))
	if end < to {
		what += fmt.Sprintf(" (%d characters at once: continue with start_byte %d)", maxLoaded, end+1)
	}
	return what, shown, nil
}

func (p *part) lineRange(whole string, lines []string) (what, shown string) {
	page := page{room: maxLoaded}
	next := p.from
	for ; next <= p.to && page.add(text.Numbered(next, lines[next-1], maxLine)); next++ {
		if page.long == 0 && utf8.RuneCountInString(lines[next-1]) > maxLine {
			page.long = next
		}
	}
	what = fmt.Sprintf("lines %d-%d of %d", p.from, next-1, len(lines))
	if next <= p.to {
		what += fmt.Sprintf(" (%d characters at once: continue with start_line %d)", maxLoaded, next)
	}
	if page.long > 0 {
		start := lineStart(whole, page.long)
		what += fmt.Sprintf(" (line %d is cut: it has the bytes %d-%d)", page.long, start+1, start+len(lines[page.long-1]))
	}
	return what, page.text.String()
}

// matches shows the lines that match and those near them, as grep does: 12: for a match, 13- for a line near one.
func (p *part) matches(ctx context.Context, lines []string) (what, shown string, err error) {
	hits, found := make([]bool, len(lines)+1), 0
	for n := p.from; n <= p.to; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return "", "", fmt.Errorf("the search was ended: %w", context.Cause(ctx))
		}
		if p.find(lines[n-1]) != nil {
			hits[n], found = true, found+1
		}
	}
	if found == 0 {
		what = fmt.Sprintf("has no match for %q in its lines %d-%d of %d", text.Short(p.search, 100), p.from, p.to, len(lines))
		return what, "", nil
	}
	page, count, last, goOn := page{room: maxLoaded}, 0, 0, ""
	for n := p.from; n <= p.to; n++ {
		if !slices.Contains(hits[max(p.from, n-around):min(p.to, n+around)+1], true) {
			continue
		}
		if !page.add(p.grepLine(n, lines[n-1], hits[n], last > 0 && n > last+1)) {
			goOn = fmt.Sprintf(" (%d characters at once: continue with start_line %d)", maxLoaded, n)
			break
		}
		last = n
		if hits[n] {
			count++
		}
	}
	return fmt.Sprintf("%d of %d matching lines, of %d lines%s", count, found, len(lines), goOn), page.text.String(), nil
}

// find returns where a line matches, or nil.
func (p *part) find(line string) []int {
	if p.pattern != nil {
		if at := p.pattern.FindStringIndex(line); at != nil {
			return at
		}
	}
	if at := strings.Index(line, p.search); at >= 0 {
		return []int{at, at + len(p.search)}
	}
	return nil
}

// grepLine is one line of a search, apart from the one before it. Of a long line that matches the part around the match is
// shown.
func (p *part) grepLine(n int, line string, hit, apart bool) string {
	sign, note := "-", ""
	if hit {
		sign = ":"
		if at := p.find(line)[0]; utf8.RuneCountInString(line) > maxLine && at > maxLine/2 {
			for at -= maxLine / 4; !utf8.RuneStart(line[at]); at-- {
			}
			line, note = line[at:], fmt.Sprintf("[from byte %d of the line] ", at+1)
		}
	}
	gap := ""
	if apart {
		gap = "--\n"
	}
	return fmt.Sprintf("%s%6d%s\t%s%s\n", gap, n, sign, note, text.Cut(line, maxLine))
}

// page collects lines while there is room, in characters.
type page struct {
	text strings.Builder
	room int
	// long is the first line that was cut.
	long int
}

// add takes a line, or reports that there is no room for it.
func (p *page) add(line string) bool {
	size := utf8.RuneCountInString(line)
	if size > p.room {
		return false
	}
	p.room -= size
	p.text.WriteString(line)
	return true
}

// lineStart is the offset of a line, which counts from 1.
func lineStart(text string, line int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at
}
