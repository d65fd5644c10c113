package testsource

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var (
	// named are tables that have a name, or that a function returns.
	named = re(`(?m)^[ \t]*(?:export\s+)?(?:const |let |var )?(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*[\[({]|` +
		`\bdef\s+(\w+)\([^)]*\)[^:\n]*:\s*return[ \t]*[\[({]`)
	// marked are tests that run once for each row, turns loops; both end where their table begins.
	marked  = re("\\bparametrize\\(\\s*(?:[\\[(][^\\])]*[\\])]|\"[^\"]*\"|'[^']*'|\\w+),\\s*|\\.(?:each|for)(?:\\(\\s*|`)")
	turns   = re(`\bfor\b.*?\b(?:in|of)\s+(?:(?:enumerate|zip|list|sorted|reversed|Object\.\w+)\()?|^\s*`)
	looping = re(`\bfor[ (]`)
	each    = re(`\.forEach\s*$`)
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

// computed counts in the tables of a file, and in what it holds as expected, calls of what its assertions call and it imports.
func computed(content string, imported map[string]string, used map[string]bool) (n int) {
	count := func(text string) {
		for _, m := range calling.FindAllStringSubmatch(text, -1) {
			if imported[m[1]] != "" && used[m[1]] && strings.ToLower(m[1][:1]) == m[1][:1] {
				n++
			}
		}
	}
	for _, pattern := range []*lazyregexp.Regexp{named, marked} {
		behind := 0
		for _, m := range pattern.FindAllStringIndex(content, -1) {
			if at := m[1] - 1; at >= behind && bracket(content[at]) > 0 {
				behind = balanced(content, at)
				if pattern == named { // [1, 2].map(f)
					behind = chainEnd(content, behind)
				}
				count(content[at:behind])
			}
		}
	}
	for _, m := range held.FindAllStringIndex(content, -1) {
		text, _, _ := strings.Cut(content[m[1]:], "\n")
		count(text)
	}
	return n
}

// elements is the number of elements between the brackets that a text begins with.
func elements(text string) int {
	end := balanced(text, 0)
	all := slices.DeleteFunc(commas(text[1:max(1, end-1)]), func(s string) bool { return s == "" })
	return len(all)
}

// rowsOf is the number of rows of the table that a text begins with: 1 where it is not known.
func rowsOf(text string, tables map[string]int) int {
	n, known := tables[leading.FindString(strings.TrimPrefix(strings.TrimPrefix(text, "self."), "this."))]
	switch {
	case text == "":
		return 1
	case strings.IndexByte("[({", text[0]) >= 0:
		return elements(text)
	case text[0] == '`':
		return strings.Count(text[:quotedEnd(text, 0)], "\n") - 2
	case known:
		return n
	}
	return 1
}

var leading = re(`^\w+`)

// rows is how often a test runs with other values.
func rows(part string, asserted []place, tables map[string]int) int {
	n, behind, seen := 0, 0, map[*block]bool{}
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
		n += rowsOf(part[at:], tables)
	}
	for _, p := range asserted {
		for _, b := range p.around {
			if seen[b] {
				continue
			}
			m := turns.FindStringIndex(b.head)
			if m != nil && (looping.MatchString(b.head) || each.MatchString(b.head)) {
				n += rowsOf(b.head[m[1]:], tables)
			}
			seen[b] = true
		}
	}
	return max(n, 0)
}
