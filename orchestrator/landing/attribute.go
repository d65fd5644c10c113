package landing

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// suspects attributes what failed newly to tasks of a batch. Each group holds the tasks of failures that share one; rest are the
// tasks that no failure leads to.
func suspects(s *run.State, receipts []spec.Receipt, tasks []run.Landed) (groups [][]string, rest []string) {
	group, changed := map[string]int{}, changes(s, ids(tasks))
	for i, f := range failures(s, receipts) {
		join(group, changed.owners(f), i+1)
	}
	order := map[int]int{}
	for _, id := range ids(tasks) {
		g := group[id]
		switch at, known := order[g]; {
		case g == 0:
			rest = append(rest, id)
		case known:
			groups[at] = append(groups[at], id)
		default:
			order[g] = len(groups)
			groups = append(groups, []string{id})
		}
	}
	return groups, rest
}

// LeadTo returns the failures of a gate of a batch that the base commit did not have and that lead to what one task of it
// changed, and how many new ones there are. All lead to a task that was tested alone.
func LeadTo(s *run.State, d run.LandingData, r spec.Receipt, task string) (mine []string, all int) {
	c := changed{}
	for _, l := range d.Tasks {
		if w := s.Works[l.Task]; w != nil && w.Attempts[l.Attempt] != nil {
			if result := w.Attempts[l.Attempt].Result; result != nil && result.Patch != nil {
				c.add(l.Task, result.Patch.Files)
			}
		}
	}
	mine = fresh(s, r)
	all = len(mine)
	return slices.DeleteFunc(mine, func(signature string) bool {
		return len(d.Tasks) > 1 && !slices.Contains(c.owners(failureOf(r, signature)), task)
	}), all
}

// join puts some tasks into one new group, with the groups that they are in.
func join(group map[string]int, tasks []string, to int) {
	for _, id := range tasks {
		from := group[id]
		for other, g := range group {
			if from != 0 && g == from {
				group[other] = to
			}
		}
		group[id] = to
	}
}

// failure is one new failure: the paths that it names, and the packages that those import.
type failure struct{ paths, imports []string }

// failures are those of the receipts that the base commit did not have, those of the same paths once.
func failures(s *run.State, receipts []spec.Receipt) []failure {
	var out []failure
	seen := map[string]bool{}
	for _, r := range receipts {
		for _, signature := range fresh(s, r) {
			key := strings.Join(r.Paths[signature], "\x00")
			if !seen[key] {
				seen[key], out = true, append(out, failureOf(r, signature))
			}
		}
	}
	return out
}

// fresh are the signatures of a receipt that the base commit did not have.
func fresh(s *run.State, r spec.Receipt) []string {
	return gate.NewSignatures(r, gate.Before(s.Baseline, r.Gate))
}

func failureOf(r spec.Receipt, signature string) failure {
	f := failure{paths: r.Paths[signature]}
	for _, p := range f.paths {
		imports, directory := r.Imports[p]
		if !directory {
			imports = r.Imports[path.Dir(p)]
		}
		f.imports = append(f.imports, imports...)
	}
	return f
}

// changed has the tasks that changed a file, and those that changed a file in a directory, by their paths.
type changed map[string][]string

func changes(s *run.State, tasks []string) changed {
	c := changed{}
	for _, id := range tasks {
		for _, k := range s.Tasks[id].Patches() {
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

// owners are the tasks that changed a path of a failure: the file, or a file in the directory. Where none did, they are those
// that changed a package which the failed one imports.
func (c changed) owners(f failure) []string {
	if own := c.of(f.paths); len(own) > 0 {
		return own
	}
	return c.of(f.imports)
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
func together(s *run.State, t *run.Task, receipts []spec.Receipt) string {
	var landed []string
	for _, other := range s.Ends(s.Works[t.Task.ID].Attempts[t.Attempt].Pos) {
		if other.State == run.TaskLanded {
			landed = append(landed, other.Task.ID)
		}
	}
	var met []string
	own, c := len(landed) == 0, changes(s, append(landed, t.Task.ID))
	for _, f := range failures(s, receipts) {
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
