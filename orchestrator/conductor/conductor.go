// Package conductor holds a run. Its input is the log, and the requests and answers of people; one goroutine folds the log,
// asks the rules in their order and executes the actions that they propose. Its output are the run's own events, whose only
// writer it is, the queue and the integration branch. It never edits a file and calls no model.
package conductor

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/act"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/ledger"
	"divisi/orchestrator/master"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// ErrDeposed reports that another conductor has taken the run: this one must stop at once and write nothing more.
var ErrDeposed = errors.New("another process has taken over this run")

// Config configures a conductor.
type Config struct {
	Run string
	Bus *bus.Bus
	// Mirror is Divisi's own bare repository; Publish puts the integration branch into the user's, and returns the ref;
	// had is the commit that it was put at before, or empty.
	Mirror  *git.Repo
	Publish func(ctx context.Context, commit, base, had string) (ref string, err error)
	// Twin prepares the comparison of the head with the user's own shell; nil where no run compares.
	Twin func(*run.State) func(context.Context) (*run.Twin, error)
	// Tree reads the content of a commit for expanding shard rules, whose commands see the environment of that id.
	Tree func(commit, environment string) plan.Tree
	// Baselines keeps what the gates found on base commits; nil keeps nothing.
	Baselines Baselines
	// Approve shows a plan to a person, and returns when ctx ends; nil where no person can be asked.
	Approve func(ctx context.Context, p Proposal) (Answer, error)
	// Decide asks a person about what only a person can decide, and returns when ctx ends; nil where answers come by requests.
	Decide func(ctx context.Context, d run.Decision) (act.Decide, error)
	// AskHeld asks whether an answer of Decide that the run holds back is taken back, or acted on now; nil where none is held.
	AskHeld func(ctx context.Context, decision string) (undo, now bool, err error)
	// Person is the identity of the person who answers on the terminal of this process.
	Person string
	// Interactive is set while a person watches who can answer questions: the run then waits for answers, and does not stop.
	Interactive bool
	// Setup is the sealed object that the run's workers are made of. A run event names it once the queue holds what the log says
	// and nothing older: they begin then. It may be empty.
	Setup string
	// Budget, when not nil, is the new budget of a run that goes on, and AllowUnverified lets it land patches without proof,
	// AllowUnread files that no gate reads.
	Budget *spec.Budget
	// Raised is called with each new budget of the run under way; nil for no one to tell. RaisedDay is for that of the day, Day
	// is it with what all runs have spent of it; nil for none.
	Raised, RaisedDay func(spec.Budget)
	Day               func() (run.Day, spec.Sum, error)
	AllowUnverified   bool
	AllowUnread       bool
	// Keys are the public keys of the run's workers.
	Keys map[string][]byte
	// Signs is the key that assignments are signed with.
	Signs ed25519.PrivateKey
	// Ordered is set where the run was submitted, and a person has signed what it is.
	Ordered bool
	// Elsewhere is set where the workers are other processes, which enlist.
	Elsewhere bool
	// Version is that of this program, as workers are told it.
	Version string
	// Held returns an error once another machine may conduct the run: nothing is written after it. nil where no other one can.
	Held func() error
	// Caller is the member that asks on a subject, where the server vouches for its name; nil where all are bus.Local.
	Caller func(subject string) string
	// Asked is told what another process has asked, who did, and why nothing came of it. It may be nil.
	Asked func(by string, q *act.Request, err error)
	// OnDoubt replaces what the run does about doubts when it is resumed; "" leaves it.
	OnDoubt string
	// Notices are recorded at the start of the run, e.g. that commands are not confined here; Closing, which may be nil, returns
	// those of its end.
	Notices []string
	Closing func() []string
	// Patience is for tests; zero means the usual.
	Patience Patience
	Clock    func() time.Time
	NewID    func() string
	Log      zerolog.Logger
}

// Conductor holds a run: it folds the log, dispatches, and lands. One goroutine (Run) owns all of its state; requests and
// the log's tail reach it over channels. There is one conductor a run at a time: every append is a compare-and-set on the
// conductor's subjects, so that one that was replaced is refused and stops. The executors of its actions have the record of the
// run in reach, and none of the loop.
type Conductor struct {
	*record
	*queue
	*patches
	*environments
	*mail
	*roster
	*asker
	*waiter
	*outage

	// folded is up to where New has folded the log.
	folded uint64
	// packing is set while the mirror is packed, which askers counts too.
	packing atomic.Bool
	// waits names the last merge in which all patches had to wait.
	waits string
	// reported is when a worker has last reported that it holds an attempt; alone counts the sweeps in a row that found attempts
	// on the queue and no such report.
	reported atomic.Pointer[time.Time]
	alone    int
	// comparing is set while the head is compared with the user's own shell.
	comparing bool
	// began is when holdClock began; ahead is how much later the clock was by which earlier answers are held back.
	began time.Time
	ahead time.Duration
	// idle is the rule for a run in which only a person can do something.
	idle func(*run.State) []run.Action
	// enlists are what workers elsewhere ask of the loop.
	enlists chan func(context.Context) error
}

