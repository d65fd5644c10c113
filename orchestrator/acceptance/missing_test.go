package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/proof"
	"divisi/subagents/gate/testnames"
)

func changed(path, before, after string) Change {
	c := Change{Path: path}
	if before != "" {
		c.Before = []byte(before)
	}
	if after != "" {
		c.After = []byte(after)
	}
	return c
}

const goTest = "package p\n\nimport \"testing\"\n\n// TestAdd adds.\nfunc TestAdd(t *testing.T) { t.Run(\"zero\", zero) }\n\n" +
	"func TestSub(t *testing.T) {}\n"

// What a patch removes or renames in the source explains a test that did not run; nothing else does.
func TestWhatExplainsAMissingTest(t *testing.T) {
	t.Parallel()
	add := testnames.Test{Group: "m/p", Name: "TestAdd"}
	js := testnames.Test{Group: "web/cart.test.js", Name: "cart > adds two items"}
	python := testnames.Test{Group: "tests.test_cart.TestCart", Name: "test_adds"}
	for name, c := range map[string]struct {
		test     testnames.Test
		changes  []Change
		explains bool
	}{
		"a renamed test":             {add, []Change{changed("p/p_test.go", goTest, strings.ReplaceAll(goTest, "TestAdd(", "TestSum("))}, true},
		"a removed file":             {add, []Change{changed("p/p_test.go", goTest, "")}, true},
		"a moved file":               {add, []Change{changed("p/p_test.go", goTest, ""), changed("q/p_test.go", "", goTest)}, true},
		"another test of its file":   {add, []Change{changed("p/p_test.go", goTest, strings.ReplaceAll(goTest, "TestSub(", "TestDif("))}, false},
		"a comment that names it":    {add, []Change{changed("p/p_test.go", goTest, strings.ReplaceAll(goTest, "// TestAdd adds.\n", "//go:build never\n"))}, false},
		"a module of its own":        {add, []Change{changed("p/go.mod", "", "module m/p\n")}, false},
		"an ignore of go.mod":        {add, []Change{changed("go.mod", "module m\n", "module m\n\nignore ./p\n")}, false},
		"an init that exits":         {add, []Change{changed("p/p.go", "package p\n", "package p\n\nfunc init() { os.Exit(0) }\n")}, false},
		"another name of the module": {add, []Change{changed("go.mod", "module m\n", "module example.com/m\n")}, true},
		"a file that was not read":   {js, []Change{{Path: "web/cart.test.js", Unread: "it is too large"}}, false},
		"a mode":                     {js, []Change{{Path: "web/cart.test.js"}}, false},
		"a case, and the table in its file": {
			testnames.Test{Group: "m/p", Name: "TestAdd/zero"}, []Change{changed("p/p_test.go", goTest, strings.ReplaceAll(goTest, "zero", "one"))}, true,
		},
		"a case, and data that it is named after": {
			testnames.Test{Group: "m/p", Name: "TestAdd/in_one_go"}, []Change{changed("data/all.json", `["in one go", "x"]`, `["x"]`)}, true,
		},
		"a case, and its file": {
			testnames.Test{Group: "m/p", Name: "TestAdd/empty"}, []Change{changed("p/testdata/empty.golden", "x", "")}, true,
		},
		"a case, and another package's test": {
			testnames.Test{Group: "m/p", Name: "TestAdd/zero"}, []Change{changed("q/q_test.go", goTest, goTest+"\n// More.\n")}, false,
		},
		"a case, and product code":  {testnames.Test{Group: "m/p", Name: "TestAdd/zero"}, []Change{changed("p/p.go", "package p\n", "package p // x\n")}, false},
		"tests of a package":        {testnames.Test{Group: "m/p", Name: "ok"}, []Change{changed("p/p_test.go", goTest, "")}, true},
		"tests of another package":  {testnames.Test{Group: "m/p", Name: "ok"}, []Change{changed("q/q_test.go", goTest, "")}, false},
		"a title":                   {js, []Change{changed("web/cart.test.js", "it('adds two items', f)", "it('adds items', f)")}, true},
		"the title around it":       {js, []Change{changed("web/cart.test.js", `describe("cart", f)`, `describe("basket", f)`)}, true},
		"another title":             {js, []Change{changed("web/cart.test.js", "it('removes', f)\n", "it('takes', f)\n")}, false},
		"a full title of mocha":     {testnames.Test{Group: "cart.js", Name: "cart adds two items"}, []Change{changed("cart.js", "it('adds two items', f)", "it('x', f)")}, true},
		"a setup that exits":        {js, []Change{changed("web/setup.js", "", "process.exit(0)")}, false},
		"a template of a title":     {testnames.Test{Group: "web/cart.test.js", Name: "adds N and N"}, []Change{changed("web/cart.test.js", "it.each(t)('adds %i and %i')", "it.each(t)('sums %i and %i')")}, true},
		"the template of another":   {testnames.Test{Group: "web/cart.test.js", Name: "adds N and N"}, []Change{changed("web/b.test.js", "it('x')", "it('y')")}, false},
		"a function of Python":      {python, []Change{changed("tests/test_cart.py", "def test_adds(self): pass", "def test_sums(self): pass")}, true},
		"a class":                   {python, []Change{changed("tests/test_cart.py", "class TestCart(T):\n  pass", "class TestBasket(T):\n  pass")}, true},
		"load_tests":                {python, []Change{changed("tests/__init__.py", "", "def load_tests(*a): return None")}, false},
		"parameters, in their file": {testnames.Test{Group: "tests.test_cart", Name: "test_adds[a-N]"}, []Change{changed("tests/test_cart.py", "P = ['a']\ndef test_adds(p): pass", "P = ['b']\ndef test_adds(p): pass")}, true},
		"a method of Java":          {testnames.Test{Group: "core/com.shop.CartTest", Name: "adds()"}, []Change{changed("core/src/test/java/com/shop/CartTest.java", "void adds() {}", "void sums() {}")}, true},
		"a test of Rust":            {testnames.Test{Group: "shop", Name: "tests::adds"}, []Change{changed("src/lib.rs", "fn adds() {}", "fn sums() {}")}, true},
		"[lib] test = false":        {testnames.Test{Group: "shop", Name: "tests::adds"}, []Change{changed("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := testnames.List{{Group: c.test.Group, Name: "TestSum"}, {Group: c.test.Group, Name: "cart > adds items"}}
			e := NewExplainer(map[string]Lost{"test": {Tests: testnames.List{c.test}, Fresh: fresh}})
			e.Read(proof.Span{Task: "a"}, c.changes)
			want := map[string]map[string]testnames.List{"a": {"test": {c.test}}}
			if c.explains {
				want = map[string]map[string]testnames.List{}
			}
			require.Equal(t, want, e.Asked())
		})
	}
}

// The patch is asked that can be why; all of them where none looks like it.
func TestWhichPatchIsAsked(t *testing.T) {
	t.Parallel()
	code := changed("q/q.go", "package q\n", "package q // x\n")
	for name, c := range map[string]struct {
		patches map[string][]Change
		want    string
	}{
		"a module of its own": {map[string][]Change{"a": {code}, "b": {changed("p/go.mod", "", "module m/p\n")}}, "b"},
		"nearer than another configuration": {map[string][]Change{
			"a": {changed("q/go.mod", "", "module m/q\n")}, "b": {changed("p/go.mod", "", "module m/p\n")},
		}, "b"},
		"an exit":                         {map[string][]Change{"a": {changed("p/a.go", "", "package p\n")}, "b": {changed("q/q.go", "", "package q\n\nfunc init() { os.Exit(0) }\n")}}, "b"},
		"in the test's package":           {map[string][]Change{"a": {code}, "b": {changed("p/p.go", "", "package p\n")}}, "b"},
		"not a note in the top directory": {map[string][]Change{"a": {changed("README.md", "", "x\n")}, "b": {changed("p/p.go", "", "package p\n")}}, "b"},
		"a note is no likelier":           {map[string][]Change{"a": {changed("README.md", "", "x\n")}, "b": {code}}, "a b"},
		"the configuration of all":        {map[string][]Change{"a": {changed("go.mod", "", "module m\n")}, "b": {changed("q/go.mod", "", "module m/q\n")}}, "a"},
		"none looks like it":              {map[string][]Change{"a": {code}, "b": {code}}, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := NewExplainer(map[string]Lost{"test": {Tests: testnames.List{{Group: "m/p", Name: "TestAdd"}}}})
			for task, changes := range c.patches {
				e.Read(proof.Span{Task: task}, changes)
			}
			var asked []string
			for _, task := range []string{"a", "b"} {
				if e.Asked()[task] != nil {
					asked = append(asked, task)
				}
			}
			require.Equal(t, c.want, strings.Join(asked, " "))
		})
	}
}

