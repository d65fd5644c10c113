package script

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/subagents/mutant"
)

// instead are methods in place of others, leftOut those that a value can do without.
var (
	instead = map[string]string{
		"some": "every", "every": "some", "min": "max", "max": "min", "startsWith": "endsWith", "endsWith": "startsWith",
		"toUpperCase": "toLowerCase", "toLowerCase": "toUpperCase", "push": "unshift", "unshift": "push", "shift": "pop",
		"pop": "shift",
	}
	leftOut = strings.Fields("trim trimStart trimEnd filter sort reverse concat normalize flat slice")
)

// method calls another method, or none.
func (m *mutator) method(i int, text string) {
	open := i + 1
	if m.text(open) != "(" || m.tokens[open].match < open {
		return
	}
	if to := instead[text]; to != "" {
		m.replace(mutant.Call, i, i, to)
	}
	if slices.Contains(leftOut, text) && m.text(i-1) == "." {
		m.replace(mutant.Call, i-1, m.tokens[open].match, "")
	}
}

// untouched are calls without which a program hangs or ends otherwise than by a test; told are those that a failure is
// handed to.
var (
	untouched = lazyregexp.New(`(?i)(?:^|\.)(?:resolve\w*|reject|done|next|callback|cb|end|close|exit|super|require|push)$`)
	told      = lazyregexp.New(`^(?:callback|cb|done|next|reject)$`)
	failures  = lazyregexp.New(`^(?:e|er|err|error)$`)
	called    = lazyregexp.New(`^(?:await|void|[\w$#]+)$`)
)

// call leaves a call out that is a statement, or the value of a property, or the failure that one hands on.
func (m *mutator) call(i int) {
	if told.MatchString(m.text(i)) && m.text(i+1) == "(" && failures.MatchString(m.text(i+2)) && m.text(i+3) == ")" {
		m.replace(mutant.Failure, i+2, i+2, "null")
	}
	if m.tokens[i].kind != word || !called.MatchString(m.text(i)) || slices.Contains(statementWords, m.text(i)) || !m.begins(i) {
		return
	}
	end := m.end(i)
	if end <= i || m.tokens[end].to-m.tokens[i].from > maxText {
		return
	}
	if m.assigns(i, end) {
		m.replace(mutant.Constant, i, end, m.nothing(end))
	}
	name := ""
	if m.text(end) != ")" {
		return
	}
	for j := i; j <= end; j++ {
		switch text := m.text(j); {
		case text == "(" || text == "[":
			if text == "(" && untouched.MatchString(name) {
				return
			}
			j, name = m.tokens[j].match, ""
		case text == "await" || text == "void":
		case m.tokens[j].kind == word || text == "." || text == "?." || m.typed && text == "!":
			name += strings.TrimPrefix(text, "?")
		default:
			return
		}
	}
	m.replace(mutant.Call, i, end, m.nothing(end))
}
