package run

import (
	"cmp"
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
		out = append(out, Unprovable{Path: dir, Why: "derived files are not made again: " + strings.Join(places, ", ")})
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
