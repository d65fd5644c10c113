package script

import (
	"slices"
	"strconv"
	"strings"

	"divisi/subagents/mutant"
)

func nextNumber(text string) string {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "n"), 10, 52)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(n+1, 10) + text[len(strings.TrimSuffix(text, "n")):]
}

// quoted empties a string, or fills an empty one.
func (m *mutator) quoted(i int, text string) {
	before, after := m.text(i-1), m.text(i+1)
	switch {
	case slices.Contains(strings.Fields("import from with export | & <"), before) && before != m.text(i-2)+before, m.isKey(i),
		before == "(" && (m.text(i-2) == "require" || m.text(i-2) == "import"), after == ">" || after == "|" || after == "&",
		before == "{" || before == ";" || before == "}" || before == "": // a directive
		return
	}
	last := strings.LastIndexByte(strings.TrimRight(text[:len(text)-1], " "), ' ')
	switch {
	case len(text) == 2:
		m.replace(mutant.Constant, i, i, text[:1]+"x"+text[1:])
	case last > 1: // a part of it is less than all
		m.replace(mutant.Constant, i, i, text[:last]+text[:1])
	default:
		m.replace(mutant.Constant, i, i, text[:1]+text[:1])
	}
}

// template leaves the last word or value of a text with values out.
func (m *mutator) template(i int, text string) {
	first := max(i, m.tokens[i].match)
	if m.tokens[i].match >= 0 {
		first = min(i, m.tokens[i].match)
	}
	if !strings.HasSuffix(text, "`") || len(text) < 2 || first > 0 && m.tokens[first-1].value {
		return // it goes on, or a function reads it
	}
	if last := strings.LastIndexByte(strings.TrimRight(text[:len(text)-1], " "), ' '); last > 0 {
		m.replace(mutant.Constant, i, i, text[:last]+"`")
		return
	}
	before := i - 1
	for ; before > first && !strings.HasSuffix(m.text(before), "${"); before-- {
		if o := m.tokens[before].match; o >= 0 && o < before {
			before = o
		}
	}
	if head := strings.TrimSuffix(m.text(before), "${"); first < i {
		m.replace(mutant.Constant, before, i, head+"`")
	} else if len(text) > 2 {
		m.replace(mutant.Constant, i, i, "``")
	}
}

// anchors has an expression match within a text, too.
func (m *mutator) anchors(i int, text string) {
	end := strings.LastIndexByte(text, '/')
	if strings.HasPrefix(text, "/^") && end > 2 {
		m.replace(mutant.Condition, i, i, "/"+text[2:])
	}
	if strings.HasSuffix(text[:end], "$") && !strings.HasSuffix(text[:end], `\$`) && end > 2 {
		m.replace(mutant.Condition, i, i, text[:end-1]+text[end:])
	}
}
