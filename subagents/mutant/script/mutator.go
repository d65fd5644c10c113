package script

import (
	"slices"
	"strings"

	"divisi/subagents/mutant"
)

// mutantsOf are the mutants of a source of JavaScript or TypeScript, in the order of their places; none where it cannot
// be read.
func mutantsOf(file, source string) []mutant.Change {
	s, ok := parse(file, source)
	if !ok {
		return nil
	}
	m := &mutator{parsed: s, names: map[int]string{}, lines: map[int]int{}}
	inSource := strings.Contains(source, "import.meta.vitest")
	for i := 0; i < len(s.tokens); i++ {
		if open := s.callOf(i); inSource && open > i && (testCall.MatchString(s.text(i)) || suiteCall.MatchString(s.text(i))) {
			i = max(open, s.tokens[open].match) // tests of the file itself
		}
		if !s.tokens[i].apart {
			m.token(i)
		}
	}
	return m.changes
}

// most bounds the mutants of a line, maxText in bytes what is replaced.
const most, maxText = 3, 4 << 10

// mutator makes mutants of a script.
type mutator struct {
	*parsed
	changes []mutant.Change
	// names are the functions by the brace of their bodies, lines how many mutants each line has.
	names map[int]string
	lines map[int]int
}

// token makes the mutants that begin with a token, or are of it alone.
func (m *mutator) token(i int) {
	t, text := m.tokens[i], m.text(i)
	switch t.kind {
	case word:
		m.word(i, text)
	case numeral:
		if to := nextNumber(text); to != "" && !m.isKey(i) {
			m.replace(mutant.Constant, i, i, to)
		}
	case quoted:
		m.quoted(i, text)
	case template:
		m.template(i, text)
	case expression:
		m.anchors(i, text)
	case mark:
		m.operator(i, text)
		m.element(i, text)
	}
	m.call(i)
}

// isKey reports whether a token is the key of a property.
func (m *mutator) isKey(i int) bool {
	p := m.tokens[i].parent
	return p >= 0 && m.text(p) == "{" && slices.Contains([]string{":", "(", "="}, m.text(i+1)) && !m.ternary(i+1) &&
		m.text(i-1) != "case"
}

func (m *mutator) word(i int, text string) {
	if m.text(i-1) == "." || m.text(i-1) == "?." {
		m.method(i, text)
		return
	}
	if m.isKey(i) {
		return
	}
	switch text {
	case "true":
		m.replace(mutant.Constant, i, i, "false")
	case "false":
		m.replace(mutant.Constant, i, i, "true")
	case "if":
		m.condition(i + 1)
	case "return":
		if end := m.end(i); end > i {
			m.returned(i+1, end)
		}
	case "throw":
		if end := m.end(i); end > i && m.begins(i) {
			m.replace(mutant.Failure, i, end, m.nothing(end))
		}
	}
}

// condition makes the opposite of one that has no operator of its own.
func (m *mutator) condition(open int) {
	end := m.tokens[min(open, len(m.tokens)-1)].match
	if m.text(open) != "(" || end < 0 || m.tokens[end].from-m.tokens[open].from > maxText {
		return
	}
	for i := open + 1; i < end; i++ {
		if _, ok := others[m.text(i)]; ok || m.text(i) == "!" && i == open+1 {
			return
		}
		if m.tokens[i].match > i {
			i = m.tokens[i].match
		}
	}
	inner := m.source[m.tokens[open].to:m.tokens[end].from]
	m.replace(mutant.Condition, open, end, "(!("+inner+"))")
}

// returned makes a value undefined.
func (m *mutator) returned(from, end int) {
	text := m.source[m.tokens[from].from:m.tokens[end].to]
	switch {
	case text == "undefined" || text == "null" || text == "void 0":
		m.replace(mutant.Returned, from, end, "true")
	case text != "true" && text != "false" && len(text) <= maxText:
		m.replace(mutant.Returned, from, end, "undefined")
	}
	if comma := m.comma(from); m.tokens[from].match == end && comma > 0 && m.text(from) == "[" {
		next := m.comma(comma)
		if next < 0 {
			next = end
		}
		first, second := m.source[m.tokens[from].to:m.tokens[comma].from], m.source[m.tokens[comma].to:m.tokens[next].from]
		if strings.TrimSpace(second) != "" && !strings.Contains(first+second, "...") {
			m.replace(mutant.Returned, from+1, next-1, strings.TrimSpace(second)+", "+first)
		}
	}
}

