// Package ledger divides a run's budget, in tokens or in money, among workers that each count for themselves. Its input is
// what the log says was
// spent and what workers say of their grants; its output is what each may spend. What is spent and what is granted and not yet
// spent never exceed the budget together. It has no clock, and does no input or output.
package ledger

import (
	"fmt"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

const (
	// most bounds one grant beyond what is needed at once.
	most, mostMoney = 1_000_000, int64(spec.Dollar)
	// turnFor is how long a worker that waits for tokens comes before the others, after it has asked last.
	turnFor = 5 * time.Second
)

// Book is the spending as the log has it: the budget, what all have spent, and each worker, with what calls under way have
// reserved: Reserved in all.
type Book struct {
	Budget          spec.Budget
	Spent, Reserved spec.Sum
	By              map[string]spec.Sum
}

func (b *Book) by(worker string) int64 { return b.Budget.Of(b.By[worker]) }

// Ledger divides a budget among workers. It is not safe for concurrent use.
type Ledger struct {
	accounts map[string]*account
	// awaited are workers that had grants of an earlier conductor. Nothing is granted before they have reported, or until, when
	// those grants have ended.
	awaited map[string]bool
	until   time.Time
	// turn is the worker that waits, and when it has asked last: what is returned is for it.
	turn string
	at   time.Time
}

// New makes a ledger of a run that counted on these workers when its conductor began.
func New(crew []string, now time.Time) *Ledger {
	l := &Ledger{accounts: map[string]*account{}, awaited: map[string]bool{}, until: now.Add(wire.GrantFor)}
	for _, worker := range crew {
		l.awaited[worker] = true
	}
	return l
}

// Take notes what a worker says, and grants it what it needs, if that is free.
func (l *Ledger) Take(h wire.Holding, b *Book, now time.Time) wire.Grant {
	for _, a := range l.accounts {
		a.end(now)
	}
	delete(l.awaited, h.Worker)
	if h.Money != b.Budget.Money {
		return wire.Grant{Wait: "the budget of the run is in another unit, with the next setup of the run"}
	}
	a := l.accounts[h.Worker]
	switch {
	case a == nil || a.session != h.Session || a.ended():
		a = l.open(&h, b)
	case h.Seq <= a.seq:
		return wire.Grant{Stale: true}
	}
	a.granted, a.spent = min(a.granted, h.Granted), max(a.spent, h.Spent)
	a.seq, a.until = h.Seq, now.Add(wire.GrantFor)
	var g wire.Grant
	if h.Need > 0 {
		g = l.grant(h.Worker, h.Need, b, now)
	}
	g.Granted, g.Base = a.granted, a.base
	return g
}

// open begins the account of a worker: with nothing, or with what was granted to it before and is free.
func (l *Ledger) open(h *wire.Holding, b *Book) *account {
	a := &account{session: h.Session, base: h.Base, granted: h.Spent, spent: h.Spent}
	if h.Granted == 0 && h.Spent == 0 {
		a.base = b.by(h.Worker)
		if had := l.accounts[h.Worker]; had != nil {
			a.base = max(a.base, had.base+had.spent) // the log may have that yet, or never
		}
	}
	l.accounts[h.Worker] = a
	a.granted += max(0, l.free(b)) // Take bounds it by what the worker has
	return a
}

// grant gives a worker what it needs, or its share of what is free if that is more: the others find some too, and a small
// budget is not divided into parts that serve no call.
func (l *Ledger) grant(worker string, need int64, b *Book, now time.Time) wire.Grant {
	free, others, open := l.free(b), l.held(b, worker), b.Budget.Of(b.Reserved)
	share := int64(most)
	if b.Budget.Money {
		share = mostMoney
	}
	why := fmt.Sprintf("%s of %s are spent", b.Budget.Figure(b.Budget.Amount-free-l.held(b, "")-open),
		b.Budget.Figure(b.Budget.Amount))
	if others > 0 {
		why += fmt.Sprintf(" and %s granted to other workers", b.Budget.Figure(others))
	}
	if open > 0 {
		why += fmt.Sprintf(" and %s reserved for calls under way", b.Budget.Figure(open))
	}
	switch {
	case len(l.awaited) > 0 && now.Before(l.until):
		return wire.Grant{Wait: why + "; not all workers have reported their share yet"}
	case l.turn != "" && l.turn != worker && now.Sub(l.at) < turnFor:
		return wire.Grant{Wait: why + ", and another worker waits already", Recall: l.turn}
	case need <= free:
		l.turn = ""
		l.accounts[worker].granted += max(need, min(free/(2*l.holders()), share))
		return wire.Grant{}
	case others+open > 0:
		l.turn, l.at = worker, now
		return wire.Grant{Wait: why, Recall: worker}
	}
	l.turn = ""
	return wire.Grant{Over: why}
}

// free returns what may still be granted.
func (l *Ledger) free(b *Book) int64 {
	free := b.Budget.Amount - b.Budget.Of(b.Spent)
	for worker, a := range l.accounts {
		free -= max(0, a.base+max(a.granted, a.spent)-b.by(worker))
	}
	return free
}

// held returns the remaining grants of all workers but one.
func (l *Ledger) held(b *Book, but string) (sum int64) {
	for worker, a := range l.accounts {
		if worker != but {
			sum += max(0, a.base+a.granted-max(a.base+a.spent, b.by(worker)))
		}
	}
	return sum
}

// holders counts the workers that may have grants.
func (l *Ledger) holders() (n int64) {
	for _, a := range l.accounts {
		if !a.ended() {
			n++
		}
	}
	return max(1, n)
}

// account is the budget of one worker. Amounts are those of its session; base is how much the log had of it before.
type account struct {
	session              string
	seq                  int
	base, granted, spent int64
	until                time.Time // zero once it has ended
}

// end takes back what is left to a worker that has said nothing for too long.
func (a *account) end(now time.Time) {
	if !a.until.After(now) {
		a.granted, a.until = min(a.granted, a.spent), time.Time{}
	}
}

func (a *account) ended() bool { return a.until.IsZero() }
