package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Branch is the integration branch: what has landed on it, what gates found, and the workers on whose word it stands.
type Branch struct {
	// Head is the integration commit. Published is the commit that Ref was put at.
	Head, Ref, Published string
	Batches              Batches
	Proofs               Proofs
	Final                []spec.Receipt
	// Missing are the tests of the base commit that did not run in the final gates, one sentence a gate.
	Missing []string
	// Twin compares them with the user's own shell; nil where that was not done.
	Twin *Twin
	// Unverified is why nothing that lands is proven, or at the end not all of it, in the words of the log; empty before the
	// baseline.
	Unverified string
	// Crew are the workers elsewhere, Away has what the machines of others lack; Unserved are the roles that none serves.
	Crew     Crew
	Away     map[string]string
	Unserved map[string]Unserved
	// Joined is when each worker that the present conductor knows came; those of the run's own process come with their first
	// attempt.
	Joined map[string]time.Time
	// Pulls are the pull requests of the run.
	Pulls Pulls
	// Quarantines are the workers in quarantine, by name.
	Quarantines map[string]*Quarantine
}

// Twin compares setup and gates with the user's own shell: Equal do the same there, Left are the ignored paths that they leave.
type Twin struct {
	Differences []Difference `json:"differences,omitempty"`
	Equal       []string     `json:"equal,omitempty"`
	Left        []string     `json:"left,omitempty"`
}

// Difference is a line about one, with its likely cause where that is known, and the next step.
type Difference struct {
	Gate  string `json:"gate,omitempty"`
	What  string `json:"what"`
	Cause string `json:"cause,omitempty"`
	Do    string `json:"do,omitempty"`
}

// Lines are for people who watch.
func (t *Twin) Lines() (lines []string) {
	for _, d := range t.Differences {
		lines = append(lines, "not the same in your own shell: "+d.What)
		if d.Do != "" {
			lines = append(lines, "→ "+d.Do)
		}
	}
	if len(t.Equal) > 0 {
		lines = append(lines, "the same in your own shell: "+strings.Join(t.Equal, ", "))
	}
	return lines
}

func newBranch() Branch {
	return Branch{
		Batches: Batches{Gone: map[string]string{}}, Proofs: newProofs(), Joined: map[string]time.Time{},
		Quarantines: map[string]*Quarantine{}, Pulls: Pulls{},
	}
}

// GateTask begins the ids of the works that run a gate on the base commit which was added to the run.
const GateTask = "--gate"

// AddedGate is a gate that a person added to a run that continues.
type AddedGate struct {
	spec.Gate

	By string `json:"by,omitempty"`
	// Dropped is why it is no gate of the run any more: nothing can be compared with what it found on the base commit.
	Dropped string `json:"dropped,omitempty"`
	// Number counts the added gates from 1; Pos is where in the log it was added, or dropped.
	Number int    `json:"-"`
	Pos    uint64 `json:"-"`
}

// Work is the id of the work that runs it on the base commit.
func (g *AddedGate) Work() string { return fmt.Sprintf("%s-%d", GateTask, g.Number) }

// AddedNames are the names of the gates that were added to the run: they decide about each task.
func (s *Spec) AddedNames() (names []string) {
	for i := range s.Added {
		if s.Added[i].Dropped == "" {
			names = append(names, s.Added[i].Name)
		}
	}
	return names
}

// AddedGate is the gate of a name that was added to the run and counts; nil for none.
func (s *Spec) AddedGate(name string) *AddedGate {
	at := slices.IndexFunc(s.Added, func(g AddedGate) bool { return g.Name == name && g.Dropped == "" })
	if at < 0 {
		return nil
	}
	return &s.Added[at]
}

// GatesChanged is where in the log a gate was added or dropped last; 0 for never.
func (s *Spec) GatesChanged() (pos uint64) {
	for i := range s.Added {
		pos = max(pos, s.Added[i].Pos)
	}
	return pos
}

// NewGate is the oldest added gate that has not run on the base commit; nil for none.
func (s *State) NewGate() *AddedGate {
	for i := range s.Spec.Added {
		g := &s.Spec.Added[i]
		if _, ran := s.Proofs.Baseline[g.Name]; !ran && g.Dropped == "" {
			return g
		}
	}
	return nil
}

// applyGate folds that a gate was added, or is none any more. What other environments found on the base commit lacks it: they are
// compared again.
func (s *State) applyGate(e *contextscope.Event, d *AddedGate) {
	if d == nil {
		return
	}
	g := *d
	named := func(had spec.Gate) bool { return had.Name == g.Name }
	gates := slices.DeleteFunc(slices.Clone(s.Spec.Project.Gates), named)
	added := slices.Clone(s.Spec.Added)
	for i := range added {
		if added[i].Name == g.Name && added[i].Dropped == "" {
			added[i].Dropped, added[i].Pos = g.Dropped, e.Pos
		}
	}
	if g.Dropped == "" {
		g.Number, g.Pos = len(added)+1, e.Pos
		gates, added = append(gates, g.Gate), append(added, g)
	}
	s.Spec.Project.Gates, s.Spec.Added = gates, added
	delete(s.Proofs.Baseline, g.Name)
	s.Proofs.Others, s.Proofs.Made = map[string]Other{}, map[string][]spec.Receipt{}
}

