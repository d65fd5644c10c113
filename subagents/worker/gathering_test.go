package worker

import (
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/command"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestAGatheringTakesWhatIsAlike(t *testing.T) {
	t.Parallel()
	known := rate{start: time.Second, each: time.Second, first: 1} // three files
	for name, tt := range map[string]struct {
		rate   rate
		change func(i int, a *wire.Assignment)
		want   []int
	}{
		"one, before the rate is known": {rate{}, func(int, *wire.Assignment) {}, []int{1, 1, 1, 1, 1, 1}},
		"as many as the rate allows":    {known, func(int, *wire.Assignment) {}, []int{3, 3}},
		"all":                           {rate{time.Second, time.Millisecond, 1}, func(int, *wire.Assignment) {}, []int{6}},
		"a slow command":                {rate{time.Minute, time.Minute, 1}, func(int, *wire.Assignment) {}, []int{1, 1, 1, 1, 1, 1}},
		"a slow start":                  {rate{time.Minute, 2 * time.Second, 1}, func(int, *wire.Assignment) {}, []int{2, 2, 2}},
		"files and not tasks": {known, func(_ int, a *wire.Assignment) {
			a.Task.Files = append(a.Task.Files, "more")
		}, []int{1, 1, 1, 1, 1, 1}},
		"on one head": {known, func(i int, a *wire.Assignment) { a.Head = strings.Repeat("a", i%2) }, []int{3, 3}},
		"with one command": {known, func(i int, a *wire.Assignment) {
			a.Role.Command = []string{"x", strings.Repeat("a", i/2)}
		}, []int{2, 2, 2}},
		"with one brief":  {known, func(i int, a *wire.Assignment) { a.Task.Brief = strings.Repeat("a", i/4) }, []int{3, 1, 2}},
		"of one template": {known, func(i int, a *wire.Assignment) { a.Group = strings.Repeat("t", 1+i/5) }, []int{3, 2, 1}},
		"of one attempt":  {known, func(i int, a *wire.Assignment) { a.Attempt = 1 + i/5 }, []int{3, 2, 1}},
		"long names": {rate{time.Second, time.Millisecond, 1}, func(_ int, a *wire.Assignment) {
			a.Task.Files = []string{strings.Repeat("n", command.MaxNames/2-1)}
		}, []int{2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGathering(NewWorker(Config{}))
			if tt.rate != (rate{}) {
				g.rates["t"], g.rates["tt"] = tt.rate, tt.rate
			}
			for i := range 6 {
				a := &wire.Assignment{Run: "r", Attempt: 1, Group: "t", Task: spec.Task{ID: spec.ShardID("t", i), Files: []string{"f"}}}
				tt.change(i, a)
				g.waiting = append(g.waiting, &member{attempt: &attempt{assignment: a}, alike: alike(a)})
			}
			var sizes []int
			for ms := g.take(); ms != nil; ms = g.take() {
				sizes = append(sizes, len(ms))
			}
			require.Equal(t, tt.want, sizes)
		})
	}
}

func TestARateFindsTwoSecondsOfWork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start, each time.Duration
		shard       int
		want        int
	}{
		"fast":         {10 * time.Millisecond, time.Millisecond, 5, 2000},
		"a slow start": {5 * time.Second, 10 * time.Millisecond, 1, 200},
		"slow":         {0, time.Second, 1, 3},
		"very slow":    {0, time.Minute, 1, 1},
		"large shards": {time.Second, 100 * time.Millisecond, 50, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r rate
			require.Zero(t, r.files())
			n := tt.shard
			for round := range 20 {
				r = r.learn(n, tt.start+time.Duration(n)*tt.each)
				if n = max(tt.shard, r.files()); round == 0 {
					require.GreaterOrEqual(t, n, 2*tt.shard)
				}
			}
			require.InEpsilon(t, tt.want, n, 0.05)
			require.InEpsilon(t, tt.start+time.Duration(n)*tt.each, r.predicts(n), 0.05)
		})
	}
}
