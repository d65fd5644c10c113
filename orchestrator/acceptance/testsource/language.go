package testsource

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// language knows the tests of one language by patterns.
type language struct {
	// file matches the paths of test files, from the root.
	file *lazyregexp.Regexp
	// comment is taken out before the rest is counted; test begins a test. Go has a parser and none of these.
	comment, test, assertion, skip *lazyregexp.Regexp
	// tail, where it is set, begins the part of a source file that holds its tests.
	tail *lazyregexp.Regexp
	// end is the place behind the test that a text begins with.
	end func(part string) int
	// idle, where it is set, are assertions that nothing fails, catches that drop a failure, and stubs of what the first group
	// names, where no experiment tells.
	idle, drops, stubs *lazyregexp.Regexp
}

func re(expression string) *lazyregexp.Regexp { return lazyregexp.New(expression) }

// slashes are the comments of C and its heirs, hashes those of shells. A comment begins a line, or follows a blank.
var (
	slashes = re(`(?m)(?:^|[ \t])//.*$|(?s:(?:^|\s)/\*.*?\*/)`)
	hashes  = re(`(?m)(?:^|[ \t])#(?:[^{\n].*)?$`)
)

var languages = []language{
	{file: re(`_test\.go$`)},
	{ // JavaScript and TypeScript
		re(`(?:[._-](?:test|spec)|(?:^|/)(?:tests?|__tests__|specs?)/.*|(?:^|/)tests?)\.[cm]?[jt]sx?$`), slashes,
		re("(?m:^|[^.\\w\\n])(?:it|test)(?:\\.\\w+)*\\s*[(`]"),
		re(`\.expect\(|\b(?:expect(?:\.(?:soft|poll))?|assert(?:\.\w+)*)\s*\(|` +
			`[\w)\]]\.should\b|\bt\.(?:is|deepEqual|true|false|throws|equal|ok)\(`),
		re(`\b(?:it|test|describe|suite|context)\.(?:skip|todo|fixme|only|skipIf|runIf|fails|failing)\b` +
			`|\b[xf](?:it|test|describe|context)\s*\(|\bthis\.skip\(|\b(?:skip|todo|only):\s*true\b|\bretryTimes\(|` +
			`\bretr(?:y|ies)\b\s*[:(]\s*[1-9]|(?:\.each|\.for)\([^\n)]*\.(?:slice|filter)\(`), nil,
		endOfBraces, re(`^expect\([^()]*\);?$`), nil, nil,
	},
	{ // Python
		re(`(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$`), hashes,
		re(`(?ms)(?:^[ \t]*@pytest\.mark\b.*?)?^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(`),
		re(`(?m:^|[;:])[ \t]*assert\b|\bself\.(?:assert\w+|fail)\s*\(|\bpytest\.(?:raises|warns|fail)\b|[\w.]*\bassert_\w+\(`),
		re(`\b(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure|skipTest|importorskip|SkipTest|flaky)\b|\bcollect_ignore|` +
			`\b__test__\s*=\s*False|\bparametrize\([^\n]*\w\[-?\d*:-?\d*\]|` +
			`\bfor\b[^\n]*\bin\s+[A-Z_]+\[-?\d*:-?\d*\]`), nil,
		endOfIndent, re(` or True$|^assert \(.*,.*\)$|\.called_\w+\(|\.(?:called_with|not_called|called_once)\b`), nil, nil,
	},
	{ // Rust
		re(`\.rs$`), slashes, re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`),
		re(`\b(?:debug_)?assert(?:_\w+)?!|\bpanic!|\bprop_assert\w*!|should_panic`), re(`#\[(?:cfg_attr\([^)]*,\s*)?ignore\b`),
		re(`#\[cfg\(test\)\]|#\[(?:\w+::)*test\b|\z`), endOfBody,
		nil, re(`\blet\s+_\s*=\s*(?:\w+::)*catch_unwind\(`), nil,
	},
	{ // Java, Kotlin, Scala, Groovy
		re(`(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|scala|groovy)$|(?:^|/)src/test/.*\.(?:java|kt|scala|groovy)$`), slashes,
		re(`@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\bpublic void test\w+\(`),
		re(`\b(?:assert\w*|verify\w*|fail|expect\w*)\s*[({]|\bshould\w*\b`),
		re(`@(?:(?:Dis|En)abled\w*|Ignore)\b|\bassum(?:e|ing)\w*\(|\bAssumptions\.`), nil, endOfBody,
		re(`^assertThat\((?:[^()]|\([^()]*\))*\)(?:\s*\.(?:as|describedAs)\([^()]*\))*$`),
		re(`\bcatch\s*\(\s*(?:final\s+)?(?:\w+\s*:\s*)?(?:AssertionError|Throwable|Exception|Error)\b[^)]*\)\s*\{`),
		re(`\b(?:mock|spy)\(\s*(\w+)\.class|\b(?:mockk|spyk)<(\w+)>`),
	},
	{ // Ruby
		re(`(?:_spec|_test)\.rb$|(?:^|/)test_[^/]*\.rb$`), hashes,
		re(`(?m)^\s*(?:it|specify|scenario|example|test)\b|^\s*def\s+test_`),
		re(`\b(?:expect|assert\w*|refute\w*|must_\w+|wont_\w+|should(?:_not)?)\b`),
		re(`(?m)^\s*(?:xit|xspecify|xdescribe|xcontext|skip|pending|fit|fdescribe|fcontext)\b|[:,]\s*(?:skip|pending)\b`), nil,
		endOfDo, re(`^expect\([^()]*\)$|\braise_error\s*$|be_truthy$`), re(`\brescue\b`),
		re(`\ballow\w*\(\s*(described_class|subject|\w+)`),
	},
	{ // C#, F#, Visual Basic
		re(`Tests?\.(?:cs|fs|vb)$`), slashes, re(`\[(?:Fact|Theory|Test|TestCase|TestMethod)\b`),
		re(`\bAssert\.\w+|\.Should\w*\(`), re(`\[Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\b|\[Explicit\b`), nil,
		endOfBody, nil, nil, nil,
	},
	{ // PHP
		re(`Test\.php$`), slashes, re(`\bfunction\s+test\w*|#\[Test\b|(?m)^\s*(?:it|test)\(`), re(`\bassert\w*\(|\bexpect\w*\(`),
		re(`\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo|only)\(`), nil, endOfBody, nil, nil, nil,
	},
	{ // C and C++
		re(`(?:(?:^|/)test_[^/]*|[^/]*_?(?:[Tt]est|_unittest))\.(?:c|cc|cpp|cxx)$`), slashes,
		re(`(?m)^\s*(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST(?:_P)?|SCENARIO)\s*\(|^\s*(?:static\s+)?(?:void|int)\s+test_\w+\s*\(`),
		re(`\b(?:EXPECT|ASSERT|CHECK|REQUIRE|TEST_ASSERT)\w*\s*\(|\bassert\w*\s*\(`),
		re(`\bGTEST_SKIP\b|\bDISABLED_|\bTEST_IGNORE\b`), nil, endOfBody, nil, nil, nil,
	},
	{ // bats
		re(`\.bats$`), hashes, re(`(?m)^\s*@test\b`),
		re(`(?m)^\s*(?:\[|assert\w*\b|test\b|refute\w*\b)`), re(`(?m)^\s*skip\b`), nil, endOfBody, nil, nil, nil,
	},
}

