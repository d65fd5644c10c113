package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// hunk reads a hunk: by its counts where they are right, else up to what cannot belong to it.
func (p *patchParser) hunk(header string) error {
	switch {
	case strings.HasPrefix(header, "@@@"):
		return errors.New("it is the diff of a merge, which cannot be applied")
	case !p.known:
		return errors.New("there is a hunk without --- a/path and +++ b/path above it")
	}
	h := &hunk{number: len(p.file.hunks) + 1, header: header}
	p.at++
	counted := false
	if m := hunkHeader.FindStringSubmatch(header); m != nil {
		h.line = number(m[1], 0)
		counted = p.counted(h, number(m[2], 1), number(m[4], 1))
	}
	if !counted {
		if err := p.uncounted(h); err != nil {
			return err
		}
	}
	return p.add(h)
}

func (p *patchParser) add(h *hunk) error {
	for _, l := range h.lines {
		if l.op != ' ' {
			p.file.hunks = append(p.file.hunks, h)
			return nil
		}
	}
	return fmt.Errorf("%s has no line that begins with + or -", h)
}

func number(digits string, otherwise int) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return otherwise
	}
	return n
}

// counted reads as many lines as the header says. Where they do not lead to an end of the hunk it reads nothing.
func (p *patchParser) counted(h *hunk, before, after int) bool {
	begin := p.at
	var lines []patchLine
	for (before > 0 || after > 0) && p.at < len(p.lines) {
		l, ok := readLine(p.lines[p.at])
		if !ok && (len(lines) == 0 || !p.noLineEnd(lines)) {
			break
		}
		p.at++
		if !ok {
			continue
		}
		lines = append(lines, l)
		if l.op != '+' {
			before--
		}
		if l.op != '-' {
			after--
		}
	}
	if p.at < len(p.lines) && p.noLineEnd(lines) {
		p.at++
	}
	if before != 0 || after != 0 || !p.hunkEnds() {
		p.at = begin
		return false
	}
	h.lines = lines
	return true
}

// noLineEnd marks the last line where the patch says that it has no line end.
func (p *patchParser) noLineEnd(lines []patchLine) bool {
	if len(lines) == 0 || !strings.HasPrefix(p.lines[p.at], `\`) {
		return false
	}
	lines[len(lines)-1].open = true
	return true
}

// hunkEnds says whether something follows that is no line of a hunk, or nothing.
func (p *patchParser) hunkEnds() bool {
	at := p.at
	for at < len(p.lines) && p.lines[at] == "" {
		at++
	}
	return at == len(p.lines) || (&patchParser{lines: p.lines, at: at}).boundary()
}

// boundary says whether the current line begins something else than a line of a hunk.
func (p *patchParser) boundary() bool {
	line := p.lines[p.at]
	for _, prefix := range []string{"@@", "diff --git ", "*** ", "```", "Index: "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	footer := strings.TrimRight(line, " ") == "--" && p.at+1 < len(p.lines) && mailFooter.MatchString(p.lines[p.at+1])
	return footer || p.fileHeader()
}

// uncounted reads up to the next boundary. Empty lines are context whose space was lost, but not at the end.
func (p *patchParser) uncounted(h *hunk) error {
	for ; p.at < len(p.lines) && !p.boundary(); p.at++ {
		l, ok := readLine(p.lines[p.at])
		switch {
		case ok:
			h.lines = append(h.lines, l)
		case !p.noLineEnd(h.lines):
			return fmt.Errorf("%q is no line of %s: lines of context begin with a space, others with + or -",
				short(printable(p.lines[p.at]), 100), h)
		}
	}
	for i := p.at - 1; i >= 0 && p.lines[i] == "" && len(h.lines) > 0; i-- {
		h.lines = h.lines[:len(h.lines)-1]
	}
	return nil
}

func readLine(line string) (patchLine, bool) {
	if line == "" || line == "\r" {
		return patchLine{op: ' '}, true
	}
	switch line[0] {
	case ' ', '+', '-':
		return patchLine{op: line[0], text: line[1:]}, true
	}
	return patchLine{}, false
}

// envelope reads a line of the form that begins with *** Begin Patch. Its hunks state no lines.
func (p *patchParser) envelope(line string) error {
	verb, path, _ := strings.Cut(strings.TrimPrefix(line, "*** "), ":")
	verb, path = strings.TrimSpace(verb), strings.TrimSpace(path)
	switch verb {
	case "Begin Patch", "End Patch", "End of File":
		p.at++
		return nil
	case "Move to":
		if p.file == nil || len(p.file.hunks) > 0 || p.file.old != p.file.new {
			return errors.New("a move without *** Update File above it")
		}
		p.file.new = path
		p.at++
	case "Add File", "Update File", "Delete File":
		if err := p.begin(false); err != nil {
			return err
		}
		p.file.old, p.file.new, p.known = path, path, true
		if verb == "Add File" {
			p.file.old = ""
		}
		if verb == "Delete File" {
			p.file.new = ""
		}
		p.at++
	default:
		return fmt.Errorf("%q is no line of a patch", short(printable(line), 100))
	}
	if path == "" {
		return errors.New("a path is empty")
	}
	if p.at == len(p.lines) || p.boundary() || p.lines[p.at] == "" {
		return nil
	}
	h := &hunk{number: 1, header: line} // the first one needs no @@
	if err := p.uncounted(h); err != nil {
		return err
	}
	return p.add(h)
}
