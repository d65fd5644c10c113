package blame

import (
	"maps"
	"path"
	"slices"

	"divisi/internal/lazyregexp"
	"divisi/orchestrator/run"
)

// MaxAlone is up to how many named tasks are tested one by one. More than that are told apart by their failures alone.
const MaxAlone = 4

// Named are the failures that lead to one task alone, by the task.
type Named map[string][]Failure

// Related reports whether the failures of a task may be those of another one that goes back, or the other way round: each may be
// right without the other.
func (c Changed) Related(named, guilty Named, id string) bool {
	near := c.near(named[id])
	for other := range guilty {
		if slices.Contains(near, other) || slices.Contains(c.near(named[other]), id) {
			return true
		}
	}
	return false
}

// near are the tasks that changed what some failures name, the packages of it or what these import.
func (c Changed) near(all []Failure) []string {
	near := map[string]bool{}
	for _, f := range all {
		for _, p := range slices.Concat(f.Paths, f.imports) {
			near[p] = true
		}
		for _, p := range f.Positions {
			near[path.Dir(p)] = true
		}
	}
	return c.of(slices.Collect(maps.Keys(near)))
}

// Distinguishable reports whether some named tasks, tested together, can be told from each other: no failure can be what another
// one of them has done, or they are many, and no shard of a template is known to be near another one. What imports what is known
// of Go alone.
func (c Changed) Distinguishable(tasks *run.Tasks, named Named, ids []string) bool {
	apart := true
	for _, id := range ids {
		apart = apart && (len(ids) < 2 || !slices.ContainsFunc(named[id], func(f Failure) bool { return !f.traced }))
		for _, other := range c.near(named[id]) {
			switch {
			case other == id || !slices.Contains(ids, other):
			case Siblings(tasks, id, other):
				return false
			default:
				apart = false
			}
		}
	}
	return apart || len(ids) > MaxAlone
}

// Siblings reports whether two tasks are shards of one template.
func Siblings(tasks *run.Tasks, id, other string) bool {
	template := tasks.ByID[id].Task.ShardOf
	return id != other && template != "" && tasks.ByID[other].Task.ShardOf == template
}

// Parts are the parts in which named tasks are tested that may fail because of each other: one by one, but for the shards of a
// template. Of these the first one is tested alone, and then the others together, which may fail as it did.
func Parts(tasks *run.Tasks, named []string) (parts [][]string) {
	others := map[string]int{}
	for _, id := range named {
		template := tasks.ByID[id].Task.ShardOf
		at, more := others[template]
		if !more || template == "" {
			others[template] = len(parts) + 1
			parts = append(parts, []string{id}, nil)
			continue
		}
		parts[at] = append(parts[at], id)
	}
	return parts
}

// Own reports whether a failure is an error of a build in a file of a task that no other task can have brought: no other one
// changed the package, or one that it imports. Where imports are not known, any other may have.
func (c Changed) Own(f Failure, id string) bool {
	other := func(o string) bool { return o != id }
	switch {
	case !c.Broken(f):
		return false
	case ownError.MatchString(f.Signature):
		return true
	case !f.traced:
		for _, tasks := range c {
			if slices.ContainsFunc(tasks, other) {
				return false
			}
		}
		return true
	}
	near := slices.Clone(f.imports)
	for _, p := range f.Positions {
		near = append(near, path.Dir(p))
	}
	return !slices.ContainsFunc(c.of(near), other)
}

// ownError matches errors of a compiler that no other file can be the cause of: those of syntax, and some of Go.
var ownError = lazyregexp.New(`(?i:syntax error|unexpected|unclosed|unterminated|reached end of file while parsing)|` +
	`\bTS1\d{3}\b|\bexpected (?:one of|` + "`" + `)|[;)}\]'"] expected|` +
	`declared and not used|imported and not used|missing return|` +
	`untyped \w+ constant[^)]*\) as \w+ value in (?:variable declaration|return statement)`)
