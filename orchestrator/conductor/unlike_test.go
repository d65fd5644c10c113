package conductor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// unlikeRig has six files and a template with a shard for each.
func unlikeRig(t *testing.T, script string, change func(*run.Spec)) *rig {
	t.Helper()
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("f%d.cfg", i)] = fmt.Sprintf("limit = %d\nuse old\n", i)
	}
	return newRig(t, files, func(s *run.Spec) {
		s.Roles["mod"] = command("mod", script)
		s.Project.Gates[0].Command = []string{"sh", "-c", "cat *.cfg"}
		s.Plan = planOf(spec.Task{ID: "all", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file", Glob: "*.cfg", Match: "use old", MaxFiles: 1}})
		change(s)
	})
}

// killedAnywhere resumes the run behind each of its appends, from the first that has some text on.
func (r *rig) killedAnywhere(t *testing.T, log []bus.Message, from string, want crashed, then func(t *testing.T, f *rig)) {
	t.Helper()
	first := slices.IndexFunc(log, func(m bus.Message) bool { return strings.Contains(string(m.Data), from) })
	require.Positive(t, first)
	for k := first + 1; k <= len(log); k++ {
		if testing.Short() && (k-first)%4 != 1 {
			continue
		}
		t.Run(fmt.Sprintf("killed behind %02d %s", k, log[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k])
			f.goOn(want)
			then(t, f)
		})
	}
}

// said counts the messages of the log that contain some text.
func (r *rig) said(t *testing.T, text string) (n int) {
	t.Helper()
	for _, m := range readLog(t, r) {
		n += strings.Count(string(m.Data), text)
	}
	return n
}

// One shard of six changes what no other one does. Killed anywhere from the question on, the resumed run ends the same, and has
// asked once.
func TestSlowAKillAroundAnUnlikeShardAsksOnce(t *testing.T) {
	t.Parallel()
	r := unlikeRig(t, `sed -i -e 's/use old/use new/' -e 's/limit = 3/limit = 30/' $DIVISI_FILES`, func(s *run.Spec) { s.OnDoubt = run.OnDoubtAccept })
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	const question = `"unlike":[{"file":"f3.cfg"`
	require.Equal(t, 1, r.said(t, question))
	want := r.outcome(st.Head)
	require.Len(t, want.tasks, 6)
	r.killedAnywhere(t, readLog(t, r), question, want, func(t *testing.T, f *rig) {
		require.Equal(t, 1, f.said(t, question))
		st, err := f.fold(t.Context())
		require.NoError(t, err)
		require.Len(t, st.Tasks.ByID["all-004"].AllowedUnlike(), 1, "what was asked is told at the end")
	})
}

// A shard is held for an edit that no other one makes. Two more then make the same: it continues without an answer.
func TestAHeldShardGoesOnWhenOthersEditAlike(t *testing.T) {
	t.Parallel()
	r := unlikeRig(t, "true", func(s *run.Spec) {
		s.OnDoubt = run.OnDoubtAsk
		s.Parallel = 1
	})
	held := 0
	edit := func(a *wire.Assignment) spec.Result {
		var n int
		if _, err := fmt.Sscanf(a.Task.ID, "all-%d", &n); err != nil {
			return r.passes(a)
		}
		after := fmt.Sprintf("limit = %d\\nuse new", n-1)
		if n >= 4 {
			after = fmt.Sprintf("limit = %d0\\nuse new", n-1)
		}
		if n == 5 {
			r.until(func(st *run.State) bool { held = len(slices.Collect(st.Tasks.Unlike())); return held > 0 }, "none was held")
		}
		result := done()
		result.Patch = r.patch(a.Head, fmt.Sprintf("f%d.cfg", n-1), "'"+after+"'")
		return result
	}
	stop := r.hands(t.Context(), edit)
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, 1, held)
	require.Len(t, r.outcome(st.Head).tasks, 6)
	require.Empty(t, st.Tasks.ByID["all-004"].AllowedUnlike(), "no answer was given")
}
