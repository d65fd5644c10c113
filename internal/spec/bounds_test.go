package spec

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	type part struct {
		N     int           `json:"n"`
		Share float64       `json:"share"`
		Big   uint64        `json:"big"`
		For   time.Duration `json:"for"`
		Few   int           `json:"few" minimum:"1" maximum:"5"`
		Text  string        `json:"text"`
		Key   []byte        `json:"key"`
	}
	type whole struct {
		Parts []part          `json:"parts"`
		By    map[string]part `json:"by"`
		One   *part           `json:"one"`
		Local int             `json:"-"`
		At    time.Time       `json:"at"`
	}
	sound := part{N: MaxCount, Share: 0.5, Big: 7, For: MaxSpan, Few: 5, Key: []byte{255}}
	require.NoError(t, Bounds(&whole{Parts: []part{sound}, By: map[string]part{"a": sound}, One: &sound, Local: -1, At: time.Now()}))
	require.NoError(t, Bounds((*whole)(nil)))
	for want, change := range map[string]func(*part){
		"n: -1 is not from 0 to":                     func(p *part) { p.N = -1 },
		"n: 9223372036854775807 is not from 0 to":    func(p *part) { p.N = math.MaxInt64 },
		"share: NaN is not from 0 to":                func(p *part) { p.Share = math.NaN() },
		"share: -0.5 is not from 0 to":               func(p *part) { p.Share = -0.5 },
		"share: 1e+308 is not from 0 to":             func(p *part) { p.Share = 1e308 },
		"big: 18446744073709551615 is not from 0 to": func(p *part) { p.Big = math.MaxUint64 },
		"for: 2562047h47m16.854775807s is not from":  func(p *part) { p.For = math.MaxInt64 },
		"few: 0 is not from 1 to 5":                  func(p *part) { p.Few = 0 },
		"few: 6 is not from 1 to 5":                  func(p *part) { p.Few = 6 },
	} {
		bad := sound
		change(&bad)
		for at, w := range map[string]whole{
			"parts[1].": {Parts: []part{sound, bad}},
			`by["a"].`:  {By: map[string]part{"a": bad}},
			"one.":      {One: &bad},
		} {
			require.ErrorContains(t, Bounds(&w), at+want)
		}
	}
}

func TestASumHasAnEnd(t *testing.T) {
	t.Parallel()
	require.Equal(t, 5, Plus(2, 3))
	require.Equal(t, MaxCount, Plus(MaxCount, MaxCount))
	require.Equal(t, MaxCount, Plus(1, math.MaxInt64))
	require.Equal(t, 7, Plus(7, -5))
}
