package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// searched is what a run with a hidden failure must come to.
type searched struct {
	crashed

	first    string
	gateRuns int
}

// endOf conducts a run to its end, which is red.
func (r *rig) endOf(t *testing.T) searched {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	defer r.worker(ctx)()
	st, err := r.conduct(ctx, r.quietly())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status)
	require.NotNil(t, st.Batches.FirstRed(), st.Reason)
	return searched{r.outcome(st.Head), strings.Join(run.Names(st.Batches.FirstRed().Tasks), " "), st.Batches.GateRuns}
}

// A gate that is narrowed to the changed file does not see that the second of four patches breaks another file. The search for it
// continues after a kill behind any append, and tests nothing twice.
func TestAKillDuringTheSearchForTheFirstRedBatch(t *testing.T) {
	if testing.Short() {
		t.Skip("several whole runs")
	}
	t.Parallel()
	r := newRig(t, files(5), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo $DIVISI_TASK > $DIVISI_FILES")
		s.Project.Prove = spec.ProveEach
		s.Project.Gates = []spec.Gate{{
			Name: "fits", Format: "text", Affected: []string{"cat"}, Full: []string{"f00.txt", "f01.txt", "f02.txt", "f03.txt", "f04.txt"},
			Command: []string{"sh", "-c", `for f; do if [ $f = f04.txt ] && grep -q t1 f01.txt; then echo "error: $f does not fit"; exit 1; fi; done`, "sh", spec.ArgAffected},
		}}
		var tasks []spec.Task
		for n := range 4 {
			task := spec.Task{ID: fmt.Sprint("t", n), Role: "mod", Brief: "b", Files: []string{fileOf(n)}}
			if n > 0 {
				task.DependsOn = []string{fmt.Sprint("t", n-1)}
			}
			tasks = append(tasks, task)
		}
		s.Plan = planOf(tasks...)
	})
	want := r.endOf(t)
	require.Equal(t, []string{"t0", "t1", "t2", "t3"}, want.tasks)
	require.Equal(t, "t1", want.first)
	require.Equal(t, 4+2+2, want.gateRuns, "each patch, the final gates twice, two heads between")
	var log []bus.Message
	final := false
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		if log = append(log, m); final && (!testing.Short() || len(log)%6 == 0) {
			kept := log
			t.Run(fmt.Sprintf("%02d %s", len(log), m.Subject), func(t *testing.T) {
				t.Parallel()
				require.Equal(t, want, r.fork(t, kept).endOf(t))
			})
		}
		for _, e := range wire.DecodeEvents(m) {
			var d run.Data
			final = final || e.Kind == contextscope.KindRun && json.Unmarshal(e.Data, &d) == nil && d.State == run.Final
		}
	}
}
