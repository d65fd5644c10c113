package landing_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
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

// broken is a red gate with a receipt.
func broken(r spec.Receipt) spec.Result {
	r.Gate, r.Tree, r.Verdict, r.ExitCode = "test", "tree-l", spec.VerdictFail, 1
	failed := runtest.Failed(wire.FaultGate, "test is red")
	failed.Receipts = []spec.Receipt{r}
	return failed
}

func TestCausesAndConsequences(t *testing.T) {
	t.Parallel()
	at := func(files ...string) map[string][]string {
		out := map[string][]string{}
		for _, f := range files {
			out["build: "+f+": undefined: x"] = []string{f}
		}
		return out
	}
	names := func(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
	onePackage := at("of-a/x.go")
	oneAndAll := names(onePackage)
	oneAndAll = append(oneAndAll, "package: of-b", "package: of-c")
	for name, c := range map[string]struct {
		tasks    []string
		receipt  spec.Receipt
		want     []string
		untraced bool
	}{
		"what does not compile goes back at once, and importers are no suspects": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: oneAndAll, Positions: onePackage,
				Paths:   map[string][]string{oneAndAll[0]: {"of-a", "of-a/x.go"}, "package: of-b": {"of-b"}, "package: of-c": {"of-c"}},
				Follows: map[string]string{"package: of-b": "package: of-c", "package: of-c": oneAndAll[0]},
			},
			[]string{"landing split a b c parts b+c", "task a pending test is red"},
			false,
		},
		"alone too": {
			[]string{"a"},
			spec.Receipt{Build: true, Signatures: names(onePackage), Positions: onePackage, Paths: onePackage},
			[]string{"landing split a", "task a pending test is red"},
			false,
		},
		"what may be due to a package that another one changed waits": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: []string{"build: of-a/x.go: too many arguments in call to s.Close"},
				Positions: map[string][]string{"build: of-a/x.go: too many arguments in call to s.Close": {"of-a/x.go"}},
				Paths:     map[string][]string{"build: of-a/x.go: too many arguments in call to s.Close": {"of-a/x.go"}},
				Imports:   map[string][]string{"of-a": {"of-b"}},
			},
			[]string{"landing split a b c parts b+c a"},
			false,
		},
		"what may be due to any other task waits": {
			[]string{"a", "b", "c"},
			spec.Receipt{Build: true, Signatures: names(onePackage), Positions: onePackage, Paths: onePackage},
			[]string{"landing split a b c parts b+c a"},
			true,
		},
		"an error of syntax is its file's": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: []string{"build: of-a/x.go: error TS1005: '}' expected."},
				Positions: map[string][]string{"build: of-a/x.go: error TS1005: '}' expected.": {"of-a/x.go"}},
			},
			[]string{"landing split a b c parts b+c", "task a pending test is red"},
			true,
		},
		"two that may fail because of each other are tested one by one": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Signatures: []string{"test: T", "test: U"},
				Positions:  map[string][]string{"test: T": {"of-a/x.go"}, "test: U": {"of-b/x.go"}},
			},
			[]string{"landing split a b c parts c a b"},
			true,
		},
		"several that do not compile": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: names(at("of-a/x.go", "of-b/x.go")), Positions: at("of-a/x.go", "of-b/x.go"),
				Paths: at("of-a/x.go", "of-b/x.go"),
			},
			[]string{
				"landing split a b c parts c",
				"task a pending the gates fail in the changes of this task: test: build: of-a/x.go: undefined: x",
				"task b pending the gates fail in the changes of this task: test: build: of-b/x.go: undefined: x",
			},
			false,
		},
		"a file that two have changed": {
			[]string{"a", "b", "c"},
			spec.Receipt{Build: true, Signatures: names(at("shared")), Positions: at("shared")},
			[]string{"landing split a b c parts a+b c"},
			false,
		},
		"of two that may not go together one goes back": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: names(at("of-a/x.go", "of-b/x.go")), Positions: at("of-a/x.go", "of-b/x.go"),
				Paths: at("of-a/x.go", "of-b/x.go"), Imports: map[string][]string{"of-a": {}, "of-b": {"of-a"}},
			},
			[]string{"landing split a b c parts c b", "task a pending test is red"},
			false,
		},
		"what another one may have taken from a caller is tested again": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Build: true, Signatures: []string{"of-b/x.go: undefined: of-a.Foo"},
				Positions: map[string][]string{"of-b/x.go: undefined: of-a.Foo": {"of-b/x.go"}},
				Paths:     map[string][]string{"of-b/x.go: undefined: of-a.Foo": {"of-b/x.go"}}, Imports: map[string][]string{"of-b": {"of-a"}},
			},
			[]string{"landing split a b c parts a+c b"},
			false,
		},
		"a test that fails is tested again": {
			[]string{"a", "b", "c"},
			spec.Receipt{Signatures: []string{"test: p T"}, Paths: map[string][]string{"test: p T": {"of-b"}}},
			[]string{"landing split a b c parts a+c b"},
			false,
		},
		"a position outweighs a package": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Signatures: []string{"test: p T"}, Paths: map[string][]string{"test: p T": {"of-b", "of-c", "of-c/x.go"}},
				Positions: map[string][]string{"test: p T": {"of-c/x.go"}},
			},
			[]string{"landing split a b c parts a+b c"},
			false,
		},
		"a path outweighs an import": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Signatures: []string{"test: p T"}, Paths: map[string][]string{"test: p T": {"of-c"}},
				Imports: map[string][]string{"of-c": {"of-a", "of-b"}},
			},
			[]string{"landing split a b c parts a+b c"},
			false,
		},
		"a circle of consequences is none": {
			[]string{"a", "b", "c"},
			spec.Receipt{
				Signatures: []string{"test: p T", "test: p U"}, Paths: map[string][]string{"test: p T": {"of-c"}, "test: p U": {"of-c"}},
				Follows: map[string]string{"test: p T": "test: p U", "test: p U": "test: p T"},
			},
			[]string{"landing split a b c parts a+b c"},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			if c.receipt.Imports == nil && !c.untraced {
				c.receipt.Imports = map[string][]string{"of-a": {}, "of-b": {}, "of-c": {}, ".": {}}
			}
			batch(l, 1, 1, "b", "l", c.tasks...)
			l.Ended("--batch-1", 1, broken(c.receipt))
			require.Equal(t, c.want, described(landing.Settle(l.State)))
		})
	}
}

