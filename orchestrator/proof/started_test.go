package proof

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// bounded is a run whose gates have paths, and a baseline.
func bounded(t *testing.T, paths map[string][]string, receipts ...spec.Receipt) *runtest.Log {
	t.Helper()
	l := gated(t, run.Spec{}, "a", "all", "b")
	for i := range l.Spec.Project.Gates {
		l.Spec.Project.Gates[i].Paths = paths[l.Spec.Project.Gates[i].Name]
	}
	if receipts == nil {
		receipts = []spec.Receipt{{Gate: "a"}, {Gate: "all"}, {Gate: "b"}}
	}
	for i := range receipts {
		receipts[i].Verdict = spec.VerdictPass
	}
	l.Append("", run.Data{Baseline: receipts})
	return l
}

func TestGatesThatAChangeStarts(t *testing.T) {
	t.Parallel()
	paths := map[string][]string{"a": {"a/**", "shared"}, "b": {"b/**", ".divisi/**"}}
	all := []string{"a", "all", "b"}
	for name, c := range map[string]struct {
		changed, want []string
		setup         []string
		receipts      []spec.Receipt
	}{
		"one":                         {changed: []string{"a/x/y.go"}, want: []string{"a", "all"}},
		"another":                     {changed: []string{"b/x"}, want: []string{"all", "b"}},
		"both":                        {changed: []string{"a/x", "b/x"}, want: all},
		"out of a path into another":  {changed: []string{"a/moved", "b/moved"}, want: all},
		"what no gate names":          {changed: []string{"a/x", "go.work"}, want: all},
		"beside":                      {changed: []string{"ab/x"}, want: all},
		"below a path without a glob": {changed: []string{"shared/x"}, want: []string{"a", "all"}},
		"the project's own file":      {changed: []string{".divisi/divisi.yaml"}, want: all},
		"what setup reads":            {changed: []string{"a/package.json"}, setup: []string{"npm", "ci"}, want: all},
		"what setup does not read":    {changed: []string{"a/x.js"}, setup: []string{"npm", "ci"}, want: []string{"a", "all"}},
		"not known":                   {want: all},
		"one reads beyond its paths":  {changed: []string{"b/x"}, receipts: []spec.Receipt{{Gate: "a", Beyond: "it opens b/x"}, {Gate: "all"}, {Gate: "b"}}, want: all},
		"one did not run on the base": {changed: []string{"b/x"}, receipts: []spec.Receipt{{Gate: "all"}, {Gate: "b"}}, want: all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := bounded(t, paths, c.receipts...)
			l.Spec.Project.Setup.Command = c.setup
			require.Equal(t, c.want, Started(&l.Spec, &l.Proofs, c.changed))
		})
	}
}

// Whatever a patch and the paths are: a gate whose paths name a file of it starts, on either side of a move, and a file that no
// gate names starts all. More files start no fewer gates.
func TestEachGateStartsWhosePathsAChangeTouches(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string, most int) (out []string) {
		for range r.IntN(most + 1) {
			out = append(out, list[r.IntN(len(list))])
		}
		return out
	}
	var files []string
	for _, dir := range []string{"", "a/", "b/", "a/b/", "c/"} {
		files = append(files, dir+"x.go", dir+"y.py", dir+"[z]")
	}
	globs := []string{"a/**", "b/**", "**/*.go", "a", "a/b", "*", "c/[z]", "{a,b}/*.py", "**/**/**/y.py", "[", "../a"}
	for range 3000 {
		paths := map[string][]string{"a": pick(globs, 2), "all": pick(globs, 1), "b": pick(globs, 2)}
		l, changed := bounded(t, paths), pick(files, 4)
		started := Started(&l.Spec, &l.Proofs, changed)
		at := fmt.Sprintf("%v of %v starts %v", changed, paths, started)
		for _, file := range changed {
			named := false
			for _, g := range l.Spec.Project.Gates {
				matches := spec.MatchAny(g.Paths, file)
				named = named || matches
				require.True(t, !matches && len(g.Paths) > 0 || slices.Contains(started, g.Name), at)
			}
			require.True(t, named || len(started) == 3, at)
		}
		more := Started(&l.Spec, &l.Proofs, append(changed, files[r.IntN(len(files))]))
		require.Subset(t, more, started[:len(started)*min(1, len(changed))], at)
		require.NotEmpty(t, started)
	}
}
