package plan

import (
	"path"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Overlaps lists the pairs of tasks whose write sets may meet, at most limit of them, in plan order.
func Overlaps(tasks []spec.Task, limit int) []run.Overlap {
	var out []run.Overlap
	index := newOverlapIndex(len(tasks))
	for i := range tasks {
		for _, j := range index.candidates(i, tasks[i].Files) {
			if len(out) == limit {
				return out
			}
			if at, ok := spec.Intersect(tasks[j].Files, tasks[i].Files); ok {
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
	return slices.ContainsFunc(files, func(f string) bool { return spec.IsGlob(f) || path.Ext(f) == "" })
}
