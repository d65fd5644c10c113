package landing

import (
	"path"
	"regexp"
	"slices"
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
	touches := func(all []failure, other string) bool {
		return slices.ContainsFunc(all, func(f failure) bool {
			near := slices.Concat(f.paths, f.imports)
			for _, p := range f.positions {
				near = append(near, path.Dir(p))
			}
			return slices.Contains(c.of(near), other)
		})
	}
	for other := range guilty {
		if touches(named[id], other) || touches(named[other], id) {
			return true
		}
	}
	return false
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
var ownError = regexp.MustCompile(`(?i:syntax error|unexpected|unclosed|unterminated|reached end of file while parsing)|` +
	`\bTS1\d{3}\b|\bexpected (?:one of|` + "`" + `)|[;)}\]'"] expected|` +
	`declared and not used|imported and not used|missing return|` +
	`untyped \w+ constant[^)]*\) as \w+ value in (?:variable declaration|return statement)`)
