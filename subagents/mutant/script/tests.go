package script

import (
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// between joins the names of suites and of a test.
const between = " > "

var (
	testCall  = lazyregexp.New(`^(?:[fx]?(?:it|test|specify)|brittle)$`)
	suiteCall = lazyregexp.New(`^(?:[fx]?(?:describe|context)|suite)$`)
	// asserts matches what a test can fail by.
	asserts = lazyregexp.New(`(?i)\bassert[\w.]*\(|\bexpect\w*[.(<]|\.should\b|\bshould\.|` +
		`\bt\.(?:is|not|like|true|false|deep|equal|same|ok|throws|snapshot|pass|fail|exec|match|plan)\w*\(|` +
		`\.(?:throws|rejects|verify|equal|ok|is)\(|\b(?:fail|check\w*|verify\w*)\(`)
	// filled are parts of the names of tests that a runner, or the test itself, fills in.
	filled = lazyregexp.New(`%(?:\.\d+)?[sdifjoOpc#$]|\$[\w.#]+|\$\{`)
)

// testsOf are the texts of the tests of a source by their names, with those of their suites.
func testsOf(file, source string) map[string]string {
	s, ok := parse(file, source)
	if !ok {
		return nil
	}
	tests := map[string]string{}
	var ends []int
	var above []string
	for i := range s.tokens {
		for len(ends) > 0 && i > ends[len(ends)-1] {
			ends, above = ends[:len(ends)-1], above[:len(above)-1]
		}
		test := testCall.MatchString(s.text(i))
		if !test && !suiteCall.MatchString(s.text(i)) || s.tokens[i].kind != word {
			continue
		}
		open := s.callOf(i)
		if open < 0 || s.tokens[open].match < open || s.text(i-1) == "." && !s.calls(open) {
			continue
		}
		name, ok := s.nameAt(open + 1)
		if !ok {
			continue
		}
		ends, above = append(ends, s.tokens[open].match), append(above, name)
		if test {
			tests[strings.Join(above, between)] += s.source[s.tokens[i].from:s.tokens[s.tokens[open].match].to] + "\n"
		}
	}
	return tests
}

// callOf is the bracket of the call that a test begins with, behind such as .only and .each(…); -1 for none.
func (s *parsed) callOf(i int) int {
	for i++; i < len(s.tokens); i++ {
		switch {
		case s.text(i) == ".":
			i++
		case s.text(i) == "(":
			end := s.tokens[i].match
			if end < i || s.text(end+1) != "(" {
				return i
			}
			i = end
		case s.tokens[i].kind == template && s.text(i-1) == "each":
			i = max(i, s.tokens[i].match)
		case s.typed && s.text(i) == "<": // the type of what is filled in
			for depth := 0; i < len(s.tokens); i++ {
				if depth += strings.Count(s.text(i), "<") - strings.Count(s.text(i), ">"); depth <= 0 {
					break
				}
			}
		default:
			return -1
		}
	}
	return -1
}

// calls reports whether a function is in a call: /a/.test("b") is no test.
func (s *parsed) calls(open int) bool {
	return slices.ContainsFunc(s.tokens[open:s.tokens[open].match], func(t token) bool {
		text := s.source[t.from:t.to]
		return text == "=>" || text == "function"
	})
}

// nameAt is the name that a call begins with; what is filled in stays as it is in the source.
func (s *parsed) nameAt(i int) (string, bool) {
	if i >= len(s.tokens) || s.tokens[i].kind != quoted && s.tokens[i].kind != template {
		return "", false
	}
	text := s.source[s.tokens[i].from:s.tokens[max(i, s.tokens[i].match)].to]
	if strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")) == "" || len(text) < 3 {
		return "", false
	}
	return strings.Join(strings.Fields(unescaped.ReplaceAllString(text[1:len(text)-1], "$1")), " "), true
}

// unescaped are characters that stand for themselves behind a backslash.
var unescaped = lazyregexp.New("\\\\([^a-zA-Z0-9])")

// plainName is the name of a test as one line of letters: reports join the names of suites in several ways.
func plainName(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(between, " ", " › ", " ", " » ", " ", "#", "").Replace(name)), " ")
}

// namePattern matches the whole name of a test in a report, however what is filled in is.
func namePattern(name string) string {
	var b strings.Builder
	last := 0
	name = strings.ReplaceAll(name, between, " ")
	for _, at := range filled.FindAllStringIndex(name, -1) {
		if at[0] < last {
			continue
		}
		b.WriteString(regexp.QuoteMeta(name[last:at[0]]) + ".*")
		if last = at[1]; strings.HasSuffix(name[:last], "${") {
			last += closing(name[last:])
		}
	}
	b.WriteString(regexp.QuoteMeta(name[last:]))
	return b.String()
}

// closing is the place behind the brace that closes an expression.
func closing(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
