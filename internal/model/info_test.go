package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		require.Positive(t, info.MinCache, name)
		for i, p := range info.Prices {
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
		{"gemini-3.1-flash-lite", "2026-11-20", 0.25, 1.50, 0},
		{"gemini-2.5-pro", "2026-11-30", 0, 0, 0},
		{"gemini-2.5-pro", "2026-12-01", 0.75, 3.75, 0.075},
		{"gemini-2.5-pro", "2027-01-01", 1.50, 7.50, 0.15},
		{"gemini-2.5-flash", "2026-12-01", 0.30, 2.50, 0.03},
		{"gemini-2.5-flash-lite", "2026-11-20", 0.10, 0.40, 0},
	} {
		p, ok := Lookup(c.model).PriceAt(day(t, c.day))
		require.Equal(t, c.in > 0, ok, "%s on %s", c.model, c.day)
		require.Equal(t, []float64{c.in, c.out, c.cached}, []float64{p.In, p.Out, p.Cached}, "%s on %s", c.model, c.day)
	}
}

func TestPriceOfOneCall(t *testing.T) {
	t.Parallel()
	pro, ok := Lookup("gemini-3.1-pro-preview").PriceAt(day(t, "2026-11-20"))
	require.True(t, ok)
	require.InDelta(t, 2, pro.For(200_000).In, 0)
	require.Equal(t, []float64{4, 18, 0.20}, []float64{pro.For(200_001).In, pro.For(200_001).Out, pro.For(200_001).Cached})
	flash, _ := Lookup(DefaultModel).PriceAt(day(t, "2026-11-20"))
	require.Equal(t, flash, flash.For(900_000), "one price for all")
	info := Lookup(DefaultModel)
	require.Equal(t, []float64{1, 1, 2, 1}, []float64{
		info.Factor(""), info.Factor("standard"), info.Factor("priority"), Lookup("qwen").Factor("priority"),
	})
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
