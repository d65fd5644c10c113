package script

import (
	"slices"
	"strings"
)

// statementWords begin statements that are no calls.
var statementWords = strings.Fields(
	"if for while with switch return throw function class import export const let var new delete " +
		"typeof yield do case async super try catch else")

// begins reports whether a statement begins with a token.
func (m *parsed) begins(i int) bool {
	p := m.tokens[i].parent
	if p >= 0 && m.tokens[p].holds != statements && m.tokens[p].holds != cases {
		return false
	}
	switch before := m.text(i - 1); before {
	case "", ";", "{", "else", "do":
		return true
	case "}":
		return m.tokens[i-1].holds == statements || m.ends(i-1)
	case ":":
		return m.caseColon(i - 1)
	case ")":
		return !m.tokens[i-1].value || m.ends(i-1)
	}
	return m.tokens[i-1].value && m.ends(i-1)
}

func (m *parsed) caseColon(i int) bool {
	l := lexer{source: m.source, tokens: m.tokens}
	return l.caseBefore(i)
}

// ends reports whether a statement can end with a token, and its line ends.
func (m *parsed) ends(i int) bool {
	if !m.broken(i) || !m.tokens[i].value && m.text(i) != ")" && m.text(i) != "}" {
		return false
	}
	if i+1 >= len(m.tokens) {
		return true
	}
	next := m.text(i + 1)
	if m.tokens[i+1].kind == mark {
		return slices.Contains(strings.Fields("{ } ! ~ ++ --"), next)
	}
	return m.tokens[i+1].kind != template && !slices.Contains(strings.Fields("in instanceof as satisfies"), next)
}

// end is the last token of the statement that begins with a token, without a semicolon.
func (m *parsed) end(i int) int {
	last := i
	for j := i; j < len(m.tokens); j++ {
		if m.text(j) == ";" || m.closes(j) {
			break
		}
		last = max(j, m.tokens[j].match)
		if j = last; m.ends(j) {
			break
		}
		if j == i && m.text(i) == "return" && m.broken(i) {
			break
		}
	}
	return last
}
