package acceptance

import (
	"regexp"
	"slices"
	"strings"
)

// ifs begin blocks that need not run, caught those where a failure is caught; later are calls that run theirs after the test.
var (
	ifs    = re(`(?:^|\W)if\s*\(.*$|(?:^|\s)(?:if|elif)\s[^:]*:?$`)
	caught = re(`(?:^|\W)catch\s*(?:\(.*)?$|\.catch\s*$|^except\b`)
	fails  = re(`\bexpect\.(?:assertions|hasAssertions|fail|unreachable)\b|\b(?:pytest\.|self\.|assert\.)?fail\(|\bthrow\b|` +
		`\braise\b|\bdone\(|(?m:^\s*else:)`)
	later = re(`\b(?:setTimeout|setImmediate|nextTick|queueMicrotask)\s*$`)
	then  = re(`\.(?:then|finally)\s*$`)
	// inner is the head of a function in a test: async def, async function, const f = async, def.
	inner     = re(`^async def (\w+)|\basync function (\w+)|^def (\w+)|\b(?:const|let)\s+(\w+)\s*=\s*async\b`)
	finishes  = re(`\.end\(|\b(?:done|resolve|reject|advanceTimers\w*|runAllTimers\w*|tick)\b`)
	catching  = re(`^\s*\.catch\s*\(`)
	excusing  = re(`\bsuppress\(.*\b(?:AssertionError|Exception|BaseException)\b`)
	returning = re(`(?:^|[;{\n])\s*(?:return|continue)\b[^\n]*\s*\}?\s*$`)
	otherwise = re(`^\s*\}?\s*(?:else|elif)\b`)
	asserting = re(`\b(?:expect|assert\w*|fail|throw|reject|done)\b`)
)

// surroundings are what is known of the test that assertions are in: its text, the names that its table gives, whether it
// finishes callbacks, and whether it can fail by other means.
type surroundings struct {
	unit            string
	given           map[string]bool
	finishes, fails bool
}

func surroundingsOf(unit string) *surroundings {
	return &surroundings{unit, columnsOf(unit), finishes.MatchString(unit), fails.MatchString(unit)}
}

// lost reports whether a failure of an assertion cannot fail the test: it is not waited for, or it is caught.
func (s *surroundings) lost(p place) bool {
	waits := awaited.MatchString(p.before + " ")
	if promised.MatchString(p.text) && !waits && len(p.around) > 0 && strings.HasPrefix(p.around[len(p.around)-1].body, "{") ||
		strings.HasPrefix(p.text, ".") && !waits && !s.finishes {
		return true
	}
	for i, b := range p.around {
		if s.judge(b, i > 0); b.loses {
			return true
		}
	}
	return false
}

// doubtful reports whether an assertion runs only on a condition that the rows of the test's table do not give.
func (s *surroundings) doubtful(p place) bool {
	if ifs.MatchString(p.before) {
		return !rowsGive(p.before, s.given)
	}
	return slices.ContainsFunc(p.around, func(b *block) bool { return b.doubts })
}

// judge decides about a block, once for all assertions in it.
func (s *surroundings) judge(b *block, within bool) {
	if b.judged {
		return
	}
	b.judged, b.loses = true, s.loses(b, within)
	switch {
	case caught.MatchString(b.head):
		b.doubts = !s.fails
	case ifs.MatchString(b.head) && !returning.MatchString(b.body) && !otherwise.MatchString(b.tail):
		b.doubts = !rowsGive(ifs.FindString(b.head), s.given)
	}
}

// loses reports whether a failure in a block is lost.
func (s *surroundings) loses(b *block, within bool) bool {
	if begins.MatchString(b.head) && b.swallows() || excusing.MatchString(b.head) ||
		each.MatchString(b.head) && strings.HasPrefix(b.body, "(async") {
		return true
	}
	if m := inner.FindStringSubmatch(b.head); within && m != nil && !started(m[1]+m[2]+m[3]+m[4], m[3] == "", s.unit) {
		return true
	}
	if then.MatchString(b.head) {
		if m := catching.FindStringIndex(b.tail); m != nil && !asserting.MatchString(b.tail[m[1]-1:balanced(b.tail, m[1]-1)]) {
			return true
		}
		return !awaited.MatchString(b.head) && !s.finishes
	}
	return later.MatchString(b.head) && !s.finishes
}

var (
	begins  = re(`(?:^|\s)try\s*:?\s*$`)
	catches = re(`^\s*(?:catch\b[^{]*\{|except\s*(?:\(?(?:AssertionError|Exception|BaseException)\b[^\n]*)?:)`)
)

// swallows reports whether what follows the block drops a failed assertion.
func (b *block) swallows() bool {
	m := catches.FindStringIndex(b.tail)
	if m == nil {
		return false
	}
	if b.tail[m[1]-1] == '{' {
		return !asserting.MatchString(b.tail[m[1]:balanced(b.tail, m[1]-1)])
	}
	body := statements(b.tail[m[1]:])
	for _, s := range body {
		if s.indent < body[0].indent {
			break
		}
		if asserting.MatchString(s.text) || strings.HasPrefix(s.text, "raise") {
			return false
		}
	}
	return true
}

// started reports whether a test waits for a function in it, or calls it where that is enough.
func started(name string, asynchronous bool, unit string) bool {
	if !asynchronous {
		return strings.Count(unit, name) > 1
	}
	waits := `(?:\b(?:await|return|gather|start_soon|run|run_until_complete|all|allSettled)\b|=)`
	return regexp.MustCompile(waits + `[^\n]*\b` + name + `\b\s*[(),\]]`).MatchString(unit)
}

// rowsGive reports whether a condition has no other names than those of a table's columns.
func rowsGive(condition string, given map[string]bool) bool {
	names := slices.DeleteFunc(roots(condition), func(name string) bool { return keywords[name] || given[name] })
	return len(names) == 0
}

var (
	keywords = set(`if elif else not and or in is None True False true false null undefined len isinstance typeof`)
	property = re(`\??\.\s*[A-Za-z_$][\w$]*`)
	// parameters are those of the first function of a test, columns the names that a loop gives.
	parameters = re(`(?s)(?:function\s*\w*\s*|\bdef\s+\w+\s*)\(([^)]*)\)|\(([^()]*)\)\s*(?:=>|:)|\b(\w+)\s*=>`)
	columns    = re(`\bfor\s*\(?\s*(?:const |let |var )?(.*?)\s(?:of|in)\s`)
)

// roots are the names in a condition, without those behind a dot.
func roots(condition string) []string {
	names := identifiers(property.ReplaceAllString(condition, ""))
	return slices.DeleteFunc(names, func(s string) bool { return s[0] >= '0' && s[0] <= '9' })
}

// columnsOf are the names that a test gets from a table.
func columnsOf(unit string) map[string]bool {
	out := map[string]bool{}
	if m := parameters.FindStringSubmatch(unit); m != nil {
		add(out, identifiers(m[1]+m[2]+" "+m[3]))
	}
	for _, m := range columns.FindAllStringSubmatch(unit, -1) {
		add(out, identifiers(m[1]))
	}
	return out
}
