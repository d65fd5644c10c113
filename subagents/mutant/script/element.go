package script

import (
	"strings"

	"divisi/internal/lazyregexp"
)

var (
	elementBegin = lazyregexp.New(`^<(?:>|[A-Za-z_$][\w$.:-]*)`)
	generic      = lazyregexp.New(`^<\s*(?:const\s+)?\w+\s*(?:,|=|extends\b)`)
)

// element reads an element of JSX: only its expressions become tokens. It reports whether there is one.
func (l *lexer) element() bool {
	begin := elementBegin.FindString(l.source[l.at:])
	if begin == "" || l.typed && generic.MatchString(l.source[l.at:]) {
		return false
	}
	if l.depth++; l.depth > maxDepth {
		l.bad = true
	}
	defer func() { l.depth-- }()
	first := len(l.tokens)
	l.add(template, l.at, false)
	l.at += len(begin)
	if begin == "<>" || l.attributes() {
		l.children()
	}
	l.at = min(l.at, len(l.source))
	l.add(template, l.at, true)
	l.link(first)
	return true
}

// attributes reads a tag behind its name, and reports whether children follow.
func (l *lexer) attributes() bool {
	for l.at < len(l.source) && !l.bad {
		switch c := l.source[l.at]; {
		case strings.HasPrefix(l.source[l.at:], "/>"):
			l.at += 2
			return false
		case c == '>':
			l.at++
			return true
		case c == '{':
			l.inElement()
		case c == '"', c == '\'':
			l.at++
			l.skipTo(string(c), 1)
		case c == '<' && l.element():
		default:
			l.line += strings.Count(l.source[l.at:l.at+1], "\n")
			l.at++
		}
	}
	l.bad = true
	return false
}

func (l *lexer) children() {
	for l.at < len(l.source) && !l.bad {
		switch {
		case strings.HasPrefix(l.source[l.at:], "</"):
			l.skipTo(">", 1)
			return
		case l.source[l.at] == '{':
			l.inElement()
		case l.source[l.at] == '<' && l.element():
		default:
			l.line += strings.Count(l.source[l.at:l.at+1], "\n")
			l.at++
		}
	}
	l.bad = true
}

// inElement reads an expression in braces.
func (l *lexer) inElement() {
	l.add(template, l.at, false)
	l.at++
	l.code(true)
	l.at = min(l.at, len(l.source))
	l.add(template, l.at, false)
	l.at++
}
