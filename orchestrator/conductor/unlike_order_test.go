package conductor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// A shard that a person gave another order is not asked about as unlike its siblings, unless enough of them have the same order.
func TestAShardWithAnOrderOfItsOwnIsNotCompared(t *testing.T) {
	t.Parallel()
	person := run.Revision{By: "user:ann"}
	other := func(r run.Revision, change func(r *run.Revision)) run.Revision {
		change(&r)
		return r
	}
	role := other(person, func(r *run.Revision) { r.Role = "by-hand" })
	for name, c := range map[string]struct {
		revision run.Revision
		change   func(t *spec.Task)
		shards   int
		compared bool
	}{
		"another role":        {role, func(t *spec.Task) { t.Role = "by-hand" }, 1, false},
		"another brief":       {other(person, func(r *run.Revision) { r.Brief = "B" }), func(t *spec.Task) { t.Brief = "B" }, 1, false},
		"another command":     {other(person, func(r *run.Revision) { r.Command = &[]string{"B"} }), func(t *spec.Task) { t.Command = []string{"B"} }, 1, false},
		"some with one order": {role, func(t *spec.Task) { t.Role = "by-hand" }, 3, false},
		"enough with it":      {role, func(t *spec.Task) { t.Role = "by-hand" }, 4, true},
		"tried again":         {person, func(*spec.Task) {}, 1, true},
		"another model":       {other(person, func(r *run.Revision) { r.Model = "M" }), func(*spec.Task) {}, 1, true},
		"by the master":       {other(role, func(r *run.Revision) { r.By = "master/2" }), func(t *spec.Task) { t.Role = "by-hand" }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &run.State{}
			s.Tasks.ByID, s.Tasks.Shards = map[string]*run.Task{}, map[string][]string{}
			for i := range 8 {
				shard := &run.Task{Task: spec.Task{ID: fmt.Sprint(i), ShardOf: "all", Role: "mod", Brief: "A", Command: []string{"A"}}}
				if i < c.shards {
					shard.Revisions = []run.Revision{c.revision}
					c.change(&shard.Task)
				}
				s.Tasks.ByID[shard.Task.ID], s.Tasks.Shards["all"] = shard, append(s.Tasks.Shards["all"], shard.Task.ID)
			}
			require.Equal(t, c.compared, compares(s, s.Tasks.ByID["0"]))
			require.True(t, compares(s, s.Tasks.ByID["7"]), "a sibling")
		})
	}
}
