package calls

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// reserved are words of a shell before a command.
var reserved = strings.Fields(`if then else elif fi do done while until esac { } ! in`)

// conditions are words with which what follows may not run, or may fail.
var conditions = strings.Fields("case if then else elif fi do done while until esac ! in")

var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

// item is a command of a script, with what ends it: 0 the text, 'A' &&, 'O' ||, else the byte.
type item struct {
	words []string
	end   byte
}

// shell follows the text of a script. What it does not understand makes the whole not known.
func (f *follower) shell(s scope, text string) {
	if f.depth++; f.depth > maxDepth {
		f.depth--
		f.lost()
		return
	}
	defer func() { f.depth-- }()
	if s.own == nil {
		s.own = map[string]bool{}
	}
	l := &lexer{text: text, f: f, s: &s}
	var items []item
	for end := byte(1); end != 0; {
		var words []string
		words, end = l.command()
		items = append(items, item{words, end})
	}
	s.sure = s.sure && sure(items, s.errexit)
	var dirs []string
	for _, i := range items {
		f.simple(&s, i.words)
		switch n := len(dirs); {
		case i.end == '(':
			dirs = append(dirs, s.dir)
		case i.end == ')' && n > 0:
			s.dir, dirs = dirs[n-1], dirs[:n-1]
		}
	}
}

// sure reports whether a script runs each of its commands, and fails where one fails.
func sure(items []item, errexit bool) bool {
	for i, one := range items {
		words := one.words
		if len(words) > 1 && words[0] == "set" {
			short := strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "e")
			errexit = errexit || short || words[len(words)-1] == "errexit"
		}
		last := !slices.ContainsFunc(items[i+1:], func(i item) bool { return len(i.words) > 0 })
		next := one.end == 'A' || one.end == 0 || (one.end == '\n' || one.end == ';' || one.end == ')' || one.end == '(') &&
			(last || errexit || len(words) == 0 || words[0] == "cd" || words[0] == "export")
		if !next || len(words) > 0 && slices.Contains(conditions, words[0]) {
			return false
		}
	}
	return true
}

// simple follows one command of a script.
func (f *follower) simple(s *scope, words []string) {
	for len(words) > 0 && slices.Contains(reserved, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "for", "select", "case":
		return
	case "function":
		s.own[words[min(1, len(words)-1)]] = true
		return
	}
	at := *s
	at.env = slices.Clone(s.env)
	for len(words) > 0 && assignment.MatchString(words[0]) {
		at.env = append(at.env, words[0])
		words = words[1:]
	}
	switch {
	case len(words) == 0 || s.own[words[0]]:
	case words[0] == "cd" || words[0] == "pushd":
		f.change(s, words)
	case words[0] == "export":
		s.env = slices.Concat(s.env, words[1:])
	default:
		f.run(at, words)
	}
}

// change follows cd.
func (f *follower) change(s *scope, words []string) {
	to := words[len(words)-1]
	if at, ok := f.below(s.dir, to); len(words) == 2 && ok {
		s.dir = at
		return
	}
	f.astray(s)
}

// lexer cuts a script into commands.
type lexer struct {
	text string
	at   int
	f    *follower
	s    *scope
}

// command returns the words of the next command and what ends it; 0 is the end of the text.
func (l *lexer) command() (words []string, end byte) {
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch c {
		case ' ', '\t', '\r':
			l.at++
		case '\n', ';', '&', '|', ')':
			l.at++
			if double := map[byte]byte{'&': 'A', '|': 'O'}[c]; double != 0 && strings.HasPrefix(l.text[l.at:], string(c)) {
				l.at++
				c = double
			}
			return words, c
		case '(':
			l.at++
			if rest := strings.TrimLeft(l.text[l.at:], " \t"); len(words) == 1 && strings.HasPrefix(rest, ")") {
				l.at = len(l.text) - len(rest) + 1
				l.s.own[words[0]] = true // a function
				words = nil
				continue
			}
			return words, c
		case '#':
			l.comment()
		case '<', '>':
			l.redirect()
		default:
			if strings.HasPrefix(l.text[l.at:], "\\\n") {
				l.at += 2
				continue
			}
			words = append(words, l.word())
		}
	}
	return words, 0
}

func (l *lexer) comment() {
	if at := strings.IndexByte(l.text[l.at:], '\n'); at >= 0 {
		l.at += at
		return
	}
	l.at = len(l.text)
}

// redirect passes over where a stream goes. A document in the script is not understood.
func (l *lexer) redirect() {
	if strings.HasPrefix(l.text[l.at:], "<<") {
		l.f.lost()
	}
	for l.at < len(l.text) && strings.IndexByte("<>&| \t", l.text[l.at]) >= 0 {
		l.at++
	}
	if l.at < len(l.text) && l.text[l.at] != '(' {
		l.word()
	}
}

// word reads a word; what it runs in the place of a part of it is followed.
func (l *lexer) word() string {
	var b strings.Builder
	quoted := byte(0)
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case c == '\'' && quoted == 0:
			rest := l.text[l.at+1:]
			n := strings.IndexByte(rest, '\'')
			if n < 0 {
				n = len(rest)
			}
			b.WriteString(rest[:n])
			l.at = min(len(l.text), l.at+n+2)
		case c == '"':
			quoted ^= '"'
			l.at++
		case c == '\\' && l.at+1 < len(l.text):
			if l.text[l.at+1] != '\n' {
				b.WriteByte(l.text[l.at+1])
			}
			l.at += 2
		case c == '$' || c == '`':
			b.WriteString(l.value())
		case quoted == 0 && strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			return redirection(b.String(), c)
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	return b.String()
}

// redirection is a word but for the number of a stream before where it goes.
func redirection(word string, next byte) string {
	if (next == '<' || next == '>') && word != "" && strings.Trim(word, "0123456789") == "" {
		return "!"
	}
	return word
}

// value passes over what a $ or a ` begins.
func (l *lexer) value() string {
	rest := l.text[l.at:]
	switch {
	case rest[0] == '`':
		n := strings.IndexByte(rest[1:], '`')
		if n < 0 {
			n = len(rest) - 1
		}
		l.f.within(*l.s, rest[1:1+n])
		l.at = min(len(l.text), l.at+n+2)
		return "$"
	case strings.HasPrefix(rest, "$(("):
		l.at += closing(rest[1:], '(', ')') + 1
		return "$"
	case strings.HasPrefix(rest, "$("):
		n := closing(rest[1:], '(', ')')
		l.f.within(*l.s, strings.TrimSuffix(rest[2:1+n], ")"))
		l.at += n + 1
		return "$"
	case strings.HasPrefix(rest, "${"):
		n := closing(rest[1:], '{', '}') + 1
		l.at += n
		return rest[:n]
	}
	l.at++
	return "$"
}

// within follows what a script runs for its output.
func (f *follower) within(s scope, text string) {
	s.sure = false
	f.shell(s, text)
}

// closing is the length of a text from its opening bracket to the one that closes it.
func closing(text string, open, end byte) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
