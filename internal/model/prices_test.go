package model

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

const (
	// soon is how long before a price ends the check asks for the next one; old is after how long the table is to be read again.
	soon = 14
	old  = 60
)

// stale lists what of a table is to be mended on a day: prices that end soon, or have ended, with none after them.
func stale(t *table, day time.Time) (found []string) {
	if day.After(t.AsOf.AddDate(0, 0, old)) {
		found = append(found, fmt.Sprintf("the table was compared with the services' pages on %s: compare it again, and set as_of",
			t.AsOf.Format(time.DateOnly)))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		prices := t.Models[name].Prices
		if len(prices) == 0 {
			continue
		}
		last := prices[len(prices)-1]
		if !last.Until.IsZero() && !day.Before(last.Until.AddDate(0, 0, -soon)) {
			found = append(found, fmt.Sprintf("the price of %s from %s ends on %s, and no price follows: see %s", name,
				last.From.Format(time.DateOnly), last.Until.Format(time.DateOnly), last.Source))
		}
	}
	return found
}

// TestPricesAreFresh is what make prices runs: it depends on the day, which the variable DIVISI_PRICES has.
func TestPricesAreFresh(t *testing.T) {
	t.Parallel()
	on := os.Getenv("DIVISI_PRICES")
	if on == "" {
		t.Skip("it depends on the day: make prices")
	}
	all := models()
	require.Empty(t, stale(&all, day(t, on)))
}

func TestWhenAPriceIsToBeMended(t *testing.T) {
	t.Parallel()
	row := func(from, until string) Price {
		p := Price{From: day(t, from), Source: "page"}
		if until != "" {
			p.Until = day(t, until)
		}
		return p
	}
	all := table{AsOf: day(t, "2026-11-30"), Models: map[string]Info{
		"followed": {Prices: []Price{row("2026-09-02", "2026-12-31"), row("2027-01-01", "")}},
		"ending":   {Prices: []Price{row("2026-09-02", ""), row("2026-10-02", "2026-12-31")}},
		"none":     {},
	}}
	ends := "the price of ending from 2026-10-02 ends on 2026-12-31, and no price follows: see page"
	for on, want := range map[string][]string{
		"2026-12-16": nil, "2026-12-17": {ends}, "2026-12-31": {ends}, "2027-01-02": {ends},
		"2027-01-30": {"the table was compared with the services' pages on 2026-11-30: compare it again, and set as_of", ends},
	} {
		require.Equal(t, want, stale(&all, day(t, on)), on)
	}
}

// A name that only begins like a model's has no price: it may be another model.
func TestNamesThatHaveAPrice(t *testing.T) {
	t.Parallel()
	on := day(t, "2026-11-30")
	for name, want := range map[string]string{
		"claude-sonnet-4-5-20250929": "claude-sonnet-4-5@2025-09-29",
		"claude-opus-4-8[1m]":        "claude-opus-4-8@2026-05-28",
		"models/gemini-3.8-flash":    "gemini-3.8-flash@2026-09-02",
		"gpt-5.1-codex":              "gpt-5.1-codex@2025-11-13",
		"gpt-5.1-2025-11-13":         "gpt-5.1@2025-11-13",
		"gpt-5-2024-05-13":           "",
		"claude-sonnet-4-5-20260101": "",
		"claude-sonnet":              "",
		"gpt-5.1-codex-maximum":      "",
		"gpt-5.6-sol":                "",
		"gpt-5.4-2026-03-05":         "gpt-5.4@2026-03-05",
		"openai/gpt-5.1":             "",
		"[1m]":                       "",
		"":                           "",
	} {
		require.Equal(t, want, RowOf(&spec.Project{Models: map[string]spec.Model{"default": {Name: "none"}}}, on, name), name)
	}
}

// A price that has ended counts no longer, and no other one takes its place.
func TestAPriceEnds(t *testing.T) {
	t.Parallel()
	info := Info{Prices: []Price{{From: day(t, "2026-01-01"), Until: day(t, "2026-02-28")}}}
	for on, known := range map[string]bool{"2025-12-31": false, "2026-01-01": true, "2026-02-28": true, "2026-03-01": false} {
		_, is := info.PriceAt(day(t, on))
		require.Equal(t, known, is, on)
	}
}

// What a call costs by type of tokens, and that no call of that size costs more than Most.
func TestWhatTypesOfTokensCost(t *testing.T) {
	t.Parallel()
	price := func(row string) Price {
		p, known := PriceOf(&spec.Project{}, row)
		require.True(t, known, row)
		return p
	}
	for row, want := range map[string]spec.Money{
		"claude-haiku-4-5@2025-10-15": 1000*1_000_000 + 500*100_000 + 250*1_250_000 + 50*2_000_000 + 70*5_000_000,
		"gpt-6-sol@2026-09-22":        1000*2_000_000 + 500*200_000 + 300*2_500_000 + 70*10_000_000,
		"gpt-5.1@2025-11-13":          1300*1_250_000 + 500*125_000 + 70*10_000_000,
	} {
		u := spec.Usage{Calls: 1, Prompt: 1800, Cached: 500, Written: 300, WrittenHour: 50, Output: 40, Thoughts: 30}
		require.Equal(t, want, price(row).Cost(u, ""), row)
		require.Equal(t, want*2, price(row).Cost(spec.Usage{}.Add(u).Add(u), ""), row)
		require.Less(t, want, price(row).Most(1800, 70, ""), row)
	}
	haiku := price("claude-haiku-5-5@2026-10-07")
	long := spec.Usage{Calls: 1, Prompt: 100_001, Cached: 90_000, Written: 10_000, Output: 10}
	require.Equal(t, spec.Money(1*500_000+90_000*50_000+10_000*625_000+10*2_500_000), haiku.Cost(long, ""))
	long.Prompt--
	require.Equal(t, spec.Money(90_000*10_000+10_000*125_000+10*500_000), haiku.Cost(long, ""))
	own := spec.Project{Models: map[string]spec.Model{"mine": {Name: "claude-haiku-4-5", PriceIn: 2, PriceOut: 3}}}
	p, known := PriceOf(&own, "mine=claude-haiku-4-5@2025-10-15")
	require.True(t, known)
	require.Equal(t, []Rate{rateOf(0.2), rateOf(2.5), rateOf(4)}, []Rate{p.Cached, p.Written, p.WrittenHour})
}
