package testsource

import (
	"slices"
	"strings"

	"divisi/internal/text"
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
	message   = re(`^(?:self\.)?assert(?:True|False)\b`)
	operators = re(` (==|!=|<=|>=|<|>|is not|is|not in|in|or) `)
	raising   = re(`(?:raises|assertRaises\w*|warns|assertWarns\w*)\s*\(`)
	broad     = re(`(?:raises|assertRaises|warns)\s*\(\s*\(?(?:Base)?Exception\b|(?:raises|warns)\s*\(\s*\)`)
	// pythonWholes and pythonParts are methods that assert, by how much they say.
	pythonWholes = text.Set(`assertEqual assertEquals assertIs assertIsNone assertListEqual assertDictEqual assertSetEqual
		assertTupleEqual assertMultiLineEqual assertSequenceEqual assertAlmostEqual assertAlmostEquals assertRaisesRegex
		assert_called_with assert_called_once_with assert_has_calls assert_any_call assert_awaited_with
		assert_awaited_once_with assert_equal assert_array_equal assert_frame_equal assert_series_equal assert_allclose
		assertQuerysetEqual assertQuerySetEqual`)
	pythonParts = text.Set(`assertContains assertNotEqual assertIn assertNotIn assertFalse assertIsInstance assertRaises
		assertCountEqual assertRegex assert_called_once assert_not_called`)
	// sizeOf begins a comparison of a property of a value.
	sizeOf     = re(`^(?:len|type|set|sorted|Counter)\(\) |^[\w.()\[\]]*\.(?:columns|shape|dtypes?|size|ndim|keys\(\)) `)
	pythonCall = re(`(assert\w*)\s*\(`)
	mockless   = re(`\.called_\w+\(|\.(?:called_with|not_called|called_once)\b`)
)

// pythonStrength is the strength of an assert statement or a call that asserts.
func pythonStrength(text string) Strength {
	switch m := pythonCall.FindStringSubmatchIndex(text); {
	case raising.MatchString(text):
		s := Partly
		if broad.MatchString(text) {
			s = Something
		} else if strings.Contains(text, "match=") || strings.Contains(text, "Regex") {
			s = Whole
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
		s := Something
		switch {
		case message.MatchString(name) && operators.MatchString(" "+first+" "):
			s = truthStrength(first)
		case pythonParts[name], pythonWholes[name] && sizeOf.MatchString(flat(first)+" =="):
			s = Partly
		case pythonWholes[name]:
			s = Whole
		}
		return weakened(s, text)
	}
	return Something
}

// truthStrength is the strength of asserting that an expression is true.
func truthStrength(expression string) Strength {
	e := strings.TrimSpace(expression)
	for range MaxDepth {
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
		return Partly
	case strings.HasPrefix(outer, "not ") && m == nil:
		return Partly
	case m == nil:
		return Something
	case m[1] == "==" || m[1] == "is":
		if sizeOf.MatchString(outer) || strings.HasSuffix(outer, " is True") || strings.HasSuffix(outer, " is False") {
			return Partly
		}
		return Whole
	case m[1] == "!=" || m[1] == "in" || m[1] == "not in":
		return Partly
	}
	return Something
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
