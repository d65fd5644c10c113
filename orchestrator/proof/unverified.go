package proof

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/gate/detect"
	"divisi/subagents/gate/lack"
)

// ErrUnverified reports that nothing which lands in a run could be proven, and that the run may not continue without proof.
var ErrUnverified = errors.New("changes cannot be verified")

// Incomparable is a gate whose failures on the base commit cannot be compared with later ones.
type Incomparable struct {
	Gate    string
	Command []string
	// Why is the reason, Error is its first error line, and Output the file with its whole output.
	Why, Error, Output string
}

// String is the report of it in one line.
func (g *Incomparable) String() string {
	return fmt.Sprintf("gate %s cannot be compared: on the base commit %s: %s", g.Gate, g.Why,
		recovery.WithOutput(g.Error, g.Output))
}

// Incomparables lists the gates that prove nothing, in the project's order; none before the baseline is known. Of one that was
// mended in part the newest run counts.
func Incomparables(s *run.State) []Incomparable {
	var out []Incomparable
	for _, g := range s.Spec.Project.Gates {
		r, ok := s.Proofs.Now(g.Name)
		if why := gate.Incomparable(r); ok && why != "" {
			out = append(out, Incomparable{
				Gate: g.Name, Command: g.Command, Why: why, Error: gate.Reason(r, nil), Output: recovery.OutputFile(s, r.Output),
			})
		}
	}
	return out
}

// Lacks names what the gates did not find on the base commit, each once; none before the baseline is known.
func Lacks(s *run.State) []lack.Lack {
	var receipts []spec.Receipt
	for _, g := range s.Spec.Project.Gates {
		if r, ok := s.Proofs.Baseline[g.Name]; ok {
			receipts = append(receipts, r)
		}
	}
	return lack.Of(receipts, s.Spec.Proposed, len(s.Spec.Project.Setup.Command) > 0)
}

// Explained reports whether one of some lacks is why a gate fails.
func Explained(lacks []lack.Lack, gate string) bool {
	return slices.ContainsFunc(lacks, func(l lack.Lack) bool { return slices.Contains(l.Gates, gate) })
}

// Empty lists the gates that are green on the base commit without having run a test, which they are there for, in the project's
// order: they prove nothing.
func Empty(s *run.State) []string {
	var names []string
	for _, g := range s.Spec.Project.Gates {
		if r, ok := s.Proofs.Baseline[g.Name]; ok && gate.Empty(r) {
			names = append(names, g.Name)
		}
	}
	return names
}

// Unverified returns why nothing that lands in the run is proven, in one line; "" when it is, and before the baseline is known.
func Unverified(s *run.State) string {
	if len(s.Spec.Project.Gates) == 0 {
		return "the repository has no gates"
	}
	names := unproven(s, func(name string) bool { return len(s.Mending(name)) == 0 })
	empty := Empty(s)
	switch {
	case len(empty) == len(s.Spec.Project.Gates):
		return "no test ran on the base commit in: " + text.Some(empty, maxNamed)
	case len(names) == 0:
		return ""
	}
	return noComparison + text.Some(names, maxNamed)
}

const noComparison = "no comparison with the base commit for: "

// unproven lists some gates that prove nothing.
func unproven(s *run.State, which func(name string) bool) (names []string) {
	for _, g := range Incomparables(s) {
		if which(g.Gate) && !Covered(s, g.Gate) {
			names = append(names, g.Gate)
		}
	}
	return names
}

// Needed returns the gates of a task, which does not mend them, that others mend and that prove nothing of it as they are: they
// cannot be compared, or hide files of the task. All that others mend do before the baseline is known.
func Needed(s *run.State, t *run.Task) (names []string) {
	if role := s.Spec.Roles[t.Task.Role]; !role.ChangesFiles() {
		return nil
	}
	for _, name := range s.Spec.GatesOf(t.Task) {
		if len(s.Mending(name)) == 0 || slices.Contains(t.Task.Mends, name) {
			continue
		}
		now, known := s.Proofs.Now(name)
		if !known || gate.Incomparable(now) != "" || Hides(now, t.Task.Files) {
			names = append(names, name)
		}
	}
	return names
}

