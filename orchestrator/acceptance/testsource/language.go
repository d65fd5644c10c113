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
	// script, where it is set, reads assertions one by one.
	script *script
}

func re(expression string) *lazyregexp.Regexp { return lazyregexp.New(expression) }

// slashes are the comments of C and its heirs, hashes those of shells. A comment begins a line, or follows a blank.
var (
	slashes = re(`(?m)(?:^|[ \t])//.*$|(?s:(?:^|\s)/\*.*?\*/)`)
	hashes  = re(`(?m)(?:^|[ \t])#.*$`)
)

var languages = []language{
	{file: re(`_test\.go$`)},
	{ // JavaScript and TypeScript
		re(`(?:[._-](?:test|spec)|(?:^|/)__tests__/.*)\.[cm]?[jt]sx?$`), slashes,
		re("\\b(?:it|test)(?:\\.\\w+)*\\s*[(`]"),
		re(`\.expect\(|\b(?:expect(?:\.(?:soft|poll))?|assert(?:\.\w+)*)\s*\(|` +
			`[\w)\]]\.should\b|\bt\.(?:is|deepEqual|true|false|throws|equal|ok)\(`),
		re(`\b(?:it|test|describe|suite|context)\.(?:skip|todo|fixme|only|skipIf|runIf|fails|failing)\b` +
			`|\b[xf](?:it|test|describe|context)\s*\(|\bthis\.skip\(|\b(?:skip|todo|only):\s*true\b|\bretryTimes\(|` +
			`\bretr(?:y|ies)\b\s*[:(]\s*[1-9]|(?:\.each|\.for)\([^\n)]*\.(?:slice|filter)\(`), nil,
		endOfBraces, &script{braces, chainStrength},
	},
	{ // Python
		re(`(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$`), hashes,
		re(`(?ms)(?:^[ \t]*@pytest\.mark\b.*?)?^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(`),
		re(`(?:^|[;:])\s*assert\b|\bself\.(?:assert\w+|fail)\s*\(|\bpytest\.(?:raises|warns|fail)\b|[\w.]*\bassert_\w+\(`),
		re(`\b(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure|skipTest|importorskip|SkipTest|flaky)\b|\bcollect_ignore|` +
			`\b__test__\s*=\s*False|\bparametrize\([^\n]*\w\[-?\d*:-?\d*\]|` +
			`\bfor\b[^\n]*\bin\s+[A-Z_]+\[-?\d*:-?\d*\]`), nil,
		endOfIndent, &script{indented, pythonStrength},
	},
	{ // Rust
		re(`\.rs$`), slashes, re(`#\[(?:\w+::)*(?:test|rstest|test_case)\b`),
		re(`\b(?:debug_)?assert(?:_\w+)?!|\bpanic!|\bprop_assert\w*!|should_panic`), re(`#\[(?:cfg_attr\([^)]*,\s*)?ignore\b`),
		re(`#\[cfg\(test\)\]|#\[(?:\w+::)*test\b|\z`), endOfBody, nil,
	},
	{ // Java, Kotlin, Scala, Groovy
		re(`(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|scala|groovy)$|(?:^|/)src/test/.*\.(?:java|kt|scala|groovy)$`), slashes,
		re(`@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\bpublic void test\w+\(`),
		re(`\b(?:assert\w*|verify\w*|fail|expect\w*)\s*[({]|\bshould\w*\b`),
		re(`@(?:Disabled\w*|Ignore)\b|\bassum(?:e|ing)\w*\(|\bAssumptions\.`), nil, endOfBody, nil,
	},
	{ // Ruby
		re(`(?:_spec|_test)\.rb$|(?:^|/)test_[^/]*\.rb$`), hashes,
		re(`(?m)^\s*(?:it|specify|scenario|example|test)\b|^\s*def\s+test_`),
		re(`\b(?:expect|assert\w*|refute\w*|must_\w+|wont_\w+|should(?:_not)?)\b`),
		re(`(?m)^\s*(?:xit|xspecify|xdescribe|xcontext|skip|pending|fit|fdescribe|fcontext)\b|[:,]\s*(?:skip|pending)\b`), nil,
		endOfDo, nil,
	},
	{ // C#, F#, Visual Basic
		re(`Tests?\.(?:cs|fs|vb)$`), slashes, re(`\[(?:Fact|Theory|Test|TestCase|TestMethod)\b`),
		re(`\bAssert\.\w+|\.Should\w*\(`), re(`\[Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)\b|\[Explicit\b`), nil, endOfBody, nil,
	},
	{ // PHP
		re(`Test\.php$`), slashes, re(`\bfunction\s+test\w*|#\[Test\b|(?m)^\s*(?:it|test)\(`), re(`\bassert\w*\(|\bexpect\w*\(`),
		re(`\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo|only)\(`), nil, endOfBody, nil,
	},
	{ // C and C++
		re(`(?:(?:^|/)test_[^/]*|[^/]*_?(?:[Tt]est|_unittest))\.(?:c|cc|cpp|cxx)$`), slashes,
		re(`(?m)^\s*(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST(?:_P)?|SCENARIO)\s*\(|^\s*(?:static\s+)?(?:void|int)\s+test_\w+\s*\(`),
		re(`\b(?:EXPECT|ASSERT|CHECK|REQUIRE|TEST_ASSERT)\w*\s*\(|\bassert\w*\s*\(`),
		re(`\bGTEST_SKIP\b|\bDISABLED_|\bTEST_IGNORE\b`), nil, endOfBody, nil,
	},
	{ // bats
		re(`\.bats$`), hashes, re(`(?m)^\s*@test\b`),
		re(`(?m)^\s*(?:\[|assert\w*\b|test\b|refute\w*\b)`), re(`(?m)^\s*skip\b`), nil, endOfBody, nil,
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
	// precise are assertions of one value.
	precise = re(`\.(?:to(?:Be|Equal|StrictEqual|HaveLength|Throw(?:Error)?|MatchObject|HaveBeenCalledWith|BeCloseTo)|` +
		`isEqualTo|hasMessage|` +
		`hasSize|containsExactly|isSameAs|isInstanceOf)\([^)]|(?i)\bassert[\w.]*(?:equals?|same)\b|\bassert_eq!|` +
		`\bassert\b[^\n]*==|\bmatch=|` +
		`\b(?:eq|eql|must_equal|match_array)\b|_(?:STR)?EQ\(|\bAreEqual\b`)
	// itself finds the two sides of a comparison, truth the assertion of a constant.
	itself = []*lazyregexp.Regexp{
		re(`\bexpect\(([^()\n]*)\)\.to\w+\(([^()\n]*)\)`), re(`\bassert\w*!?\(\s*([^(),\n]+),\s*([^(),\n]+?)\s*[,)]`),
		re(`(?m)^\s*assert ([^=<>!\n]+?) == ([^\n]+?)\s*$`),
	}
	truth = re(`(?i)\bassert(?:_?true|that)?!?[ (]\s*true\b`)
	// row is a line of a table, held is what is expected in a variable.
	row    = re(`^\s*(?:[\[({].*[\])}],?|arguments\(.*\),?|[\w.]+\(.*\),)\s*$`)
	held   = re(`(?i)\b(?:expected|want)\w*\s*(?::\s*\w+\s*)?=`)
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
	tables := map[string]int{}
	for _, f := range files {
		maps.Copy(tables, tablesOf(string(f.Content)))
	}
	for _, f := range files {
		out = append(out, languages[language].units(f.Path, f.Content, tables)...)
	}
	inline(out)
	return out
}

// units counts the tests of a file. What comes before a test belongs to the one before it.
func (l *language) units(name string, content []byte, tables map[string]int) (out []Unit) {
	if content == nil {
		return nil
	}
	first := 1
	if l.tail != nil {
		at := l.tail.FindIndex(content)[0]
		first += bytes.Count(content[:at], []byte{'\n'})
		content = content[at:]
	}
	// Comments go, their lines stay.
	content = l.comment.ReplaceAllFunc(content, func(c []byte) []byte {
		return bytes.Repeat([]byte{'\n'}, bytes.Count(c, []byte{'\n'}))
	})
	all, begins := string(content), l.test.FindAllIndex(content, -1)
	r := reading{l, tables, map[string]bool{}}
	starts := append([][]int{{0, 0}}, begins...)
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
			if l.script != nil && contains(u.Text) {
				u.Test, u.Counts[Tests], u.Counts[Cases] = false, 0, 0
			}
		}
		own := part
		if u.Test {
			own = part[:l.end(u.Text)]
			u.Text = string(own)
		}
		if i == 0 {
			out = append(out, r.others(name, string(part), first)...)
		} else {
			r.count(&u, own)
			out = append(append(out, u), r.others(name, string(part[len(own):]), first+bytes.Count(own, []byte{'\n'}))...)
		}
		first += bytes.Count(part, []byte{'\n'})
	}
	if l.script != nil {
		out[0].Counts[Stubs], out[0].Counts[Own] = stubsOf(name, all), computed(all, importsOf(all), r.used)
	}
	return out
}

