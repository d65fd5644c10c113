package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

const goTests = `package a

import ("testing"; "github.com/stretchr/testify/require")

func TestOne(t *testing.T) {
	require.Equal(t, 1, one())
	if two() != 2 {
		t.Fatal("not two")
	}
}

func TestTwo(t *testing.T) {
	t.Run("sub", func(t *testing.T) { check(t, two(), 2) })
}

func ExampleThree() {
	three()
	// Output: 3
}
`

// found is the evidence against a patch of a task without a rule.
func found(changes ...Change) []string {
	return Check(&Patch{Task: &spec.Task{}, Changes: changes}).Evidence()
}

func altered(from, to string) string { return strings.Replace(goTests, from, to, 1) }

// Places, names, numbers and values are no part of the kind of a finding, and neither is which assertions are gone.
func TestFindingsOfOneKindHaveOneKind(t *testing.T) {
	t.Parallel()
	kinds := func(path, from, to string) []string {
		return Check(&Patch{Task: &spec.Task{}, Changes: []Change{
			{Path: path, Before: []byte(goTests), After: []byte(altered(from, to))},
		}}).kinds()
	}
	fewer := kinds("a_test.go", "\trequire.Equal(t, 1, one())\n", "")
	require.Equal(t, []string{"tests: fewer assertions"}, fewer)
	require.Equal(t, fewer, kinds("b/c_test.go", "\trequire.", "\t// require."))
	require.NotEqual(t, fewer, kinds("a_test.go", "TestTwo", "testTwo"))
}

