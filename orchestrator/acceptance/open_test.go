package acceptance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance/testsource"
)

// These findings no experiment answers: what is gone may be the only test of what no mutant shows.
func TestWhatNoExperimentAnswers(t *testing.T) {
	t.Parallel()
	gone := map[int]bool{
		testsource.Tests: true, testsource.Cases: true, testsource.Skips: true, testsource.Exits: true, testsource.Off: true,
		testsource.Silent: true,
	}
	for kind, words := range kindNames {
		found := []Finding{{Path: "p/x_test.go", Kind: words}}
		open(found, true)
		require.Equal(t, !gone[kind], found[0].Open, words)
	}
	found := []Finding{at("p/x_test.go", 1, "a test expects 1 in place of 2"), at("", 0, "fewer assertions in 3 more files")}
	open(found, true)
	require.True(t, found[0].Open)
	require.False(t, found[1].Open, "it has no file to try")
	open(found, false)
	require.False(t, found[0].Open, "no experiment compares the language")
}

// Fewer tests can be tried where others have their values.
func TestWhatOthersKeep(t *testing.T) {
	t.Parallel()
	test := func(name, body string) string { return "func " + name + "(t *testing.T) {\n" + body + "}\n\n" }
	const head = "package p\n\nimport \"testing\"\n\n"
	const one, two = "\tif f(1, \"one\") != 11 {\n\t\tt.Fatal(\"first\")\n\t}\n", "\tif f(2, \"two\") != 22 {\n\t\tt.Fatal(\"second\")\n\t}\n"
	before := head + test("TestOne", one) + test("TestTwo", two) + test("TestBoth", "\tif g(\"one two\", 2, 22) != 11 {\n\t\tt.Fatal()\n\t}\n")
	for name, c := range map[string]struct {
		after string
		tries bool
	}{
		"merged":             {head + test("TestOne", one+two) + test("TestBoth", "\tif g(\"one two\", 2, 22) != 11 {\n\t\tt.Fatal()\n\t}\n"), true},
		"in another test":    {strings.Replace(before, test("TestTwo", two), "", 1), true},
		"gone with a value":  {strings.Replace(before, test("TestOne", one), "", 1), false},
		"gone, and a remark": {strings.Replace(before, test("TestOne", one), "// f(1) is 11\n\n", 1), false},
	} {
		p := &Patch{Task: &spec.Task{}, Changes: []Change{{Path: "p_test.go", Before: []byte(before), After: []byte(c.after)}}}
		v := Check(p)
		require.Equal(t, c.tries, v.tries() && len(v.Tests) > 0, "%s: %v", name, v.Findings)
	}
}

// In Python an assertion that moves into a block is tried.
func TestIndentedAssertionsAreTried(t *testing.T) {
	t.Parallel()
	const before = "def test_a():\n    with raises(E) as e:\n        run(1)\n    assert e.value == 2\n"
	p := &Patch{Task: &spec.Task{}, Changes: []Change{{
		Path: "test_a.py", Before: []byte(before), After: []byte(strings.Replace(before, "    assert", "        assert", 1)),
	}}}
	require.Equal(t, []string{"test_a.py"}, Check(p).Tests)
}

// What renames explain, what is only new, and what says nothing has no experiment.
func TestWhatIsTried(t *testing.T) {
	t.Parallel()
	const test = "package p\n\nimport \"testing\"\n\nfunc TestCost(t *testing.T) {\n\tif Cost(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n"
	for name, c := range map[string]struct {
		test, product string
		want          []string
	}{
		"nothing":         {test, "func Cost() {}\n", nil},
		"a rename":        {"package p\n\nimport \"testing\"\n\nfunc TestFee(t *testing.T) {\n\tif Fee(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n", "func Fee() {}\n", nil},
		"a longer name":   {strings.ReplaceAll(test, "Cost", "CostOfAll"), "func CostOfAll() {}\n", nil},
		"another test":    {strings.ReplaceAll(test, "!= 2", "!= Fee(0)"), "func Fee() {}\n", []string{"p_test.go"}},
		"a new test":      {test + "\nfunc TestMore(t *testing.T) {\n\tif Cost(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n", "func Cost() {}\n", nil},
		"another input":   {"package p\n\nimport \"testing\"\n\nfunc TestCost(t *testing.T) {\n\tif Cost(one) != 2 {\n\t\tt.Fatal()\n\t}\n}\n", "func Cost() {}\n", []string{"p_test.go"}},
		"a new condition": {"package p\n\nimport \"testing\"\n\nfunc TestCost(t *testing.T) {\n\tif testing.Verbose() {\n\tif Cost(1) != 2 {\n\t\tt.Fatal()\n\t}\n\t}\n}\n", "func Cost() {}\n", []string{"p_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Patch{Task: &spec.Task{}}
			p.Changes = []Change{
				{Path: "p_test.go", Before: []byte(test), After: []byte(c.test)},
				{Path: "p.go", Before: []byte("func Cost() {}\n"), After: []byte(c.product)},
			}
			require.Equal(t, c.want, Check(p).Tests)
		})
	}
}