// Closing is the state of a gate in full on the tree of a commit, where the end of a run depends on it. A worker elsewhere can
// sign what it did not find: it has to pass on two of them, as long as another one is there that may run it.
type Closing struct {
	// Good are the receipts that close it, first the one that counts; Red makes it red. Neither is set while it is to run.
	Good []spec.Receipt
	Red  *spec.Receipt
	// Passed are the workers on which it passed. Failed reports that it is red in a run which none of its worker takes back,
	// Second that it passed, and not only on workers that have proven the batch before while another one is there.
	Passed         []string
	Failed, Second bool
	// Not are the workers that leave its next run to others, InFirst is as in Dispatch.
	Not     []string
	InFirst bool
}

// maxRuns is how often a gate that fails runs on a tree: once more, to tell a failure from a flake.
const maxRuns = 2

// Close reports what is known of a gate in full on the tree of a commit of the branch.
func (s *Branch) Close(head, tree, gate string) Closing {
	one := []string{gate}
	good, failed := s.Proofs.good(tree, gate, ""), s.Proofs.Failed(tree, one, "")
	c := Closing{Passed: workersOf(good)}
	var reds []spec.Receipt
	alone, provers := s.Crew == nil, []string(nil)
	if !alone {
		alone, provers = !s.May(c.Passed, false), s.Batches.ProversOf(head)
		reds = s.contradict(tree, gate, good)
	}
	slices.SortStableFunc(good, func(a, b spec.Receipt) int { return s.rank(a, provers) - s.rank(b, provers) })
	decided := len(good) > 0 && len(failed) == 0 && s.Decides(good[0])
	c.Failed = len(failed)+len(reds) > 0
	c.Second = decided && (!s.May(provers, false) || slices.ContainsFunc(c.Passed, func(w string) bool {
		return !slices.Contains(provers, w)
	}))
	if c.InFirst = true; s.Crew != nil {
		c.Not = s.leave(c.Passed, workersOf(reds), provers)
		c.InFirst = !decided || s.Serves(s.Proofs.Reference(), c.Not...)
	}
	switch {
	case len(failed) > 0 && s.Proofs.Runs(tree, one, "") >= maxRuns:
		c.Red = &failed[0].Receipt
	case len(reds) >= maxRuns, len(reds) > 0 && alone && decided && newer(reds, good):
		c.Red = &reds[len(reds)-1]
	case decided && (alone || len(c.Passed) > 1 || s.trusted(head)):
		c.Good = good
	}
	return c
}

// rank orders receipts: those of the baseline's environment first, of these the ones of workers that did not prove the batch.
func (s *Branch) rank(r spec.Receipt, provers []string) (n int) {
	if r.Environment != s.Proofs.Reference() {
		n = 2
	}
	if slices.Contains(provers, r.Worker) {
		n++
	}
	return n
}

// leave chooses which workers leave a run to others: all that have told of it, or those at least that passed it.
func (s *Branch) leave(passed, red, provers []string) []string {
	all := slices.Concat(passed, red, provers)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, not := range [][]string{all, slices.Concat(passed, red), passed} {
		if s.May(not, false) && len(not) > 0 {
			return not
		}
	}
	return all
}

// contradict lists the failures of a gate in full on a tree, of workers on which it has not passed there, oldest first.
func (s *Branch) contradict(tree, gate string, good []spec.Receipt) (reds []spec.Receipt) {
	for _, f := range s.Proofs.Failures[tree] {
		if f.Receipt.Gate != gate || f.Receipt.Since != "" || !s.Proofs.comparable(f.Receipt) {
			continue
		}
		reds = append(reds, slices.DeleteFunc(slices.Clone(f.All), func(r spec.Receipt) bool {
			return s.Quarantines[r.Worker] != nil || slices.ContainsFunc(good, func(g spec.Receipt) bool {
				return g.Worker == r.Worker && g.Environment == r.Environment
			})
		})...)
	}
	return reds
}

// newer reports whether a gate was red after it had passed.
func newer(reds, good []spec.Receipt) bool {
	byPos := func(a, b spec.Receipt) int { return int(a.Pos) - int(b.Pos) }
	return slices.MaxFunc(reds, byPos).Pos > slices.MaxFunc(good, byPos).Pos
}

// trusted reports whether a person has decided for the proof of a batch, against that of another worker.
func (s *Branch) trusted(head string) bool {
	l := s.Batches.at(head)
	return l != nil && l.Second != nil && l.Second.State == SecondTrusted
}

// OneWorker is the worker elsewhere whose word alone stands for a gate of the end; "" where another one has passed each.
func (s *State) OneWorker() string {
	if s.Crew == nil || s.Head == s.Spec.Base || !s.proven() {
		return ""
	}
	for _, r := range s.Final {
		if by := workersOf(s.Proofs.good(r.Tree, r.Gate, "")); len(by) == 1 {
			return by[0]
		}
	}
	return ""
}

// workersOf are the workers that signed some receipts, by name.
func workersOf(receipts []spec.Receipt) (names []string) {
	for _, r := range receipts {
		names = append(names, r.Worker)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ToldOfBase are the receipts of a gate on the base commit of other workers than that of its baseline, in its environment.
func (s *State) ToldOfBase(base spec.Receipt) (told []spec.Receipt) {
	for _, id := range []string{FlakesTask, AgainTask} {
		if s.Works[id] == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(s.Works[id].Attempts)) {
			if a := s.Works[id].Attempts[n]; a.Result != nil {
				told = append(told, a.Result.Receipts...)
			}
		}
	}
	return slices.DeleteFunc(told, func(r spec.Receipt) bool {
		return r.Gate != base.Gate || r.Environment != base.Environment || r.Tree != base.Tree || r.Worker == base.Worker ||
			s.Quarantines[r.Worker] != nil
	})
}
