package landing

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

// LeadTo returns the failures of a gate of a batch that the base commit did not have and that lead to what one task of it
// changed, and how many new ones there are. All lead to a task that was tested alone.
func LeadTo(s *run.State, batch []run.Landed, r spec.Receipt, task string) (mine []string, all int) {
	c := changed{}
	for _, l := range batch {
		if a := s.Works[l.Task].At(l.Attempt); a != nil && a.Result != nil && a.Result.Patch != nil {
			c.add(l.Task, a.Result.Patch.Files)
		}
	}
	mine, all = causes(&s.Proofs, r), len(fresh(&s.Proofs, r))
	return slices.DeleteFunc(mine, func(signature string) bool {
		return len(batch) > 1 && !slices.Contains(c.owners(failureOf(r, signature)), task)
	}), all
}

// failure is one new failure that follows from no other: the paths that it names, those of them with a line number, and the
// packages that the paths import.
type failure struct {
	gate, signature           string
	paths, positions, imports []string
	// found is its first error, as the tool printed it; without a file where the receipt has none.
	found spec.Finding
	// compile reports that it is an error of a build with its position, traced that it is known what its packages import.
	compile, traced bool
}

// failures are those of the receipts that the base commit did not have, without consequences of others.
func failures(proofs *run.Proofs, receipts []spec.Receipt) []failure {
	var out []failure
	for _, r := range receipts {
		for _, signature := range causes(proofs, r) {
			out = append(out, failureOf(r, signature))
		}
	}
	return out
}

// fresh are the signatures of a receipt that neither the base commit nor the head is known to have, causes those that follow from
// no other one of them. One that is known to be flaky leads to no task.
func fresh(proofs *run.Proofs, r spec.Receipt) []string {
	return recovery.Fresh(proofs, r)
}

func causes(proofs *run.Proofs, r spec.Receipt) []string {
	all := fresh(proofs, r)
	return slices.DeleteFunc(slices.Clone(all), func(signature string) bool {
		return slices.Contains(proofs.Flaky[r.Gate], signature) || consequence(r, all, signature)
	})
}

// flakesAlone reports whether all that is new in some receipts are failures that are known to be flaky, and what follows
// from them.
func flakesAlone(proofs *run.Proofs, receipts []spec.Receipt) bool {
	return len(proofs.Flaky) > 0 && !slices.ContainsFunc(receipts, func(r spec.Receipt) bool {
		hides := len(gate.NewHidden(r, proofs.Before(r))) > 0
		return hides || len(fresh(proofs, r)) == 0 || len(causes(proofs, r)) > 0
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

func failureOf(r spec.Receipt, signature string) failure {
	f := failure{gate: r.Gate, signature: signature, paths: r.Paths[signature], positions: r.Positions[signature]}
	if at := slices.IndexFunc(r.Errors, func(e spec.Finding) bool { return e.Signature == signature }); at >= 0 {
		f.found = r.Errors[at]
	}
	f.compile = r.Build && len(f.positions) > 0 && !ofPackage(signature)
	for _, p := range f.paths {
		imports, directory := r.Imports[p]
		if !directory {
			imports, directory = r.Imports[path.Dir(p)]
		}
		f.imports, f.traced = append(f.imports, imports...), f.traced || directory
	}
	return f
}

// changed has the tasks that changed a file, and those that changed a file in a directory, by their paths.
type changed map[string][]string

func changes(tasks *run.Tasks, ids []string) changed {
	c := changed{}
	for _, id := range ids {
		for _, k := range tasks.ByID[id].Patches() {
			c.add(id, k.Patch.Files)
		}
	}
	return c
}

func (c changed) add(id string, files []string) {
	for _, file := range files {
		for _, p := range []string{file, path.Dir(file)} {
			if had := c[p]; len(had) == 0 || had[len(had)-1] != id {
				c[p] = append(had, id)
			}
		}
	}
}

// owners are the tasks that a failure leads to: those that changed a file which it names with a line, else those that changed
// another path of it, the file or a file in the directory, else those that changed a package which the failed one imports.
func (c changed) owners(f failure) []string {
	for _, paths := range [][]string{f.positions, f.paths, f.imports} {
		if own := c.of(paths); len(own) > 0 {
			return own
		}
	}
	return nil
}

func (c changed) of(paths []string) []string {
	set := map[string]bool{}
	for _, p := range paths {
		for _, id := range c[p] {
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// together words what a patch that is red alone met: the landed tasks that its failures lead to, or all of them where no failure
// leads to a task.
func together(in facts, t *run.Task, receipts []spec.Receipt) string {
	var landed []string
	for _, other := range in.tasks.Ends(in.works[t.Task.ID].Attempts[t.Attempt].Pos) {
		if other.State == run.TaskLanded {
			landed = append(landed, other.Task.ID)
		}
	}
	var met []string
	own, c := len(landed) == 0, changes(in.tasks, append(landed, t.Task.ID))
	for _, f := range failures(in.proofs, receipts) {
		switch of := c.owners(f); {
		case slices.Contains(of, t.Task.ID):
			own = true
		default:
			met = append(met, of...)
		}
	}
	slices.Sort(met)
	switch met = slices.Compact(met); {
	case len(met) == 0 && own:
		return ""
	case len(met) == 0:
		return "red together with what landed before it: "
	}
	return fmt.Sprintf("red together with %s, which landed before it: ", strings.Join(text.Few(met, maxMet), ", "))
}

// maxMet bounds how many tasks a message names.
const maxMet = 5
