package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// GatesOf returns the names of the gates that decide about a task.
func (s *Spec) GatesOf(t spec.Task) []string {
	if len(t.Gates) > 0 {
		return append(slices.Clip(t.Gates), s.AddedNames()...)
	}
	return s.GateNames()
}

// GateNames are the names of the project's gates, in their order.
func (s *Spec) GateNames() []string {
	names := make([]string, 0, len(s.Project.Gates))
	for _, g := range s.Project.Gates {
		names = append(names, g.Name)
	}
	return names
}

// Environment is the id of what lies below every work tree; empty for none, and before setup has made it.
func (s *State) Environment() string {
	if s.Spec.Environment != "" {
		return s.Spec.Environment
	}
	if r := s.Works.Settled(SetupTask); r != nil {
		return r.Environment
	}
	return ""
}

// Proofs are the gates' results on the trees that they ran on.
type Proofs struct {
	// Baseline are the receipts of the base commit, by gate.
	Baseline map[string]spec.Receipt
	// Others are the baselines of other environments, by environment; Made are receipts of the base commit in those that are not
	// compared yet. At is the environment of the newest receipt of each worker.
	Others map[string]Other
	Made   map[string][]spec.Receipt
	At     map[string]string
	// Flaky are, by gate, the failures that one of two runs on the base commit had and the other one had not; nil while the gates
	// have not run there twice.
	Flaky map[string][]string
	// Proved maps a tree to the receipts of the gates that passed on it, Failures to those that did not, with the number of their
	// runs.
	Proved   map[string][]spec.Receipt
	Failures map[string][]Failure
	// Known are, by gate, the receipts of the integration head that are red because of what has landed: what is red there is no
	// later patch's fault.
	Known map[string]spec.Receipt
	// Mended are, by gate, its receipts of the batches that left fewer failures, from the first that mended it, oldest first.
	// Later patches are compared with the newest.
	Mended map[string][]spec.Receipt
	// Outdated is set when gates met another environment in a later epoch than the one in which they ran on the base commit: they
	// have to run there again. That one is baselined, 0 where an earlier run's count.
	Outdated  bool
	baselined int
	// Distrusted is where in the log the baseline was found to be of a worker in quarantine: what was dispatched before it proves
	// nothing. 0 for never.
	Distrusted uint64
	// Unprovable are the parts of the repository that no gate can prove, sorted; none before setup and the baseline are known.
	Unprovable []Unprovable
}

func newProofs() Proofs {
	return Proofs{
		Baseline: map[string]spec.Receipt{}, Proved: map[string][]spec.Receipt{}, Failures: map[string][]Failure{},
		Others: map[string]Other{}, Made: map[string][]spec.Receipt{}, At: map[string]string{},
		Known: map[string]spec.Receipt{}, Mended: map[string][]spec.Receipt{},
	}
}

// KeptBaseline is the baseline of an earlier run.
type KeptBaseline struct {
	Run    string    `json:"run"`
	Commit string    `json:"commit"`
	Made   time.Time `json:"made"`
	// Receipts are one for each gate.
	Receipts []spec.Receipt `json:"receipts"`
	// Flaky is as in State.
	Flaky map[string][]string `json:"flaky,omitzero"`
	// Tests are the objects that the receipts name.
	Tests map[string][]byte `json:"tests,omitempty"`
}

// Baselined reports whether the baseline is known: every gate has a receipt on the base commit, in the environment of the others.
func (s *State) Baselined() bool {
	return len(s.Proofs.Baseline) >= len(s.Spec.Project.Gates) && !s.Proofs.Outdated
}

// RunsAgain reports whether they run there for what waits for it.
func (w Works) RunsAgain() bool { return w[AgainTask].Outstanding() }

// holds reports whether a receipt counts where gates may be narrowed to what changed since a commit; empty stands for in full.
// One of a full run always does. Narrowed to another change, a gate has tested something else of the same tree.
func holds(r spec.Receipt, since string) bool { return r.Since == "" || r.Since == since }

// IsProven reports whether every one of the gates has a good receipt on the tree, in full or narrowed to what changed since a
// commit.
func (p *Proofs) IsProven(tree string, gates []string, since string) bool {
	return len(p.Receipts(tree, gates, since)) == len(gates)
}

// Receipts are the good receipts of the gates on a tree, in full or narrowed to what changed since a commit: of each gate one, of
// the environment of the baseline where there is one. A gate that failed there in another environment, and did not pass in that
// one, has none: an environment tells nothing of another one.
func (p *Proofs) Receipts(tree string, gates []string, since string) []spec.Receipt {
	var out []spec.Receipt
	for _, g := range gates {
		good := p.good(tree, g, since)
		if len(good) > 0 && len(p.Failed(tree, []string{g}, since)) == 0 {
			first := slices.IndexFunc(good, func(r spec.Receipt) bool { return r.Environment == p.Reference() })
			out = append(out, good[max(0, first)])
		}
	}
	return out
}

