package mutant

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted is a side whose test fails with a mutant, or without one, as a function of how often that was tried tells.
type scripted struct {
	fails func(number, times int) bool
	tried map[int]int
}

func (s *scripted) Test(_ context.Context, number int, _ string) (Report, error) {
	s.tried[number]++
	red := s.fails(number, s.tried[number])
	return Report{OK: !red, Passed: map[string]bool{"TestA": !red}, Failed: map[string]bool{"TestA": red}}, nil
}

// together is a side with another test that fails with each mutant, where all run.
type together struct{ *scripted }

func (s together) Test(ctx context.Context, number int, only string) (Report, error) {
	r, err := s.scripted.Test(ctx, number, only)
	r.OK = r.OK && (only != All || number == 0)
	return r, err
}

// A test that is asked to be otherwise may leave to others what it noticed; one that was idle is not where the patch makes it fail.
func TestTestsThatAreAsked(t *testing.T) {
	t.Parallel()
	had := Report{OK: true, Passed: map[string]bool{"TestA": true}}
	for _, asked := range []bool{false, true} {
		before := &scripted{func(number, _ int) bool { return number > 0 }, map[int]int{}}
		after := together{&scripted{func(int, int) bool { return false }, map[int]int{}}}
		c, err := trial{before, after, had, had, []string{"TestA"}, asked}.compare(t.Context(), []Pair{{Mutant{Number: 1}, Mutant{Number: 1}}},
			time.Now().Add(time.Minute))
		require.NoError(t, err)
		require.Equal(t, asked, len(c.Weaker) == 0 && len(c.Kept) == 1)
	}
	c := Comparison{Idle: []string{"TestA", "TestB"}}
	c.pin(Report{Failed: map[string]bool{"TestA": true}})
	require.Equal(t, []string{"TestB"}, c.Idle)
}

// A difference between tests has to be there each time, and without a mutant they have to pass each time.
func TestTestsThatTellDifferentThings(t *testing.T) {
	t.Parallel()
	always := func(number, _ int) bool { return number > 0 }
	never := func(int, int) bool { return false }
	for name, c := range map[string]struct {
		before, after func(number, times int) bool
		weaker, kept  int
		waiting       []string
		late, refused bool
	}{
		"the same":             {before: always, after: always, kept: 2},
		"weaker":               {before: always, after: never, weaker: 2},
		"by chance, before":    {before: func(n, times int) bool { return n > 0 && times == 1 }, after: never},
		"by chance, now":       {before: always, after: func(n, times int) bool { return n > 0 && times > 2 }},
		"the first run alone":  {before: func(_, times int) bool { return times > 1 }, after: always, refused: true},
		"now and then without": {before: always, after: func(n, _ int) bool { return n >= 0 }, refused: true},
		"no time":              {before: never, after: never, late: true, waiting: []string{"TestA"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			until := time.Now().Add(time.Minute)
			if c.late {
				until = time.Now().Add(-time.Minute)
			}
			had := Report{OK: true, Passed: map[string]bool{"TestA": true}}
			pairs := []Pair{{Mutant{Number: 1}, Mutant{Number: 1}}, {Mutant{Number: 2}, Mutant{Number: 2}}}
			before, after := &scripted{c.before, map[int]int{}}, &scripted{c.after, map[int]int{}}
			if name == "the first run alone" {
				before.tried = map[int]int{0: 1, 1: 1, 2: 1}
			}
			got, err := trial{before, after, had, had, []string{"TestA"}, false}.compare(t.Context(), pairs, until)
			if c.refused {
				require.ErrorIs(t, err, ErrRefused)
				return
			}
			require.NoError(t, err)
			require.Len(t, got.Weaker, c.weaker)
			require.Len(t, got.Kept, c.kept)
			require.Equal(t, c.waiting, got.Waiting)
		})
	}
}
