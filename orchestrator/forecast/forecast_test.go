package forecast

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/spec"
)

// ended are tasks of some runs that used so many tokens for each of their base, a thousandth of a dollar for a thousand tokens, and
// a second for a hundred.
func ended(runs int, each ...float64) (past []Past) {
	for r := range runs {
		for _, x := range each {
			tokens := int(x * 10_000)
			past = append(past, Past{
				Run: fmt.Sprint("r", r), Role: "gen", Model: "m", Base: 10_000, Usage: spec.Usage{Prompt: tokens},
				Cost: spec.Money(tokens) * spec.Dollar / 1e6, Seconds: float64(tokens) / 100,
			})
		}
	}
	return past
}

func tasks(n int, t Task) (all []Task) {
	for range n {
		all = append(all, t)
	}
	return all
}

func TestWhatIsKnownNarrowsTheRange(t *testing.T) {
	t.Parallel()
	ten := tasks(10, Task{Role: "gen", Model: "m", Base: 10_000, Price: 1e6})
	last := math.Inf(1)
	for _, runs := range []int{0, 1, 3, 20} {
		e := Of(Learn(ended(runs, 1.5, 2, 2.7)), ten, 2, time.Minute)
		ratio := float64(e.High) / float64(e.Low)
		require.Less(t, ratio, last, "%d runs", runs)
		last = ratio
		require.Equal(t, 3*runs, e.Past)
		if runs == 0 {
			require.Equal(t, 10, e.Blind)
			require.Zero(t, e.HighSeconds, "nothing tells how long it takes")
			require.InDelta(t, float64(e.High)*1e6, float64(e.HighCost), 1e6, "by the price of the task")
			continue
		}
		require.Less(t, e.Low, 200_000)
		require.Greater(t, e.High, 200_000)
		require.Less(t, e.LowSeconds, 1000+120.0, "five turns of two places, and the gates twice")
		require.Greater(t, e.HighSeconds, 1000+120.0)
	}
	require.Less(t, last, 2.0)
}

func TestEstimatesByKind(t *testing.T) {
	t.Parallel()
	past := Learn(ended(5, 1, 2, 3))
	one := Task{Role: "gen", Model: "m", Base: 10_000}
	base := Of(past, []Task{one}, 1, 0)
	with := func(change func(*Task)) Estimate {
		t := one
		change(&t)
		return Of(past, []Task{t}, 1, 0)
	}
	require.Equal(t, 25_000, with(func(t *Task) { t.Most = 25_000 }).High, "a limit")
	require.Less(t, with(func(t *Task) { t.Used = 10_000 }).High, base.High, "what it has used is not left")
	require.Zero(t, with(func(t *Task) { t.Used = 1e9 }).High)
	other := with(func(t *Task) { t.Model = "other" })
	require.Equal(t, base.High, other.High, "another model of the role takes as many tokens")
	require.Zero(t, other.HighCost)
	require.Equal(t, other.High, other.Unpriced, "and costs what is not known")
	require.InDelta(t, float64(other.High)*2, float64(with(func(t *Task) { t.Model, t.Price = "other", 2 }).HighCost), 1)
	require.Equal(t, Estimate{}, with(func(t *Task) { *t = Task{Role: "mod"} }), "a command that never ran")
	require.Equal(t, Estimate{}, with(func(t *Task) { *t = Task{Role: "agent", Base: 10_000, Program: true} }), "an agent that never ran")
	maybe := with(func(t *Task) { *t = Task{Role: "chain", Base: 10_000, Maybe: true, Price: 1} })
	require.Zero(t, maybe.Low, "the command may do it")
	require.Positive(t, maybe.High)
	command := Learn([]Past{{Run: "r", Role: "mod", Seconds: 10}, {Run: "s", Role: "mod", Seconds: 12}})
	e := Of(command, tasks(4, Task{Role: "mod"}), 2, 0)
	require.Zero(t, e.High)
	require.Less(t, e.LowSeconds, 22.0)
	require.Greater(t, e.HighSeconds, 22.0)
	chain := Of(command, []Task{{Role: "mod"}, {Role: "mod", After: []int{0}}}, 2, 0)
	beside := Of(command, []Task{{Role: "mod"}, {Role: "mod"}}, 2, 0)
	require.Greater(t, chain.HighSeconds, 1.3*beside.HighSeconds, "it waits")
}

