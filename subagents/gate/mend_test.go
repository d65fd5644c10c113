package gate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"
)

// A batch that mends is better with fewer failures and none that is new; what did not run before is no failure of the batch.
func TestMendedGates(t *testing.T) {
	t.Parallel()
	lint := func(signatures ...string) spec.Receipt { return kind(spec.KindFindings, red(signatures...)) }
	counts := func(r spec.Receipt, counts map[string]int) spec.Receipt { r.Counts = counts; return r }
	at := func(r spec.Receipt, paths map[string][]string) spec.Receipt { r.Paths = paths; return r }
	moved := func(r spec.Receipt, signatures ...string) spec.Receipt { r.Moved = signatures; return r }
	late := func(r spec.Receipt) spec.Receipt { r.TimedOut = true; return r }
	inP := map[string][]string{"test: p A": {"p/a_test.go"}, "p/b.go: x": {"p/b.go"}, "p/own.go: x": {"p/own.go"}}
	broken := hides(red("build: p/a.go: x"), "package: p")
	opaque := hides(kind(spec.KindTests, red("error: x.c: x")), "*")
	for name, c := range map[string]struct {
		receipt, before spec.Receipt
		notNamed        bool
		through         bool
		want            string
		appeared        []string
	}{
		"green":                  {receipt: spec.Receipt{Verdict: spec.VerdictPass}, before: lint("a.go: x"), want: spec.VerdictPass},
		"red over green":         {receipt: lint("a.go: x"), before: spec.Receipt{}, want: spec.VerdictFail},
		"fewer":                  {receipt: lint("a.go: x"), before: lint("a.go: x", "b.go: x"), want: spec.VerdictBetter},
		"fewer places":           {receipt: counts(lint("a.go: x"), map[string]int{"a.go: x": 2}), before: counts(lint("a.go: x"), map[string]int{"a.go: x": 3}), want: spec.VerdictBetter},
		"equal":                  {receipt: lint("a.go: x"), before: lint("a.go: x"), want: spec.VerdictFail},
		"equal, of another gate": {receipt: lint("a.go: x"), before: lint("a.go: x"), notNamed: true, want: spec.VerdictBaseline},
		"one more of a kind":     {receipt: counts(lint("a.go: x"), map[string]int{"a.go: x": 2}), before: lint("a.go: x", "b.go: x", "c.go: x"), want: spec.VerdictFail},
		"fewer and a new one":    {receipt: lint("a.go: x", "c.go: y"), before: lint("a.go: x", "b.go: x", "b.go: z"), want: spec.VerdictFail},
		"moved alone":            {receipt: moved(lint("c.go: x"), "c.go: x"), before: lint("a.go: x"), want: spec.VerdictFail},
		"moved and fewer":        {receipt: moved(lint("c.go: x"), "c.go: x"), before: lint("a.go: x", "b.go: x"), want: spec.VerdictBetter},
		"hidden tests fail": {
			receipt: at(red("test: p A"), inP), before: broken, want: spec.VerdictBetter, appeared: []string{"test: p A"},
		},
		"hidden tests fail in another gate": {
			receipt: at(red("test: p A"), inP), before: broken, notNamed: true, want: spec.VerdictBaseline, appeared: []string{"test: p A"},
		},
		"hidden tests fail, and nothing is mended": {
			receipt: at(hides(red("build: p/a.go: x", "test: p A"), "package: p"), inP), before: broken, want: spec.VerdictFail,
			appeared: []string{"test: p A"},
		},
		"hidden tests pass":                        {receipt: red("test: q C"), before: hides(red("build: p/a.go: x", "test: q C"), "package: p"), want: spec.VerdictBetter},
		"a test that passed before":                {receipt: at(red("test: p Passed"), map[string][]string{"test: p Passed": {"p"}}), before: broken, want: spec.VerdictFail},
		"a test elsewhere":                         {receipt: at(red("test: q A"), map[string][]string{"test: q A": {"q"}}), before: broken, want: spec.VerdictFail},
		"a finding behind the first":               {receipt: at(hides(lint("p/b.go: x"), "package: p"), inP), before: hides(lint("p/a.go: x", "p/a.go: y"), "package: p"), want: spec.VerdictBetter, appeared: []string{"p/b.go: x"}},
		"a finding in what the batch changes":      {receipt: at(hides(lint("p/own.go: x"), "package: p"), inP), before: hides(lint("p/a.go: x", "p/a.go: y"), "package: p"), want: spec.VerdictFail},
		"another package is hidden":                {receipt: hides(red("build: p/a.go: x"), "package: q"), before: hides(red("build: p/a.go: x", "build: p/a.go: y"), "package: p"), want: spec.VerdictFail},
		"what could not be compared runs":          {receipt: red("test: A", "test: B"), before: opaque, want: spec.VerdictBetter, appeared: []string{"test: A", "test: B"}},
		"what could not be compared as before":     {receipt: opaque, before: opaque, want: spec.VerdictFail},
		"what could not be compared, another gate": {receipt: opaque, before: opaque, notNamed: true, want: spec.VerdictUnattributable},
		"what named nothing is compared":           {receipt: red("test: A"), before: red(), want: spec.VerdictBetter, appeared: []string{"test: A"}},
		"what named nothing names nothing":         {receipt: red(), before: red(), want: spec.VerdictFail},
		"out of time as before":                    {receipt: late(red("gate: timed out")), before: late(red("gate: timed out", "test: A")), want: spec.VerdictFail},
		"in time at last":                          {receipt: red("test: B"), before: late(red("gate: timed out")), want: spec.VerdictBetter, appeared: []string{"test: B"}},
		"a test of it had passed":                  {receipt: red("test: p Passed"), before: late(red("gate: timed out")), want: spec.VerdictFail},
		"red over green in a passage":              {receipt: lint("a.go: x"), before: spec.Receipt{}, notNamed: true, through: true, want: spec.VerdictPassage},
		"more in a passage":                        {receipt: lint("a.go: x", "b.go: y"), before: lint("a.go: x"), notNamed: true, through: true, want: spec.VerdictPassage},
		"nothing compared in a passage":            {receipt: opaque, before: spec.Receipt{}, notNamed: true, through: true, want: spec.VerdictPassage},
		"green in a passage":                       {receipt: spec.Receipt{Verdict: spec.VerdictPass}, before: lint("a.go: x"), notNamed: true, through: true, want: spec.VerdictPass},
		"out of time in a passage":                 {receipt: late(red("gate: timed out")), before: spec.Receipt{}, notNamed: true, through: true, want: spec.VerdictFail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := Mending{
				Named: !c.notNamed, Through: c.through, Passed: testnames.List{{Group: "p", Name: "Passed"}},
				Changed: func(context.Context) ([]string, error) { return []string{"p/own.go"}, nil },
			}
			r := c.receipt
			r.Verdict = Judge(r, &c.before)
			require.NoError(t, m.judge(t.Context(), &r, &c.before))
			require.Equal(t, c.want, r.Verdict)
			require.Equal(t, c.appeared, r.Appeared)
			if r.Verdict == spec.VerdictBetter {
				require.Contains(t, []string{spec.VerdictBaseline}, Judge(c.receipt, &r), "later batches are compared with it")
				require.Equal(t, spec.VerdictFail, Judge(c.before, &r), "as red as before is red again")
			}
		})
	}
}
