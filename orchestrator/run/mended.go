package run

import (
	"fmt"
	"maps"
	"slices"

	"divisi/internal/spec"
)

// Now returns what later patches are compared with: the receipt of a gate on the base commit, or on the newest batch with fewer
// failures, once a batch has mended it.
func (p *Proofs) Now(gate string) (spec.Receipt, bool) {
	if list := p.Mended[gate]; len(list) > 0 {
		return list[len(list)-1], true
	}
	r, known := p.Baseline[gate]
	return r, known
}

// AsOf has, by gate, what is compared with what landed at a position of the log; 0 is the newest.
func (p *Proofs) AsOf(pos uint64) map[string]spec.Receipt {
	if len(p.Mended) == 0 {
		return p.Baseline
	}
	out := maps.Clone(p.Baseline)
	for gate, list := range p.Mended {
		for _, r := range list {
			if pos == 0 || r.Pos <= pos {
				out[gate] = r
			}
		}
	}
	return out
}

// mend keeps what the gates of a batch that landed found, where that is fewer failures than before: what is better stays so. A
// gate that no batch has mended keeps its baseline. Other environments have none to compare with any more.
func (s *State) mend(d LandingData, pos uint64) {
	p := &s.Proofs
	for _, r := range d.Receipts {
		before, known := p.Now(r.Gate)
		gain := r.Verdict == spec.VerdictPass || r.Failures() < before.Failures() || len(r.Appeared) > 0
		switch mended := len(d.Mends) > 0 || len(p.Mended[r.Gate]) > 0; {
		case !mended || !known || !gain || before.Verdict == spec.VerdictPass || !r.LetsThrough():
		case r.Since != "" || r.Environment != before.Environment:
		default:
			r = r.Bare()
			r.Pos = pos
			p.Mended[r.Gate] = append(slices.Clip(p.Mended[r.Gate]), r)
			p.retire(r.Gate)
		}
	}
	s.noteUnprovable()
}

// retire has the proofs of other environments count no more.
func (p *Proofs) retire(gate string) {
	for environment, other := range p.Others {
		other.Lacks = append(slices.Clip(other.Lacks), fmt.Sprintf("gate %s was mended in the first environment", gate))
		p.Others[environment] = other
	}
}

// Appeared are the failures of a gate that did not run before a batch mended it.
func (p *Proofs) Appeared(gate string) (list []string) {
	for _, r := range p.Mended[gate] {
		list = append(list, r.Appeared...)
	}
	return list
}

// stale reports whether a red gate was let through by what it is not compared with any more.
func (p *Proofs) stale(r spec.Receipt) bool {
	list := p.Mended[r.Gate]
	if len(list) == 0 || r.Verdict == spec.VerdictPass {
		return false
	}
	newest := list[len(list)-1]
	return r.Pos < newest.Pos && r.Tree != newest.Tree
}

// Better reports whether a task has landed that mends a gate, and the gate is not green yet.
func (s *Branch) Better(t *Task) bool {
	if t.State != TaskLanded || t.Landed.Better == "" {
		return false
	}
	return len(t.Task.Mends) == 0 || slices.ContainsFunc(t.Task.Mends, func(gate string) bool { return !s.green(gate) })
}

// green reports whether a gate is known to be green on the integration head.
func (s *Branch) green(gate string) bool {
	for _, r := range s.Final {
		if r.Gate == gate {
			return r.Verdict == spec.VerdictPass
		}
	}
	r, _ := s.Proofs.Now(gate)
	return r.Verdict == spec.VerdictPass
}
