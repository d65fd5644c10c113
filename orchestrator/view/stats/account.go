package stats

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// part is a share of a run's wall clock.
type part int

// The parts. From preflight on it is Divisi itself.
const (
	partModel part = iota
	partCommands
	partGates
	partPerson
	partQuota
	partPermit
	partBatch
	partPreflight
	partSlots
	partGit
	partSealing
	partLanding
	partLog
	partOther
	parts
)

var partNames = [parts]string{
	"model", "commands", "gates", "person", "quota", "permit", "batch",
	"preflight", "slots", "git", "sealing", "landing", "log", "other",
}

// PathStep is an attempt on the critical path of a run, and how long that followed it.
type PathStep struct {
	Agent   string  `json:"agent"`
	Seconds float64 `json:"seconds"`
}

// account is a walk along the critical path of a run, from its end to its beginning.
type account struct {
	s     *run.State
	ended []lived
	// open are the attempts whose inside is walked.
	open  map[*run.Attempt]bool
	spent [parts]time.Duration
	path  []PathStep
}

// lived is an attempt with its end, or where it continues what the clock is.
type lived struct {
	work *run.Work
	*run.Attempt
	end time.Duration
}

// accountOf splits the wall clock of a run at a time on its clock. What it did last began when something ended: it is what the
// attempt waited for, or what freed its place. The parts sum up to the wall clock.
func accountOf(s *run.State, now time.Duration) *account {
	c := &account{s: s, open: map[*run.Attempt]bool{}}
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			switch {
			case w.ID == run.FlakesTask: // nothing waits for it
			case a.Life.Ended > 0:
				c.ended = append(c.ended, lived{w, a, a.Life.Ended})
			case a.Life.Began > 0 && !a.Void && (!s.Status.Ended() || s.Status == run.Stopped): // it worked until then
				c.ended = append(c.ended, lived{w, a, now})
			}
		}
	}
	slices.SortFunc(c.ended, func(x, y lived) int {
		return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.Life.Dispatched, y.Life.Dispatched),
			cmp.Compare(x.work.ID, y.work.ID), cmp.Compare(x.Attempt.Attempt, y.Attempt.Attempt))
	})
	c.walk(0, max(0, now), nil, true)
	slices.Reverse(c.path)
	return c
}

// walk accounts for a stretch of time, at whose end an attempt was dispatched, or the run ended.
func (c *account) walk(from, to time.Duration, next *run.Work, top bool) {
	for to > from {
		last := c.before(to, next)
		if last == nil || last.end <= from {
			c.gap(from, to, next, top && last == nil)
			return
		}
		c.gap(last.end, to, next, false)
		begin := min(last.end, max(from, last.Life.Dispatched))
		c.inside(last, begin, last.end)
		if top {
			agent := wire.AgentID(last.work.ID, last.Attempt.Attempt)
			c.path = append(c.path, PathStep{agent, (last.end - begin).Seconds()})
		}
		to, next = begin, last.work
	}
}

// before returns what ended last before a time, of what a work can have waited for.
func (c *account) before(to time.Duration, next *run.Work) *lived {
	n := sort.Search(len(c.ended), func(i int) bool { return c.ended[i].end > to })
	of := c.awaited(next)
	for i := n - 1; i >= 0; i-- {
		r := &c.ended[i]
		id, _, _ := strings.Cut(r.work.ID, "--")
		if r.Life.Dispatched < to && !c.open[r.Attempt] && (of == nil || of[id]) {
			return r
		}
	}
	return nil
}

// awaited are the tasks that a work can have waited for, "" for gates; nil for all: a batch waits for its patches and for other
// gates, all others also for a place. What a person hands in waits for no attempt.
func (c *account) awaited(next *run.Work) map[string]bool {
	if next == nil || next.Batch == nil {
		return nil
	}
	of := map[string]bool{"": true}
	for _, l := range next.Batch.Tasks {
		if t := c.s.Tasks.ByID[l.Task]; t != nil && c.s.Works.ByPerson(t) {
			return nil
		}
		of[l.Task] = true
	}
	return of
}

// put gives a part the time up to a moment, and returns where the account is then.
func (c *account) put(p part, at, until, to time.Duration) time.Duration {
	until = max(at, min(until, to))
	c.spent[p] += until - at
	return until
}

// gap accounts for time in which no attempt of the path was there: what the conductor did itself, and waits for a person.
func (c *account) gap(from, to time.Duration, next *run.Work, first bool) {
	at := from
	for _, p := range c.s.Times.Persons {
		if p.To == p.From { // it still waits
			p.To = to
		}
		if over := min(to, p.To) - max(from, p.From); over > 0 {
			at = c.put(partPerson, at, at+over, to)
		}
	}
	rest := partOther
	switch {
	case first:
		rest = partPreflight
	case next != nil && next.Batch != nil:
		rest = partBatch
	}
	own := c.s.Times.Own
	i := sort.Search(len(own), func(i int) bool { return own[i].At > from })
	for ; !first && i < len(own) && own[i].At <= to; i++ {
		at = c.put(partGit, at, at+own[i].Git, to)
		at = c.put(partLanding, at, at+own[i].Landing, to)
		at = c.put(partSealing, at, at+own[i].Seal, to)
		at = c.put(partLog, at, at+own[i].Log, to)
	}
	c.put(rest, at, to, to)
}

// ofActivity is the part that an activity of an attempt belongs to.
var ofActivity = map[run.Activity]part{
	run.Models: partModel, run.Slots: partSlots, run.Tools: partCommands, run.Gates: partGates, run.Quota: partQuota,
}

// inside accounts for an attempt: its way to a worker, its wait for a core, its place, and then what it did.
func (c *account) inside(r *lived, from, to time.Duration) {
	way, rest := partLog, partOther
	if r.Group != "" {
		way = partPermit // it waited for others, and a core, to share a process, also where none was left to share it with
	}
	at := c.put(way, from, r.Life.Began, to)
	if r.Result != nil && r.Life.Began > 0 {
		at = c.put(partPermit, at, r.Life.Began+r.Result.Queued, to)
	}
	if role := c.s.Spec.Roles[r.Role]; r.Result == nil && r.Turns == 0 && role.Executor == spec.ExecutorCommand {
		rest = partCommands
	}
	if strings.HasPrefix(r.work.ID, "--") {
		rest = partSlots // what its gates see is made ready
		if r.Result == nil {
			rest = partGates
		}
	}
	spans := slices.SortedFunc(slices.Values(r.Spans), func(x, y run.Span) int { return cmp.Compare(x.From, y.From) })
	for _, s := range spans {
		at = c.put(rest, at, s.From, to)
		if s.What != run.Asks {
			at = c.put(ofActivity[s.What], at, s.To, to)
			continue
		}
		if until := min(s.To, to); until > at {
			c.open[r.Attempt] = true
			c.walk(at, until, nil, false)
			delete(c.open, r.Attempt)
			at = until
		}
	}
	if r.Result != nil {
		at = c.put(rest, at, to-r.Result.Git, to)
		at = c.put(partGit, at, to, to)
	}
	c.put(rest, at, to, to)
}
