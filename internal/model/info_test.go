package model

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/spec"
)

func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	require.Contains(t, models().Models, DefaultModel)
	require.False(t, models().AsOf.IsZero())
	for name := range models().Models {
		info := Lookup(name)
		require.True(t, info.Known)
		require.Positive(t, info.Window, name)
		require.Positive(t, info.MaxOutput, name)
		require.True(t, info.MinCache > 0 || !strings.HasPrefix(name, "gemini-"), name)
		for i, p := range info.Prices {
			require.NotEmpty(t, p.Source, name)
			require.True(t, p.Until.IsZero() || p.Until.After(p.From), name)
			require.True(t, i == 0 || info.Prices[i-1].Until.IsZero() || info.Prices[i-1].Until.Before(p.From), "%s: prices do not meet", name)
			require.Less(t, p.Cached, p.In, name)
			require.True(t, p.Long == nil || p.Long.Cached > 0 && (p.Long.Written > 0) == (p.Written > 0), name)
			require.Positive(t, p.In, name)
			require.Positive(t, p.Out, name)
			require.True(t, i == 0 || p.From.After(info.Prices[i-1].From), "%s: prices are sorted by date", name)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	require.True(t, Lookup("models/gemini-3.8-flash").Known)
	require.Equal(t, 1<<20, Lookup("gemini-9-unheard-of").Window)
	require.Equal(t, geminiMinCache, Lookup("gemini-9-unheard-of").MinCache)
	other := Lookup("qwen")
	require.Zero(t, other.MinCache)
	require.False(t, other.Known)
	require.Equal(t, 1<<17, other.Window)
	require.True(t, other.Thinks("MINIMAL"), "what is not known is left to the server")
}

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	require.NoError(t, err)
	return d
}

// The first and the last day of every price: promotions end, and models that are switched off cost what stands in for them.
func TestPriceByDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, day      string
		in, out, cached float64 // all zero: no price is known
	}{
		{"gemini-4-argon", "2026-10-12", 0, 0, 0},
		{"gemini-4-argon", "2026-10-13", 2, 10, 0.10},
		{"gemini-4-argon", "2026-11-30", 2, 10, 0.10},
		{"gemini-4-argon", "2026-12-01", 4, 20, 0.20},
		{"gemini-3.8-flash", "2026-09-02", 0.75, 3.75, 0.075},
		{"gemini-3.8-flash", "2026-12-31", 0.75, 3.75, 0.075},
		{"gemini-3.8-flash", "2027-01-01", 1.50, 7.50, 0.15},
		{"gemini-3.7-flash", "2026-08-13", 0.75, 3.75, 0.075},
		{"gemini-3.7-flash", "2027-01-01", 1.50, 7.50, 0.15},
		{"gemini-3.6-flash", "2026-12-31", 0.75, 3.75, 0.075},
		{"gemini-3.6-flash", "2027-01-01", 1.50, 7.50, 0.15},
		{"gemini-3.5-flash", "2026-11-20", 1.50, 9, 0.15},
		{"gemini-3.5-flash-lite", "2026-11-20", 0.30, 2.50, 0.03},
		{"gemini-3.1-pro-preview", "2026-11-20", 2, 12, 0.20},
		{"gemini-3.1-flash-lite", "2026-11-20", 0.25, 1.50, 0.025},
		{"gemini-2.5-pro", "2026-11-30", 1.25, 10, 0.125},
		{"gemini-2.5-pro", "2026-12-01", 0.75, 3.75, 0.075},
		{"gemini-2.5-pro", "2027-01-01", 1.50, 7.50, 0.15},
		{"gemini-2.5-flash", "2026-12-01", 0.30, 2.50, 0.03},
		{"gemini-2.5-flash-lite", "2026-11-20", 0.10, 0.40, 0.01},
		{"claude-sonnet-5-5", "2026-10-06", 2, 10, 0.20},
		{"claude-sonnet-5-5", "2026-10-07", 2, 10, 0.10},
		{"gpt-5.6-luna", "2026-07-29", 1, 6, 0.10},
		{"gpt-5.6-luna", "2026-07-30", 0.20, 1.20, 0.02},
		{"gpt-5.6-sol", "2026-11-21", 4, 20, 0.40},
		{"gpt-5.6-sol", "2026-11-22", 0, 0, 0},
	} {
		p, ok := Lookup(c.model).PriceAt(day(t, c.day))
		require.Equal(t, c.in > 0, ok, "%s on %s", c.model, c.day)
		require.Equal(t, []Rate{rateOf(c.in), rateOf(c.out), rateOf(c.cached)}, []Rate{p.In, p.Out, p.Cached}, "%s on %s", c.model, c.day)
	}
}

func TestPriceOfOneCall(t *testing.T) {
	t.Parallel()
	pro, ok := Lookup("gemini-3.1-pro-preview").PriceAt(day(t, "2026-11-20"))
	require.True(t, ok)
	require.Equal(t, rateOf(2), pro.For(200_000).In)
	long := pro.For(200_001)
	require.Equal(t, []Rate{rateOf(4), rateOf(18), rateOf(0.40)}, []Rate{long.In, long.Out, long.Cached})
	flash, _ := Lookup(DefaultModel).PriceAt(day(t, "2026-11-20"))
	require.Equal(t, flash.For(1), flash.For(900_000), "one price for all")
}

