package run

import (
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Crew are the workers elsewhere that a run counts on, by name; nil where the run's process works itself.
type Crew map[string]wire.Places

// Unserved is why none of the crew serves a role, and where in the log that began.
type Unserved struct {
	Why string `json:"why"`
	Pos uint64 `json:"-"`
}

// unserved takes in what has changed. A role whose reason alone is another one keeps its decision.
func unserved(had, now map[string]Unserved, pos uint64) map[string]Unserved {
	out := make(map[string]Unserved, len(now))
	for role, u := range now {
		if u.Pos = pos; had[role].Pos > 0 {
			u.Pos = had[role].Pos
		}
		out[role] = u
	}
	return out
}

// Room is how many agents may work at once, at most so many: all places of the crew.
func (c Crew) Room(most int) int {
	if c == nil {
		return max(1, most)
	}
	places := 0
	for _, p := range c {
		places += p.Agents
	}
	return max(1, min(most, places))
}

// Permits is how many batches may be tested at once: what all of the crew can, or what the machine of the run has.
func (c Crew) Permits(own int) int {
	if c == nil {
		return max(1, own)
	}
	permits := 0
	for _, p := range c {
		permits += p.Gates
	}
	return max(1, permits)
}

// applyCrew takes in who has joined and left, and which roles are not served. Each conductor begins with none.
func (s *Branch) applyCrew(e *contextscope.Event, d Data) {
	if d.Epoch > 0 {
		clear(s.Joined)
	}
	if d.Crew != nil || d.Epoch > 0 {
		s.Crew, s.Away = d.Crew, d.Away
		s.joined(e.Time)
	}
	if d.Unserved != nil || d.Epoch > 0 {
		s.Unserved = unserved(s.Unserved, d.Unserved, e.Pos)
	}
}

// joined notes which workers of the crew have come, and which have gone.
func (s *Branch) joined(at time.Time) {
	maps.DeleteFunc(s.Joined, func(name string, _ time.Time) bool { _, there := s.Crew[name]; return !there })
	for name := range s.Crew {
		s.came(name, at)
	}
}

// came notes that a worker is there.
func (s *Branch) came(worker string, at time.Time) {
	if s.Joined[worker].IsZero() {
		s.Joined[worker] = at
	}
}

// Other is the result of the gates on the base commit in another environment than that of the baseline.
type Other struct {
	Environment string `json:"environment"`
	// Baseline are the receipts, by gate.
	Baseline map[string]spec.Receipt `json:"baseline"`
	// Lacks are the first of what passes on the base commit in the environment of the baseline and not in this one: proofs of
	// this one could let through what the first one refuses, and do not count.
	Lacks []string `json:"lacks,omitempty"`
}

// MostOthers is how many other environments are compared.
const MostOthers = 8

// Reference is the environment of the baseline; empty where it is not known.
func (p *Proofs) Reference() string {
	for _, r := range p.Baseline {
		return r.Environment
	}
	return ""
}

// Before returns what a gate is compared with in the environment of a receipt: what it found on the base commit, or where a batch
// has mended it. It is nil where the gate did not run there: no other environment is compared.
func (p *Proofs) Before(r spec.Receipt) *spec.Receipt {
	if other, known := p.Others[r.Environment]; known {
		if before, known := other.Baseline[r.Gate]; known {
			return &before
		}
		return nil
	}
	if before, known := p.Now(r.Gate); known {
		return &before
	}
	return nil
}

// comparable reports whether a receipt is of an environment whose proofs count: that of the baseline, or another one in which all
// passes on the base commit that passes there. A baseline whose environment is not known is compared with all.
func (p *Proofs) comparable(r spec.Receipt) bool {
	base := p.Baseline[r.Gate].Environment
	other, known := p.Others[r.Environment]
	return base == "" || r.Environment == base || known && len(other.Lacks) == 0
}

// ofBase reports whether a receipt is of the base commit, in an environment that is not compared yet.
func (p *Proofs) ofBase(r spec.Receipt) bool {
	base := p.Baseline[r.Gate]
	_, known := p.Others[r.Environment]
	return base.Tree != "" && r.Tree == base.Tree && r.Environment != "" && !known && !p.comparable(r)
}

// keep keeps what the gates of a worker found on the base commit until it is compared with the baseline.
func (p *Proofs) keep(r spec.Result) {
	of := map[string]spec.Receipt{}
	for _, rc := range r.Receipts {
		if p.ofBase(rc) && rc.Environment == r.Receipts[0].Environment {
			of[rc.Gate] = rc
		}
	}
	if len(of) > 0 && len(of) == len(p.Baseline) {
		p.Made[r.Receipts[0].Environment] = r.Receipts
	}
}

func (p *Proofs) applyOther(o Other, pos uint64) {
	for gate, r := range o.Baseline {
		r.Pos = pos
		o.Baseline[gate] = r
	}
	p.Others[o.Environment] = o
	delete(p.Made, o.Environment)
	for gate := range p.Mended {
		p.retire(gate)
	}
}

// rebase restarts where the baseline is of another environment than before: what was compared with that one does not count.
func (p *Proofs) rebase(receipts []spec.Receipt, pos uint64) {
	had := p.Reference()
	for _, r := range receipts {
		r.Pos = pos
		p.Baseline[r.Gate] = r
	}
	if p.Reference() != had {
		p.Others, p.Made, p.Mended = map[string]Other{}, map[string][]spec.Receipt{}, map[string][]spec.Receipt{}
	}
}

// Decides reports whether a receipt counts at the end of the run: one of the environment of the baseline does, and where no
// worker of that one is there, of any other that counts.
func (s *Branch) Decides(r spec.Receipt) bool {
	return r.Environment == s.Proofs.Reference() || !s.ReferenceServed("")
}

// ReferenceServed reports whether a worker beside one that is named proves in the environment of the baseline, as its newest
// receipt tells.
func (s *Branch) ReferenceServed(but string) bool { return s.Serves(s.Proofs.Reference(), but) }

// Serves reports the same of any environment, and of workers beside several.
func (s *Branch) Serves(environment string, but ...string) bool {
	for name, places := range s.Crew {
		at, known := s.Proofs.At[name]
		if known && !slices.Contains(but, name) && places.Gates > 0 && at == environment {
			return true
		}
	}
	return false
}

// Barred reports whether a worker leaves an attempt to others, as the log tells: the dispatch names it, and another worker is
// there that may do it. A second proof is never of the worker that has given the first.
func (s *Branch) Barred(work string, a *Attempt, worker string) bool {
	return slices.Contains(a.Not, worker) && (strings.HasPrefix(work, ReproveTask) || s.May(a.Not, a.InFirst))
}

// May reports whether a worker is there that may run gates which some workers leave to others. One whose environment no receipt
// has told may be of the right one.
func (s *Branch) May(not []string, inFirst bool) bool {
	for name, places := range s.Crew {
		if places.Gates > 0 && !slices.Contains(not, name) && s.fits(name, inFirst) {
			return true
		}
	}
	return false
}

func (s *Branch) fits(worker string, inFirst bool) bool {
	at, known := s.Proofs.At[worker]
	return !known || at == s.Proofs.Reference() ||
		len(s.Proofs.Others[at].Lacks) == 0 && (!inFirst || !s.ReferenceServed(""))
}

// Foreign counts the attempts of a work that ended because their worker had no baseline of its environment: it has by then.
func (w Works) Foreign(id string) (n int) {
	if w[id] == nil {
		return 0
	}
	for a := range maps.Values(w[id].Attempts) {
		if a.Result != nil && FaultOf(a.Result).Class == wire.FaultForeign {
			n++
		}
	}
	return n
}

// Among returns the baseline of each other environment whose proofs count.
func (p *Proofs) Among() map[string]map[string]spec.Receipt {
	out := map[string]map[string]spec.Receipt{}
	for environment, other := range p.Others {
		if len(other.Lacks) == 0 {
			out[environment] = other.Baseline
		}
	}
	return out
}

// NextMade returns the receipts of the base commit in an environment that is not compared yet; nil for none.
func (p *Proofs) NextMade() []spec.Receipt {
	for _, environment := range slices.Sorted(maps.Keys(p.Made)) {
		return p.Made[environment]
	}
	return nil
}