// IsTest reports whether a file may hold tests. Vendored code and test data do not.
func IsTest(name string) bool { return LanguageOf(name) >= 0 }

// LanguageOf is the place in languages; -1 for none.
func LanguageOf(name string) int {
	if apart.MatchString(name) {
		return -1
	}
	return slices.IndexFunc(languages, func(l language) bool { return l.file.MatchString(name) })
}

// IsApart reports whether a file is no code of the project.
func IsApart(name string) bool { return apart.MatchString(name) }

// apart are directories of code that is not the project's own.
var apart = re(`(?:^|/)(?:vendor|testdata|node_modules)/`)

var (
	// never begins code that does not run, early is a return without a result.
	never = re(`\bif\s*\(?\s*(?:false|False|0)\s*[):{]`)
	early = re(`(?m)^[ \t]*(?:if\b[^\n]*\s)?(?:return|break)[ \t]*;?[ \t]*$`)
	// precise are assertions of one value; loose ones let others pass.
	precise = re(`\.(?:to(?:Be|(?:Strict)?Equal|Throw(?:Error)?|(?:HaveBeen|Be)(?:(?:Last|Nth)?Called(?:Once)?(?:With|Times))|` +
		`HaveReturnedWith|Have(?:Text(?:Content)?|Title|URL|Value|Count)|BeCloseTo|\w*InlineSnapshot|MatchObject)|` +
		`(?:deep|strict|deepStrict)?[eE]quals?|is|same|eqls?|throws?|rejects\w*|called(?:Once)?With|callCount|isEqualTo|` +
		`hasMessage|containsExactly\w*|isSameAs)\(\s*[^)\s]|\.toBe(?:Null|Undefined|NaN)\(|MatchingSnapshot\(|` +
		`\.toMatchSnapshot\(|By(?:Text|DisplayValue|LabelText|Title)\(|(?i:\bassert\w*(?:equals?|same|Is(?:None)?|regex)\b)|` +
		`\bassert_eq!|^assert\b.*(?:[^!<>=]==[^=]|\sis\s)|(?:raises|assertRaises\w*|warns)\(|\bexpected\s*=|` +
		`assert_(?:called|awaited)\w*_with\(|assert_has_calls\(|` +
		`\b(?:eq|eql|must_equal|match_array|contain_exactly)\b|raise_error\([^)]*,|_(?:STR)?EQ\(|\bAreEqual\b`)
	loose = re(`\.not\b|\.not[A-Z]|\bnot_to\b|_ne!|\bassertNot|\.toBe\((?:true|false)\)|\bassert\.ok\(|\.(?:length|size)\)\.|` +
		`(?i:(?:equals?|same)\(\s*(?:\d+|true|false)?,?\s*(?:len|type|sorted|set|Object\.keys)\()|\.(?:length|sort\(\)),|` +
		`^assert \(?(?:len|type|set|sorted|Counter)\(|\sor\s|\|\||\?\?|\bis (?:True|False)\b|` +
		`\bexpect\.(?:any|anything|\w+Containing|stringMatching)\b|\bANY\b|` +
		`match=[rfb]*["'](?:\.[*+]?|\^|\$)?["']|\((?:/\.[*+]?/\w*|''|"")\)$|` +
		`(?:raises|assertRaises|warns)\(\s*\(?(?:(?:Base)?Exception\b|\))|` +
		`\b(?:rel|abs|delta|tolerance)\s*=\s*(?:0?\.(?:0[2-9]|[1-9])|[1-9])|\bplaces\s*=\s*-?[01]\b`)
	// noError asserts that there is no error, queries find the value that an assertion is about, by what is no value.
	noError = re(`(?i)^expect\(\w*err(?:or)?\)\.(?:toBe(?:Null|Undefined|Falsy)\(|toBe\((?:null|undefined)|not\.to|` +
		`to\.(?:be\.(?:null|undefined)|not))|^assert\.ifError\(`)
	queries = re(`\b(?:find|locator|querySelector\w*|closest|\w+By(?:Role|TestId|PlaceholderText))\(\s*(?:'[^']*'|"[^"]*")`)
	// itself finds the two sides of a comparison, truth the assertion of a constant.
	itself = []*lazyregexp.Regexp{
		re(`\bexpect\(([^()\n]*)\)\.to\w+\(([^()\n]*)\)`), re(`\bassert\w*!?\(\s*([^(),\n]+),\s*([^(),\n]+?)\s*[,)]`),
		re(`(?m)^\s*assert ([^=<>!\n]+?) == ([^\n]+?)\s*$`),
	}
	truth = re(`(?i)\bassert(?:_?true|that)?!?[ (]\s*true\b`)
	// row is a line of a table, held is what is expected in a variable, or how often a test repeats.
	row    = re(`^\s*(?:[\[({].*[\])}],?|arguments\(.*\),?|[\w.]+\(.*\),)\s*$`)
	held   = re(`(?i)\b(?:expected|want)\w*\s*(?::\s*\w+\s*)?=|@(?:RepeatedTest|Property)\(|\bfor\b.*\d{2}|\b\d{2,}\.times\b`)
	values = re("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|" +
		"-?\\b\\d[\\d_]*(?:\\.\\d+)?\\b|\\b(?:true|True|false|False)\\b")
)

