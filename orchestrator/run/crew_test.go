package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

func TestPlacesOfACrew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		crew          Crew
		room, permits int
	}{
		"the run's process works itself": {nil, 16, 3},
		"no worker yet":                  {Crew{}, 1, 1},
		"one":                            {Crew{"a": {Agents: 4, Gates: 1}}, 4, 1},
		"more than the run has":          {Crew{"a": {Agents: 12, Gates: 2}, "b": {Agents: 12, Gates: 5}}, 16, 7},
		"one of them is paused":          {Crew{"a": {}, "b": {Agents: 2, Gates: 1}}, 2, 1},
	} {
		require.Equal(t, c.room, c.crew.Room(16), name)
		require.Equal(t, c.permits, c.crew.Permits(3), name)
	}
	had := unserved(nil, map[string]Unserved{"a": {Why: "x"}}, 7)
	require.Equal(t, map[string]Unserved{"a": {"y", 7}, "b": {"z", 9}}, unserved(had, map[string]Unserved{"a": {Why: "y"}, "b": {Why: "z"}}, 9))
}

func TestWhenWorkersCame(t *testing.T) {
	t.Parallel()
	s := NewState()
	at := func(second int64, d Data) map[string]time.Time {
		s.applyCrew(&contextscope.Event{Time: time.Unix(second, 0)}, d)
		return s.Joined
	}
	two := Crew{"a": {Agents: 1}, "b": {Agents: 1}}
	require.Equal(t, map[string]time.Time{"a": time.Unix(1, 0), "b": time.Unix(1, 0)}, at(1, Data{Crew: two}))
	require.Equal(t, map[string]time.Time{"b": time.Unix(1, 0), "c": time.Unix(2, 0)}, at(2, Data{Crew: Crew{"b": {}, "c": {}}}))
	require.Equal(t, map[string]time.Time{"b": time.Unix(1, 0), "c": time.Unix(2, 0)}, at(3, Data{}), "nothing has changed")
	require.Equal(t, map[string]time.Time{"a": time.Unix(4, 0), "b": time.Unix(4, 0)}, at(4, Data{Crew: two, Epoch: 2}), "for another conductor")
}
