package acceptance

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// script knows where the assertions of a language are, and what they say.
type script struct {
	places   func(part string, assertion *regexp.Regexp) []place
	strength func(text string) strength
	// end is the place behind the test that a text begins with.
	end func(part string) int
	// hidden returns which of the tests that begin at starts never run.
	hidden func(content string, starts [][]int) map[int]bool
}

// contains reports whether a test of JavaScript goes on behind what stands before the next one: it only holds others.
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

func braces(part string, assertion *regexp.Regexp) []place {
	return braced(part, assertion.FindAllStringIndex(part, -1))
}

var (
	// noError asserts that there is no error, as an await does.
	noError = re(`(?i)^expect\(\w*err(?:or)?\)\.(?:toBe(?:Null|Undefined|Falsy)\(|toBe\((?:null|undefined)|not\.to|` +
		`to\.(?:be\.(?:null|undefined)|not))|^assert\.ifError\(`)
	await = re(`\bawait\b`)
	// calling is a call, with await or return before it; several waits for calls that are not awaited one by one.
	calling = re(`(?:\b(await|return)\s+)?(?:^|[^\w.$])?([A-Za-z_$][\w$.]*)\(`)
	several = re(`\bPromise\.|\bgather\(|\bTaskGroup\b|\brejects\b|\bresolves\b|\bcreate_task\(|\bto_thread\(`)
	// subjects begin an assertion, before what it is about.
	subjects = re(`^(?:expect|assert\w*(?:\.\w+)*|self\.\w+)[\s(]*`)
	leads    = re(`^(?:await\s+)?([\w$]+)\(`)
	space    = re(`\s+`)
	// queries find the value that an assertion is about, by what is no value; positive asserts that a number is above 0.
	queries  = re(`\b(?:find|locator|querySelector\w*|closest|\w+By(?:Role|TestId|PlaceholderText))\(\s*(?:'[^']*'|"[^"]*")`)
	positive = re(` > 0$|toBeGreaterThan\(0\)|to\.be\.above\(0\)`)
	// asserts are calls that are compared by their whole text.
	asserts = re(`^(?:expect|assert|it|test|describe|self|pytest)\b`)
)

// reading is what is known while the tests of one file are read.
type reading struct {
	*language
	// tables are the rows of tables by their names, used the functions that assertions call.
	tables map[string]int
	used   map[string]bool
}

// assertions counts the assertions of a part of a file that can fail it. It returns the lines that they are in.
func (r reading) assertions(u *unit, part string) map[int]bool {
	around, inside := surroundingsOf(part), map[int]bool{}
	var sure []place
	line, from := u.line, 0
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
			u.counts[certain]++
		}
		u.assert(p, says)
		u.compares(p, line)
		if m := leads.FindStringSubmatch(subjects.ReplaceAllString(p.text, "")); m != nil {
			r.used[m[1]] = true
		}
	}
	if n := rows(part, sure, r.tables); u.test && (n > 1 || n == 0 && marked.MatchString(part)) {
		u.counts[cases] = n
	}
	u.pace(part)
	return inside
}

// assert counts one assertion by what it says.
func (u *unit) assert(p place, says strength) {
	c := &u.counts
	c[assertions]++
	c[once]++
	if noError.MatchString(p.text) {
		says = partly
		c[errorless]++
	}
	u.says = append(u.says, space.ReplaceAllString(p.text, ""))
	if says >= partly {
		c[sized]++
		u.firm = append(u.firm, p.text)
	} else if names := roots(subjects.ReplaceAllString(p.text, "")); len(names) > 0 {
		u.present = append(u.present, names[0])
	}
	if says == whole {
		c[exact]++
	}
}

// compares notes the values of an assertion, and how far they may be off.
func (u *unit) compares(p place, line int) {
	said := p.text
	if strings.HasPrefix(said, "assert ") {
		said = commas(said)[0] // without its message
	}
	had := len(u.literals)
	u.values(queries.ReplaceAllString(said, "("), line)
	for i := range u.literals[had:] {
		l := &u.literals[had+i]
		l.present = l.text == "0" && positive.MatchString(said)
	}
	if off := tolerance(p.text); off > 0 {
		u.measure('t', strconv.FormatFloat(off, 'g', -1, 64), line)
	}
}

func (u *unit) measure(kind byte, text string, line int) {
	u.literals = append(u.literals, literal{value: value{kind, text}, path: u.path, line: line})
}

// pace notes how often a part of a file repeats something, and for which calls it waits.
func (u *unit) pace(part string) {
	u.counts[awaits] = len(await.FindAllStringIndex(part, -1))
	line, from := u.line, 0
	for _, m := range rounds.FindAllStringSubmatchIndex(part, -1) {
		at := m[2:4]
		for at[0] < 0 {
			m = m[2:]
			at = m[2:4]
		}
		line, from = line+strings.Count(part[from:at[0]], "\n"), at[0]
		u.measure('r', part[at[0]:at[1]], line)
	}
	if several.MatchString(part) {
		return
	}
	for _, m := range calling.FindAllStringSubmatch(part, -1) {
		if !asserts.MatchString(m[2]) {
			u.wait(m[1] != "", m[2])
		}
	}
}

// wait notes that something is waited for, or that it is not.
func (u *unit) wait(does bool, what string) {
	if u.waits == nil {
		u.waits = map[string][2]int{}
	}
	n := u.waits[what]
	if does {
		n[1]++
	} else {
		n[0]++
	}
	u.waits[what] = n
}

// forgotten returns what a test waited for and does not wait for any more; "" for nothing.
func forgotten(before, after unit) string {
	for _, what := range slices.Sorted(maps.Keys(before.waits)) {
		if was, now := before.waits[what], after.waits[what]; now[0] > was[0] && now[1] < was[1] {
			return what
		}
	}
	return ""
}