// Two failures in two runs are the verdict, where they lead to one task.
func TestOneConfirmationIsTheVerdict(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	batch(l, 1, 1, "b", "l", "a", "b", "c")
	l.Ended("--batch-1", 1, redIn("tree-l", "of-b", "of-c"))
	l.Do(landing.Settle(l.State))
	batch(l, 2, 1, "b", "l-a", "a")
	l.Ended("--batch-2", 1, green("tree-l-a"))
	l.Do(landing.Settle(l.State))
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["a"].State)
	batch(l, 3, 1, "l-a", "l-2", "b", "c")
	again := redIn("tree-l-2", "of-b", "elsewhere")
	again.Receipts[0].Signatures[1] = "test: of another kind"
	l.Ended("--batch-3", 1, again)
	require.Equal(t, []string{"landing split b c parts c", "task b pending test is red"}, runtest.Describe(landing.Settle(l.State)))
}

// A test fails in a line of a file that a task changed, and fails in the same way without that task.
func TestANamedTaskThatABatchFailsWithoutGoesOnWithTheRest(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c", "d")
	red := spec.Receipt{
		Signatures: []string{"test: p T"}, Paths: map[string][]string{"test: p T": {"of-a/x.go", "shared"}},
		Positions: map[string][]string{"test: p T": {"of-a/x.go"}},
	}
	batch(l, 1, 1, "b", "l", "a", "b", "c", "d")
	l.Ended("--batch-1", 1, broken(red))
	actions := landing.Settle(l.State)
	require.Equal(t, []string{"landing split a b c d parts b+c+d a"}, described(actions))
	l.Do(actions)
	batch(l, 2, 1, "b", "l-2", "b", "c", "d")
	again := broken(red)
	again.Receipts[0].Tree = "tree-l-2"
	l.Ended("--batch-2", 1, again)
	require.Equal(t, []string{"landing split b c d parts b+c+a d"}, described(landing.Settle(l.State)))
}

