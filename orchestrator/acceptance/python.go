package acceptance

import (
	"slices"
	"strconv"
	"strings"
)

// endOfIndent is the place behind the function that a text begins with.
func endOfIndent(part string) int {
	all := statements(part)
	at := slices.IndexFunc(all, func(s statement) bool {
		return strings.HasPrefix(s.text, "def ") || strings.HasPrefix(s.text, "async def ")
	})
	for _, s := range all[at+1:] {
		if at >= 0 && s.indent <= all[at].indent {
			return s.at - s.indent
		}
	}
	return len(part)
}

var (
	class   = re(`(?m)^([ \t]*)class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?`)
	defined = re(`(?:^|\n)([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[^\n]*$`)
	yields  = re(`^\s*(?:\w+\s*=\s*)?yield\b`)
)

// hiddenPython returns the tests that a later one of the same name replaces, those of classes that are not collected, and those
// that only make a generator.
func hiddenPython(content string, starts [][]int) map[int]bool {
	out, last := map[int]bool{}, map[string]int{}
	classes := class.FindAllStringSubmatchIndex(content, -1)
	for i, s := range starts {
		end := len(content)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		head := defined.FindStringSubmatch(strings.TrimRight(content[s[0]:s[1]], "( \t"))
		if head == nil {
			continue
		}
		indent, name, of := head[1], head[2], ""
		for _, c := range slices.Backward(classes) {
			if c[0] < s[1] && c[3]-c[2] < len(indent) {
				of = content[c[4]:c[5]]
				if out[i] = c[6] < 0 && !strings.HasPrefix(of, "Test"); out[i] {
					break
				}
				of += strconv.Itoa(c[0])
				break
			}
		}
		if at, had := last[of+"."+name]; had {
			out[at] = true
		}
		last[of+"."+name] = i
		if body := statements(content[s[1]:end]); generates(body, len(indent)) {
			out[i] = true
		}
	}
	return out
}

// generates reports whether the body of a function yields by itself.
func generates(body []statement, indent int) bool {
	inner := 1 << 30
	for _, s := range body[min(1, len(body)):] {
		switch {
		case s.indent <= indent:
			return false
		case s.indent > inner:
			continue
		case strings.HasPrefix(s.text, "def ") || strings.HasPrefix(s.text, "async def "):
			inner = s.indent
			continue
		}
		inner = 1 << 30
		if yields.MatchString(s.text) {
			return true
		}
	}
	return false
}

var (
	message   = re(`^(?:self\.)?assert(?:True|False)\b`)
	operators = re(` (==|!=|<=|>=|<|>|is not|is|not in|in|or) `)
	raising   = re(`(?:raises|assertRaises\w*|warns|assertWarns\w*)\s*\(`)
	broad     = re(`(?:raises|assertRaises|warns)\s*\(\s*\(?(?:Base)?Exception\b|(?:raises|warns)\s*\(\s*\)`)
	pythons   = map[string]strength{
		"assertEqual": whole, "assertEquals": whole, "assertIs": whole, "assertIsNone": whole, "assertListEqual": whole,
		"assertDictEqual": whole, "assertSetEqual": whole, "assertTupleEqual": whole, "assertMultiLineEqual": whole,
		"assertSequenceEqual": whole, "assertAlmostEqual": whole, "assertAlmostEquals": whole, "assertRaisesRegex": whole,
		"assert_called_with": whole, "assert_called_once_with": whole, "assert_has_calls": whole, "assert_any_call": whole,
		"assert_awaited_with": whole, "assert_awaited_once_with": whole, "assert_equal": whole, "assert_array_equal": whole,
		"assert_frame_equal": whole, "assert_series_equal": whole, "assert_allclose": whole, "assertContains": partly,
		"assertNotEqual": partly, "assertIn": partly, "assertNotIn": partly, "assertFalse": partly, "assertIsInstance": partly,
		"assertRaises": partly, "assertCountEqual": partly, "assertQuerysetEqual": whole, "assertQuerySetEqual": whole,
		"assertRegex": partly, "assert_called_once": partly, "assert_not_called": partly,
	}
	// sizeOf begins a comparison of a property of a value.
	sizeOf     = re(`^(?:len|type|set|sorted|Counter)\(\) |^[\w.()\[\]]*\.(?:columns|shape|dtypes?|size|ndim|keys\(\)) `)
	pythonCall = re(`(assert\w*)\s*\(`)
	mockless   = re(`\.called_\w+\(|\.(?:called_with|not_called|called_once)\b`)
)

// pythonStrength is the strength of an assert statement or a call that asserts.
func pythonStrength(text string) strength {
	switch m := pythonCall.FindStringSubmatchIndex(text); {
	case raising.MatchString(text):
		s := partly
		if broad.MatchString(text) {
			s = something
		} else if strings.Contains(text, "match=") || strings.Contains(text, "Regex") {
			s = whole
		}
		return weakened(s, text)
	case strings.HasPrefix(text, "assert ") || strings.HasPrefix(text, "assert("):
		return weakened(truthStrength(commas(strings.TrimPrefix(text, "assert"))[0]), text)
	case m != nil:
		name, first := text[m[2]:m[3]], ""
		end := balanced(text, m[1]-1)
		if args := commas(text[min(m[1], end-1) : end-1]); len(args) > 0 {
			first = args[0]
		}
		s, known := pythons[name]
		switch {
		case message.MatchString(name) && operators.MatchString(" "+first+" "):
			s = truthStrength(first)
		case !known:
			s = something
		case sizeOf.MatchString(flat(first) + " =="):
			s = min(s, partly)
		}
		return weakened(s, text)
	}
	return something
}

// truthStrength is the strength of asserting that an expression is true.
func truthStrength(expression string) strength {
	e := strings.TrimSpace(expression)
	for range maxDepth {
		if !strings.HasPrefix(e, "(") || balanced(e, 0) < len(e) {
			break
		}
		if e = strings.TrimSpace(e[1 : len(e)-1]); len(commas(e)) > 1 {
			return nothing // a tuple is true
		}
	}
	outer := flat(e)
	switch m := operators.FindStringSubmatch(outer); {
	case mockless.MatchString(e), e == "True", e == "1":
		return nothing
	case strings.Contains(outer, " or "):
		if strings.HasSuffix(outer, " or True") || strings.HasPrefix(outer, "True or ") {
			return nothing
		}
		return partly
	case strings.HasPrefix(outer, "not ") && m == nil:
		return partly
	case m == nil:
		return something
	case m[1] == "==" || m[1] == "is":
		if sizeOf.MatchString(outer) || strings.HasSuffix(outer, " is True") || strings.HasSuffix(outer, " is False") {
			return partly
		}
		return whole
	case m[1] == "!=" || m[1] == "in" || m[1] == "not in":
		return partly
	}
	return something
}

// flat is an expression without what its brackets and strings hold.
func flat(e string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(e); i = next(e, i) {
		if by := bracket(e[i]); depth == 0 || by < 0 && depth == 1 {
			out.WriteByte(e[i])
			depth += by
		} else {
			depth += by
		}
	}
	return out.String()
}
