package plan

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Intersect reports whether two write sets may meet, and at which path. A path without wildcards covers what lies below
// it. Globs are compared by their fixed prefixes, with each other and with what may be a directory (a name without a dot),
// so that it may report a meeting that cannot happen; it misses one only for a directory that looks like a file.
func Intersect(a, b []string) (string, bool) { return Against(a)(b) }

// Against prepares a write set for many questions whether another one may meet it.
func Against(a []string) func(b []string) (string, bool) {
	set := newPathSet(a)
	return func(b []string) (string, bool) {
		for _, p := range b {
			if at, ok := set.meets(p); ok {
				return at, true
			}
		}
		return "", false
	}
}

// pathSet is a write set prepared for many questions.
type pathSet struct {
	exact map[string]bool
	// above holds every directory over an exact path.
	above map[string]bool
	globs []string
}

func newPathSet(files []string) pathSet {
	s := pathSet{exact: make(map[string]bool, len(files)), above: map[string]bool{}}
	for _, p := range files {
		if isGlob(p) {
			s.globs = append(s.globs, p)
			continue
		}
		p = path.Clean(p)
		s.exact[p] = true
		for d := path.Dir(p); d != "." && !s.above[d]; d = path.Dir(d) {
			s.above[d] = true
		}
	}
	return s
}

func (s pathSet) meets(p string) (string, bool) {
	if isGlob(p) {
		return s.meetsGlob(p)
	}
	p = path.Clean(p)
	if s.above[p] {
		return p, true
	}
	for d := p; d != "."; d = path.Dir(d) {
		if s.exact[d] {
			return p, true
		}
	}
	for _, g := range s.globs {
		if globMeets(g, p) {
			return p, true
		}
	}
	return "", false
}

func (s pathSet) meetsGlob(glob string) (string, bool) {
	for e := range s.exact {
		if globMeets(glob, e) {
			return e, true
		}
	}
	for _, g := range s.globs {
		if mayMeet(glob, g) {
			return glob, true
		}
	}
	return "", false
}

// globMeets compares a glob with a path without wildcards, which may be a directory.
func globMeets(glob, p string) bool {
	prefix := fixedPrefix(glob)
	if !strings.HasPrefix(p+"/", prefix) { // it cannot match
		return strings.HasPrefix(prefix, p+"/")
	}
	return path.Ext(p) == "" || spec.MatchAny([]string{glob}, p)
}

// mayMeet compares the texts before the first metacharacter.
func mayMeet(a, b string) bool {
	pa, pb := fixedPrefix(a), fixedPrefix(b)
	return strings.HasPrefix(pa, pb) || strings.HasPrefix(pb, pa)
}

func fixedPrefix(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

func isGlob(p string) bool { return strings.ContainsAny(p, `*?[{`) }

// Overlaps lists the pairs of tasks whose write sets may meet, at most limit of them, in plan order.
func Overlaps(tasks []spec.Task, limit int) []run.Overlap {
	var out []run.Overlap
	index := newOverlapIndex(len(tasks))
	for i := range tasks {
		for _, j := range index.candidates(i, tasks[i].Files) {
			if len(out) == limit {
				return out
			}
			if at, ok := Intersect(tasks[j].Files, tasks[i].Files); ok {
				out = append(out, run.Overlap{A: tasks[j].ID, B: tasks[i].ID, Path: at})
			}
		}
		index.add(i, tasks[i].Files)
	}
	return out
}

// overlapIndex finds the tasks worth comparing: those that name the same path, and all that have a glob or a directory. Two
// thousand shards of single files then cost two thousand look-ups, not two million comparisons.
type overlapIndex struct {
	owners map[string][]int
	loose  []int // tasks with a glob or a path without a suffix, which may be a directory
}

func newOverlapIndex(n int) *overlapIndex { return &overlapIndex{owners: make(map[string][]int, n)} }

func (x *overlapIndex) candidates(i int, files []string) []int {
	if isLoose(files) {
		all := make([]int, i)
		for j := range all {
			all[j] = j
		}
		return all
	}
	found := slices.Clone(x.loose)
	for _, f := range files {
		found = append(found, x.owners[path.Clean(f)]...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (x *overlapIndex) add(i int, files []string) {
	if isLoose(files) {
		x.loose = append(x.loose, i)
	}
	for _, f := range files {
		x.owners[path.Clean(f)] = append(x.owners[path.Clean(f)], i)
	}
}

func isLoose(files []string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return isGlob(f) || path.Ext(f) == "" })
}