func TestWeakenedTests(t *testing.T) {
	t.Parallel()
	pass := "[nothing]"
	for _, tc := range []struct {
		name          string
		path          string
		before, after string
		want          string
	}{
		{"the same", "a_test.go", goTests, goTests, pass},
		{"skipped", "a_test.go", goTests, altered("\trequire.Equal(t, 1, one())", "\tt.Skip()"), "a_test.go: more skips, 0 before and 1 after"},
		{"skipped in words", "a_test.go", goTests, altered("require.Equal(t, 1", "t.Skipf(\"\"); require.Equal(t, 1"), "more tests that assert nothing, 0 before and 1 after: TestOne"},
		{"one gone", "a_test.go", goTests, altered("TestTwo", "testTwo"), "fewer tests, 1 before and 0 after: TestTwo"},
		{"no test name", "a_test.go", goTests, altered("TestTwo", "Testtwo"), "fewer tests"},
		{"an assertion gone", "a_test.go", goTests, altered("\trequire.Equal(t, 1, one())\n", ""), "fewer assertions, 2 before and 1 after: TestOne"},
		{"a comment", "a_test.go", goTests, altered("\trequire.", "\t// require."), "fewer assertions"},
		{
			"a fixture gets another name", "tests/test_a.py", "def test_a(runner):\n    runner.run()\n\ndef test_b(runner):\n    assert runner.run() == 1\n",
			"def test_a(cli):\n    cli.run()\n\ndef test_b(cli):\n    assert cli.run() == 1\n", pass,
		},
		{
			"and a test is hollowed out", "tests/test_a.py", "def test_a(runner):\n    runner.run()\n\ndef test_b(runner):\n    assert runner.run() == 1\n",
			"def test_a(cli):\n    cli.run()\n\ndef test_b(cli):\n    cli.run()\n", "more tests that assert nothing, 0 before and 1 after",
		},
		{"hollow", "a_test.go", goTests, altered("check(t, two(), 2)", "two()"), "more tests that assert nothing, 0 before and 1 after: TestTwo"},
		{"an example that is not run", "a_test.go", goTests, altered("// Output: 3", "// 3"), "more tests that assert nothing, 0 before and 1 after: ExampleThree"},
		{"returns first", "a_test.go", goTests, altered("\trequire.", "\treturn\n\trequire."), "more tests that assert nothing, 0 before and 1 after: TestOne"},
		{"panics first", "a_test.go", goTests, altered("\trequire.", "\tpanic(0)\n\trequire."), "more tests that assert nothing, 0 before and 1 after"},
		{"deleted", "a_test.go", goTests, "", "fewer tests, 3 before and 0 after"},
		{"left out by a tag", "a_test.go", goTests, "//go:build never\n\n" + goTests, "more files with tests that never run, 0 before and 1 after"},
		{"another tag", "a_test.go", "//go:build integration\n\n" + goTests, "//go:build never\n\n" + goTests, "tests that never run"},
		{"a tag kept", "a_test.go", "//go:build integration\n\n" + goTests, "//go:build integration\n\n" + goTests + "\n", pass},
		{"a constraint that builds", "a_test.go", goTests, "//go:build !js\n\n" + goTests, pass},
		{"a function commented out from outside", "a_test.go", goTests, altered("func TestTwo", "/*\nfunc TestTwo") + "*/\n", "fewer tests, 2 before and 0 after"},
		{"a function in a string", "a_test.go", goTests, altered("func TestTwo", "const s = `\nfunc TestTwo") + "`\n", "fewer tests, 2 before and 0 after"},
		{"TestMain", "a_test.go", goTests, goTests + "\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", "tests that never run"},
		{"TestMain that runs them", "a_test.go", goTests, goTests + "\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n", pass},
		{"a new test that only runs", "a_test.go", goTests, goTests + "\nfunc TestMore(t *testing.T) { one() }\n", pass},
		{"more of all", "a_test.go", goTests, goTests + "\nfunc TestMore(t *testing.T) { t.Error() }\n", pass},
		{"a suite", "a_test.go", suite, strings.Replace(suite, "\ts.Equal(1, one())\n", "", 1), "fewer assertions, 2 before and 1 after: TestOne"},
		{"a helper", "a_test.go", helper, strings.Replace(helper, "is.True(ok)", "_ = ok", 1), "more tests that assert nothing, 0 before and 1 after"},
		{"no Go any more", "a_test.go", "package a\nfunc TestA(t *testing.T) { t.Fatal() }\nfunc TestB(t *testing.T) { t.Error() }", "package a\nfunc TestA(t *testing.T) { t.Fatal( }", "fewer tests, 2 before and 0 after"},
		{"other people's", "vendor/x/a_test.go", goTests, "", pass},
		{"test data", "testdata/a_test.go", goTests, "", pass},
		{"no test", "a.go", goTests, "", pass},
		{"jest", "web/a.test.tsx", "it('a', () => { expect(1).toBe(1) })", "it.skip('a', () => { expect(1).toBe(1) })", "more skips"},
		{"mocha", "test/byte-format.js", "it('a', () => { expect(1).toBe(1) })", "it.skip('a', () => { expect(1).toBe(1) })", "more skips"},
		{"tests below", "tests/unit/a.mjs", "it('a', () => { expect(1).toBe(1) })", "it.skip('a', () => { expect(1).toBe(1) })", "more skips"},
		{"one file", "test.ts", "it('a', () => { expect(1).toBe(1) })", "it.skip('a', () => { expect(1).toBe(1) })", "more skips"},
		{"jest, one only", "web/a.spec.js", "it('a', () => { expect(1) })\nit('b', () => { expect(1) })", "it.only('a', () => { expect(1) })\nit('b', () => { expect(1) })", "more skips"},
		{"jest in a comment", "web/a.spec.js", "it('a', () => {\n  expect(one()).toBe(1)\n})", "it('a', () => {\n  // expect(one()).toBe(1)\n})", "more tests that assert nothing, 0 before and 1 after"},
		{"pytest", "tests/test_a.py", "def test_a():\n    assert one()\n", "def test_a():\n    pass\n", "more tests that assert nothing, 0 before and 1 after"},
		{
			"values that nothing asserts", "tests/test_a.py", "def test_a():\n    assert f() == 'a'\n    assert g() == 'b'\n    assert h() == 'c'\n",
			"def test_a():\n    expected = ['a', 'b', 'c']\n    assert k() == 3\n", "fewer assertions",
		},
		{
			"values that one asserts", "tests/test_a.py", "def test_a():\n    r = f()\n    assert r.a == 'a'\n    assert r.b == 'b'\n    assert r.c == 'c'\n",
			"def test_a():\n    assert f() == R('a', 'b', 'c')\n", pass,
		},
		{"pytest mark", "tests/test_a.py", "def test_a():\n    assert 1\n", "@pytest.mark.skip\ndef test_a():\n    assert 1\n", "more skips"},
		{"pytest renamed", "a_test.py", "async def test_a():\n    assert 1\n", "async def check_a():\n    assert 1\n", "fewer tests"},
		{"rust", "src/lib.rs", rust, strings.Replace(rust, "assert_eq!(1, one());", "", 1), "more tests that assert nothing, 0 before and 1 after"},
		{"rust ignored", "src/lib.rs", rust, strings.Replace(rust, "#[test]", "#[test]\n#[ignore]", 1), "more skips"},
		{"rust code without tests", "src/lib.rs", "fn f() { assert!(true); }", "fn f() {}", pass},
		{"junit", "src/test/java/ATest.java", "@Test void a() { assertEquals(1, 1); }", "@Test @Disabled void a() { assertEquals(1, 1); }", "more skips"},
		{"rspec", "spec/a_spec.rb", "it 'a' do\n  expect(1).to eq 1\nend", "xit 'a' do\n  expect(1).to eq 1\nend", "fewer tests"},
		{"dotnet", "ATests.cs", "[Fact] void A() { Assert.True(x); }", "[Fact(Skip = \"\")] void A() { Assert.True(x); }", "more skips"},
		{"php", "ATest.php", "function testA() { $this->assertTrue(1); }", "function testA() { $this->markTestSkipped(); }", "more skips"},
		{"gtest", "a_test.cc", "TEST(A, B) { EXPECT_EQ(1, 1); }", "TEST(A, DISABLED_B) { EXPECT_EQ(1, 1); }", "more skips"},
		{"bats", "a.bats", "@test \"a\" {\n  [ 1 = 1 ]\n}", "@test \"a\" {\n  true\n}", "more tests that assert nothing, 0 before and 1 after"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Change{Path: tc.path, Before: []byte(tc.before)}
			if tc.after != "" {
				c.After = []byte(tc.after)
			}
			evidence := found(c)
			if tc.want == pass {
				require.Empty(t, evidence)
				return
			}
			require.Contains(t, strings.Join(evidence, "\n"), tc.want)
		})
	}
}