// comma is the next one behind a token, in the same brackets; -1 for none.
func (m *mutator) comma(i int) int {
	for j := i + 1; j < len(m.tokens) && !m.closes(j); j++ {
		if m.text(j) == "," {
			return j
		}
		j = max(j, m.tokens[j].match)
	}
	return -1
}

// others are operators in place of others.
var others = map[string]struct {
	kind mutant.Kind
	to   string
}{
	"<": {mutant.Boundary, "<="}, "<=": {mutant.Boundary, "<"}, ">": {mutant.Boundary, ">="}, ">=": {mutant.Boundary, ">"},
	"==": {mutant.Condition, "!="}, "!=": {mutant.Condition, "=="},
	"===": {mutant.Condition, "!=="}, "!==": {mutant.Condition, "==="},
	"&&": {mutant.Condition, "||"}, "||": {mutant.Condition, "&&"}, "??": {mutant.Condition, "&&"},
	"-": {mutant.Constant, "+"}, "*": {mutant.Constant, "+"}, "/": {mutant.Constant, "*"}, "%": {mutant.Constant, "*"},
	"+=": {mutant.Constant, "-="}, "-=": {mutant.Constant, "+="}, "*=": {mutant.Constant, "+="},
	"/=": {mutant.Constant, "*="}, "|=": {mutant.Constant, "&="},
	"<<": {mutant.Constant, ">>"}, ">>": {mutant.Constant, "<<"}, ">>>": {mutant.Constant, "<<"},
}

func (m *mutator) operator(i int, text string) {
	to, ok := others[text]
	binary := i > 0 && m.tokens[i-1].value && i+1 < len(m.tokens)
	switch {
	case text == "=>":
		m.arrow(i)
	case text == "?" && binary && m.text(i+1) != ":":
		m.choice(i)
	case text == "*" && (m.text(i+1) == "as" || m.text(i+1) == "from"), text == "??" && m.several(i):
	case text == "!" && !binary && m.text(i+1) != "!" && m.text(i-1) != "!":
		m.replace(mutant.Condition, i, i, "")
	case text == "+" && binary && (m.tokens[i-1].kind == numeral || m.tokens[i+1].kind == numeral):
		m.replace(mutant.Constant, i, i, "-")
	case text == "++" || text == "--":
		if m.begins(i) || m.tokens[i].value && m.begins(i-1) { // none of a loop: it would not end
			m.replace(mutant.Constant, i, i, map[string]string{"++": "--", "--": "++"}[text])
		}
	case ok && binary && (!strings.ContainsAny(text, "<>") || m.compares(i)):
		m.replace(to.kind, i, i, to.to)
	}
}

// choice takes the other one of two values, where the condition is no operation.
func (m *mutator) choice(i int) {
	from := i
	for j := i - 1; j >= 0; j-- {
		text := m.text(j)
		if o := m.tokens[j].match; o >= 0 && o < j && text != "}" {
			j = o
		} else if text != "." && text != "?." && (m.tokens[j].kind != word || !m.tokens[j].value) {
			if m.tokens[j].kind == word || slices.Contains(strings.Fields("= ( , => : ? [ { ;"), text) {
				m.replace(mutant.Condition, from, i-1, "!("+m.source[m.tokens[from].from:m.tokens[i-1].to]+")")
			}
			return
		}
		from = j
	}
}

// several reports whether there is another ?? near one: it mixes with no other operator.
func (m *mutator) several(i int) bool {
	for j := max(0, i-maxHead); j < min(len(m.tokens), i+maxHead); j++ {
		if j != i && m.text(j) == "??" && m.tokens[j].parent == m.tokens[i].parent {
			return true
		}
	}
	return false
}