// The top directory can be that of any package, and its texts of none.
func TestNear(t *testing.T) {
	t.Parallel()
	require.True(t, near("shop", "a.go"))
	require.True(t, near("example.com/shop", "a_test.go"))
	require.True(t, near("test_cart.TestCart", "test_cart.py"))
	require.False(t, near("example.com/shop", "README.md"))
	require.False(t, near("tests.test_cart", "src/a.py"))
}

// A person who accepted a patch that weakens a test is not asked about that test again, but about others.
func TestWhatWasAcceptedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	e := NewExplainer(map[string]Lost{"test": {Tests: testnames.List{{Group: "m/p", Name: "TestAdd"}, {Group: "m/q", Name: "TestOther"}}}})
	e.Read(proof.Span{Task: "a", Accepted: true}, []Change{changed("p/p_test.go", goTest, strings.ReplaceAll(goTest, "t.Run(", "t.Skip(); t.Run("))})
	require.Equal(t, map[string]map[string]testnames.List{"a": {"test": {{Group: "m/q", Name: "TestOther"}}}}, e.Asked())
}

// That a skipped test has cases with other names, or another name itself, is no reason to skip it.
func TestNothingExplainsASkippedTest(t *testing.T) {
	t.Parallel()
	tests := testnames.List{{Group: "m/p", Name: "TestAdd/zero"}, {Group: "m/p", Name: "TestGone"}}
	e := NewExplainer(map[string]Lost{"test": {Tests: tests, Skipped: tests[:1]}})
	e.Read(proof.Span{Task: "a"}, []Change{changed("p/p_test.go", goTest+"func TestGone(t *testing.T) {}\n", goTest+"// More.\n")})
	require.Equal(t, map[string]map[string]testnames.List{"a": {"test": tests[:1]}}, e.Asked())
	evidence, kinds := MissingIn("test", tests, tests[:1])
	require.Equal(t, []string{"test: skipped", "test: missing"}, kinds)
	require.Equal(t, []string{
		`gate test skips 1 test that passed on the base commit: "m/p TestAdd/zero"`,
		`gate test passes without 1 test of the base commit, which no change removes or renames: "m/p TestGone"`,
	}, evidence)
}

