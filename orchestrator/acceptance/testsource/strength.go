package testsource

import (
	"strings"

	"divisi/internal/text"
)

// Strength is how much an assertion of a value says of it.
type Strength int

// How much assertions say: nothing, that there is something, a part or a size of a value, the whole of it.
const (
	nothing Strength = iota
	Something
	Partly
	Whole
)

// How much the matchers of JavaScript say, and those of mocks; others say something. What has an argument says less without it.
var (
	wholes = text.Set(`toBe toEqual toStrictEqual toHaveBeenCalledWith toHaveBeenLastCalledWith toHaveBeenNthCalledWith
		toHaveBeenCalledTimes toHaveBeenCalledOnceWith toHaveReturnedWith toBeCalledWith toBeCalledTimes lastCalledWith
		toHaveText toHaveTextContent toHaveTitle toHaveURL toHaveValue toHaveCount toHaveDisplayValue toThrow toThrowError
		toMatchInlineSnapshot toThrowErrorMatchingInlineSnapshot toBeCloseTo is same equal equals eql eq eqls strictEqual
		deepEqual deepStrictEqual throw throws rejects rejectedWith calledWith calledOnceWith callCount`)
	// stating are names of matchers, vague those that only reject nothing.
	stating           = re(`^(?:toBe|toHave)[A-Z]`)
	noMatcher, truths = text.Set(`expect soft poll`), text.Set(`assert ok true`)
	vague             = text.Set(`toBeDefined toBeTruthy toBeFalsy toHaveBeenCalled toBeGreaterThan toBeLessThan`)
	bare              = text.Set(`toBeNull toBeUndefined toBeNaN toMatchSnapshot toThrowErrorMatchingSnapshot null undefined NaN
		empty calledOnce`)
	parts = text.Set(`toHaveLength toContain toContainEqual toMatchObject toMatch toHaveProperty toBeInstanceOf toHaveAttribute
		toContainText toHaveClass lengthOf length include includes contain contains members match matches property instanceOf
		instanceof true false`)
	// matcherName is one name of a chain, with the bracket of its call.
	matcherName = re(`^\s*[!?]?\.?\s*([\w$]+)(\s*\()?`)
	negated     = re(`\.\s*not\b|\.not[A-Z]`)
	promised    = re(`\.\s*(?:rejects|resolves|eventually)\b|^assert\.(?:rejects|doesNotReject)\b`)
	awaited     = re(`\b(?:await|return|yield)\b|=>?\s*$|[(\[,]\s*$|=>`)
	// loosely takes any value, anyPattern is a pattern that does.
	loosely    = re(`\bexpect\.(?:any|anything|\w+Containing|stringMatching|closeTo)\b|\bANY\b|\bmock\.Anything\b`)
	anyPattern = re("\\bmatch=[rfb]*(?:''|\"\"|[\"'](?:\\.[*+]?|\\^|\\$|\\^?\\.\\*\\$?)[\"'])|" +
		"\\((?:/\\.[*+]?/\\w*|''|\"\"|``)\\)$")
	comparing = re(`[^!=<>]===?[^=]`)
	absent    = re(`\bquery(?:All)?By`)
	there     = re(`!==?\s*(?:null|undefined)\)$`)
	sizing    = re(`\?\?|\|\||\.(?:length|size|sort\(\))\)$|\((?:Object\.keys|new Set|typeof)\b`)
	// shown are queries that name the text that they find.
	shown = re(`By(?:Text|DisplayValue|LabelText|Title)\(|\bname:`)
	// wide are tolerances above a hundredth, and fewer than two digits.
	wide = re(`\b(?:rel|abs|rel_tol|abs_tol|rtol|atol|delta|tolerance|epsilon)\s*=\s*` +
		`(?:0?\.(?:0[2-9]|[1-9])\d*|[1-9][\d.]*)\s*(?:[,)]|$)|` +
		`\b(?:places|decimal)\s*=\s*(?:-|[01]\b)|toBeCloseTo\(.*,\s*(?:-\d+|[01])\s*\)$`)
)

// weakened is a strength less what the text of an assertion lets pass.
func weakened(s Strength, text string) Strength {
	if loosely.MatchString(text) || anyPattern.MatchString(text) || wide.MatchString(text) {
		return min(s, Partly)
	}
	return s
}

// expectation is expect(subject).name(args), or assert.name(args), where the subject is all arguments.
type expectation struct {
	name, subject, args string
	called, asserts     bool
}

func expectationOf(text string) expectation {
	c := expectation{asserts: !strings.HasPrefix(text, "expect") && !strings.Contains(text, "should")}
	for i := 0; i < len(text); {
		m := matcherName.FindStringSubmatchIndex(text[i:])
		if m == nil {
			break
		}
		c.name, c.called = text[i+m[2]:i+m[3]], m[4] >= 0
		i += m[1]
		if c.called {
			end := balanced(text, i-1)
			if c.subject == "" {
				c.subject = text[i-1 : end]
			}
			c.args = strings.TrimSpace(text[min(i, end-1) : end-1])
			i = end
		}
	}
	return c
}

// chainStrength is the strength of expect(a).to.equal(b), assert.equal(a, b) and their like.
func chainStrength(text string) Strength {
	c := expectationOf(text)
	if strings.HasPrefix(text, ".expect(") { // supertest
		return Whole
	}
	s := c.strength()
	if s > nothing && negated.MatchString(text[len(c.subject):]) {
		if s = min(s, Partly); absent.MatchString(c.subject) {
			s = Whole
		} else if bare[c.name] {
			s = Something
		}
	}
	return weakened(s, text)
}

// strength is that of an expectation which is not negated.
func (c expectation) strength() Strength {
	sized := sizing.MatchString(c.subject) || c.asserts && sizing.MatchString(commas(c.args)[0]+")")
	switch {
	case !c.asserts && noMatcher[c.name], c.name == "toMatchInlineSnapshot" && c.args == "":
		return nothing
	case c.asserts && (c.name == "throws" || c.name == "rejects"):
		return min(Whole, Partly+Strength(len(commas(c.args)))-1)
	case c.args == "true" && there.MatchString(c.subject):
		return Something
	case c.asserts && truths[c.name], c.args == "true" || c.args == "false":
		switch {
		case comparing.MatchString(c.subject):
			return Whole
		case c.asserts:
			return Something
		}
		return Partly
	case c.called && c.args != "" && wholes[c.name] && !sized, bare[c.name], shown.MatchString(c.subject):
		return Whole
	case c.called && c.args != "" && wholes[c.name], parts[c.name], stating.MatchString(c.name) && !vague[c.name]:
		return Partly
	}
	return Something
}
