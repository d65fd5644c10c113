package round

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// found is a receipt of a gate whose tree is what it finds.
func found(signatures ...string) spec.Receipt {
	slices.Sort(signatures)
	r := spec.Receipt{
		Gate: "lint", Verdict: spec.VerdictFail, ExitCode: 1, Signatures: signatures, Findings: "o", Kind: spec.KindFindings,
		Tree: "tree " + strings.Join(signatures, ","),
	}
	if len(signatures) == 0 {
		r.Verdict, r.ExitCode, r.Findings = spec.VerdictPass, 0, ""
	}
	return r
}

func template(ways ...spec.Fixer) *run.Task {
	return &run.Task{Task: spec.Task{ID: "fix", Role: "r", Mends: []string{"lint"}, Shard: &spec.Shard{By: spec.ByFinding}, Fixers: ways}}
}

func TestTheFirstRound(t *testing.T) {
	t.Parallel()
	slow, mute, tests, most, zero := found("x"), found("x"), found("x"), found("more failures than are kept"), found("x")
	slow.TimedOut, mute.Findings, tests.Kind, zero.ExitCode = true, "", spec.KindTests, 0
	first := Step{Round: &run.Round{Number: 1, Tree: "tree x", Left: 1}}
	for name, c := range map[string]struct {
		now   spec.Receipt
		again []spec.Receipt
		want  Step
	}{
		"green":     {now: found(), want: Step{Silent: true}},
		"once more": {now: found("x"), want: Step{Check: true}},
		"the same":  {now: found("x"), again: []spec.Receipt{found("x")}, want: first},
		"exit 0":    {now: zero, again: []spec.Receipt{zero}, want: first},
		"something else": {now: found("x"), again: []spec.Receipt{found("y")}, want: Step{
			Ends: `gate lint finds something else each time, such as "x": rounds would not end`,
		}},
		"never ends": {now: slow, want: Step{Ends: "gate lint does not end within its time: narrow its command, or raise its timeout"}},
		"fails and is mute": {now: mute, want: Step{Ends: "gate lint ends with exit code 1 and prints no finding that can be read: " +
			"give it a format of findings, or name the output that its tool has for programs"}},
		"tests": {now: tests, want: Step{Ends: "gate lint runs tests, and rounds have the findings of a compiler or linter"}},
		"200,000 findings": {now: most, want: Step{Ends: "gate lint has more findings than can be compared, or did not run to its " +
			"end: narrow its command to a part of the repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Facts{Task: template(), Now: c.now}
			if c.again != nil {
				f.Again = &c.again[0]
			}
			require.Equal(t, c.want, Next(f))
		})
	}
}

// play has fixers change what a gate finds until the template ends.
func play(f Facts, fix func(r *run.Round, now spec.Receipt) spec.Receipt) (end Step) {
	seen := []spec.Receipt{f.Now}
	f.Of = func(tree string) *spec.Receipt {
		return &seen[slices.IndexFunc(seen, func(r spec.Receipt) bool { return r.Tree == tree })]
	}
	for {
		step := Next(f)
		f.Again = nil
		switch {
		case step.Check:
			now := f.Now
			f.Again = &now
		case step.Round != nil:
			f.Task.Rounds = append(f.Task.Rounds, *step.Round)
			f.Now = fix(step.Round, f.Now)
			seen = append(seen, f.Now)
		default:
			return step
		}
	}
}

func TestRoundsEndForAReason(t *testing.T) {
	t.Parallel()
	type fix = func(r *run.Round, now spec.Receipt) spec.Receipt
	nothing := func(_ *run.Round, now spec.Receipt) spec.Receipt { return now }
	tool, agent := spec.Fixer{Role: "tool", Whole: true}, spec.Fixer{Role: "agent"}
	for name, c := range map[string]struct {
		ways   []spec.Fixer
		rounds int
		fix    fix
		fixers []int
		want   Step
	}{
		"silent": {[]spec.Fixer{tool, agent}, 0, func(r *run.Round, _ spec.Receipt) spec.Receipt {
			return found([]string{"a", "c"}[min(2, r.Number-1):]...)
		}, []int{0, 1, 1}, Step{Silent: true}},
		"a tool alone": {[]spec.Fixer{tool}, 0, nothing, []int{0}, Step{Ends: "stalled: 1 round closed none; 3 findings left"}},
		"no progress":  {[]spec.Fixer{tool, agent}, 0, nothing, []int{0, 1, 1}, Step{Ends: "stalled: 2 rounds closed none; 3 findings left"}},
		"there and back": {[]spec.Fixer{agent}, 0, func(_ *run.Round, now spec.Receipt) spec.Receipt {
			if now.Signatures[0] == "a" {
				return found("x", "y")
			}
			return found("a", "b", "c")
		}, []int{0, 0}, Step{Ends: "stalled: round 2 has undone what round 1 did, so that the tree is the one before that; 3 findings left"}},
		"as many as it may have": {[]spec.Fixer{agent}, 2, func(r *run.Round, _ spec.Receipt) spec.Receipt {
			return found(fmt.Sprint("new ", r.Number))
		}, []int{0, 0}, Step{Ends: "ended after 2 rounds, as many as it may have; 1 finding left"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Facts{Task: template(c.ways...), Now: found("a", "b", "c")}
			f.Task.Task.Shard.Rounds = c.rounds
			require.Equal(t, c.want, play(f, c.fix))
			var fixers []int
			for _, r := range f.Task.Rounds {
				fixers = append(fixers, r.Fixer)
			}
			require.Equal(t, c.fixers, fixers)
		})
	}
}

func TestGreenOnlyWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := Facts{Task: template(), Now: found()}
	f.Task.Rounds = []run.Round{{Number: 1}}
	require.Equal(t, Step{Check: true}, Next(f))
	again := found("a")
	f.Again = &again
	require.Equal(t, Step{Ends: "gate lint is green only with what earlier runs of it have left: run alone it has 1 finding"}, Next(f))
}

// Whatever fixers do, rounds end, have numbers in a row, and are silent exactly where nothing is left.
func TestRoundsAlwaysEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ways := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) spec.Fixer {
			return spec.Fixer{Role: "r", Whole: rapid.Bool().Draw(t, "whole")}
		}), 1, 3).Draw(t, "ways")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Split("abcdef", "")), 0, 6, rapid.ID[string])
		f := Facts{Task: template(ways...), Now: found(some.Draw(t, "at first")...)}
		f.Task.Task.Shard.Rounds = rapid.IntRange(0, 6).Draw(t, "rounds")
		left := f.Now
		end := play(f, func(*run.Round, spec.Receipt) spec.Receipt {
			left = found(some.Draw(t, "left")...)
			return left
		})
		require.Equal(t, len(left.Signatures) == 0, end.Silent)
		require.Equal(t, end.Silent, end.Ends == "")
		require.LessOrEqual(t, len(f.Task.Rounds), max(spec.DefaultRounds, f.Task.Task.Shard.Rounds))
		fixer := 0
		for i, r := range f.Task.Rounds {
			require.Equal(t, i+1, r.Number)
			require.GreaterOrEqual(t, r.Fixer, fixer, "a fixer does not come back")
			fixer = r.Fixer
		}
		require.Less(t, fixer, len(ways))
	})
}
