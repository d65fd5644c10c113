package script

import (
	"slices"
	"strings"
)

// tokenKind is what a token of JavaScript or TypeScript is. Comments, blanks and the text of JSX are none.
type tokenKind byte

const (
	word tokenKind = iota
	numeral
	quoted
	template // a whole one, or a part of one or of an element of JSX around its expressions
	expression
	mark
)

// braceKind is what a brace holds.
type braceKind byte

const (
	values     braceKind = iota // an object, names, or a type
	statements                  // a body
	members                     // of a class
	cases                       // of a switch
)

// token is a part of the source. A bracket has the index of the other one in match, -1 where it has none; parent is the
// bracket around a token. value reports whether it can end a value: an operator behind it takes two.
type token struct {
	kind          tokenKind
	holds         braceKind
	from, to      int
	match, parent int
	line          int
	value         bool
	// apart reports that the token is of a type.
	apart bool
}

// lexer cuts a source into tokens. It is careful where a slash, a brace or a less-than sign can be two things, and gives up
// where brackets do not match.
type lexer struct {
	source string
	typed  bool // TypeScript
	jsx    bool
	at     int
	line   int
	tokens []token
	open   []int
	depth  int
	bad    bool
}

// maxDepth bounds templates and elements in one another.
const maxDepth = 100

// read cuts the source.
func (l *lexer) read() {
	if strings.HasPrefix(l.source, "#!") {
		l.skipTo("\n", 0)
	}
	l.code(false)
}

