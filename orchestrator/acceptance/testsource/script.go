package testsource

import (
	"strings"

	"divisi/internal/lazyregexp"
)

// script knows where the assertions of a language are, and what they say.
type script struct {
	places   func(part string, assertion *lazyregexp.Regexp) []place
	strength func(text string) Strength
}

// contains reports whether a test of JavaScript continues behind what stands before the next one: it only holds others.
func contains(part string) bool {
	depth := 0
	for i := 0; i < len(part); i = next(part, i) {
		depth += bracket(part[i])
	}
	return depth > 0
}

// endOfBraces is the place behind the call that a text begins with, such as it('…', …).
func endOfBraces(part string) int {
	if at := strings.IndexByte(part, '('); at >= 0 {
		return chainEnd(part, at)
	}
	return len(part)
}

func braces(part string, assertion *lazyregexp.Regexp) []place {
	return braced(part, assertion.FindAllStringIndex(part, -1))
}

var (
	// noError asserts that there is no error, as an await does.
	noError = re(`(?i)^expect\(\w*err(?:or)?\)\.(?:toBe(?:Null|Undefined|Falsy)\(|toBe\((?:null|undefined)|not\.to|` +
		`to\.(?:be\.(?:null|undefined)|not))|^assert\.ifError\(`)
	await   = re(`\bawait\b`)
	calling = re(`([A-Za-z_$][\w$.]*)\(`)
	// subjects begin an assertion, before what it is about.
	subjects = re(`^(?:expect|assert\w*(?:\.\w+)*|self\.\w+)[\s(]*`)
	leads    = re(`^(?:await\s+)?([\w$]+)\(`)
	space    = re(`\s+`)
	// queries find the value that an assertion is about, by what is no value; positive asserts that a number is above 0.
	queries  = re(`\b(?:find|locator|querySelector\w*|closest|\w+By(?:Role|TestId|PlaceholderText))\(\s*(?:'[^']*'|"[^"]*")`)
	positive = re(` > 0$|toBeGreaterThan\(0\)|to\.be\.above\(0\)`)
)

// reading is the state of the reader of one file's tests.
type reading struct {
	*language
	// tables are the rows of tables by their names, used the functions that assertions call.
	tables map[string]int
	used   map[string]bool
}

// assertions counts the assertions of a part of a file that can fail it. It returns the lines that they are in.
func (r reading) assertions(u *Unit, part string) map[int]bool {
	around, inside := surroundingsOf(part), map[int]bool{}
	var sure []place
	line, from := u.Line, 0
	for _, p := range r.script.places(part, r.assertion) {
		line, from = line+strings.Count(part[from:p.at], "\n"), p.at
		for n := range strings.Count(p.text, "\n") + 1 {
			inside[line+n] = true
		}
		says := r.script.strength(p.text)
		if trivial([]byte(p.text)) > 0 || says == nothing || around.lost(p) {
			continue
		}
		sure = append(sure, p)
		if !around.doubtful(p) {
			u.Counts[Certain]++
		}
		had := len(u.Literals)
		says = u.assert(p, says)
		u.compares(p, line)
		u.Says = append(u.Says, Said{p.text, says, u.Literals[had:]})
		if m := leads.FindStringSubmatch(subjects.ReplaceAllString(p.text, "")); m != nil {
			r.used[m[1]] = true
		}
	}
	if n := rows(part, sure, r.tables); u.Test && (n > 1 || n == 0 && marked.MatchString(part)) {
		u.Counts[Cases] = n
	}
	u.Counts[Awaits] = len(await.FindAllStringIndex(part, -1))
	return inside
}

// assert counts one assertion by what it says, and returns how much that is.
func (u *Unit) assert(p place, says Strength) Strength {
	c := &u.Counts
	c[Assertions]++
	c[Once]++
	if noError.MatchString(p.text) {
		says = Partly
		c[Errorless]++
	}
	if says >= Partly {
		c[Sized]++
	}
	if says == Whole {
		c[Exact]++
	}
	return says
}

// compares notes the values of an assertion.
func (u *Unit) compares(p place, line int) {
	said := p.text
	if strings.HasPrefix(said, "assert ") {
		said = commas(said)[0] // without its message
	}
	had := len(u.Literals)
	u.values(queries.ReplaceAllString(said, "("), line)
	for i := range u.Literals[had:] {
		l := &u.Literals[had+i]
		l.Present = l.Text == "0" && positive.MatchString(said)
	}
}
