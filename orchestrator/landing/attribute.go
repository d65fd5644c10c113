package landing

import (
	"fmt"
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
	group := map[string]int{}
	for i, f := range failures(s, receipts) {
		join(group, owners(s, f, ids(tasks)), i+1)
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

// failures are those of the receipts that the base commit did not have.
func failures(s *run.State, receipts []spec.Receipt) []failure {
	var out []failure
	for _, r := range receipts {
		for _, signature := range gate.NewSignatures(r, gate.Before(s.Baseline, r.Gate)) {
			f := failure{paths: r.Paths[signature]}
			for _, p := range f.paths {
				imports, directory := r.Imports[p]
				if !directory {
					imports = r.Imports[path.Dir(p)]
				}
				f.imports = append(f.imports, imports...)
			}
			out = append(out, f)
		}
	}
	return out
}

// owners are those of some tasks that changed a path of a failure: the file, or a file in the directory. Where none did, they are
// those that changed a package which the failed one imports.
func owners(s *run.State, f failure, tasks []string) []string {
	changed := func(paths []string) func(string) bool {
		return func(id string) bool {
			return slices.ContainsFunc(s.Tasks[id].Result.Patch.Files, func(file string) bool {
				return slices.Contains(paths, file) || slices.Contains(paths, path.Dir(file))
			})
		}
	}
	own := slices.DeleteFunc(slices.Clone(tasks), not(changed(f.paths)))
	if len(own) > 0 {
		return own
	}
	return slices.DeleteFunc(slices.Clone(tasks), not(changed(f.imports)))
}

func not(is func(string) bool) func(string) bool { return func(id string) bool { return !is(id) } }

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
	own := len(landed) == 0
	for _, f := range failures(s, receipts) {
		switch of := owners(s, f, append([]string{t.Task.ID}, landed...)); {
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