// PassedIn are the good receipts of the gates on a tree, as Receipts, of one environment; nil where one of them has none there.
func (p *Proofs) PassedIn(environment, tree string, gates []string, since string) (out []spec.Receipt) {
	for _, g := range gates {
		good := p.good(tree, g, since)
		i := slices.IndexFunc(good, func(r spec.Receipt) bool { return r.Environment == environment })
		if i < 0 {
			return nil
		}
		out = append(out, good[i])
	}
	return out
}

// FailedIn are the failures of the gates on a tree, as Failed, of one environment.
func (p *Proofs) FailedIn(environment, tree string, gates []string, since string) []Failure {
	return slices.DeleteFunc(p.Failed(tree, gates, since), func(f Failure) bool { return f.Receipt.Environment != environment })
}

// good are the receipts of a gate that passed on a tree.
func (p *Proofs) good(tree, gate, since string) (good []spec.Receipt) {
	for _, r := range p.Proved[tree] {
		if r.Gate == gate && r.Verdict != spec.VerdictFail && holds(r, since) && p.comparable(r) && !p.stale(r) {
			good = append(good, r)
		}
	}
	return good
}

// open reports whether a failure on a tree counts: its gate did not pass there in the same environment.
func (p *Proofs) open(f Failure, since string) bool {
	passed := slices.ContainsFunc(p.good(f.Receipt.Tree, f.Receipt.Gate, since), func(r spec.Receipt) bool {
		return r.Environment == f.Receipt.Environment
	})
	return !passed && holds(f.Receipt, since) && p.comparable(f.Receipt)
}

// Failure is a gate that failed on a tree: its newest receipt, the fault of the result that held it, and its runs there that
// failed in the same environment, with all their receipts.
type Failure struct {
	Receipt spec.Receipt
	Fault   spec.Fault
	Runs    int
	All     []spec.Receipt
}

func (p *Proofs) fail(r spec.Receipt, f spec.Fault) {
	list := p.Failures[r.Tree]
	i := slices.IndexFunc(list, func(had Failure) bool {
		return had.Receipt.Gate == r.Gate && had.Receipt.Since == r.Since && had.Receipt.Environment == r.Environment
	})
	if i < 0 {
		i, list = len(list), append(list, Failure{})
	}
	list[i] = Failure{r, f, list[i].Runs + 1, append(slices.Clip(list[i].All), r)}
	p.Failures[r.Tree] = list
}

// Failed returns the failures of the gates on a tree, in full or narrowed to what changed since a commit, without those that have
// passed there so too, in the same environment.
func (p *Proofs) Failed(tree string, gates []string, since string) []Failure {
	var out []Failure
	for _, f := range p.Failures[tree] {
		if slices.Contains(gates, f.Receipt.Gate) && p.open(f, since) {
			out = append(out, f)
		}
	}
	return out
}

// Elsewhere reports whether a gate that failed on a tree passed there in another environment.
func (p *Proofs) Elsewhere(f Failure) bool {
	return slices.ContainsFunc(p.good(f.Receipt.Tree, f.Receipt.Gate, f.Receipt.Since), func(r spec.Receipt) bool {
		return r.Environment != f.Receipt.Environment
	})
}

// Runs is how often those of the gates ran on a tree that failed there and never passed in the same environment, in all
// environments together; 0 where there is none.
func (p *Proofs) Runs(tree string, gates []string, since string) (most int) {
	for _, gate := range gates {
		runs, sum := map[string]int{}, 0
		for _, f := range p.Failed(tree, []string{gate}, since) {
			runs[f.Receipt.Environment] = max(runs[f.Receipt.Environment], f.Runs)
		}
		if len(runs) == 0 {
			continue
		}
		for _, r := range p.good(tree, gate, since) {
			runs[r.Environment] = 1
		}
		for n := range maps.Values(runs) {
			sum += n
		}
		most = max(most, sum)
	}
	return most
}

