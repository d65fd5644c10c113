package run

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// Unprovable is a part of the repository that no gate can prove: what a gate did not run on the base commit, or what is tested
// against derived files that a patch does not change.
type Unprovable struct {
	// Path is a file or a directory; of a Go package Package is set, and the directories below are others.
	Path    string
	Package bool
	// Why is one sentence.
	Why string
}

// String returns its name.
func (u *Unprovable) String() string {
	switch {
	case u.Package:
		return "package " + u.Path
	case u.Path == ".":
		return "the whole repository"
	}
	return u.Path
}

// holds reports whether a file is a part of it.
func (u *Unprovable) holds(file string) bool {
	if u.Package {
		return path.Dir(file) == u.Path || strings.HasPrefix(file, path.Join(u.Path, "testdata")+"/")
	}
	return u.Path == "." || file == u.Path || strings.HasPrefix(file, u.Path+"/")
}

// hiddenPackage begins the name of a Go package in the hidden of a receipt.
const hiddenPackage = "package: "

// UnprovableIn returns those that some files are a part of.
func (p *Proofs) UnprovableIn(files []string) []Unprovable {
	return slices.DeleteFunc(slices.Clone(p.Unprovable), func(u Unprovable) bool { return !slices.ContainsFunc(files, u.holds) })
}

// UnprovableOf returns those that the changes of a task are a part of, without what a gate hides that the task mends.
func (p *Proofs) UnprovableOf(t *Task) []Unprovable {
	return slices.DeleteFunc(p.UnprovableIn(t.Changes()), func(u Unprovable) bool {
		return slices.ContainsFunc(t.Task.Mends, func(gate string) bool {
			r, _ := p.Now(gate)
			return slices.Contains(r.Hidden, u.hidden())
		})
	})
}

// hidden is its name in the hidden of a receipt.
func (u *Unprovable) hidden() string {
	if u.Package {
		return hiddenPackage + u.Path
	}
	return u.Path
}

// SetUp returns the result of setup; nil while it has not succeeded, and where there is none.
func (w Works) SetUp() *spec.Result {
	if r := w.Settled(SetupTask); r != nil && r.Status == spec.StatusDone {
		return r
	}
	return nil
}

// WithBaseline returns the state as it is once the receipts of the base commit are known.
func (s *State) WithBaseline(receipts []spec.Receipt) *State {
	with := *s
	with.Proofs.Baseline, with.Proofs.Mended = map[string]spec.Receipt{}, nil
	for _, r := range receipts {
		with.Proofs.Baseline[r.Gate] = r
	}
	with.Proofs.Unprovable = with.Proofs.findUnprovable(&s.Spec, s.Works.SetUp())
	return &with
}

// noteUnprovable notes what setup and the baseline tell of what cannot be proven, and which patches in the queue it meets.
func (s *State) noteUnprovable() {
	s.Proofs.Unprovable = s.Proofs.findUnprovable(&s.Spec, s.Works.SetUp())
	for t := range s.Tasks.In(TaskAccepted) {
		t.Unprovable = s.Proofs.cannotProve(t)
	}
}

func (p *Proofs) cannotProve(t *Task) bool {
	return len(p.Unprovable) > 0 && len(p.UnprovableOf(t)) > 0
}

func (p *Proofs) findUnprovable(order *Spec, setup *spec.Result) (out []Unprovable) {
	gates := map[Unprovable][]string{}
	for _, name := range order.GateNames() {
		now, _ := p.Now(name)
		if now.Verdict == spec.VerdictPassage {
			continue // it runs before the passage ends
		}
		for _, hidden := range now.Hidden {
			dir, isPackage := strings.CutPrefix(hidden, hiddenPackage)
			if hidden != spec.HiddenAll {
				u := Unprovable{Path: dir, Package: isPackage}
				gates[u] = append(gates[u], name)
			}
		}
	}
	for u, names := range gates {
		u.Why = "on the base commit it did not run in " + strings.Join(names, ", ")
		out = append(out, u)
	}
	derived := map[string][]string{}
	places, copies := order.madeOfTree(setup)
	for _, dir := range copies {
		out = append(out, Unprovable{Path: dir, Why: "tests use a copy of it that setup has made"})
	}
	for _, place := range places {
		derived[path.Dir(place)] = append(derived[path.Dir(place)], place)
	}
	for dir, places := range derived {
		out = append(out, Unprovable{Path: dir, Why: "derived files are not made again: " + strings.Join(places, ", ") +
			" (to change that: regenerate or derived in .divisi/divisi.yaml)"})
	}
	slices.SortFunc(out, func(a, b Unprovable) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Why, b.Why))
	})
	return out
}

