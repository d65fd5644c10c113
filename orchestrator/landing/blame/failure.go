// Package blame tells which tasks the failures of a batch lead to: those that changed what a failure names, which of them can be
// told from each other, and in which files something fails that no task may change. It is pure.
package blame

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// MaxNamed bounds what a message lists.
const MaxNamed = 5

// Failure is one new failure that follows from no other: the paths that it names, those of them with a line number, and the
// packages that the paths import.
type Failure struct {
	Gate, Signature           string
	Paths, Positions, imports []string
	// found is its first error, as the tool printed it; without a file where the receipt has none.
	found spec.Finding
	// compile reports that it is an error of a build with its position, traced that it is known what its packages import.
	compile, traced bool
}

// String names the gate and the failure.
func (f Failure) String() string { return f.Gate + ": " + f.Signature }

// Failures are those of red gates that the base commit did not have, without consequences of others.
func Failures(proofs *run.Proofs, failed []run.Failure) (out []Failure) {
	for _, f := range failed {
		for _, signature := range Causes(proofs, f.Receipt) {
			out = append(out, failureOf(f.Receipt, signature))
		}
	}
	return out
}

// Causes are the signatures of a receipt that neither the base commit nor the head is known to have, and that follow from no
// other one of them. One that is known to be flaky leads to no task.
func Causes(proofs *run.Proofs, r spec.Receipt) []string {
	all := recovery.Fresh(proofs, r)
	return slices.DeleteFunc(slices.Clone(all), func(signature string) bool {
		return slices.Contains(proofs.Flaky[r.Gate], signature) || consequence(r, all, signature)
	})
}

// FlakesAlone reports whether all that is new in red gates are failures that are known to be flaky, and what follows from them.
func FlakesAlone(proofs *run.Proofs, failed []run.Failure) bool {
	return len(proofs.Flaky) > 0 && !slices.ContainsFunc(failed, func(f run.Failure) bool {
		hides := len(gate.NewHidden(f.Receipt, proofs.Before(f.Receipt))) > 0
		return hides || len(recovery.Fresh(proofs, f.Receipt)) == 0 || len(Causes(proofs, f.Receipt)) > 0
	})
}

// consequence reports whether a failure follows from another one of a list that follows from none.
func consequence(r spec.Receipt, all []string, signature string) bool {
	cause := signature
	for range maxFollows {
		next, follows := r.Follows[cause]
		if !follows {
			break
		}
		cause = next
	}
	_, still := r.Follows[cause]
	return cause != signature && !still && slices.Contains(all, cause)
}

// maxFollows bounds a chain of consequences. One that is longer, or a circle, is none.
const maxFollows = 8

func failureOf(r spec.Receipt, signature string) Failure {
	f := Failure{Gate: r.Gate, Signature: signature, Paths: r.Paths[signature], Positions: r.Positions[signature]}
	if at := slices.IndexFunc(r.Errors, func(e spec.Finding) bool { return e.Signature == signature }); at >= 0 {
		f.found = r.Errors[at]
	}
	f.compile = r.Build && len(f.Positions) > 0 && !ofPackage(signature)
	for _, p := range f.Paths {
		imports, directory := r.Imports[p]
		if !directory {
			imports, directory = r.Imports[path.Dir(p)]
		}
		f.imports, f.traced = append(f.imports, imports...), f.traced || directory
	}
	return f
}

// Changed has the tasks that changed a file, and those that changed a file in a directory, by their paths.
type Changed map[string][]string

// Changes has what tasks changed.
func Changes(tasks *run.Tasks, ids []string) Changed {
	c := Changed{}
	for _, id := range ids {
		c.add(id, tasks.ByID[id].Changes())
	}
	return c
}

func (c Changed) add(id string, files []string) {
	for _, file := range files {
		for _, p := range []string{file, path.Dir(file)} {
			if had := c[p]; len(had) == 0 || had[len(had)-1] != id {
				c[p] = append(had, id)
			}
		}
	}
}

// Owners are the tasks that a failure leads to: those that changed a file which it names with a line, else those that changed
// another path of it, the file or a file in the directory, else those that changed a package which the failed one imports.
func (c Changed) Owners(f Failure) []string {
	for _, paths := range [][]string{f.Positions, f.Paths, f.imports} {
		if own := c.of(paths); len(own) > 0 {
			return own
		}
	}
	return nil
}

// Positioned reports whether a failure gives a line of what was changed.
func (c Changed) Positioned(f Failure) bool { return len(c.of(f.Positions)) > 0 }

// Broken reports whether a failure is an error of a build in what was changed.
func (c Changed) Broken(f Failure) bool { return f.compile && c.Positioned(f) }

func (c Changed) of(paths []string) []string {
	set := map[string]bool{}
	for _, p := range paths {
		for _, id := range c[p] {
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// LeadTo returns the failures of a gate of a batch that the base commit did not have and that lead to what one task of it
// changed, and how many new ones there are. All lead to a task that was tested alone.
func LeadTo(s *run.State, batch []run.Landed, r spec.Receipt, task string) (mine []string, all int) {
	c := Changed{}
	for _, l := range batch {
		if a := s.Works[l.Task].At(l.Attempt); a != nil && a.Result != nil && a.Result.Patch != nil {
			c.add(l.Task, a.Result.Patch.Files)
		}
	}
	return slices.DeleteFunc(Causes(&s.Proofs, r), func(signature string) bool {
		return len(batch) > 1 && !slices.Contains(c.Owners(failureOf(r, signature)), task)
	}), len(recovery.Fresh(&s.Proofs, r))
}

// Together words what a patch that is red alone met: the tasks that landed meanwhile and that its failures lead to, or all of
// them where no failure leads to a task.
func Together(tasks *run.Tasks, t *run.Task, ended []*run.Task, found []Failure) string {
	var landed, met []string
	for _, other := range ended {
		if other.State == run.TaskLanded {
			landed = append(landed, other.Task.ID)
		}
	}
	own, c := len(landed) == 0, Changes(tasks, append(landed, t.Task.ID))
	for _, f := range found {
		if of := c.Owners(f); slices.Contains(of, t.Task.ID) {
			own = true
		} else {
			met = append(met, of...)
		}
	}
	slices.Sort(met)
	switch met = slices.Compact(met); {
	case len(met) == 0 && own:
		return ""
	case len(met) == 0:
		return "red together with landed changes: "
	}
	return fmt.Sprintf("red together with %s, which landed before it: ", strings.Join(text.Few(met, MaxNamed), ", "))
}

// Culprits words which landed tasks failures without a patch lead to, all where they lead to none.
func Culprits(tasks *run.Tasks, batches *run.Batches, proofs *run.Proofs, red []spec.Receipt) string {
	var landed, led []string
	for _, l := range batches.Landed {
		landed = append(landed, run.Names(l.Tasks)...)
	}
	c := Changes(tasks, landed)
	for _, r := range red {
		for _, signature := range gate.NewSignatures(r, proofs.Before(r)) {
			led = append(led, c.Owners(failureOf(r, signature))...)
		}
	}
	if len(led) == 0 {
		led = landed
	}
	slices.Sort(led)
	return " because of what has landed (" + strings.Join(text.Few(slices.Compact(led), MaxNamed), ", ") + ")"
}