var (
	// function gives a function its name, title is a text that describes a test.
	function = re(`\b(?:def|fn|fun|func|function|void|Task|int)\s+(?:test\s+)?(\w+)`)
	title    = re("[(\\s](\"[^\"\\n]*\"|'[^'\\n]*'|`[^`]*`)|TEST\\w*(\\([^)]*\\))")
)

// nameOf is the name of a test: of its function, or its title. Annotations come before a function.
func nameOf(test string, behind int) string {
	head := strings.TrimSpace(test[strings.LastIndexByte(test[:behind], '\n')+1:])
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

// count counts what a part of a file has.
func (r reading) count(u *Unit, part []byte) {
	c := &u.Counts
	var inside map[int]bool
	c[Skips], c[Exits] = len(r.skip.FindAllIndex(part, -1))+len(never.FindAllIndex(part, -1)), len(early.FindAllIndex(part, -1))
	if r.script != nil {
		inside = r.assertions(u, string(part))
	} else {
		idle := trivial(part)
		c[Assertions] = max(0, len(r.assertion.FindAllIndex(part, -1))-idle)
		c[Exact] = max(0, len(precise.FindAllIndex(part, -1))-idle)
		c[Certain], c[Sized] = c[Assertions], c[Exact]
	}
	number := u.Line
	for text := range bytes.Lines(part) {
		at := r.assertion.FindIndex(text)
		switch {
		case inside[number]:
			text = nil
		case at != nil:
			text = text[at[0]:]
		case row.Match(text) && values.Match(text):
			if r.script == nil {
				c[Cases]++
			}
		case !held.Match(text):
			text = nil
		}
		u.values(string(text), number)
		number++
	}
	rows := c[Cases]
	if r.script == nil {
		rows--
	}
	if u.Test && rows > 1 { // they run once for each row
		for _, kind := range []int{Assertions, Certain, Sized, Exact} {
			c[kind] *= rows
		}
	}
}

// values notes the values of a text.
func (u *Unit) values(text string, line int) {
	for _, v := range values.FindAllString(text, -1) {
		u.Literals = append(u.Literals, Literal{Value: valueOf(v), Path: u.Path, Line: line, Beside: text})
	}
}

// trivial counts the assertions of constants, and of a value that is compared with itself.
func trivial(part []byte) int {
	n := len(truth.FindAllIndex(part, -1))
	for _, pattern := range itself {
		for _, m := range pattern.FindAllSubmatch(part, -1) {
			if bytes.Equal(bytes.TrimSpace(m[1]), bytes.TrimSpace(m[2])) {
				n++
			}
		}
	}
	return n
}

// valueOf is a value without its quotes.
func valueOf(v string) Value {
	switch v[0] {
	case '"', '\'', '`':
		if v = v[1 : len(v)-1]; len(v) > 1 && v[0] == '"' && v[len(v)-1] == '"' { // an inline snapshot
			v = v[1 : len(v)-1]
		}
		return Value{'s', v}
	case 't', 'T', 'f', 'F':
		return Value{'b', strings.ToLower(v)}
	}
	return Value{'n', strings.ReplaceAll(v, "_", "")}
}
