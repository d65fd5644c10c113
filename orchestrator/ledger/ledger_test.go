package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

var begin = time.Unix(1_000_000, 0)

// step is what a worker says, and what becomes of it.
type step struct {
	at      time.Duration
	worker  string
	session string
	// left has it report that much of its grant as returned; spent adds to what it has spent, logged to what the log has of it.
	left, spent, logged, need int64
	// forget has the conductor begin again.
	forget string

	granted            int64
	wait, over, recall string
}

func TestLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit int64
		steps []step
	}{
		"a small budget is not divided": {10_000, []step{
			{worker: "a", need: 6000, granted: 6000},
			{worker: "b", need: 3000, granted: 3000},
			{worker: "b", need: 2000, granted: 3000, wait: "0 of 10000 are spent and 6000 granted to other workers", recall: "b"},
		}},
		"a large one is given in shares": {1_000_000, []step{
			{worker: "a", need: 6000, granted: 500_000},
			{worker: "b", need: 6000, granted: 125_000},
			{worker: "a", need: 200_000, granted: 700_000},
		}},
		"one grant has a bound": {100_000_000, []step{{worker: "a", need: 6000, granted: most}}},
		"what was spent is spent, in the log or not": {10_000, []step{
			{worker: "a", need: 6000, granted: 6000},
			{worker: "a", spent: 4000, left: 2000, granted: 4000},
			{worker: "b", need: 6000, granted: 6000},
			{worker: "a", logged: 4000, granted: 4000},
			{worker: "a", need: 1, granted: 4000, wait: "4000 of 10000 are spent and 6000 granted to other workers", recall: "a"},
			{worker: "b", spent: 6000, granted: 6000},
			{worker: "a", need: 1, granted: 4000, over: "10000 of 10000 are spent"},
		}},
		"what a call used beyond its grant is spent": {10_000, []step{
			{worker: "a", need: 6000, granted: 6000},
			{worker: "a", spent: 9000, logged: 9000, granted: 6000},
			{worker: "b", need: 1001, over: "9000 of 10000 are spent"},
			{worker: "b", need: 1000, granted: 1000},
		}},
		"who waits first is served first": {10_000, []step{
			{worker: "a", need: 8000, granted: 8000},
			{worker: "b", need: 4000, wait: "0 of 10000 are spent and 8000 granted to other workers", recall: "b"},
			{worker: "c", need: 1000, wait: "0 of 10000 are spent and 8000 granted to other workers, and another worker waits already", recall: "b"},
			{worker: "a", left: 8000},
			{worker: "a", need: 9000, wait: "0 of 10000 are spent, and another worker waits already", recall: "b"},
			{worker: "b", need: 4000, granted: 4000},
			{worker: "c", need: 1000, granted: 1000},
			{worker: "a", need: 9000, wait: "0 of 10000 are spent and 5000 granted to other workers", recall: "a"},
			{worker: "c", need: 1000, at: turnFor, granted: 2000},
		}},
		"what a lost worker had left goes to others": {10_000, []step{
			{worker: "a", need: 8000, granted: 8000},
			{worker: "a", logged: 1000, granted: 8000},
			{worker: "b", need: 9000, wait: "1000 of 10000 are spent and 7000 granted to other workers", recall: "b"},
			{worker: "b", at: wire.GrantFor, need: 9001, over: "1000 of 10000 are spent"},
			{worker: "b", at: wire.GrantFor, need: 9000, granted: 9000},
			{worker: "a", at: wire.GrantFor, spent: 1000, granted: 1000},
		}},
		"a worker that begins anew has nothing": {10_000, []step{
			{worker: "a", session: "1", need: 8000, granted: 8000},
			{worker: "a", session: "2", logged: 500},
			{worker: "b", need: 9500, granted: 9500},
		}},
		"what it spent before is spent, in the log or not": {10_000, []step{
			{worker: "a", session: "1", need: 8000, granted: 8000},
			{worker: "a", session: "1", spent: 4000, granted: 8000},
			{worker: "a", session: "2"},
			{worker: "b", need: 6001, over: "4000 of 10000 are spent"},
			{worker: "b", need: 6000, granted: 6000},
		}},
		"grants outlive the conductor": {10_000, []step{
			{worker: "a", need: 8000, granted: 8000},
			{worker: "a", spent: 2000, logged: 1500, granted: 8000},
			{worker: "b", need: 1000, granted: 1000},
			{forget: "ab", worker: "b", need: 100, granted: 1000, wait: "1500 of 10000 are spent; not all workers have reported their share yet"},
			{worker: "a", granted: 8000},
			{worker: "b", need: 1001, granted: 1000, wait: "2000 of 10000 are spent and 6000 granted to other workers", recall: "b"},
		}},
		"those of workers that do not come back end": {10_000, []step{
			{worker: "a", need: 8000, granted: 8000},
			{forget: "a", worker: "b", need: 5000, wait: "0 of 10000 are spent; not all workers have reported their share yet"},
			{worker: "b", at: wire.GrantFor, need: 5000, granted: 5000},
			{worker: "a", at: wire.GrantFor, granted: 5000},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New(nil, begin)
			b := &Book{Budget: spec.Budget{Amount: c.limit}, By: map[string]spec.Sum{}}
			said := map[string]*wire.Holding{}
			for i, s := range c.steps {
				now := begin.Add(s.at)
				if s.forget != "" {
					var crew []string
					for _, r := range s.forget {
						crew = append(crew, string(r))
					}
					l = New(crew, now)
				}
				h := said[s.worker]
				if h == nil || s.session != "" && h.Session != s.session {
					h = &wire.Holding{Worker: s.worker, Session: "s" + s.session}
					if s.session != "" {
						h.Session = s.session
					}
					said[s.worker] = h
				}
				b.log(s.worker, s.logged)
				h.Granted, h.Spent, h.Need, h.Seq = h.Granted-s.left, h.Spent+s.spent, s.need, h.Seq+1
				g := l.Take(*h, b, now)
				want := wire.Grant{Granted: s.granted, Base: g.Base, Wait: s.wait, Over: s.over, Recall: s.recall}
				require.Equal(t, want, g, "step %d", i)
				h.Granted, h.Base = g.Granted, g.Base
			}
		})
	}
}

