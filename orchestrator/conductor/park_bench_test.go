package conductor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/run"
)

// BenchmarkParkToMaster is the time from the event that parks a task to the first turn of the master that it wakes, while another task
// is at work. The model answers at once, so that all of it is Divisi's own.
func BenchmarkParkToMaster(b *testing.B) {
	for b.Loop() {
		r := newRig(b, files(2), func(s *run.Spec) {
			addRoles(s, agentRole("hand", spec.ToolWriteFile), agentRole("scout", spec.ToolReadFile))
			s.Project.Gates[0].Command = []string{"sh", "-c", badFiles}
		})
		said := r.play(parts{
			"master/1": {dispatches(
				map[string]any{"id": "wrong", "role": "hand", "brief": "b", "files": []any{"f00.txt"}, "attempts": 1},
				map[string]any{"id": "slow", "role": "scout", "brief": "b"},
			)},
			"master/2": {{Text: "I wait."}},
			"wrong":    {writes("f00.txt", "bad\n"), submits("done")},
		})
		woken := make(chan struct{})
		said.hold = func(q geminitest.Request) {
			switch {
			case q.Task == "master" && q.Attempt == 2:
				close(woken)
			case q.Task == "slow":
				<-woken
			}
		}
		st := r.run(b.Context())
		require.Equal(b, run.TaskParked, st.Tasks.ByID["wrong"].State, st.Reason)
		var parked, turn time.Time
		eachEvent(b, r, func(e contextscope.Event) {
			switch {
			case e.Kind == contextscope.KindTask && e.Task == "wrong":
				if turn.IsZero() {
					parked = e.Time
				}
			case e.Kind == contextscope.KindTurn && e.Agent == "master/2" && turn.IsZero():
				turn = e.Time
			}
		})
		require.False(b, turn.IsZero())
		b.ReportMetric(float64(turn.Sub(parked).Microseconds())/1000, "ms")
	}
}