// code reads tokens up to the end, or to the brace that closes an expression of a template or an element.
func (l *lexer) code(inner bool) {
	if l.depth++; l.depth > maxDepth {
		l.bad = true
	}
	defer func() { l.depth-- }()
	floor := len(l.open)
	for l.at < len(l.source) && !l.bad {
		c := l.source[l.at]
		switch {
		case c == '\n':
			l.line++
			l.at++
		case c <= ' ':
			l.at++
		case strings.HasPrefix(l.source[l.at:], "//"):
			l.skipTo("\n", 0)
		case strings.HasPrefix(l.source[l.at:], "/*"):
			l.skipTo("*/", 2)
		case c == '"' || c == '\'':
			l.string()
		case c == '`':
			l.at++
			l.template()
		case wordByte(c) || c == '\\':
			l.word()
		case c == '.' && l.at+1 < len(l.source) && digit(l.source[l.at+1]):
			l.word()
		case c == '/' && !l.after():
			l.expression()
		case c == '<' && l.jsx && !l.after() && l.element():
		case c == '}' && inner && len(l.open) == floor:
			return
		default:
			l.mark()
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c == '@' || c >= 0x80 || digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) skipTo(end string, more int) {
	n := strings.Index(l.source[l.at:], end)
	if n < 0 {
		n, more = len(l.source)-l.at, 0
	}
	l.line += strings.Count(l.source[l.at:l.at+n], "\n")
	l.at += n + more
}

func (l *lexer) add(kind tokenKind, from int, value bool) *token {
	l.at = min(l.at, len(l.source)) // the source breaks off
	parent := -1
	if len(l.open) > 0 {
		parent = l.open[len(l.open)-1]
	}
	line := l.line - strings.Count(l.source[from:l.at], "\n")
	l.tokens = append(l.tokens, token{
		kind: kind, from: from, to: l.at, match: -1, parent: parent, line: line, value: value,
	})
	return &l.tokens[len(l.tokens)-1]
}

// after reports whether the last token can end a value.
func (l *lexer) after() bool { return len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].value }

func (l *lexer) text(i int) string {
	if i < 0 || i >= len(l.tokens) {
		return ""
	}
	return l.source[l.tokens[i].from:l.tokens[i].to]
}

func (l *lexer) string() {
	from, quote := l.at, l.source[l.at]
	for l.at++; l.at < len(l.source); l.at++ {
		switch l.source[l.at] {
		case '\\':
			if l.at++; l.at < len(l.source) && l.source[l.at] == '\n' {
				l.line++
			}
		case quote:
			l.at++
			l.add(quoted, from, true)
			return
		case '\n':
			l.bad = true
			return
		}
	}
	l.bad = true
}

// template reads a template behind its first quote.
func (l *lexer) template() {
	from, first := l.at-1, len(l.tokens)
	for l.at < len(l.source) && !l.bad {
		switch l.source[l.at] {
		case '\n':
			l.line++
		case '\\':
			l.at++
			if l.at < len(l.source) && l.source[l.at] == '\n' {
				l.line++
			}
		case '`':
			l.at++
			l.add(template, from, true)
			l.link(first)
			return
		case '$':
			if strings.HasPrefix(l.source[l.at:], "${") {
				l.at += 2
				l.add(template, from, false)
				l.code(true)
				from = l.at
			}
		}
		l.at++
	}
	l.bad = true
}

// link has the first and the last token of a template, or of an element, match.
func (l *lexer) link(first int) {
	if last := len(l.tokens) - 1; last > first {
		l.tokens[first].match, l.tokens[last].match = last, first
	}
}

// operands are words that a value follows.
var operands = strings.Fields(
	"return typeof case in of do else void delete throw new instanceof yield await default extends " +
		"export import as satisfies function const let var")

func (l *lexer) word() {
	from := l.at
	number := digit(l.source[l.at]) || l.source[l.at] == '.'
	for l.at < len(l.source) {
		c := l.source[l.at]
		signed := number && (c == '+' || c == '-') && l.source[l.at-1]|0x20 == 'e' && !strings.HasPrefix(l.source[from:], "0x")
		if !wordByte(c) && c != '\\' && !signed && (!number || c != '.') {
			break
		}
		l.at++
	}
	if number {
		l.add(numeral, from, true)
		return
	}
	member := len(l.tokens) > 0 && (l.text(len(l.tokens)-1) == "." || l.text(len(l.tokens)-1) == "?.")
	l.add(word, from, member || !slices.Contains(operands, l.source[from:l.at]))
}

// expression reads a regular expression.
func (l *lexer) expression() {
	from, class := l.at, false
	for l.at++; l.at < len(l.source) && l.source[l.at] != '\n'; l.at++ {
		switch c := l.source[l.at]; {
		case c == '\\':
			l.at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for l.at++; l.at < len(l.source) && wordByte(l.source[l.at]); l.at++ {
			}
			l.add(expression, from, true)
			return
		}
	}
	l.bad = true
}

// marks are those of more than one byte, the longest first.
var marks = strings.Fields(">>>= ... === !== **= <<= >>= >>> &&= ||= ??= " +
	"=> == != <= >= && || ?? ?. ++ -- += -= *= /= %= &= |= ^= << >> **")

func (l *lexer) mark() {
	from := l.at
	rest := l.source[l.at:]
	size := 1
	if i := slices.IndexFunc(marks, func(m string) bool { return strings.HasPrefix(rest, m) }); i >= 0 {
		size = len(marks[i])
	}
	if size == 2 && rest[:2] == "?." && len(rest) > 2 && digit(rest[2]) {
		size = 1 // a condition and a number
	}
	text := rest[:size]
	before := l.after()
	l.at += size
	i := len(l.tokens)
	t := l.add(mark, from, before && (text == "++" || text == "--" || text == "!" && l.typed))
	switch text {
	case "(", "[", "{":
		if text == "{" {
			t.holds = l.holds(i)
		}
		l.open = append(l.open, i)
	case ")", "]", "}":
		l.close(i)
	}
}

func (l *lexer) close(i int) {
	if len(l.open) == 0 {
		l.bad = true
		return
	}
	from := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	t, o := &l.tokens[i], &l.tokens[from]
	if l.bad = l.bad || l.text(from)+l.text(i) != map[string]string{")": "()", "]": "[]", "}": "{}"}[l.text(i)]; l.bad {
		return
	}
	t.match, o.match = from, i
	t.parent = o.parent
	switch t.holds = o.holds; l.text(i) {
	case "]":
		t.value = true
	case ")":
		t.value = !slices.Contains(headed, l.text(from-1)) || l.text(from-2) == "."
	case "}":
		t.value = t.holds == values
	}
}

// headed are words whose condition a statement follows.
var headed = strings.Fields("if while for with")
