package conductor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// Whichever messages of a log are lost, the others make a state that can be shown.
func TestALogWithAGapIsFolded(t *testing.T) {
	if testing.Short() {
		t.Skip("several whole runs")
	}
	t.Parallel()
	r := newRig(t, files(6), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "for f in $DIVISI_FILES; do echo new > $f; done")
		s.Roles["bad"] = command("bad", "exit 1")
		s.Plan = planOf(
			spec.Task{ID: "all", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file"}},
			spec.Task{ID: "no", Role: "bad", Brief: "b", Attempts: 2},
			spec.Task{ID: "after", Role: "mod", Brief: "b", DependsOn: []string{"all"}},
		)
	})
	require.Equal(t, run.Parked, r.run(t.Context()).Status)
	var log []bus.Message
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	for _, size := range []int{1, 2, 7, len(log) / 2} {
		for from := range log[:len(log)-size+1] {
			st := run.NewState()
			gap := bus.Message{Pos: log[from].Pos, Lost: "lost"}
			for i, m := range append(append([]bus.Message{}, log[:from]...), append([]bus.Message{gap}, log[from+size:]...)...) {
				events := wire.DecodeEvents(m)
				for k := range events {
					require.NoError(t, st.Apply(&events[k]), fmt.Sprint(from, size, i))
				}
			}
			require.True(t, st.Damaged)
			require.NotEmpty(t, view.Of(st).Notices)
			phase.Over(st)
		}
	}
}
