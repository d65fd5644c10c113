package acceptance

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// language knows the tests of one language by patterns.
type language struct {
	// file is what the paths of test files match, from the root.
	file *regexp.Regexp
	// comment is taken out before the rest is counted; test begins a test. Go has a parser and none of these.
	comment, test, assertion, skip *regexp.Regexp
	// tail, where it is set, begins the part of a source file that holds its tests.
	tail *regexp.Regexp
}

func re(expression string) *regexp.Regexp { return regexp.MustCompile(expression) }

// slashes are the comments of C and its heirs, hashes those of shells. A comment begins a line, or follows a blank.
var (
	slashes = re(`(?m)(?:^|[ \t])//.*$|(?s:(?:^|\s)/\*.*?\*/)`)
	hashes  = re(`(?m)(?:^|[ \t])#.*$`)
)

var languages = []language{
	{file: re(`_test\.go$`)},
	{ // JavaScript and TypeScript
		re(`(?:[._-](?:test|spec)|(?:^|/)__tests__/.*)\.[cm]?[jt]sx?$`), slashes,
		re(`\b(?:it|test)(?:\.\w+)*\s*\(`),
		re(`\b(?:expect|assert)\b(?:\.\w+)*\s*\(|\.should\b|\bt\.(?:is|deepEqual|true|false|throws|equal|ok)\(`),
		re(`\b(?:it|test|describe|suite|context)\.(?:skip|todo|fixme|only|skipIf|failing)\b` +
			`|\b[xf](?:it|test|describe|context)\s*\(|\bthis\.skip\(`), nil,
	},
	{ // Python
		re(`(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests?/.*\.py$`), hashes,
		re(`(?m)^\s*(?:async\s+)?def\s+test\w*\s*\(`),
		re(`(?m)^\s*assert\b|\bself\.(?:assert\w+|fail)\s*\(|\bpytest\.(?:raises|warns|fail|approx)\b|\.assert_\w+\(`),
		re(`\b(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure|skipTest|importorskip|SkipTest)\b|\bcollect_ignore`), nil,
	},
	{ // Rust
		re(`\.rs$`), slashes, re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`),
		re(`\b(?:debug_)?assert(?:_\w+)?!|\bpanic!|\bprop_assert\w*!|should_panic`), re(`#\[(?:cfg_attr\([^)]*,\s*)?ignore\b`),
		re(`#\[cfg\(test\)\]|#\[(?:\w+::)*test\b|\z`),
	},
	{ // Java, Kotlin, Scala, Groovy
		re(`(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|scala|groovy)$|(?:^|/)src/test/.*\.(?:java|kt|scala|groovy)$`), slashes,
		re(`@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\bpublic void test\w+\(`),
		re(`\b(?:assert\w*|verify\w*|fail|expect\w*)\s*[({]|\bshould\w*\b`),
		re(`@(?:Disabled\w*|Ignore)\b|\bassum(?:e|ing)\w*\(|\bAssumptions\.`), nil,
	},
	{ // Ruby
		re(`(?:_spec|_test)\.rb$|(?:^|/)test_[^/]*\.rb$`), hashes,
		re(`(?m)^\s*(?:it|specify|scenario|example|test)\b|^\s*def\s+test_`),
		re(`\b(?:expect|assert\w*|refute\w*|must_\w+|wont_\w+|should(?:_not)?)\b`),
		re(`(?m)^\s*(?:xit|xspecify|xdescribe|xcontext|skip|pending|fit|fdescribe|fcontext)\b|[:,]\s*(?:skip|pending)\b`), nil,
	},
	{ // C#, F#, Visual Basic
		re(`Tests?\.(?:cs|fs|vb)$`), slashes, re(`\[(?:Fact|Theory|Test|TestCase|TestMethod)\b`),
		re(`\bAssert\.\w+|\.Should\w*\(`), re(`\[Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\b|\[Explicit\b`), nil,
	},
	{ // PHP
		re(`Test\.php$`), slashes, re(`\bfunction\s+test\w*|#\[Test\b|(?m)^\s*(?:it|test)\(`), re(`\bassert\w*\(|\bexpect\w*\(`),
		re(`\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo|only)\(`), nil,
	},
	{ // C and C++
		re(`(?:(?:^|/)test_[^/]*|[^/]*_?(?:[Tt]est|_unittest))\.(?:c|cc|cpp|cxx)$`), slashes,
		re(`(?m)^\s*(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST(?:_P)?|SCENARIO)\s*\(|^\s*(?:static\s+)?(?:void|int)\s+test_\w+\s*\(`),
		re(`\b(?:EXPECT|ASSERT|CHECK|REQUIRE|TEST_ASSERT)\w*\s*\(|\bassert\w*\s*\(`),
		re(`\bGTEST_SKIP\b|\bDISABLED_|\bTEST_IGNORE\b`), nil,
	},
	{ // bats
		re(`\.bats$`), hashes, re(`(?m)^\s*@test\b`),
		re(`(?m)^\s*(?:\[|assert\w*\b|test\b|refute\w*\b)`), re(`(?m)^\s*skip\b`), nil,
	},
}

// IsTest reports whether a file may hold tests. Vendored code and test data do not.
func IsTest(name string) bool { return languageOf(name) >= 0 }

// languageOf is the place in languages; -1 for none.
func languageOf(name string) int {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if dir == "vendor" || dir == "testdata" || dir == "node_modules" {
			return -1
		}
	}
	return slices.IndexFunc(languages, func(l language) bool { return l.file.MatchString(name) })
}

// compare counts the tests of a file before and after.
func (l *language) compare(c Change) pair {
	if l.test == nil {
		return compareGo(c)
	}
	return pair{c.Path, l.count(c.Before), l.count(c.After)}
}

func (l *language) count(text []byte) (c counts) {
	if l.tail != nil {
		text = text[l.tail.FindIndex(text)[0]:]
	}
	text = l.comment.ReplaceAllLiteral(text, nil)
	starts := l.test.FindAllIndex(text, -1)
	c[tests], c[assertions], c[skips] = len(starts), len(l.assertion.FindAllIndex(text, -1)), len(l.skip.FindAllIndex(text, -1))
	for _, at := range slices.Backward(starts) {
		if !l.assertion.Match(text[at[1]:]) {
			c[empty]++
		}
		text = text[:at[0]]
	}
	return c
}
