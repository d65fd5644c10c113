package testsource

import (
	"slices"
	"strings"
)

var (
	// named are tables that have a name, or that a function returns.
	named = re(`(?m)^[ \t]*(?:export\s+)?(?:const |let |var |final )?(?:[\w<>\[\]]+ )?(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(?:&|vec!|` +
		`(?:List|Stream|Arrays|Map)\.\w+)?[\[({]|\bdef\s+(\w+)\([^)]*\)[^:\n]*:\s*return[ \t]*[\[({]`)
	// marked begins the table of a test or a loop that runs once for each row.
	marked = re("\\bparametrize\\(\\s*(?:[\\[(][^\\])]*[\\])]|\"[^\"]*\"|'[^']*'|\\w+),\\s*|\\.(?:each|for)(?:\\(\\s*|`)|" +
		"@(?:Csv|Value|Enum)Source\\((?:\\w+\\s*=\\s*)?|" +
		"\\bfor\\b[^\\n]*?\\s(?:in|of|:)\\s+(?:(?:enumerate|zip|list|sorted|reversed|Object\\.\\w+)\\(|&)?")
)

// tablesOf returns the tables of a file by their names, with their numbers of rows.
func tablesOf(content string) map[string]int {
	out, behind := map[string]int{}, 0
	for _, m := range named.FindAllStringSubmatchIndex(content, -1) {
		if m[0] >= behind { // not in another one
			name := content[max(m[2], m[4]):max(m[3], m[5])]
			behind = balanced(content, m[1]-1)
			out[name] = elements(content[m[1]-1 : behind])
		}
	}
	return out
}

// elements is the number of elements between the brackets that a text begins with.
func elements(text string) int {
	end := balanced(text, 0)
	all := slices.DeleteFunc(commas(text[1:max(1, end-1)]), func(s string) bool { return s == "" })
	return len(all)
}

// rowsOf is the number of rows of the table that a text begins with, where it is known.
func rowsOf(text string, tables map[string]int) (n int, known bool) {
	switch {
	case text == "":
	case bracket(text[0]) > 0:
		return elements(text), true
	case text[0] == '`':
		return strings.Count(text[:QuotedEnd(text, 0)], "\n") - 2, true
	default:
		n, known = tables[leading.FindString(strings.TrimPrefix(strings.TrimPrefix(text, "self."), "this."))]
	}
	return n, known
}

var leading = re(`^\w+`)

// rows is how often a test runs with other values, where that is known.
func rows(part string, tables map[string]int) (n int, known bool) {
	behind := 0
	if table := strings.TrimSpace(part); table != "" && table[0] != '(' {
		n, known = rowsOf(table, nil)
	}
	for _, m := range marked.FindAllStringIndex(part, -1) {
		at := m[1]
		if part[at-1] == '`' {
			at--
		}
		if at < behind || at == len(part) {
			continue
		}
		if behind = at; bracket(part[at]) > 0 {
			behind = balanced(part, at)
		}
		if more, ok := rowsOf(part[at:], tables); ok {
			n, known = n+max(more, 0), true
		}
	}
	return n, known
}

// looped is a table that a loop begins with, runs how that continues.
var (
	looped = re(`(?m)^[ \t]*([\[{])[ \t]*$`)
	runs   = re(`^\.(?:each|forEach|map|for)\b`)
)

// maxLoop bounds the head of a loop between its table and the test in it.
const maxLoop = 120

// generated has tests begin with the table that they are made of: [rows].each do |row| it … end.
func generated(starts [][]int, content string) {
	behind := 0
	for _, m := range looped.FindAllStringSubmatchIndex(content, -1) {
		if m[2] < behind {
			continue
		}
		behind = balanced(content, m[2])
		for i, s := range starts {
			if i > 0 && s[0] >= behind && s[0]-behind < maxLoop && s[0] > m[0] && runs.MatchString(content[behind:]) {
				starts[i][0] = m[0]
				break
			}
		}
	}
}
