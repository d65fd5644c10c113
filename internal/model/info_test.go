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
	require.False(t, Lookup("gemini-4-argon").ExplicitCache)
	require.True(t, Lookup(DefaultModel).ExplicitCache)
	require.Equal(t, geminiMinCache, Lookup("gemini-9-unheard-of").MinCache)
	other := Lookup("qwen")
	require.Zero(t, other.MinCache)
	require.False(t, other.Known)
	require.Equal(t, 1<<17, other.Window)
	require.True(t, other.Thinks("MINIMAL"), "what is not known is left to the server")
}

func TestPriceAt(t *testing.T) {
	t.Parallel()
	info := Lookup("gemini-4-argon")
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		require.NoError(t, err)
		return d
	}
	p, ok := info.PriceAt(day("2026-11-30"))
	require.True(t, ok)
	require.InDelta(t, 2, p.In, 0)
	p, _ = info.PriceAt(day("2026-12-01"))
	require.InDelta(t, 4, p.In, 0)
	_, ok = info.PriceAt(day("2026-01-01"))
	require.False(t, ok)
}