// Flakes lists the signatures of gates that failed on a tree and passed on the same one, each with its gate's name, sorted.
// Those of the base commit are none.
func (p *Proofs) Flakes() []string {
	var out []string
	for _, list := range p.Failures {
		for _, f := range list {
			if p.open(f, f.Receipt.Since) || !p.comparable(f.Receipt) {
				continue
			}
			before := cmp.Or(p.Before(f.Receipt), &spec.Receipt{})
			for _, signature := range f.Receipt.Signatures {
				if !slices.Contains(before.Signatures, signature) {
					out = append(out, f.Receipt.Gate+": "+signature)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prove keeps a gate's receipt under the tree that it ran on, so that nothing is proven twice. A narrowed one stays beside that
// of a full run, one of a worker beside those of others.
func (p *Proofs) prove(r spec.Receipt) {
	for i, had := range p.Proved[r.Tree] {
		if had.Gate == r.Gate && had.Since == r.Since && had.Environment == r.Environment && had.Worker == r.Worker {
			if p.stale(had) {
				p.Proved[r.Tree][i] = r
			}
			return
		}
	}
	p.Proved[r.Tree] = append(p.Proved[r.Tree], r)
}

// signs reports whether the receipts of a run are signed: those of workers elsewhere always are.
func signs(s *State) bool { return len(s.Spec.Keys) > 0 || s.Crew != nil }

// refused returns why a receipt that a worker handed in with an event proves nothing; nil where it counts. A run whose first
// event names no key has no signed receipts.
func (s *State) refused(e *contextscope.Event, a *Attempt, r spec.Receipt) error {
	if !signs(s) {
		return nil
	}
	if s.Quarantines[r.Worker] != nil {
		return fmt.Errorf("worker %.40s is in quarantine", r.Worker)
	}
	if err := s.verify(r); err != nil {
		return err
	}
	if agent := wire.AgentID(e.Task, a.Attempt); r.Agent != "" && r.Agent != agent {
		return fmt.Errorf("it is of %.80s, and was submitted for %s", r.Agent, agent)
	}
	if a.Barred && r.Worker == a.Worker {
		return fmt.Errorf("worker %.40s leaves it to another worker: it has proven the same before", r.Worker)
	}
	if s.Proofs.ofBase(r) {
		return nil // its worker has the gates run on the base commit first
	}
	batch := s.Works.batch(e.Task)
	if batch != nil && batch.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the batch has %.12s", r.Tree, batch.Tree)
	}
	inFull := e.Task == FinalTask || e.Task == HeadTask
	if l := s.Batches.at(a.Head); inFull && l != nil && l.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the gates run on %.12s", r.Tree, l.Tree)
	}
	again := s.Batches.reproven(e.Task)
	if again != nil && again.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the batch has %.12s", r.Tree, again.Tree)
	}
	compared := batch != nil || again != nil || inFull || strings.HasSuffix(e.Task, RedSuffix)
	if compared && !s.Proofs.comparable(r) {
		return fmt.Errorf("it is of the environment %.12s, and the baseline of %.12s", r.Environment, s.Proofs.Reference())
	}
	return nil
}

// verify returns why a receipt is not what a worker of the run has signed. Where the log was concealed its host has checked that.
func (s *State) verify(r spec.Receipt) error {
	if !s.Spec.Concealed {
		return wire.Verify(s.Spec.Run, s.Spec.Keys, r)
	}
	if len(r.Signature) == 0 {
		return errors.New("its signature is not that of a worker of the run")
	}
	return nil
}

// batch is the batch whose gates a work runs; nil for none.
func (w Works) batch(id string) *Batch {
	if work := w[id]; work != nil {
		return work.Batch
	}
	return nil
}

// weed refuses a result that does not count, or with a receipt that proves nothing: it proves nothing either, and the gates run
// again.
func (s *State) weed(e *contextscope.Event, a *Attempt, r *spec.Result) {
	why := s.lapsed(e, a, r)
	for _, rc := range r.Receipts {
		if why != nil {
			break
		}
		err := s.refused(e, a, rc)
		if err == nil && signs(s) && rc.Worker != e.Worker && !a.left(rc) {
			err = fmt.Errorf("worker %.40s submitted a receipt of worker %.40s, which did not make it in this attempt",
				e.Worker, rc.Worker)
		}
		if err != nil {
			why = fmt.Errorf("the receipt of gate %.40s does not count: %w", rc.Gate, err)
		}
	}
	if why != nil {
		s.Notices = append(s.Notices, fmt.Sprintf("event at %d: %v (result of %s)", e.Pos, why, e.Agent))
		r.Receipts, r.Patch, r.Status = nil, nil, spec.StatusFailed
		r.Error = &spec.Fault{Class: wire.FaultInternal, Message: why.Error()}
	}
}

// left reports whether an earlier delivery of the attempt left a receipt: a later one continues with it.
func (a *Attempt) left(r spec.Receipt) bool {
	return slices.ContainsFunc(a.Receipts, func(had spec.Receipt) bool { return bytes.Equal(had.Signature, r.Signature) })
}

// applyGateRun folds a receipt that a worker appended.
func (s *State) applyGateRun(e *contextscope.Event, a *Attempt, r spec.Receipt) error {
	err := s.refused(e, a, r)
	if err == nil && r.Worker != e.Worker && signs(s) {
		err = fmt.Errorf("worker %.40s appended a receipt of worker %.40s", e.Worker, r.Worker)
	}
	if err == nil {
		r.Pos = e.Pos
		a.Receipts = append(a.Receipts, r)
		s.Proofs.At[r.Worker] = r.Environment
		return nil
	}
	*e = wire.Disown(e, &wire.ForeignError{Why: err.Error()})
	return decode(e, s.applyUnreadable)
}

// CI reports how much of a repository's continuous integration the gates run, as the files of the base commit showed it.
type CI struct {
	Commands int `json:"commands"`
	// Run are as many of them as are gates, or are covered by gates. Unrun are the others.
	Run   int     `json:"run"`
	Unrun []Unrun `json:"unrun,omitempty"`
}

// Unrun is a command of CI that no gate runs.
type Unrun struct {
	Command string `json:"command"`
	// Place is its file with the line, Why a reason.
	Place string `json:"place"`
	Why   string `json:"why"`
	// Paths are globs of the files that it is for; none where that is not known.
	Paths []string `json:"paths,omitempty"`
}
