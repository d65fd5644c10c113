package landing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// in is a result of gates that ran in an environment.
func in(r spec.Result, environment string) spec.Result {
	for i := range r.Receipts {
		r.Receipts[i].Environment = environment
	}
	return r
}

// withOther adds baselines of the environments e1, which is the first one, and e2.
func withOther(l *runtest.Log) {
	base := spec.Receipt{Gate: "test", Tree: "base", Environment: "e1", Verdict: spec.VerdictPass}
	l.Append("", run.Data{Baseline: []spec.Receipt{base}})
	base.Environment = "e2"
	l.Append("", run.Data{Other: &run.Other{Environment: "e2", Baseline: map[string]spec.Receipt{"test": base}}})
}

// A batch of one patch that is red in one environment runs once more; green in another one lands it not. An attempt that ended with
// a baseline, in place of gates on the batch, is none of its tries.
func TestABatchInTwoEnvironments(t *testing.T) {
	t.Parallel()
	made := spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultForeign, Message: "made"}}
	again := func(n string) []string { return []string{"landing red a", "assign --batch-1/" + n + " to tester on l"} }
	lands := []string{"landing landed a", "move the branch"}
	back := []string{"landing split a", "task a pending test is red; in another environment the same tree passed"}
	red, good := redIn("tree-l", "of-a/x.go"), green("tree-l")
	for name, c := range map[string]struct {
		results []spec.Result
		want    []string
	}{
		"green in the second":              {[]spec.Result{in(green("tree-l"), "e2")}, lands},
		"green in one that is not known":   {[]spec.Result{in(green("tree-l"), "e3")}, again("2")},
		"red in the second":                {[]spec.Result{in(redIn("tree-l", "of-a/x.go"), "e2")}, again("2")},
		"red, then green in the first":     {[]spec.Result{in(redIn("tree-l", "of-a/x.go"), "e2"), in(good, "e1")}, back},
		"red, then green in the same":      {[]spec.Result{in(red, "e2"), in(green("tree-l"), "e2")}, lands},
		"its baseline was made many times": {[]spec.Result{made, made, made, made, made}, again("6")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a")
			withOther(l)
			for i, r := range c.results {
				batch(l, 1, i+1, "b", "l", "a")
				l.Ended("--batch-1", i+1, r)
			}
			require.Equal(t, c.want, described(landing.Settle(l.State)))
		})
	}
}

// setOnce has what can be done about the set of newTests done, until its tests or the set itself are given out: "red" or "set", or
// what else is proposed in the end.
func setOnce(t *testing.T, l *runtest.Log) string {
	t.Helper()
	for {
		actions := slices.Concat(landing.Settle(l.State), landing.ProveRed(l.State))
		if len(actions) == 0 {
			actions = landing.Land(l.State)
		}
		require.NotEmpty(t, actions)
		if m, ok := actions[0].(landing.Merge); ok {
			c := chainOf(m.Candidates, nil)
			c.Tree = fmt.Sprintf("merged-%d", len(m.Candidates))
			actions = m.Then(c)
		}
		l.Do(actions)
		switch d := strings.Join(runtest.Describe(actions), ", "); {
		case strings.Contains(d, "assign tests--red/"):
			return "red"
		case strings.Contains(d, "assign --batch-"):
			return "set"
		case strings.Contains(d, "landing landed"), strings.Contains(d, "fail: "), strings.Contains(d, "pending"):
			return d
		}
	}
}

// The tests of a set have to fail without it and to pass with it in one environment. Where the gates ran in two, they run again.
func TestASetLandsWithProofsOfOneEnvironment(t *testing.T) {
	t.Parallel()
	const lands = "landing landed tests change, move the branch"
	for name, c := range map[string]struct {
		runs []string // of what is dispatched, in which environment; + where the gates pass
		want string
	}{
		"one environment":       {[]string{"red e2", "set e2 +"}, lands},
		"another one":           {[]string{"red e1", "set e2 +", "red e2"}, lands},
		"the first one is back": {[]string{"red e2", "set e1 +", "red e2", "set e2 +"}, lands},
		"the tests pass in the other one": {
			[]string{"red e1", "set e2 +", "red e2 +"},
			"task tests pending the new tests pass without the change: they prove nothing",
		},
		"never in one": {
			[]string{"red e1", "set e2 +", "red e1", "set e2 +", "red e1", "set e2 +", "red e1", "set e2 +"},
			"landing dropped tests change, fail: the tests of tests fail without the change set s in one environment of workers, " +
				"and the set passes in another one. Have workers of one of them alone, and go on",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTests(t, ownTests())
			withOther(l)
			hand(l)
			for _, r := range c.runs {
				what, environment, pass := r[:3], r[4:6], strings.HasSuffix(r, "+")
				require.Equal(t, what, setOnce(t, l), "before %s", r)
				work, tree := l.Works["tests"+run.RedSuffix], "merged-1"
				if what == "set" {
					work, tree = l.Works[l.Batches.Testing[0].Work], "merged-2"
				}
				result := green(tree)
				if !pass {
					result = redOf(map[string][]string{"test: new": {"p"}})
					result.Receipts[0].Tree = tree
				}
				l.Ended(work.ID, work.Last, in(result, environment))
			}
			require.Equal(t, c.want, setOnce(t, l))
			for _, landed := range l.Batches.Landed {
				require.Equal(t, "merged-2", landed.Tree)
			}
		})
	}
}
