package testsource

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// place is where an assertion stands.
type place struct {
	// text is the assertion, before what its statement has before it.
	text, before string
	// around are the blocks and calls around it, the outermost first.
	around []*block
	at     int
}

// block is the text between two brackets, or deeper than its head, and the text after it: if (ok) { body } tail.
type block struct {
	head, body, tail string
	// judged reports that it is known whether a failure in it is lost, or whether it is doubtful that it runs.
	judged, loses, doubts bool
}

// maxBeside bounds what is read before and behind a block or an assertion.
const maxBeside = 4 << 10

func newBlock(part string, start, at, end int) *block {
	start = max(min(start, at), at-maxBeside)
	return &block{head: part[start:at], body: part[at:end], tail: part[end:min(len(part), end+maxBeside)]}
}

// MaxDepth bounds the blocks around an assertion that are read.
const MaxDepth = 32

// quotedEnd is the place behind a string that begins at i. A string in one quote ends with its line.
func quotedEnd(part string, i int) int {
	quote := part[i]
	if triple := strings.Repeat(part[i:i+1], 3); strings.HasPrefix(part[i:], triple) {
		if end := strings.Index(part[i+3:], triple); end >= 0 {
			return i + 3 + end + 3
		}
	}
	for j := i + 1; j < len(part); j++ {
		switch {
		case part[j] == '\\':
			j++
		case part[j] == quote:
			return j + 1
		case part[j] == '\n' && quote != '`':
			return j
		}
	}
	return len(part)
}

// expressionEnd is the place behind an expression of JavaScript that begins with a slash, such as /a"b/; i where a slash divides.
func expressionEnd(part string, i int) int {
	if before := strings.TrimRight(part[:i], " \t"); before != "" && !strings.Contains("(,=:[!&|?{};\n", before[len(before)-1:]) {
		return i
	}
	for j := i + 1; j < len(part) && part[j] != '\n'; j++ {
		switch part[j] {
		case '\\':
			j++
		case '/':
			return j + 1
		}
	}
	return i
}

// next is the place behind what begins at i: a string, an expression or one byte.
func next(part string, i int) int {
	switch part[i] {
	case '"', '\'', '`':
		return quotedEnd(part, i)
	case '/':
		return max(i+1, expressionEnd(part, i))
	}
	return i + 1
}

// bracket is 1 for a bracket that opens, -1 for one that closes.
func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// balanced is the place behind the bracket that closes the one at i.
func balanced(part string, i int) int {
	for depth := 0; i < len(part); i = next(part, i) {
		if depth += bracket(part[i]); depth == 0 {
			return i + 1
		}
	}
	return len(part)
}

