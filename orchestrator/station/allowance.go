package station

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// grantTimeout bounds one question for tokens: a conductor that is gone is asked again.
const grantTimeout = 10 * time.Second

// Recall is sent by a conductor on bus.RecallSubject. It means all workers but one.
type Recall struct {
	For string `json:"for"`
}

// allowance is a worker's share of a run's budget. It outlives the setups of the run: what was granted under one is spent under
// the next, as long as the budget is in the same unit.
type allowance struct {
	worker string

	mu      sync.Mutex // guards what follows
	session string
	budget  *model.Budget
	work    *Work
	// limited reports that the run has a budget now.
	limited bool
	seq     int
	base    int64
	sent    time.Time // when the newest was said
}

func newAllowance(worker string) *allowance {
	a := &allowance{worker: worker}
	a.begin(false, nil)
	return a
}

// begin begins a session with nothing.
func (a *allowance) begin(money bool, prices model.Prices) {
	a.session, a.seq, a.base = depot.NewID(), 0, 0
	a.budget = model.NewGrant(money, prices, a.ask)
}

// use has the allowance ask through a work from now on.
func (a *allowance) use(w *Work) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.work = w
}

// of is the budget of a run's models; nil where it has no limit.
func (a *allowance) of(s *wire.Setup) *model.Budget {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limited = !s.Budget.IsZero(); !a.limited {
		return nil
	}
	if s.Budget.Money || a.budget.Standing().Money {
		a.begin(s.Budget.Money, model.PricesOf(&s.Project))
	}
	return a.budget
}

// holding is the newest of what the worker says. What is answered to an older one does not count any more. It is nil where the
// run has no budget.
func (a *allowance) holding() *wire.Holding {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.limited {
		return nil
	}
	s := a.budget.Standing()
	a.seq, a.sent = a.seq+1, time.Now()
	return &wire.Holding{
		Worker: a.worker, Session: a.session, Seq: a.seq, Granted: s.Granted, Spent: s.Spent, Base: a.base, Need: s.Need,
		Money: s.Money,
	}
}

// take notes the answer to a holding.
func (a *allowance) take(h *wire.Holding, g *wire.Grant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g == nil || g.Stale || h.Seq != a.seq {
		return
	}
	a.base = g.Base
	a.budget.Grant(g.Granted, a.sent.Add(wire.GrantFor))
}

// ask asks the conductor for what calls need.
func (a *allowance) ask(ctx context.Context) model.Asked {
	ctx, cancel := context.WithTimeout(ctx, grantTimeout)
	defer cancel()
	a.mu.Lock()
	w := a.work
	a.mu.Unlock()
	h := a.holding()
	if h == nil {
		return model.Asked{Wait: "the conductor granted nothing"}
	}
	g, err := Asks(ctx, w, call.ConductorGrant, *h)
	if err != nil {
		return model.Asked{Wait: err.Error()}
	}
	a.take(h, g)
	if g == nil {
		return model.Asked{Wait: "the conductor granted nothing"}
	}
	return model.Asked{Wait: g.Wait, Over: g.Over}
}

// giveBack returns what no call has reserved.
func (a *allowance) giveBack(w *Work) {
	a.mu.Lock()
	b := a.budget
	a.mu.Unlock()
	if !b.Return() {
		return
	}
	if h := a.holding(); h != nil {
		h.Need = 0
		tells(w, call.ConductorGrant, *h)
	}
}

// listen returns what the conductor recalls, until stop.
func (a *allowance) listen(ctx context.Context, w *Work) (stop func(), err error) {
	stop, err = w.Bus.Subscribe(ctx, bus.RecallSubject(w.Run), func(m bus.Message, _ func([]byte) error) {
		var r Recall
		if json.Unmarshal(m.Data, &r) == nil && r.For != a.worker {
			a.giveBack(w)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for recalls of the budget of run %s: %w", w.Run, err)
	}
	return stop, nil
}