const suite = `package a

func (s *Suite) TestOne() {
	s.Equal(1, one())
	s.Require().NoError(two())
	check(s.T(), 3)
}
`

const helper = `package a

func TestOne(t *testing.T) {
	is := require.New(t)
	is.True(ok)
	is.Equal(1, 1)
}
`

const rust = `fn f() { assert!(true); }
#[cfg(test)]
mod tests {
    #[test]
    fn a() { assert_eq!(1, one()); }
}
`

func TestMovedTestsAreNotFewer(t *testing.T) {
	t.Parallel()
	moved := []Change{{Path: "a_test.go", Before: []byte(goTests)}, {Path: "b/b_test.go", After: []byte(goTests)}}
	require.Empty(t, found(moved...))
	away := []Change{{Path: "a_test.go", Before: []byte(goTests)}, {Path: "b/b.go", After: []byte(goTests)}}
	require.NotEmpty(t, found(away...), "a file that is no test file is compiled into no test")
	other := []Change{{Path: "a_test.go", Before: []byte(goTests)}, {Path: "a.test.js", After: []byte("it('a',()=>{expect(1)})\nit('b',()=>{expect(1)})\nit('c',()=>{expect(1)})")}}
	require.NotEmpty(t, found(other...), "tests of one language do not make up for those of another")
	windows := []Change{{Path: "a_test.go", Before: []byte(goTests)}, {Path: "a_windows_test.go", After: []byte(goTests)}}
	require.NotEmpty(t, found(windows...), "the file's name keeps it out of builds")
	fresh := []Change{{Path: "a_windows_test.go", After: []byte(goTests)}}
	require.Empty(t, found(fresh...))
}

func TestUnreadFilesDoNotPass(t *testing.T) {
	t.Parallel()
	evidence := found(Change{Path: "a_test.go", Unread: "it has 9 bytes, more than 8"})
	require.Equal(t, []string{"a_test.go: its tests were not compared: it has 9 bytes, more than 8"}, evidence)
}