// What one named task fails with alone is no reason to test the others that it led to one by one.
func TestATaskThatIsWrongAloneRefutesTheOtherNamedOnes(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c", "d")
	red := spec.Receipt{Signatures: []string{"test: T", "test: U", "test: V"}, Positions: map[string][]string{
		"test: T": {"of-a/x.go"}, "test: U": {"of-b/x.go"}, "test: V": {"of-c/x.go"},
	}}
	batch(l, 1, 1, "b", "l", "a", "b", "c", "d")
	l.Ended("--batch-1", 1, broken(red))
	actions := landing.Settle(l.State)
	require.Equal(t, []string{"landing split a b c d parts d a b c"}, described(actions))
	l.Do(actions)
	batch(l, 2, 1, "b", "l-d", "d")
	l.Ended("--batch-2", 1, green("tree-l-d"))
	l.Do(landing.Settle(l.State))
	batch(l, 3, 1, "l-d", "l-a", "a")
	alone := broken(red)
	alone.Receipts[0].Tree = "tree-l-a"
	l.Ended("--batch-3", 1, alone)
	require.Equal(t, []string{"landing split a parts b+c", "task a pending test is red"}, described(landing.Settle(l.State)))
}

// The 25 shards of a codemod, one of them wrong, and a failure that names no file of them: gate runs until all others have landed.
func TestLikelihoodAgainstHalving(t *testing.T) {
	t.Parallel()
	const shards, trials = 26, 60
	runs := func(words bool) (sorted []int) {
		for seed := range uint64(trials) {
			dice := rand.New(rand.NewPCG(seed, 30))
			w := newWorld(t, shards, 1, spec.ProveBatch)
			if words {
				w.words = vocabulary(dice)
			}
			culprit := w.Tasks.Order[dice.IntN(shards)]
			w.culprits[culprit] = true
			for _, id := range w.Tasks.Order {
				w.submit(id)
			}
			w.settle()
			for n := 1; ; n++ {
				w.test(0)
				w.settle()
				if w.Tasks.Counts()[run.TaskLanded] == shards-1 {
					sorted = append(sorted, n)
					break
				}
			}
		}
		slices.Sort(sorted)
		return sorted
	}
	weighed, halved := runs(true), runs(false)
	for name, r := range map[string][]int{"by likelihood": weighed, "halving": halved} {
		t.Logf("%14s: median %d, of nine in ten at most %d, at most %d", name, r[trials/2], r[trials*9/10], r[trials-1])
	}
	require.Less(t, weighed[trials/2], halved[trials/2])
	require.LessOrEqual(t, weighed[trials-1], 10)
	require.LessOrEqual(t, halved[trials-1], 8)
}

// vocabulary has patches with words of their topic, of others and those that all have, and tests with a few words of theirs.
func vocabulary(dice *rand.Rand) func(id string) string {
	word := func(topic, n int) string { return fmt.Sprintf("%c%c%c ", 'a'+topic%26, 'a'+n, 'a'+topic%7) }
	patches := map[string]string{}
	return func(id string) string {
		own := 0
		for _, r := range strings.TrimPrefix(id, "t") {
			own = own*10 + int(r-'0')
		}
		var b strings.Builder
		for i := range 6 { // two words in three are of its topic
			b.WriteString(word(own, dice.IntN(6)) + word(26, dice.IntN(12)))
			if i < 3 {
				b.WriteString(word(dice.IntN(26), dice.IntN(6)))
			}
		}
		if patches[id] == "" {
			patches[id] = "@@ -1 +1 @@\n+" + b.String() + " get header\n"
			return patches[id]
		}
		return b.String()
	}
}
