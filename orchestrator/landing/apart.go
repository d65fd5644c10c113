package landing

import (
	"maps"
	"path"
	"slices"

	"divisi/internal/lazyregexp"
	"divisi/orchestrator/run"
)

// maxAlone is up to how many named tasks are tested one by one. More than that are told apart by their failures alone.
const maxAlone = 4

// apart reports whether no failure of some named tasks can be what another one of them has done. What imports what is known
// of Go alone.
func apart(c changed, named map[string][]failure, tasks []string) bool {
	return len(tasks) < 2 || !slices.ContainsFunc(tasks, func(id string) bool {
		others := map[string][]failure{}
		for _, other := range tasks {
			if other != id {
				others[other] = named[other]
			}
		}
		unknown := slices.ContainsFunc(named[id], func(f failure) bool { return !f.traced })
		return unknown || related(c, named, others, id)
	})
}

// related reports whether the failures of a task may be those of another one that goes back, or the other way round: each may be
// right without the other.
func related(c changed, named, guilty map[string][]failure, id string) bool {
	near := c.near(named[id])
	for other := range guilty {
		if slices.Contains(near, other) || slices.Contains(c.near(named[other]), id) {
			return true
		}
	}
	return false
}

// near are the tasks that changed what some failures name, the packages of it or what these import.
func (c changed) near(all []failure) []string {
	near := map[string]bool{}
	for _, f := range all {
		for _, p := range slices.Concat(f.paths, f.imports) {
			near[p] = true
		}
		for _, p := range f.positions {
			near[path.Dir(p)] = true
		}
	}
	return c.of(slices.Collect(maps.Keys(near)))
}

// told reports whether some named tasks, tested together, can be told from each other: no failure can be what another one of them
// has done, or they are many, and no shard of a template is known to be near another one.
func told(tasks *run.Tasks, c changed, named map[string][]failure, ids []string) bool {
	tangled := slices.ContainsFunc(ids, func(id string) bool {
		return slices.ContainsFunc(c.near(named[id]), func(other string) bool {
			return slices.Contains(ids, other) && siblings(tasks, id, other)
		})
	})
	return !tangled && (len(ids) > maxAlone || apart(c, named, ids))
}

// siblings reports whether two tasks are shards of one template.
func siblings(tasks *run.Tasks, id, other string) bool {
	template := tasks.ByID[id].Task.ShardOf
	return id != other && template != "" && tasks.ByID[other].Task.ShardOf == template
}

// partsOf are the parts in which named tasks are tested that may fail because of each other: one by one, but for the shards of a
// template. Of these the first one is tested alone, and then the others together, which may fail as it did.
func partsOf(tasks *run.Tasks, named []string) (parts [][]string) {
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

// brought reports whether an error in a file of a task may be what another task has done: the other one changed the package, or
// one that it imports. Where imports are not known, any other may have.
func brought(c changed, f failure, id string) bool {
	other := func(id2 string) bool { return id2 != id }
	if ownError.MatchString(f.signature) {
		return false
	}
	if !f.traced {
		for _, tasks := range c {
			if slices.ContainsFunc(tasks, other) {
				return true
			}
		}
		return false
	}
	near := slices.Clone(f.imports)
	for _, p := range f.positions {
		near = append(near, path.Dir(p))
	}
	return slices.ContainsFunc(c.of(near), other)
}

// ownError matches errors of a compiler that no other file can be the cause of: those of syntax, and some of Go.
var ownError = lazyregexp.New(`(?i:syntax error|unexpected|unclosed|unterminated|reached end of file while parsing)|` +
	`\bTS1\d{3}\b|\bexpected (?:one of|` + "`" + `)|[;)}\]'"] expected|` +
	`declared and not used|imported and not used|missing return|` +
	`untyped \w+ constant[^)]*\) as \w+ value in (?:variable declaration|return statement)`)