// An answer that was overtaken, one that was lost, and a holding that comes twice change nothing.
func TestAnOlderHoldingIsPassedOver(t *testing.T) {
	t.Parallel()
	l, b := New(nil, begin), &Book{Budget: spec.Tokens(10_000), By: map[string]spec.Sum{}}
	first := wire.Holding{Worker: "a", Session: "s", Seq: 1, Need: 6000}
	require.EqualValues(t, 6000, l.Take(first, b, begin).Granted)
	lost := wire.Holding{Worker: "a", Session: "s", Seq: 2, Granted: 1000}
	require.EqualValues(t, 1000, l.Take(lost, b, begin).Granted)
	require.Equal(t, wire.Grant{Stale: true}, l.Take(first, b, begin))
	require.Equal(t, wire.Grant{Stale: true}, l.Take(lost, b, begin))
	require.EqualValues(t, 9000, l.free(b))
}

// player is a worker that keeps to the rules.
type player struct {
	wire.Holding

	unlogged int64
	until    time.Time
}

// Whatever workers and conductors do, and whichever of them end: the log never has more than the budget, unless a call uses more than
// it has reserved.
func TestTheBudgetHolds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		now, limit := begin, 1000+rnd.Int64N(100_000)
		l, b := New(nil, now), &Book{Budget: spec.Budget{Amount: limit, Money: seed%2 == 0}, By: map[string]spec.Sum{}}
		players := map[string]*player{}
		crew := []string{"a", "b", "c", "d"}
		sessions := 0
		for range 400 {
			name := crew[rnd.IntN(len(crew))]
			p := players[name]
			if p == nil || rnd.IntN(40) == 0 { // a new process: what the old one did not write to the log is lost
				sessions++
				p = &player{Holding: wire.Holding{Worker: name, Session: fmt.Sprint("s", sessions), Money: b.Budget.Money}}
				players[name] = p
			}
			switch rnd.IntN(8) {
			case 0:
				now = now.Add(time.Duration(rnd.IntN(30)) * time.Second)
			case 1:
				var had []string
				for n := range players {
					had = append(had, n)
				}
				l = New(had, now)
			case 2:
				b.log(name, p.unlogged)
				p.unlogged = 0
			case 3: // it returns what it has left
				p.Granted = max(p.Spent, p.Granted-rnd.Int64N(10_000))
				p.say(l, b, now, 0, rnd.IntN(5) == 0)
			case 4, 5:
				p.say(l, b, now, 1+rnd.Int64N(limit/2), rnd.IntN(5) == 0)
			default:
				if left := p.Granted - p.Spent; left > 0 && now.Before(p.until) {
					n := 1 + rnd.Int64N(left)
					p.Spent, p.unlogged = p.Spent+n, p.unlogged+n
				}
			}
			total := b.Budget.Of(b.Spent)
			for _, p := range players {
				if now.Before(p.until) {
					total += p.unlogged + p.Granted - p.Spent
				} else {
					p.unlogged = 0 // it was cut off
				}
			}
			require.LessOrEqual(t, total, limit, "seed %d", seed)
		}
	}
}

// log notes what a worker has used in both units: only that of the budget counts.
func (b *Book) log(worker string, used int64) {
	sum := spec.Sum{Tokens: int(used), Money: 1}
	if b.Budget.Money {
		sum = spec.Sum{Tokens: 1, Money: spec.Money(used)}
	}
	b.Spent, b.By[worker] = b.Spent.Add(sum), b.By[worker].Add(sum)
}

// say tells the ledger, and may lose the answer.
func (p *player) say(l *Ledger, b *Book, now time.Time, need int64, lost bool) {
	if p.Seq++; !now.Before(p.until) {
		p.Granted = min(p.Granted, p.Spent) // it has ended, and may be another's
	}
	h := p.Holding
	h.Need = need
	g := l.Take(h, b, now)
	if lost {
		return
	}
	p.Granted, p.Base, p.until = g.Granted, g.Base, now.Add(wire.GrantFor)
}
