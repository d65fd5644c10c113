package tester

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/wire"
)

// kept are objects in memory.
type kept map[string][]byte

func (k kept) Put(_ context.Context, name string, data []byte) error {
	k[name] = data
	return nil
}

func (k kept) Get(_ context.Context, name string) ([]byte, error) { return k[name], nil }

// A receipt lists the tests of the base commit that did not pass, and apart from those that are gone the ones that are skipped.
func TestSkippedTestsAreToldFromThoseThatAreGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		passed, skipped  string
		verdict          string
		missing, skipsOf string
	}{
		"all pass":            {passed: "A B C", verdict: spec.VerdictPass},
		"one is skipped":      {passed: "A B", skipped: "C", verdict: spec.VerdictPass, missing: "C", skipsOf: "C"},
		"one is gone":         {passed: "A B", verdict: spec.VerdictPass, missing: "C"},
		"one of each":         {passed: "A", skipped: "C", verdict: spec.VerdictPass, missing: "B C", skipsOf: "C"},
		"red as before":       {passed: "A B", skipped: "C", verdict: spec.VerdictBaseline, missing: "C", skipsOf: "C"},
		"a new one skips":     {passed: "A B C", skipped: "D", verdict: spec.VerdictPass},
		"passes and is named": {passed: "A B C", skipped: "C", verdict: spec.VerdictPass},
		"nothing gets on":     {passed: "A B", skipped: "C", verdict: spec.VerdictFail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &Executor{Objects: kept{}, Assignment: &wire.Assignment{Base: true}}
			list := func(object string) string {
				all, err := testnames.Load(t.Context(), x.Objects, slices.DeleteFunc([]string{object}, func(s string) bool { return s == "" })...)
				require.NoError(t, err)
				var names []string
				for _, one := range all {
					names = append(names, one.Name)
				}
				return strings.Join(names, " ")
			}
			before, base := &spec.Receipt{}, ran("A B C", "S")
			require.NoError(t, x.compare(t.Context(), before, nil, base))
			require.Equal(t, "A B C", list(before.Names[0]))

			x.Assignment.Base = false
			r := &spec.Receipt{Tests: 3, Verdict: c.verdict}
			require.NoError(t, x.compare(t.Context(), r, before, ran(c.passed, c.skipped)))
			require.Equal(t, []string{c.missing, c.skipsOf}, []string{list(r.Missing), list(r.MissingSkipped)})
		})
	}
}

// ran are tests of one group.
func ran(passed, skipped string) *testnames.Tests {
	all := &testnames.Tests{}
	for name := range strings.FieldsSeq(passed) {
		all.Pass("p", name)
	}
	for name := range strings.FieldsSeq(skipped) {
		all.Skip("p", name)
	}
	return all
}