// File is one side of a file; its content is nil where there is none.
type File struct {
	Path    string
	Content []byte
}

// The places among the languages of those whose tests an experiment can compare. Go has a reader of its own.
const (
	Go = iota
	Script
	Python
)

// Languages is the number of languages that are known.
var Languages = len(languages)

// Read reads the tests of one side of files of a language other than Go. They may name tables of one another.
func Read(language int, files []File) (out []Unit) {
	r := reading{&languages[language], map[string]int{}}
	for _, f := range files {
		maps.Copy(r.tables, tablesOf(string(f.Content)))
	}
	for _, f := range files {
		out = append(out, r.units(f.Path, f.Content)...)
	}
	inline(out)
	for i := range out {
		out[i].Settle()
	}
	return out
}

// reading reads the tests of one side; tables are the rows of tables by their names.
type reading struct {
	*language

	tables map[string]int
}

// units counts the tests of a file. What comes before a test belongs to the one before it.
func (r reading) units(name string, content []byte) (out []Unit) {
	if content == nil {
		return nil
	}
	first := 1
	if r.tail != nil && !strings.Contains("/"+name, "/tests/") {
		at := r.tail.FindIndex(content)[0]
		first += bytes.Count(content[:at], []byte{'\n'})
		content = content[at:]
	}
	// Comments go, their lines stay.
	content = r.comment.ReplaceAllFunc(content, func(c []byte) []byte {
		return bytes.Repeat([]byte{'\n'}, bytes.Count(c, []byte{'\n'}))
	})
	starts := append([][]int{{0, 0}}, r.test.FindAllIndex(content, -1)...)
	generated(starts, string(content))
	for i, from := range starts {
		part := content[from[0]:]
		if i+1 < len(starts) {
			part = content[from[0]:starts[i+1][0]]
		}
		u := Unit{Path: name, Line: first, Test: i > 0}
		if i > 0 {
			u.Counts[Tests], u.Counts[Cases] = 1, 1
			u.Text = string(part)
			u.Name = nameOf(u.Text, from[1]-from[0])
			if r.language == &languages[Script] && contains(u.Text) {
				u.Test, u.Counts[Tests], u.Counts[Cases] = false, 0, 0
			}
		}
		own := part
		if u.Test {
			begin := begins(u.Text, from[1]-from[0])
			own = part[:begin+r.end(u.Text[begin:])]
			u.Text = string(own)
		}
		if i == 0 {
			out = append(out, r.others(name, string(part), first)...)
		} else {
			r.count(&u, string(own))
			out = append(append(out, u), r.others(name, string(part[len(own):]), first+bytes.Count(own, []byte{'\n'}))...)
		}
		first += bytes.Count(part, []byte{'\n'})
	}
	return out
}

