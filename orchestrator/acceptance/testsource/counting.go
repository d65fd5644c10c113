package testsource

import (
	"bytes"
	"path"
	"strings"
)

// count counts what a part of a file has.
func (r reading) count(u *Unit, part string) {
	c := &u.Counts
	c[Skips] = len(r.skip.FindAllStringIndex(part, -1)) + len(never.FindAllStringIndex(part, -1))
	c[Exits], c[Stubs] = len(early.FindAllStringIndex(part, -1))+r.dropped(part), r.stubbed(u.Path, part)
	inside := r.asserted(u, part)
	lines, number := 0, u.Line
	for text := range strings.Lines(part) {
		table := row.MatchString(text) && values.MatchString(text)
		if table && !inside[number] {
			lines++
		}
		if !inside[number] && (table || held.MatchString(text)) {
			u.values(text, number)
		}
		number++
	}
	n, known := rows(part, r.tables)
	switch {
	case u.Test && known:
		c[Cases] = n
	case !known && r.language != &languages[Script] && r.language != &languages[Python]:
		c[Cases] += lines
		n = lines
	}
	if u.Test && n > 1 { // they run once for each row
		c[Assertions], c[Exact] = c[Assertions]*n, c[Exact]*n
	}
}

// asserted counts the assertions of a part of a file. It returns the lines that they are in.
func (r reading) asserted(u *Unit, part string) map[int]bool {
	inside, line, from, behind := map[int]bool{}, u.Line, 0, 0
	for _, m := range r.assertion.FindAllStringIndex(part, -1) {
		at := m[1] - len(strings.TrimLeft(part[m[0]:m[1]], ";: \t\r\n"))
		if at < behind {
			continue
		}
		behind = max(m[1], statementEnd(part, at))
		text := strings.TrimSpace(part[at:behind])
		line, from = line+strings.Count(part[from:at], "\n"), at
		for n := range strings.Count(text, "\n") + 1 {
			inside[line+n] = true
		}
		if trivial([]byte(text)) > 0 || r.idle != nil && r.idle.MatchString(text) {
			continue
		}
		said, had := text, len(u.Literals)
		if strings.HasPrefix(said, "assert ") {
			said = commas(said)[0] // without its message
		}
		u.values(queries.ReplaceAllString(said, "("), line)
		if noError.MatchString(text) {
			u.Counts[Errorless]++
			continue
		}
		s := Said{text, precise.MatchString(text) && !loose.MatchString(text), u.Literals[had:]}
		u.Says = append(u.Says, s)
		u.Counts[Assertions]++
		u.Counts[Once]++
		if s.Whole {
			u.Counts[Exact]++
		}
	}
	return inside
}

var (
	fails   = re(`(?i)\b(?:assert|expect|fail|throw|raise|verify)`)
	closure = re(`(\w+)\s*=\s*(?:\([^)\n]*\)\s*->|->|lambda\b|proc\b|\|[^|\n]*\|)`)
)

// dropped counts what keeps failures from a test: catches that do not fail, and functions in it that nothing calls.
func (r reading) dropped(part string) (n int) {
	if r.drops == nil {
		return 0
	}
	for _, m := range r.drops.FindAllStringIndex(part, -1) {
		caught, _, _ := strings.Cut(part[m[1]:], "end")
		switch part[m[1]-1] {
		case '{':
			caught = part[m[1]-1 : balanced(part, m[1]-1)]
		case '(':
			caught = ""
		}
		if !fails.MatchString(caught) {
			n++
		}
	}
	for _, m := range closure.FindAllStringSubmatch(part, -1) {
		if strings.Count(part, m[1]) == 1 {
			n++
		}
	}
	return n
}

// stubbed counts stubs of what a file tests.
func (r reading) stubbed(file, part string) (n int) {
	if r.stubs == nil {
		return 0
	}
	base := strings.ToLower(path.Base(file))
	for _, m := range r.stubs.FindAllStringSubmatch(part, -1) {
		switch on := strings.ToLower(strings.Join(m[1:], "")); {
		case on == "subject", on == "described_class", strings.HasPrefix(base, on):
			n++
		}
	}
	return n
}

// values notes the values of a text.
func (u *Unit) values(text string, line int) {
	for _, v := range values.FindAllString(text, -1) {
		u.Literals = append(u.Literals, Literal{Value: valueOf(v), Path: u.Path, Line: line, Beside: text})
	}
}

// trivial counts the assertions of constants, and of a value that is compared with itself.
func trivial(part []byte) int {
	n := len(truth.FindAllIndex(part, -1))
	for _, pattern := range itself {
		for _, m := range pattern.FindAllSubmatch(part, -1) {
			if bytes.Equal(bytes.TrimSpace(m[1]), bytes.TrimSpace(m[2])) {
				n++
			}
		}
	}
	return n
}

// valueOf is a value without its quotes.
func valueOf(v string) Value {
	switch v[0] {
	case '"', '\'', '`':
		if v = v[1 : len(v)-1]; len(v) > 1 && v[0] == '"' && v[len(v)-1] == '"' { // an inline snapshot
			v = v[1 : len(v)-1]
		}
		return Value{'s', v}
	case 't', 'T', 'f', 'F':
		return Value{'b', strings.ToLower(v)}
	}
	return Value{'n', strings.ReplaceAll(v, "_", "")}
}