// compares reports whether a sign is none of the arguments of a type: in TypeScript it has blanks around it, in its line.
func (m *mutator) compares(i int) bool {
	t := m.tokens[i]
	return !m.typed || m.source[t.from-1] == ' ' && m.source[t.to] == ' ' && !m.broken(i-1)
}

// arrow makes the value of a function undefined.
func (m *mutator) arrow(i int) {
	if from, end := m.arrowValue(i); end >= from {
		m.returned(from, end)
	}
}

// arrowValue are the first and the last token of the value of a function without a body; the last is before the first for none.
func (m *parsed) arrowValue(i int) (from, end int) {
	if i+1 >= len(m.tokens) || m.text(i+1) == "{" || m.typed && m.text(i-1) == ")" && m.text(m.tokens[i-1].match-1) == "<" {
		return 0, -1
	}
	end = i
	waits := 0
	for j := i + 1; j < len(m.tokens) && !m.closes(j); j++ {
		text := m.text(j)
		switch text {
		case "?":
			waits++
		case ":":
			waits--
		}
		if waits < 0 || (text == "," || text == ";") && !m.tokens[j].apart {
			break
		}
		end = max(j, m.tokens[j].match)
		if j = end; m.ends(j) {
			break
		}
	}
	return i + 1, end
}

// closes reports whether what is around a token ends there.
func (m *parsed) closes(i int) bool {
	t := m.tokens[i]
	return t.match >= 0 && t.match < i || t.kind == template && t.match < 0 && m.source[t.from] != '`'
}

// element leaves the last element of a list out.
func (m *mutator) element(i int, text string) {
	end := m.tokens[i].match
	if text != "[" && text != "{" || end < i || m.tokens[i].holds != values || m.tokens[end].to-m.tokens[i].from > maxText ||
		m.text(end+1) == "=" || m.text(i-1) == "import" || m.text(i-1) == "export" || m.tokens[max(0, i-1)].value {
		return
	}
	comma, trailing := -1, false
	for j := i + 1; j < end; j++ {
		if trailing = m.text(j) == "," && j+1 == end; m.text(j) == "," && !trailing {
			comma = j
		}
		if m.tokens[j].match > j {
			j = m.tokens[j].match
		}
	}
	if comma < 0 || text == "{" && m.text(comma+2) != ":" {
		return
	}
	if trailing {
		end--
	}
	m.replace(mutant.Element, comma, end-1, "")
}

// assigns reports whether a statement gives a property a value.
func (m *mutator) assigns(i, end int) bool {
	for i+2 <= end && (m.text(i+1) == "." || m.text(i+1) == "[") {
		if i += 2; m.text(i-1) == "[" {
			i = m.tokens[i-1].match
		}
		if m.text(i+1) == "=" {
			return true
		}
	}
	return false
}

// nothing is a statement that does nothing, in place of one that ends with a token.
func (m *mutator) nothing(end int) string {
	if m.text(end+1) == ";" {
		return ""
	}
	return ";"
}

// replace makes a mutant that has another text in place of some tokens.
func (m *mutator) replace(kind mutant.Kind, first, last int, text string) {
	from, to := m.tokens[first].from, m.tokens[last].to
	line := m.tokens[first].line
	if m.lines[line]++; m.lines[line] > most || to-from > maxText {
		return
	}
	begin := strings.LastIndexByte(m.source[:from], '\n') + 1
	end := len(m.source)
	if n := strings.IndexByte(m.source[to:], '\n'); n >= 0 {
		end = to + n
	}
	around := func(with string) string { return strings.TrimSpace(m.source[begin:from] + with + m.source[to:end]) }
	c := mutant.Change{
		Mutant: mutant.Mutant{Kind: kind, File: m.file, Func: m.function(first), Line: line}, From: from, To: to, Alt: text,
	}
	c.Old, c.New = around(m.source[from:to]), around(text)
	if strings.Trim(text, ";") == "" && m.begins(first) {
		c.Old, c.New = m.source[from:to], "" // a statement that is left out
	}
	m.changes = append(m.changes, c)
}
