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
	"divisi/subagents/gate/missing"
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
func Incomparables(order *run.Spec, proofs *run.Proofs) []Incomparable {
	var out []Incomparable
	for _, g := range order.Project.Gates {
		r, ok := proofs.Now(g.Name)
		if why := gate.Incomparable(r); ok && why != "" && r.Verdict != spec.VerdictPassage {
			out = append(out, Incomparable{
				Gate: g.Name, Command: g.Command, Why: why, Error: gate.Reason(r, nil),
				Output: recovery.OutputFile(order, r.Output),
			})
		}
	}
	return out
}

// Lacks names what the gates did not find on the base commit, each once; none before the baseline is known.
func Lacks(order *run.Spec, proofs *run.Proofs) []missing.Need {
	var receipts []spec.Receipt
	for _, g := range order.Project.Gates {
		if r, ok := proofs.Baseline[g.Name]; ok {
			receipts = append(receipts, r)
		}
	}
	return missing.Of(receipts, order.Proposed, len(order.Project.Setup.Command) > 0)
}

// Explained reports whether one of some lacks is why a gate fails.
func Explained(lacks []missing.Need, gate string) bool {
	return slices.ContainsFunc(lacks, func(l missing.Need) bool { return slices.Contains(l.Gates, gate) })
}

// Empty lists the gates that are green on the base commit without having run a test, which they are there for, in the project's
// order: they prove nothing.
func Empty(order *run.Spec, proofs *run.Proofs) []string {
	var names []string
	for _, g := range order.Project.Gates {
		if r, ok := proofs.Baseline[g.Name]; ok && gate.Empty(r) {
			names = append(names, g.Name)
		}
	}
	return names
}

// Unverified returns why nothing that lands in the run is proven, in one line; "" when it is, and before the baseline is known.
func Unverified(agenda *run.Agenda, proofs *run.Proofs) string {
	if len(agenda.Spec.Project.Gates) == 0 {
		return "the repository has no gates"
	}
	if len(agenda.Spec.Programs) > 0 {
		return agenda.Spec.Programs[0]
	}
	names := unproven(&agenda.Spec, proofs, func(name string) bool { return len(agenda.Mending(name)) == 0 })
	empty := Empty(&agenda.Spec, proofs)
	switch {
	case len(empty) == len(agenda.Spec.Project.Gates):
		return "no test ran on the base commit in: " + text.Some(empty, maxNamed)
	case len(names) == 0:
		return ""
	}
	return noComparison + text.Some(names, maxNamed)
}

const noComparison = "no comparison with the base commit for: "

// unproven lists some gates that prove nothing.
func unproven(order *run.Spec, proofs *run.Proofs, which func(name string) bool) (names []string) {
	for _, g := range Incomparables(order, proofs) {
		if which(g.Gate) && !Covered(order, proofs, g.Gate) {
			names = append(names, g.Gate)
		}
	}
	return names
}

// Needed returns the gates of a task, which does not mend them, that others mend and that prove nothing of it as they are: they
// cannot be compared, or hide files of the task. All that others mend do before the baseline is known.
func Needed(agenda *run.Agenda, proofs *run.Proofs, t *run.Task) (names []string) {
	if role := agenda.Spec.Roles[t.Task.Role]; !role.ChangesFiles() {
		return nil
	}
	for _, name := range agenda.Spec.GatesOf(t.Task) {
		if len(agenda.Mending(name)) == 0 || slices.Contains(t.Task.Mends, name) || slices.Contains(t.Task.Through, name) {
			continue
		}
		now, known := proofs.Now(name)
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
func Covered(order *run.Spec, proofs *run.Proofs, name string) bool {
	module, build := strings.CutPrefix(name, detect.GoBuild)
	test, ran := proofs.Now(detect.GoTest + module)
	return order.Detected && build && ran && test.Kind == spec.KindTests && test.Tests > 0 && gate.Incomparable(test) == ""
}

// Comparable lists the gates whose tests ran on the base commit, and that can be compared, in the project's order.
func Comparable(order *run.Spec, proofs *run.Proofs) (names []string) {
	for _, name := range order.GateNames() {
		if r := proofs.Baseline[name]; r.Kind == spec.KindTests && r.Tests > 0 && gate.Incomparable(r) == "" {
			names = append(names, name)
		}
	}
	return names
}

// UnverifiedPatch returns why the patch of a task is not proven when it lands, in one line; "" when it is.
func UnverifiedPatch(agenda *run.Agenda, proofs *run.Proofs, t *run.Task) string {
	if why := Unverified(agenda, proofs); why != "" {
		return why
	}
	gates := agenda.Spec.GatesOf(t.Task)
	if names := unproven(&agenda.Spec, proofs, func(name string) bool {
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
	for _, u := range proofs.UnprovableOf(t) {
		parts = append(parts, text.OneLine(u.String()+": "+u.Why))
	}
	if len(parts) == 0 {
		return ""
	}
	return text.Clip("no gate proves a change of "+strings.Join(text.Few(parts, maxNamed), "; "), text.MaxLine)
}

// UnverifiedLanded returns why not all that has landed is proven; "" when it is. Where nothing that lands is, it has not to have
// landed.
func UnverifiedLanded(agenda *run.Agenda, branch *run.Branch) string {
	if why := Unverified(agenda, &branch.Proofs); why != "" {
		return why
	}
	return UnverifiedIn(&agenda.Tasks, &branch.Batches)
}

// UnverifiedIn is the same of landed batches alone: what is known of the base commit is in their patches. What was dropped does
// not count.
func UnverifiedIn(tasks *run.Tasks, batches *run.Batches) string {
	all, why := landed(tasks, batches), ""
	var names []string
	for _, t := range all {
		if t.Unverified != "" {
			names, why = append(names, t.Task), cmp.Or(why, t.Unverified)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d landed patches (%s): %s", len(names), len(all), strings.Join(text.Few(names, maxNamed), ", "),
		why)
}

// landed lists what has landed and was not dropped.
func landed(tasks *run.Tasks, batches *run.Batches) (all []run.Landed) {
	for _, l := range batches.Landed {
		for _, t := range l.Tasks {
			if v := tasks.ByID[t.Task]; v == nil || v.State != run.TaskDropped {
				all = append(all, t)
			}
		}
	}
	return all
}

// Unproven reports whether the run must not continue: its patches would land unproven, and that is not allowed.
func Unproven(agenda *run.Agenda, proofs *run.Proofs) bool {
	return !agenda.Spec.AllowUnverified && Unverified(agenda, proofs) != ""
}
