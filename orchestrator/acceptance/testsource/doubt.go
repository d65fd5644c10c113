package testsource

import (
	"regexp"
	"slices"
	"strings"
)

// ifs begin blocks that need not run; later are calls that run theirs after the test.
var (
	ifs   = re(`(?:^|\W)if\s*\(.*$|(?:^|\s)(?:if|elif)\s[^:]*:?$`)
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

// surroundings describes the test around assertions: its text, and whether it finishes callbacks.
type surroundings struct {
	unit     string
	finishes bool
}

func surroundingsOf(unit string) *surroundings {
	return &surroundings{unit, finishes.MatchString(unit)}
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

// doubtful reports whether an assertion runs only on a condition.
func (s *surroundings) doubtful(p place) bool {
	return ifs.MatchString(p.before) || slices.ContainsFunc(p.around, func(b *block) bool { return b.doubts })
}

// judge decides about a block, once for all assertions in it.
func (s *surroundings) judge(b *block, within bool) {
	if b.judged {
		return
	}
	b.judged, b.loses = true, s.loses(b, within)
	b.doubts = ifs.MatchString(b.head) && !returning.MatchString(b.body) && !otherwise.MatchString(b.tail)
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
