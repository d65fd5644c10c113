package landing

import (
	"slices"

	"divisi/orchestrator/run"
)

// Gates is the union of what its tasks ask for.
func Gates(s *run.State, tasks []run.Landed) []string {
	var names []string
	for _, l := range tasks {
		t := s.Tasks[l.Task]
		if len(t.Task.Gates) == 0 {
			return s.GateNames()
		}
		names = append(names, t.Task.Gates...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Proven returns the tasks whose patches wait for the landing queue, in plan order, at most the batch limit.
func Proven(s *run.State) []string {
	var ids []string
	for _, id := range s.Order {
		if s.Tasks[id].State == run.TaskProven {
			ids = append(ids, id)
		}
	}
	if len(ids) > s.BatchLimit {
		ids = ids[:s.BatchLimit]
	}
	return ids
}