// Hides reports whether a gate may hide files of a write set; an empty one may be anywhere.
func Hides(r spec.Receipt, files []string) bool {
	return slices.ContainsFunc(r.Hidden, func(hidden string) bool {
		if dir, isPackage := strings.CutPrefix(hidden, "package: "); isPackage {
			hidden = path.Join(dir, "*")
		}
		_, meet := spec.Intersect([]string{hidden}, files)
		return meet || len(files) == 0 || hidden == spec.HiddenAll
	})
}

// Covered reports whether a detected gate that cannot be compared proves nothing that another one does not: go builds nothing at
// all where it cannot load one package, and go test builds all others.
func Covered(s *run.State, name string) bool {
	module, build := strings.CutPrefix(name, detect.GoBuild)
	test, ran := s.Proofs.Now(detect.GoTest + module)
	return s.Spec.Detected && build && ran && test.Kind == spec.KindTests && test.Tests > 0 && gate.Incomparable(test) == ""
}

// Comparable lists the gates whose tests ran on the base commit, and that can be compared, in the project's order.
func Comparable(s *run.State) (names []string) {
	for _, name := range s.Spec.GateNames() {
		if r := s.Proofs.Baseline[name]; r.Kind == spec.KindTests && r.Tests > 0 && gate.Incomparable(r) == "" {
			names = append(names, name)
		}
	}
	return names
}

// UnverifiedPatch returns why the patch of a task is not proven when it lands, in one line; "" when it is.
func UnverifiedPatch(s *run.State, t *run.Task) string {
	if why := Unverified(s); why != "" {
		return why
	}
	gates := s.Spec.GatesOf(t.Task)
	if names := unproven(s, func(name string) bool {
		return slices.Contains(gates, name) && !slices.Contains(t.Task.Mends, name)
	}); len(names) > 0 {
		return noComparison + text.Some(names, maxNamed)
	}
	if doubts := t.Without(); len(doubts) > 0 {
		return text.Clip(cmp.Or(doubts[0].Skips, doubts[0].Evidence[0]), text.MaxLine)
	}
	if why := WhyUnread(t.AllowedUnread()); why != "" {
		return why
	}
	var parts []string
	for _, u := range s.Proofs.UnprovableOf(t) {
		parts = append(parts, text.OneLine(u.String()+": "+u.Why))
	}
	if len(parts) == 0 {
		return ""
	}
	return text.Clip("no gate proves a change of "+strings.Join(text.Few(parts, maxNamed), "; "), text.MaxLine)
}

// UnverifiedLanded returns why not all that has landed is proven; "" when it is. Where nothing that lands is, it has not to have
// landed.
func UnverifiedLanded(s *run.State) string {
	if why := Unverified(s); why != "" {
		return why
	}
	return UnverifiedIn(s)
}

// UnverifiedIn is the same of landed batches alone: what is known of the base commit is in their patches. What was dropped does
// not count.
func UnverifiedIn(s *run.State) string {
	var names []string
	why, landed := "", 0
	for _, l := range s.Batches.Landed {
		for _, t := range l.Tasks {
			if v := s.Tasks.ByID[t.Task]; v != nil && v.State == run.TaskDropped {
				continue
			}
			landed++
			if t.Unverified != "" {
				names, why = append(names, t.Task), cmp.Or(why, t.Unverified)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d landed patches (%s): %s", len(names), landed, strings.Join(text.Few(names, maxNamed), ", "), why)
}

// Unproven reports whether the run must not continue: its patches would land unproven, and that is not allowed.
func Unproven(s *run.State) bool { return !s.Spec.AllowUnverified && Unverified(s) != "" }