// A NUL byte hides a text from the checks of lines: also the file that the task names is asked about.
func TestATextThatBecomesABinaryIsAskedAbout(t *testing.T) {
	t.Parallel()
	p := &Patch{Task: &spec.Task{Files: []string{"a.txt"}}, Changes: []Change{{Path: "a.txt", Before: []byte("a\n"), After: []byte("b\x00\n")}}}
	require.Equal(t, []string{"a.txt: a text becomes a binary file, which no check reads"}, Check(p).Evidence())
	p.Changes[0].Before = []byte("a\x00\n")
	require.Empty(t, Check(p).Evidence(), "it was one, and the task names it")
}

func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	var many []Change
	for i := range 100 {
		many = append(many, Change{Path: fmt.Sprintf("f%02d_test.go", i), Before: []byte(goTests)})
	}
	evidence := found(many...)
	require.Less(t, len(evidence), 30)
	require.Contains(t, strings.Join(evidence, "\n"), "fewer tests in 90 more files")
}

// Whatever the contents are, the checks end, and a file compared with itself passes.
func FuzzCheck(f *testing.F) {
	paths := []string{
		"a_test.go", "a.go", "a.test.ts", "test_a.py", "a.rs", "ATest.java", "a_spec.rb", "a.bats", "Makefile", "package.json", "a.pb.go",
		"testdata/a.golden", "x.md",
	}
	for _, path := range paths {
		f.Add(path, []byte(goTests), []byte(rust))
		f.Add(path, []byte("//go:build !(\npackage"), []byte("/* /* \x00"))
		f.Add(path, []byte(goTests), []byte(altered("func TestTwo", "const s = `\nfunc TestTwo")+"`\n"))
		f.Add(path, []byte("package a\nfunc TestA(t *testing.T) { for range a { }; a := a; if x := 1; a != a {}; check(t, 1e999999999) }"), []byte("\nfunc \nfunc"))
		f.Add(path, []byte("package a\nfunc h(t *testing.T) { h(t); f := func() { f() }; f() }\nfunc TestA(t *testing.T) { Expect().To(); require.Equal() }"), []byte("package a"))
		f.Add(path, []byte("import a from 'a'\njest.mock('a'\n...x.mockReturnValue(\nexpect(a).then(() => { try { expect("), []byte("class A:\n  def test_a(a):\n    if a:\n      assert (a, 1\n    yield"))
		f.Add(path, []byte("var a = a\nexpect('a').toBe('a'"), []byte("<<<<<<< \n>>>>>>>\n-----BEGIN PRIVATE KEY-----\ntoken = 'aB3'"))
	}
	f.Fuzz(func(t *testing.T, path string, before, after []byte) {
		v := Check(&Patch{Task: &spec.Task{Brief: string(before)}, Changes: []Change{{Path: path, Before: before, After: after}, {Path: "b_test.go", After: before}}})
		for _, line := range v.Evidence() {
			require.NotContains(t, line, "\n")
		}
		if apart := found(Change{Path: path, Before: before, After: before}); !strings.Contains(path, "\x00") && len(before) < maxFile {
			require.NotContains(t, strings.Join(apart, "\n"), "fewer")
		}
	})
}

// A refusal of a check costs an attempt: its class is none that decides otherwise.
func TestClassesOfChecksAreTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		require.NotContains(t, []string{
			wire.FaultConflict, wire.FaultGate, wire.FaultVerdict, wire.FaultTooBig, wire.FaultInput, wire.FaultBudget, wire.FaultWriteSet,
		}, c.name)
	}
}