// New folds the run's log and returns its conductor. It fails when an event of a conductor could not be read: each of those
// moves tasks, the integration branch or the budget, and a conductor that misses one dispatches or lands twice. An unreadable
// event of an agent costs at most work that is repeated.
func New(ctx context.Context, cfg Config) (*Conductor, error) {
	st, err := eventlog.Fold(ctx, cfg.Bus, cfg.Run)
	if err != nil {
		return nil, err
	}
	if len(st.Unread) > 0 {
		return nil, fmt.Errorf("run %s: %s; it can be shown, and not continued",
			cfg.Run, st.Unread[0])
	}
	cfg.Patience = cfg.Patience.withDefaults()
	if cfg.Caller == nil {
		cfg.Caller = func(string) string { return bus.Local }
	}
	return newConductor(cfg, st), nil
}

func newConductor(cfg Config, st *run.State) *Conductor {
	r := &record{cfg: cfg, st: st, last: st.ConductorPos}
	p := &patches{record: r, imported: map[string]bool{}, shapes: map[string]string{}, siblings: evidence.NewSiblings()}
	share := func(ctx context.Context, commit, onto string) error { return p.share(ctx, commit, onto) }
	q := &queue{record: r, sealer: assign.NewSealer(cfg.Run, cfg.Bus, cfg.Mirror, share)}
	e := &environments{record: r, making: map[string]making{}}
	c := &Conductor{
		record: r, queue: q, patches: p, environments: e, mail: &mail{record: r, environments: e, active: map[string]bool{}},
		roster: &roster{
			record: r, queue: q, muster: newMuster(cfg.Clock, cfg.Patience.Present), caused: caused{},
			away: away{leaving: map[string]leaving{}},
		},
		asker:  &asker{record: r, shown: map[string]bool{}, answers: make(chan func(context.Context) error, 1)},
		waiter: &waiter{record: r}, outage: &outage{record: r},
		folded: st.Pos, enlists: make(chan func(context.Context) error),
	}
	c.workers, c.idle = own{c}, c.stuck
	if cfg.Elsewhere {
		c.workers = elsewhere{c.roster}
	}
	if cfg.Interactive {
		c.idle = watched
	}
	return c
}

// State returns the folded state. It may be read once Run has returned.
func (c *Conductor) State() *run.State { return c.st }

// Run conducts until the run ends, is stopped, or ctx ends, which stops it in order. The error is nil for every end that the
// log records; it is set when the machine or a service failed, and the run can then be resumed.
func (c *Conductor) Run(ctx context.Context) error {
	c.ledger = ledger.New(slices.Collect(maps.Keys(c.st.Crew)), c.cfg.Clock())
	before := c.st.Epoch
	err := c.conduct(ctx)
	if ctx.Err() != nil && !errors.Is(err, ErrDeposed) && (c.st.Epoch > before || c.st.Status.Ended()) {
		return c.interrupted(ctx)
	}
	return err
}

// conduct takes the run over and leads it until it has ended, it fails, or ctx ends.
func (c *Conductor) conduct(ctx context.Context) error {
	if err := c.takeOver(ctx); err != nil {
		return err
	}
	// A goroutine that still waits for this one when it leaves the loop would wait without end: inner ends first.
	inner, end := context.WithCancel(ctx)
	defer end()
	asks := make(chan incoming)
	stop, err := c.listen(inner, asks)
	if err != nil {
		return err
	}
	defer stop()
	deaf, err := c.hear(inner)
	if err != nil {
		return err
	}
	defer deaf()
	dismiss, err := c.workers.attend(inner)
	if err != nil {
		return err
	}
	defer dismiss()
	tail, tailDone := c.tail(inner)
	err = c.loop(inner, tail, asks)
	end()
	stop()
	<-tailDone
	c.askers.Wait()
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrDeposed) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failTimeout)
		defer cancel()
		return errors.Join(err, c.stopped(ctx, "failed: "+err.Error()))
	}
	return err
}