func TestMissingInIsOneBoundedLine(t *testing.T) {
	t.Parallel()
	evidence, _ := MissingIn("test", testnames.List{{Group: "m/p", Name: "TestAdd"}}, nil)
	require.Equal(t, []string{
		`gate test passes without 1 test of the base commit, which no change removes or renames: "m/p TestAdd"`,
	}, evidence)
	var many testnames.List
	for i := range 100_000 {
		many = append(many, testnames.Test{Group: "m/p", Name: fmt.Sprint("Test", i, "\x1b[2J")})
	}
	evidence, _ = MissingIn("test", many, nil)
	line := strings.Join(evidence, "\n")
	require.Contains(t, line, "passes without 100000 tests")
	require.Contains(t, line, "and 99996 more")
	require.NotContains(t, line, "\x1b")
	require.Less(t, len(line), 1000)
}

// Without a case left a test is gone by its name, whatever else its file changes; another name explains that where it ran.
func TestANameWithoutItsParameters(t *testing.T) {
	t.Parallel()
	const java = "class CartTest {\n  @Test void adds() { assertEquals(2, add()); }\n}\n"
	const rows = "P = ['a', 'b']\n@mark.parametrize('p', P)\ndef test_adds(p):\n    assert p\n"
	for name, c := range map[string]struct {
		tests, ran string
		change     Change
		explains   bool
	}{
		"a condition on a test of JUnit": {"adds()", "subs()", changed("CartTest.java", java, strings.ReplaceAll(java, "@Test ", "@EnabledIf(\"never\") @Test ")), false},
		"another line of its file":       {"adds()", "subs()", changed("CartTest.java", java, java+"// More.\n"), false},
		"it gets another name":           {"adds()", "sums()", changed("CartTest.java", java, strings.ReplaceAll(java, "adds()", "sums()")), true},
		"which does not run":             {"adds()", "subs()", changed("CartTest.java", java, strings.ReplaceAll(java, "adds()", "sums()")), false},
		"it gets a parameter":            {"adds()", "sums(int)[1]", changed("CartTest.java", java, strings.ReplaceAll(java, "adds()", "sums(int n)")), true},
		"it is removed":                  {"adds()", "subs()", changed("CartTest.java", java, "class CartTest {\n}\n"), true},
		"a row is gone":                  {"test_adds[b]", "test_adds[a]", changed("test_cart.py", rows, strings.ReplaceAll(rows, ", 'b'", "")), true},
		"all rows are gone":              {"test_adds[a] test_adds[b]", "test_subs", changed("test_cart.py", rows, strings.ReplaceAll(rows, "'a', 'b'", "")), false},
		"all have another name":          {"test_adds[a]", "test_sums[a]", changed("test_cart.py", rows, strings.ReplaceAll(rows, "test_adds", "test_sums")), true},
		"a subtest":                      {"TestAdd/b", "TestAdd TestAdd/a", changed("x/a_test.go", goTest, strings.ReplaceAll(goTest, "zero", "one")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := func(names string) (l testnames.List) {
				for name := range strings.FieldsSeq(names) {
					l = append(l, testnames.Test{Group: "x", Name: name})
				}
				return l.And(nil)
			}
			missing := list(c.tests)
			e := NewExplainer(map[string]Lost{"test": LostTests(missing, nil, list(c.ran), list("subs() test_subs").And(missing))})
			e.Read(proof.Span{Task: "a"}, []Change{c.change})
			require.Equal(t, c.explains, len(e.Asked()) == 0)
		})
	}
}