// madeOfTree returns the places of the environment that are made from tracked files, and the directories of packages
// that it has a copy of, where nothing makes them again.
func (s *Spec) madeOfTree(setup *spec.Result) (places, copies []string) {
	if len(s.Project.Regenerate) > 0 {
		return nil, nil
	}
	if setup != nil {
		return setup.Derived, setup.Copies
	}
	return s.Derived, s.Copies
}

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

// mend keeps what the gates of a batch that landed found, where that is fewer failures than before: what is better stays so, and
// what a passage lets be red is what the next one is compared with. A gate that no batch has mended keeps its baseline. Other
// environments have none to compare with any more.
func (s *State) mend(d LandingData, pos uint64) {
	p := &s.Proofs
	for _, r := range d.Receipts {
		before, known := p.Now(r.Gate)
		gain := r.Verdict == spec.VerdictPass || r.Failures() < before.Failures() || len(r.Appeared) > 0
		red := r.Verdict == spec.VerdictPassage
		switch mended := len(d.Mends) > 0 || len(p.Mended[r.Gate]) > 0; {
		case !red && (!mended || !known || !gain || before.Verdict == spec.VerdictPass || !r.LetsThrough()):
		case r.Since != "" || r.Environment != before.Environment:
		default:
			r = r.Bare()
			r.Pos = pos
			if s.Batches.Passage != nil { // at its end all tests run that ran before
				r.Names = before.Names
			}
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
	gates := slices.Concat(t.Task.Mends, t.Task.Through)
	return len(gates) == 0 || slices.ContainsFunc(gates, func(gate string) bool { return !s.green(gate) })
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

// AllowsUnread reports whether patches may land with files that no gate reads as their kind needs.
func (s *Spec) AllowsUnread() bool { return s.AllowUnread || s.AllowUnverified }

// allow folds what a resume allows to land, and what it does about doubts.
func (s *Spec) allow(d Data) {
	s.AllowUnverified = s.AllowUnverified || d.AllowUnverified
	s.AllowUnread = s.AllowUnread || d.AllowUnread
	s.OnDoubt = cmp.Or(d.OnDoubt, s.OnDoubt)
}

// UnreadIn lists those of some files that none of the gates that left receipts has read as their kind needs, by path.
func UnreadIn(receipts []spec.Receipt, files []string) (out []spec.Unread) {
	for _, file := range slices.Sorted(slices.Values(files)) {
		if best := furthest(receipts, file); best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// furthest is how far gates have read a file that none of them has read far enough; nil where one has.
func furthest(receipts []spec.Receipt, file string) *spec.Unread {
	var best *spec.Unread
	for i := range receipts {
		u := receipts[i].UnreadOf(file)
		switch {
		case u == nil:
			return nil
		case best == nil:
			first := *u
			best = &first
			continue
		case slices.Index(graded, u.Grade) < slices.Index(graded, best.Grade):
			best.Grade, best.Reason = u.Grade, cmp.Or(u.Reason, best.Reason)
		}
		best.Source = best.Source || u.Source
		best.Reason = cmp.Or(best.Reason, u.Reason)
		if len(best.Command) == 0 {
			best.Command = u.Command
		}
	}
	return best
}

// graded are the grades of unread files, the best first: a file whose grade is not known may have been read.
var graded = []spec.Grade{spec.GradeOpened, spec.GradeUnknown, spec.GradeUnread}

// AllowedUnread are the unread files of the patch of the task's newest attempt that accepted doubts are about.
func (t *Task) AllowedUnread() (files []spec.Unread) {
	for _, d := range t.accepted() {
		files = append(files, d.Unread...)
	}
	return files
}

// AcceptedUnread reports whether the patch of the task's newest attempt may land with some unread files: accepted doubts are
// about each.
func (t *Task) AcceptedUnread(files []spec.Unread) bool {
	allowed := t.AllowedUnread()
	return !slices.ContainsFunc(files, func(u spec.Unread) bool {
		return !slices.ContainsFunc(allowed, func(had spec.Unread) bool { return had.Path == u.Path })
	})
}

// HeldUnread lists the tasks whose patches wait for a decision about unread files, in plan order.
func (l *Tasks) HeldUnread() (held []*Task) {
	for t := range l.In(TaskHeld) {
		if d := t.Doubt(); d != nil && d.Unread != nil {
			held = append(held, t)
		}
	}
	return held
}