// commas cuts a text at the commas that are in no bracket and no string.
func commas(text string) (out []string) {
	from, depth := 0, 0
	for i := 0; i < len(text); i = next(text, i) {
		if depth += bracket(text[i]); text[i] == ',' && depth == 0 {
			out, from = append(out, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

// link is one more name in a chain such as expect(a).not.toBe(b).
var link = re(`^(?:\s*[!?]?\.\s*[\w$]+|!)`)

// chainEnd is the place behind the calls and names that follow one another from i on.
func chainEnd(part string, i int) int {
	for i < len(part) {
		if part[i] == '(' {
			i = balanced(part, i)
		} else if m := link.FindStringIndex(part[i:]); m != nil {
			i += m[1]
		} else {
			break
		}
	}
	return min(i, len(part))
}

// frame is an open bracket: where it is, where its statement begins, and its block once an assertion is in it.
type frame struct {
	at, start int
	block     *block
}

// braced finds assertions in a language with braces. starts are what begins one, up to its bracket.
func braced(part string, starts [][]int) (out []place) {
	var open []frame
	start := 0
	for i := 0; i < len(part) && len(starts) > 0; i = next(part, i) {
		for len(starts) > 0 && starts[0][0] < i {
			starts = starts[1:] // it is in a string
		}
		if len(starts) > 0 && starts[0][0] == i {
			out = append(out, placeAt(part, i, starts[0][1]-1, start, open))
			starts = starts[1:]
		}
		switch c := part[i]; {
		case bracket(c) > 0:
			open = append(open, frame{at: i, start: start})
			start = i + 1
		case bracket(c) < 0:
			if len(open) > 0 {
				start = open[len(open)-1].start
				open = open[:len(open)-1]
			}
			if c == '}' {
				start = i + 1
			}
		case c == ';', c == '\n' && (len(open) == 0 || part[open[len(open)-1].at] == '{') && !continued(part, i):
			start = i + 1
		}
	}
	return out
}

// placeAt is the place of an assertion at i, whose bracket is at call, in a statement that begins at start.
func placeAt(part string, i, call, start int, open []frame) place {
	p := place{before: strings.TrimSpace(part[max(min(start, i), i-maxBeside):i]), at: i}
	if len(open) > MaxDepth {
		p.text, _, _ = strings.Cut(part[i:min(len(part), i+maxBeside/32)], "\n")
		return p
	}
	if part[call] != '(' { // a.should.equal(b)
		call++
	}
	p.text = part[i:chainEnd(part, call)]
	for n, f := range open {
		if f.block == nil {
			open[n].block = newBlock(part, f.start, f.at, balanced(part, f.at))
		}
		p.around = append(p.around, open[n].block)
	}
	return p
}

// maxBlank bounds the blanks that are read around the end of a line.
const maxBlank = 512

// continued reports whether a statement of JavaScript continues behind the end of a line.
func continued(part string, i int) bool {
	before := strings.TrimRight(part[max(0, i-maxBlank):i], " \t\r\n")
	after := strings.TrimLeft(part[i:min(len(part), i+maxBlank)], " \t\r\n")
	return before != "" && strings.IndexByte(",([=>&|+-?:.", before[len(before)-1]) >= 0 ||
		after != "" && strings.IndexByte(".?:)]&|+,", after[0]) >= 0
}

// statement is one statement of Python: a line, with those that its brackets hold together.
type statement struct {
	at, indent int
	text       string
}

// statements are the statements of a language whose blocks are indented.
func statements(part string) (out []statement) {
	from, depth := 0, 0
	for i := 0; i <= len(part); {
		if i < len(part) && (part[i] != '\n' || depth > 0) {
			depth += bracket(part[i])
			i = next(part, i)
			continue
		}
		text := part[from:i]
		if body := strings.TrimLeft(text, " \t\r\n"); body != "" {
			at := from + len(text) - len(body)
			out = append(out, statement{at, at - 1 - strings.LastIndexByte(part[:at], '\n'), strings.TrimSpace(body)})
		}
		i++
		from, depth = i, 0
	}
	return out
}

// indented finds assertions in a language whose blocks are indented.
func indented(part string, assertion *lazyregexp.Regexp) (out []place) {
	all := statements(part)
	var open []int
	blocks := map[int]*block{}
	for n, s := range all {
		open = slices.DeleteFunc(open, func(o int) bool { return all[o].indent >= s.indent })
		if m := assertion.FindStringIndex(s.text); m != nil {
			text := strings.TrimLeft(s.text[m[0]:], ";: \t")
			from := len(s.text) - len(text)
			p := place{text: text, before: strings.TrimRight(s.text[:from], " \t"), at: s.at + from}
			for _, o := range open {
				if blocks[o] == nil {
					blocks[o] = deeper(part, all, o)
				}
				p.around = append(p.around, blocks[o])
			}
			out = append(out, p)
		}
		if strings.HasSuffix(s.text, ":") && len(open) < MaxDepth {
			open = append(open, n)
		}
	}
	return out
}

// deeper is the block that a statement begins.
func deeper(part string, all []statement, head int) *block {
	from := all[head].at + len(all[head].text)
	end := len(part)
	if i := slices.IndexFunc(all[head+1:], func(s statement) bool { return s.indent <= all[head].indent }); i >= 0 {
		end = all[head+1+i].at
	}
	return newBlock(part, all[head].at, min(from, end), end)
}