// loop asks the rules until none proposes anything, then waits for the next event, request or answer.
func (c *Conductor) loop(ctx context.Context, tail <-chan tailed, asks <-chan incoming) error {
	sweep, retry := time.NewTicker(c.cfg.Patience.Sweep), time.NewTicker(c.cfg.Patience.Retry)
	defer sweep.Stop()
	defer retry.Stop()
	roll := time.NewTicker(c.cfg.Patience.Present / 3)
	defer roll.Stop()
	back, settled, since := c.cfg.Bus.Back(), (<-chan time.Time)(nil), time.Time{}
	for {
		err := c.step(ctx)
		if err = c.halted(ctx, err); err != nil || c.st.Status.Ended() {
			return err
		}
		select {
		case t := <-tail:
			if err = c.take(t, tail); err == nil {
				c.resend(ctx)
				err = c.handOn(ctx)
			}
		case r := <-asks:
			err = c.answer(ctx, r)
		case act := <-c.answers:
			err = act(ctx)
		case act := <-c.enlists:
			err = act(ctx)
		case <-sweep.C:
			quiet := c.cfg.Clock().Add(-c.cfg.Patience.Lost)
			if err = c.workers.miss(ctx, quiet); err == nil {
				err = c.sweep(ctx, quiet)
			}
			c.resendAll(ctx)
		case <-back:
			back, settled, since = c.cfg.Bus.Back(), time.After(backGrace), c.cfg.Clock()
		case <-c.due():
		case <-c.window.end:
			c.window.over = true
		case <-settled:
			err = c.sweep(ctx, since)
		case <-retry.C:
			err = c.retry(ctx)
		case <-roll.C:
			err = c.workers.callRoll(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// rules are the rules in their order. The order matters in three places: settled results go before landing, which goes before
// dispatching, so that an attempt starts from the newest head; a stop by the budget comes when nothing more lands, and before
// what would wait for a person; the end comes last.
func (c *Conductor) rules(ctx context.Context) []func(*run.State) []run.Action {
	return []func(*run.State) []run.Action{
		c.announceHalt, goes(phase.Preflight), goes(phase.Baseline), phase.Others, plan.ReadFile, master.Settle,
		goes(acceptance.Settle), goes(acceptance.SettleVerify), goes(acceptance.Try), acceptance.AskUnprovable,
		phase.SettleFlakes, goes(landing.RetestWithout), goes(c.unlike),
		goes(landing.Settle), request.Hold, goes(c.carry), request.ReviseAfterPlan, goes(c.follow), goes(decision.Policy),
		landing.ParkSets, request.Settle, request.CancelOrphans, request.Follow, goes(landing.ProveRed), goes(landing.Land),
		request.ReportLate, goes(c.later), goes(c.dispatch), goes(acceptance.Release), phase.TellBudget,
		phase.TellDay(c.cfg.Day), phase.KeepBudget(c.cfg.Interactive), goes(phase.Reprove), goes(phase.Flakes), c.recall,
		c.askApproval, c.decide,
		goes(unspent(master.Wake)), goes(c.landedUnlike), goes(c.finish(ctx)), goes(c.idle), decision.AnnounceWait,
	}
}

// goes is a rule that starts work, lands it or ends the run: it proposes nothing while the line is stopped.
func goes(rule func(*run.State) []run.Action) func(*run.State) []run.Action {
	return func(s *run.State) []run.Action {
		if s.Line != "" {
			return nil
		}
		return rule(s)
	}
}

// step asks the rules in their order until none of them proposes an action; after each that does it begins with the first.
func (c *Conductor) step(ctx context.Context) error {
	if c.pausing {
		return c.paused(ctx)
	}
	rules := c.rules(ctx)
	for i := 0; i < len(rules); i++ {
		if c.st.Status.Ended() || ctx.Err() != nil {
			return ctx.Err()
		}
		actions := rules[i](c.st)
		if len(actions) == 0 {
			continue
		}
		// A merge of patches that all have to wait changes nothing: the same one is not tried again.
		merge, merges := actions[0].(landing.Merge)
		later, waits := actions[0].(landing.Later)
		if merges && (merge.Key() == c.waits || c.early(merge)) || waits && c.before(later.Until, c.cfg.Patience.Outage) {
			continue
		}
		before := c.last
		if err := c.execute(ctx, actions); err != nil {
			return err
		}
		if merges && c.last == before {
			c.waits = merge.Key()
		} else {
			i = -1
		}
	}
	return nil
}

func (c *Conductor) finish(ctx context.Context) func(*run.State) []run.Action {
	return func(s *run.State) []run.Action {
		if !phase.Over(s) || c.comparing || len(s.Decisions.Waiting()) > 0 {
			return nil
		}
		tree, err := c.cfg.Mirror.Tree(ctx, s.Head)
		if err != nil {
			return []run.Action{run.Fail{Err: fmt.Errorf("read the tree of %s: %w", s.Head, err)}}
		}
		return phase.Finish(s, tree)
	}
}

// dispatch starts nothing while the machine lacks something.
func (c *Conductor) dispatch(s *run.State) []run.Action {
	if c.halt.on() {
		return nil
	}
	return unspent(schedule.Dispatch)(s)
}

// unspent is a rule that starts what may cost tokens: it proposes nothing once the budget is spent.
func unspent(rule func(*run.State) []run.Action) func(*run.State) []run.Action {
	return func(s *run.State) []run.Action {
		if phase.Spent(&s.Agenda, &s.Agents) {
			return nil
		}
		return rule(s)
	}
}

// stuck stops no run whose plan a person is asked about.
func (c *Conductor) stuck(s *run.State) []run.Action {
	if c.asked.plan > s.Plans.Approved {
		return nil
	}
	return decision.Stuck(s)
}

// watched stops no run that a person watches.
func watched(*run.State) []run.Action { return nil }

// withoutCancel returns a context that outlives its parent by stopTimeout, for steps that must not be interrupted.
func withoutCancel(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(stopTimeout, cancel) })
	return ctx, func() { stop(); cancel() }
}