func TestARunTellsWhatKindItIs(t *testing.T) {
	t.Parallel()
	habits, rest := Learn(ended(8, 1, 2, 3)), tasks(10, Task{Role: "gen", Model: "m", Base: 10_000})
	before := Of(habits, rest, 1, 0)
	dear := Of(Within(habits, ended(1, 6, 8, 10, 6, 8, 10)), rest, 1, 0)
	require.Greater(t, float64(dear.Low), 1.5*float64(before.Low))
	require.Greater(t, dear.High, before.High)
	require.Equal(t, 30, dear.Past)
	alone := Of(Within(nil, ended(1, 1, 2, 3)), rest, 1, 0)
	require.Equal(t, 3, alone.Past)
	require.Positive(t, alone.LowSeconds)
	require.Equal(t, before, Of(Within(habits, nil), rest, 1, 0))
}

func TestEstimatesInWords(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Estimate{
		"": {Blind: 3},
		"10.0k to 40.0k tokens, $0.10 to $0.40, 1m00s to 4m00s (by 1 earlier task)": {
			Low: 10_000, High: 40_000, LowCost: spec.Dollar / 10, HighCost: 4 * spec.Dollar / 10, LowSeconds: 60, HighSeconds: 240, Past: 1,
		},
		"10 to 20 tokens, unpriced (no history: by the sizes of the files)":                          {Low: 10, High: 20, Unpriced: 20, Blind: 1},
		"10 tokens (by 7 earlier tasks, 2 tasks by the sizes of its files)":                          {Low: 10, High: 10, Past: 7, Blind: 2},
		"10 to 20 tokens, $1.00 to $2.00, 5 tokens unpriced (no history: by the sizes of the files)": {Low: 10, High: 20, LowCost: spec.Dollar, HighCost: 2 * spec.Dollar, Unpriced: 5},
	} {
		require.Equal(t, want, e.String())
	}
	require.Equal(t, []string{"$1.00", "unpriced", "$1.00, 5 tokens unpriced"},
		[]string{Cost(spec.Dollar, 0), Cost(0, 5), Cost(spec.Dollar, 5)})
}

// Whatever was before, a range is one, is the same twice, and grows with its tasks.
func TestRangesAreOrdered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		role := rapid.SampledFrom([]string{"a", "b"})
		past := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Past {
			return Past{
				Run: rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "run"), Role: role.Draw(r, "role"), Base: rapid.IntRange(0, 1e6).Draw(r, "base"),
				Usage: spec.Usage{Prompt: rapid.IntRange(0, spec.MaxCount).Draw(r, "tokens")}, Seconds: rapid.Float64Range(0, 1e6).Draw(r, "seconds"),
				Cost: spec.Money(rapid.Int64Range(0, int64(spec.MaxMoney)).Draw(r, "cost")), Unpriced: rapid.IntRange(0, 1).Draw(r, "unpriced"),
			}
		}), 0, 20).Draw(r, "past")
		all := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Task {
			return Task{
				Role: role.Draw(r, "role"), Base: rapid.IntRange(0, 1e6).Draw(r, "base"), Used: rapid.IntRange(0, 1e6).Draw(r, "used"),
				Most: rapid.IntRange(0, 1e6).Draw(r, "most"), After: []int{0}, Price: rapid.Float64Range(0, 1e9).Draw(r, "price"),
			}
		}), 1, 30).Draw(r, "tasks")
		width := rapid.IntRange(0, 40).Draw(r, "width")
		e := Of(Learn(past), all, width, time.Minute)
		require.Equal(r, e, Of(Learn(past), all, width, time.Minute))
		require.LessOrEqual(r, 0, e.Low)
		require.LessOrEqual(r, e.Low, e.High)
		require.LessOrEqual(r, spec.Money(0), e.LowCost)
		require.LessOrEqual(r, e.LowCost, e.HighCost)
		require.LessOrEqual(r, e.LowSeconds, e.HighSeconds)
		require.False(r, math.IsNaN(e.HighSeconds) || math.IsInf(e.HighSeconds, 0))
		many := make([]Task, 0, 400)
		for len(many) < 300 {
			many = append(many, all...)
		}
		require.GreaterOrEqual(r, Of(Learn(past), many, width, time.Minute).High, e.Low, "of more tasks")
	})
}