// What a hostile file holds is read in the end, at half of the largest size that is read. Each once took minutes.
func TestHostileTestsAreRead(t *testing.T) {
	t.Parallel()
	lines := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxTests/4-2*len(format); i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const part, small = maxTests / 4, 16 << 10
	for _, tc := range []struct{ name, path, before, after string }{
		{"assertions in one line", "a.test.js", "", "it('a', () => {" + strings.Repeat("expect(f(1)).toBe(2);", part/24) + "})"},
		{"other values in one line", "a.test.js", "it('a', () => {" + lines("expect(f('x')).toBe('v%d');") + "})", "it('a', () => {" + lines("expect(f('x')).toBe('w%d');") + "})"},
		{"other values in one test", "test_a.py", "def test_a():\n" + lines("    assert f('x') == 'v%d'\n"), "def test_a():\n" + lines("    assert f('x') == 'w%d'\n")},
		{"tests", "test_a.py", lines("def test_a%[1]d():\n    assert f(%[1]d) == 1\n\n"), lines("def test_a%[1]d():\n    assert f(%[1]d) == 2\n\n")},
		{"classes", "test_a.py", "", lines("class TestA%d:\n    def test_a(self):\n        assert f(1) == 2\n")},
		{"conditions", "test_a.py", "", "def test_a():\n" + lines("    if x:\n        assert f(%d) == 2\n")},
		{"decorators", "test_a.py", "", lines("@pytest.mark.parametrize('a', [1, %d])\n") + "def test_a(a):\n    assert f(a) == 1\n"},
		{"imports", "test_a.py", "", lines("from a%d import (\n")},
		{"mocks", "a.test.js", "", lines("jest.spyOn(a%d, 'b').mockReturnValue(1);\n")},
		{"brackets in Python", "test_a.py", "", "def test_a():\n    assert " + strings.Repeat("(", part/3) + strings.Repeat(")", part/3)},
		{"blank lines", "a.test.js", "", "it('a', () => {" + strings.Repeat("\n", part) + "expect(1).toBe(f()) })"},
		{"links", "a.test.js", "", "it('a', () => { expect(1)" + strings.Repeat(".not", part/5) + ".toBe(2) })"},
		{"calls in a chain", "a_test.go", "", "package a\nfunc TestA(t *testing.T) { x" + strings.Repeat(".a()", 5000) + " }\n"},
		{"functions in functions", "a_test.go", "", "package a\nfunc TestA(t *testing.T) { " + strings.Repeat("Eventually(func() { ", 2000) + strings.Repeat("})", 2000) + " }\n"},
		{"elements in a pom.xml", "pom.xml", "<project></project>", "<project>" + strings.Repeat("<skip>", 9000) + strings.Repeat("</skip>", 9000) + "</project>"},
		{"ignored directories", "go.mod", "module a\n", "module a\n" + strings.Repeat("ignore a\n", maxManifest/10)},
		{"indents", "test_a.py", "", indents(700)},
		{"assertions in assertions", "a.test.js", "", strings.Repeat("expect(", small/7)},
		{"regular expressions", "a.test.js", "", strings.Repeat("=/x", small)},
	} {
		found(Change{Path: tc.path, Before: []byte(tc.before), After: []byte(tc.after)})
	}
	for _, part := range []string{"it('a', () => { expect(", "[(", "`${", "/", "'", "if (x) {", "\"\"\"", "x = [", "expect(a).then("} {
		for _, name := range []string{"a.test.ts", "test_a.py"} {
			found(Change{Path: name, Before: []byte("x"), After: []byte(strings.Repeat(part, small/len(part)))})
		}
	}
	large := make([]byte, maxTests+1)
	require.Contains(t, strings.Join(found(Change{Path: "test_a.py", After: large}), "\n"), "were not compared")
	require.Contains(t, strings.Join(found(Change{Path: "pom.xml", After: large}), "\n"), "too large to be compared")
}

func indents(n int) string {
	var deep strings.Builder
	for i := range n {
		fmt.Fprintf(&deep, "%sif x:\n", strings.Repeat(" ", i))
	}
	return deep.String() + strings.Repeat(" ", n) + "assert x"
}

// A test can compare with a value that is in another file of the patch, before or behind its own.
func TestAValueOfAnotherFile(t *testing.T) {
	t.Parallel()
	test := "package a\n\nfunc TestOne(t *testing.T) {\n\trequire.Equal(t, wanted, one())\n}\n"
	for _, order := range [][]string{{"a_test.go", "b_test.go"}, {"b_test.go", "a_test.go"}} {
		value := func(n string) []byte {
			return []byte("package a\n" + strings.Repeat("\n// More.\n", 50) + "\nvar wanted = " + n + "\n")
		}
		changes := []Change{
			{Path: order[0], Before: []byte(test), After: []byte(test + "\n")},
			{Path: order[1], Before: value("10"), After: value("11")},
		}
		require.Equal(t, []string{order[1] + ":103: a test expects 11 in place of 10"}, found(changes...))
	}
}
