package outlier

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"divisi/internal/text"
)

// class returns the kind of a token.
type class byte

const (
	symbol class = 0   // an operator, a bracket, a quote, or a word that is one
	name   class = 'i' // an identifier
	number class = 'n'
	inText class = 's' // a word within quotes
)

// token is a part of a line that is no white space, no comment, no comma and no semicolon: formatters add and remove those.
type token struct {
	text string
	class
	// line is the place of its line, from 1.
	line int
}

// operators are words that count as symbols, in one language or another.
var operators = text.Set("true false True False nil null None undefined not and or is in await async defer go new return throw " +
	"raise break continue yield")

// comments are the marks of comments up to the end of a line, by the ends of names of files; "//" for others.
var comments = map[string]string{
	".py": "#", ".rb": "#", ".sh": "#", ".bash": "#", ".pl": "#", ".r": "#", ".yaml": "#", ".yml": "#", ".toml": "#", ".ex": "#",
	".tf": "#", ".mk": "#", ".sql": "--", ".lua": "--", ".hs": "--",
}

// tokensOf splits a line. comment begins a comment in its language.
func tokensOf(line string, number int, comment string) (out []token) {
	for line != "" {
		r, n := utf8.DecodeRuneInString(line)
		switch {
		case unicode.IsSpace(r), r == ',', r == ';':
			line = line[n:]
		case strings.HasPrefix(line, comment):
			return out
		case comment == "//" && strings.HasPrefix(line, "/*"):
			_, line, _ = strings.Cut(line[2:], "*/")
		case strings.ContainsRune("\"'`", r):
			n = quoted(line, r)
			out = append(out, inside(line[:n], number)...)
			line = line[n:]
		default:
			t := tokenAt(line, number)
			out, line = append(out, t), line[len(t.text):]
		}
	}
	return out
}

// quoted is the length of a text in quotes at the begin of a line; up to the end of the line where no mark ends it. A single
// quote that none ends stands alone.
func quoted(line string, mark rune) int {
	for i := 1; i < len(line); i++ {
		switch rune(line[i]) {
		case '\\':
			if mark != '`' {
				i++
			}
		case mark:
			return i + 1
		}
	}
	if mark == '\'' { // a lifetime, an apostrophe
		return 1
	}
	return len(line)
}

// inside are the tokens of a text in quotes. The marks are one token each, whichever they are; a text without a word is one.
func inside(quoted string, line int) []token {
	out := []token{{`"`, symbol, line}}
	rest := strings.Trim(quoted, quoted[:1])
	if signs := strings.TrimSpace(rest); signs != "" && strings.IndexFunc(signs, isWord) < 0 {
		return append(out, token{signs, inText, line}, token{`"`, symbol, line})
	}
	for rest != "" {
		if r, n := utf8.DecodeRuneInString(rest); unicode.IsSpace(r) {
			rest = rest[n:]
			continue
		}
		t := tokenAt(rest, line)
		rest = rest[len(t.text):]
		if t.class != symbol || operators[t.text] {
			t.class = inText
		}
		out = append(out, t)
	}
	return append(out, token{`"`, symbol, line})
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$' }

// tokenAt is the token at the begin of a line that is not blank.
func tokenAt(line string, at int) token {
	r, n := utf8.DecodeRuneInString(line)
	switch {
	case unicode.IsDigit(r):
		end := strings.IndexFunc(line, func(r rune) bool { return !isWord(r) && r != '.' })
		return token{cut(line, end), number, at}
	case isWord(r):
		end := strings.IndexFunc(line, func(r rune) bool { return !isWord(r) })
		t := token{cut(line, end), name, at}
		if operators[t.text] {
			t.class = symbol
		}
		return t
	case strings.ContainsRune(signs, r):
		end := strings.IndexFunc(line, func(r rune) bool { return !strings.ContainsRune(signs, r) })
		return token{cut(line[:min(len(line), maxSign)], min(end, maxSign)), symbol, at}
	}
	return token{line[:n], symbol, at}
}

// signs are the characters of operators with more than one sign, maxSign of them at most.
const (
	signs   = "+-*/%=<>!&|^~?:"
	maxSign = 3
)

// cut is a text up to an end; all of it for none.
func cut(s string, end int) string {
	if end < 0 {
		return s
	}
	return s[:end]
}

// same reports whether two lists of tokens have the same texts.
func same(a, b []token) bool {
	return slices.EqualFunc(a, b, func(a, b token) bool { return a.text == b.text })
}
