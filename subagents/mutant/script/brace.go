package script

import (
	"slices"
	"strings"
)

// bodies are what the brace of a body stands behind.
var bodies = strings.Fields(") => ; else do try finally static catch")

// holds is what a brace holds.
func (l *lexer) holds(i int) braceKind {
	if i == 0 {
		return statements
	}
	last := l.tokens[i-1]
	switch before := l.text(i - 1); {
	case before == ")" && l.text(last.match-1) == "switch":
		return cases
	case before == ")" && l.text(last.match-2) == "extends":
		return members
	case slices.Contains(bodies, before), before == ":" && l.caseBefore(i-1):
		return statements
	case before == "{" || before == "}":
		if last.holds == statements {
			return statements
		}
	case last.kind == word && last.value, before == ">", before == "]":
		return l.headBefore(i - 1)
	}
	return values
}

// caseBefore reports whether a colon ends the case of a switch.
func (l *lexer) caseBefore(i int) bool {
	for j := i - 1; j >= max(0, i-maxHead); j-- {
		switch l.text(j) {
		case "case", "default":
			return true
		case "?", ";", "{", "}", ",":
			return false
		}
	}
	return false
}

// maxHead bounds the tokens that are read before a brace.
const maxHead = 60

// headBefore is what follows a class, an interface, or the type that a function returns.
func (l *lexer) headBefore(i int) braceKind {
	for j := i; j >= max(0, i-maxHead); j-- {
		switch l.text(j) {
		case "class", "interface", "enum":
			return members
		case "namespace", "module":
			return statements
		case ")":
			if l.typed && l.text(j+1) == ":" {
				return statements
			}
			return values
		case ";", "=", "(", "=>", "import", "export":
			return values
		}
		if m := l.tokens[j].match; m >= 0 && m < j {
			j = m
		}
	}
	return values
}
