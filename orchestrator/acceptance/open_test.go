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
		open(found)
		require.Equal(t, !gone[kind], found[0].Open, words)
	}
	found := []Finding{at("p/x_test.go", 1, "a test expects 1 in place of 2"), at("", 0, "fewer assertions in 3 more files")}
	open(found)
	require.True(t, found[0].Open)
	require.False(t, found[1].Open, "it has no file to try")
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