func TestWhatACallCosts(t *testing.T) {
	t.Parallel()
	p := spec.Project{Models: map[string]spec.Model{
		"mine": {Name: DefaultModel, PriceIn: 1, PriceOut: 2}, "local": {Name: "qwen", PriceIn: 0.5, PriceOut: 0.25},
		"free": {Name: "free"}, "dear": {Name: "dear", PriceIn: 1e300, PriceOut: 1},
	}}
	table := spec.Project{}
	u := spec.Usage{Calls: 1, Prompt: 100, Cached: 40, Output: 7, Thoughts: 3, ToolUse: 9} // tool use is in the prompt
	for name, c := range map[string]struct {
		project *spec.Project
		models  []string
		tier    string
		row     string
		want    spec.Money
	}{
		"of the table":             {&table, []string{DefaultModel}, "", "gemini-3.8-flash@2026-09-02", 60*750_000 + 40*75_000 + 10*3_750_000},
		"with its prefix":          {&table, []string{"models/" + DefaultModel}, "standard", "gemini-3.8-flash@2026-09-02", 60*750_000 + 40*75_000 + 10*3_750_000},
		"in a tier":                {&table, []string{DefaultModel}, "priority", "gemini-3.8-flash@2026-09-02", 9 * (60*750_000 + 40*75_000 + 10*3_750_000) / 5},
		"the project's":            {&p, []string{"mine"}, "", "mine=gemini-3.8-flash@2026-09-02", 60*1_000_000 + 40*100_000 + 10*2_000_000},
		"the project's, in a tier": {&p, []string{"mine"}, "priority", "mine=gemini-3.8-flash@2026-09-02", 9 * (60*1_000_000 + 40*100_000 + 10*2_000_000) / 5},
		"without a discount":       {&p, []string{"local"}, "priority", "local=", 100*500_000 + 10*250_000},
		"the second of two":        {&p, []string{"qwen-0815", "local"}, "", "local=", 100*500_000 + 10*250_000},
		"unknown":                  {&p, []string{"free", "nothing"}, "", "", 0},
		"bounded":                  {&p, []string{"dear"}, "", "dear=", 100*1e12 + 10*1_000_000},
	} {
		row := RowOf(c.project, day(t, "2026-11-20"), c.models...)
		require.Equal(t, c.row, row, name)
		price, known := PriceOf(c.project, row)
		require.Equal(t, c.want > 0, known, name)
		require.Equal(t, c.want, price.Cost(u, c.tier), name)
	}
	for _, row := range []string{"gemini-3.8-flash", "gemini-3.8-flash@noon", "gemini-3.8-flash@2020-01-01", "@", "=", "gone=", "x@2026-11-20"} {
		_, known := PriceOf(&p, row)
		require.False(t, known, row)
	}
}

// Sums of money are the same in every order, and the sum of the parts is the whole: each figure of the table is whole pico-dollars.
func TestMoneyAddsUpInEveryOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		names := slices.Sorted(maps.Keys(models().Models))
		count := rapid.IntRange(0, 3_000_000)
		var costs []spec.Money
		for range rapid.IntRange(1, 50).Draw(r, "calls") {
			row := RowOf(&spec.Project{}, day(t, "2027-02-01"), rapid.SampledFrom(names).Draw(r, "model"))
			price, _ := PriceOf(&spec.Project{}, row)
			prompt := count.Draw(r, "prompt")
			u := spec.Usage{Calls: 1, Prompt: prompt, Cached: rapid.IntRange(0, prompt).Draw(r, "cached"), Output: count.Draw(r, "output")}
			costs = append(costs, price.Cost(u, rapid.SampledFrom([]string{"", "priority"}).Draw(r, "tier")))
		}
		sum := func() (total spec.Money) {
			for _, c := range costs {
				total += c
			}
			return total
		}
		before := sum()
		slices.Reverse(costs)
		require.Equal(r, before, sum())
		cut := rapid.IntRange(0, len(costs)).Draw(r, "cut")
		slices.Sort(costs[:cut])
		require.Equal(r, before, sum())
		require.GreaterOrEqual(r, before, spec.Money(0))
	})
	for name, info := range models().Models {
		for _, p := range info.Prices {
			require.Zero(t, p.In%100+p.Out%100+p.Cached%100+p.Written%100+p.WrittenHour%100, "%s: a tier's percentage of it is whole", name)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, level, want string }{
		{"gemini-3.8-flash", "MINIMAL", "LOW"},
		{"gemini-3.8-flash", "HIGH", "HIGH"},
		{"gemini-3.5-flash", "MINIMAL", "MINIMAL"},
		{"gemini-3.1-pro-preview", "HIGH", ""},
		{"qwen", "LOW", ""},
	} {
		require.Equal(t, c.want, Lookup(c.model).nearest(c.level), "%s %s", c.model, c.level)
	}
	two := Info{Thinking: []string{"LOW", "HIGH"}}
	require.Equal(t, "HIGH", two.nearest("MEDIUM"), "the higher of two")
	require.Equal(t, "LOW", two.nearest("MINIMAL"))
	require.True(t, Lookup(DefaultModel).Serves("priority"))
	require.False(t, Lookup(DefaultModel).Serves("batch"))
	require.True(t, Lookup("qwen").Serves("priority"), "what is not known is left to the service")
	require.True(t, Lookup(DefaultModel).JSONWithTools)
	require.False(t, Lookup("gemini-2.5-flash-lite").JSONWithTools)
}
