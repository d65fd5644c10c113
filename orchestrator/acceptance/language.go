package acceptance

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// language knows the tests of one language by patterns. Go has a parser besides.
type language struct {
	name string
	// file is what the paths of test files match, from the root.
	file *regexp.Regexp
	// comment is taken out before the rest is counted; test begins a test.
	comment, test, assertion, skip *regexp.Regexp
	// tail, where it is set, begins the part of a source file that holds its tests.
	tail *regexp.Regexp
	// parse counts with more than patterns; ok is false where it cannot read the file.
	parse func(name string, content, before []byte) (c counts, ok bool)
}

// comments of C and its heirs, of shells and their heirs. A comment begins a line, or follows a blank.
var (
	slashes = regexp.MustCompile(`(?m)(?:^|[ \t])//.*$|(?s:(?:^|\s)/\*.*?\*/)`)
	hashes  = regexp.MustCompile(`(?m)(?:^|[ \t])#.*$`)
)

func re(expression string) *regexp.Regexp { return regexp.MustCompile(expression) }

var languages = []language{ //nolint:gochecknoglobals // a constant table
	{
		name: "go", file: re(`_test\.go$`), parse: countGo, comment: slashes, test: re(`(?m)^func (?:\([^)]*\) ?)?(?:Test|Fuzz|Example)\w*\(`),
		assertion: re(`\b(?:require|assert)\.\w+\(|\b[tbf]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(`), skip: re(`\.(?:Skip|Skipf|SkipNow)\(`),
	},
	{
		name: "javascript", file: re(`(?:[._-](?:test|spec)|(?:^|/)__tests__/.*)\.[cm]?[jt]sx?$`), comment: slashes,
		test:      re(`(?m)\b(?:it|test)(?:\.\w+)*\s*\(`),
		assertion: re(`\b(?:expect|assert)\b(?:\.\w+)*\s*\(|\.should\b|\bt\.(?:is|deepEqual|true|false|throws|equal|ok)\(`),
		skip:      re(`\b(?:it|test|describe|suite|context)\.(?:skip|todo|fixme|only|skipIf|failing)\b|\b[xf](?:it|test|describe|context)\s*\(|\bthis\.skip\(`),
	},
	{
		name: "python", file: re(`(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests?/.*\.py$`), comment: hashes,
		test:      re(`(?m)^\s*(?:async\s+)?def\s+test\w*\s*\(`),
		assertion: re(`(?m)^\s*assert\b|\bself\.(?:assert\w+|fail)\s*\(|\bpytest\.(?:raises|warns|fail|approx)\b|\.assert_\w+\(`),
		skip:      re(`\b(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure|skipTest|importorskip|SkipTest)\b|\bcollect_ignore`),
	},
	{
		name: "rust", file: re(`\.rs$`), comment: slashes, tail: re(`#\[cfg\(test\)\]|#\[(?:\w+::)*test\b`),
		test:      re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`),
		assertion: re(`\b(?:debug_)?assert(?:_\w+)?!|\bpanic!|\bprop_assert\w*!|should_panic`), skip: re(`#\[(?:cfg_attr\([^)]*,\s*)?ignore\b`),
	},
	{
		name: "jvm", file: re(`(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|scala|groovy)$|(?:^|/)src/test/.*\.(?:java|kt|scala|groovy)$`),
		comment: slashes, test: re(`@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\bpublic void test\w+\(`),
		assertion: re(`\b(?:assert\w*|verify\w*|fail|expect\w*)\s*[({]|\bshould\w*\b`),
		skip:      re(`@(?:Disabled\w*|Ignore)\b|\bassum(?:e|ing)\w*\(|\bAssumptions\.`),
	},
	{
		name: "ruby", file: re(`(?:_spec|_test)\.rb$|(?:^|/)test_[^/]*\.rb$`), comment: hashes,
		test:      re(`(?m)^\s*(?:it|specify|scenario|example|test)\b|^\s*def\s+test_`),
		assertion: re(`\b(?:expect|assert\w*|refute\w*|must_\w+|wont_\w+|should(?:_not)?)\b`),
		skip:      re(`(?m)^\s*(?:xit|xspecify|xdescribe|xcontext|skip|pending|fit|fdescribe|fcontext)\b|[:,]\s*(?:skip|pending)\b`),
	},
	{
		name: "dotnet", file: re(`Tests?\.(?:cs|fs|vb)$`), comment: slashes, test: re(`\[(?:Fact|Theory|Test|TestCase|TestMethod)\b`),
		assertion: re(`\bAssert\.\w+|\.Should\w*\(`), skip: re(`\[Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\b|\[Explicit\b`),
	},
	{
		name: "php", file: re(`Test\.php$`), comment: slashes, test: re(`\bfunction\s+test\w*|#\[Test\b|(?m)^\s*(?:it|test)\(`),
		assertion: re(`\bassert\w*\(|\bexpect\w*\(`), skip: re(`\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo|only)\(`),
	},
	{
		name: "c", file: re(`(?:(?:^|/)test_[^/]*|[^/]*_?(?:[Tt]est|_unittest))\.(?:c|cc|cpp|cxx)$`), comment: slashes,
		test:      re(`(?m)^\s*(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST(?:_P)?|SCENARIO)\s*\(|^\s*(?:static\s+)?(?:void|int)\s+test_\w+\s*\(`),
		assertion: re(`\b(?:EXPECT|ASSERT|CHECK|REQUIRE|TEST_ASSERT)\w*\s*\(|\bassert\w*\s*\(`), skip: re(`\bGTEST_SKIP\b|\bDISABLED_|\bTEST_IGNORE\b`),
	},
	{
		name: "shell", file: re(`\.bats$`), comment: hashes, test: re(`(?m)^\s*@test\b`),
		assertion: re(`(?m)^\s*(?:\[|assert\w*\b|test\b|refute\w*\b)`), skip: re(`(?m)^\s*skip\b`),
	},
}

// IsTest reports whether a file may hold tests. Other people's code and test data do not.
func IsTest(name string) bool { return languageOf(name) != nil }

func languageOf(name string) *language {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if dir == "vendor" || dir == "testdata" || dir == "node_modules" {
			return nil
		}
	}
	if i := slices.IndexFunc(languages, func(l language) bool { return l.file.MatchString(name) }); i >= 0 {
		return &languages[i]
	}
	return nil
}

// count counts the tests of a file; before is what it was before the patch.
func (l *language) count(name string, content, before []byte) counts {
	if content == nil {
		return counts{}
	}
	if l.parse != nil {
		if c, ok := l.parse(name, content, before); ok {
			return c
		}
	}
	if l.tail != nil {
		at := l.tail.FindIndex(content)
		if at == nil {
			return counts{}
		}
		content = content[at[0]:]
	}
	content = l.comment.ReplaceAllLiteral(content, nil)
	starts := l.test.FindAllIndex(content, -1)
	c := counts{
		tests: len(starts), assertions: len(l.assertion.FindAllIndex(content, -1)), skips: len(l.skip.FindAllIndex(content, -1)),
	}
	for i, s := range starts {
		end := len(content)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if !l.assertion.Match(bytes.TrimSpace(content[s[1]:end])) {
			c.hollow++
		}
	}
	return c
}
