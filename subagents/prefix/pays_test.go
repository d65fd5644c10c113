package prefix

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/model"
)

func TestPays(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	flash := model.Info{
		ExplicitCache: true, MinCache: 4096, Prices: []model.Price{{In: 0.75, Out: 3.75, Cached: 0.075, Storage: 0.5}},
	}
	change := func(f func(*model.Info)) model.Info {
		info := flash
		info.Prices = append([]model.Price(nil), flash.Prices...)
		f(&info)
		return info
	}
	cases := []struct {
		name     string
		tokens   int
		siblings int
		info     model.Info
		want     bool
	}{
		{"three siblings", 20_000, 3, flash, true},
		{"two", 20_000, 2, flash, false},
		{"at the minimum", 4096, 8, flash, true},
		{"below the minimum", 4095, 8, flash, false},
		{"a model without caches by name", 20_000, 8, change(func(i *model.Info) { i.ExplicitCache = false }), false},
		{"a minimum that is not known", 20_000, 8, change(func(i *model.Info) { i.MinCache = 0 }), false},
		{"storage that is not known", 20_000, 8, change(func(i *model.Info) { i.Prices[0].Storage = 0 }), false},
		{"no price yet", 20_000, 8, change(func(i *model.Info) { i.Prices[0].From = day.AddDate(0, 0, 1) }), false},
		{"storage too dear for three", 20_000, 3, change(func(i *model.Info) { i.Prices[0].Storage = 4 }), false},
		{"but not for eight", 20_000, 8, change(func(i *model.Info) { i.Prices[0].Storage = 4 }), true},
		{"a small discount", 20_000, 3, change(func(i *model.Info) { i.Prices[0].Cached = 0.5 }), false},
		{"the default model", 20_000, 4, model.Lookup(model.DefaultModel), true},
		{"Argon", 20_000, 100, model.Lookup("gemini-4-argon"), false},
		{"a name that is not known", 20_000, 100, model.Lookup("gemini-9"), false},
	}
	for _, c := range cases {
		require.Equal(t, c.want, Pays(c.tokens, c.siblings, c.info, day), c.name)
	}
}

func TestMoreSiblingsNeverPayLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.Float64Range(0.01, 20).Draw(t, "in")
		info := model.Info{ExplicitCache: true, MinCache: 1, Prices: []model.Price{{
			In: in, Out: 1, Cached: in * rapid.Float64Range(0.01, 0.99).Draw(t, "cached"),
			Storage: rapid.Float64Range(0.01, 20).Draw(t, "storage"),
		}}}
		n := rapid.IntRange(1, 100).Draw(t, "siblings")
		if Pays(100, n, info, time.Now()) {
			require.True(t, Pays(100, n+1, info, time.Now()))
		}
	})
}

func TestWorthNaming(t *testing.T) {
	t.Parallel()
	require.True(t, worthNaming(20_000, 21_000))
	require.True(t, worthNaming(20_000, 25_000))
	require.False(t, worthNaming(20_000, 25_001), "its own history is better left to the service's caching")
}