var (
	// function gives a function its name, title is a text that describes a test.
	function = re(`\b(?:def|fn|fun|func|function|void|Task|int)\s+(?:test\s+)?(\w+)`)
	title    = re("[(\\s](\"[^\"\\n]*\"|'[^'\\n]*'|`[^`]*`)|TEST\\w*(\\([^)]*\\))")
)

// begins is the place of the line in which the beginning of a test ends: what is before it are rows, or annotations.
func begins(test string, behind int) int {
	if !strings.HasPrefix(strings.TrimSpace(test), "[") && !strings.HasPrefix(strings.TrimSpace(test), "{") {
		return 0
	}
	return strings.LastIndexByte(test[:behind], '\n') + 1
}

// nameOf is the name of a test: of its function, or its title. Annotations come before a function.
func nameOf(test string, behind int) string {
	head := strings.TrimSpace(test[begins(test, behind):])
	head, rest, _ := strings.Cut(head, "\n")
	if head[0] == '@' && !strings.HasPrefix(head, "@test") || head[0] == '#' || head[0] == '[' {
		head += " " + rest
	} else if m := title.FindStringSubmatch(head); m != nil && !function.MatchString(head[:strings.Index(head, m[0])]) {
		return strings.Trim(m[1], "\"'`") + m[2]
	}
	if m := function.FindStringSubmatch(head); m != nil {
		return m[1]
	}
	return head
}
