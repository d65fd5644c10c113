package bus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	require.Equal(t, "task.generator.r1.t_1", TaskSubject("generator", "r1", "t_1"))
	require.Equal(t, "task.*.r1.>", TaskFilter("r1"))
	require.Equal(t, "ev.r1.m.task", ConductorSubject("r1", "task"))
	require.Equal(t, "ev.r1.a.local.generator.t-1.2", AttemptSubject("r1", "local", "generator", "t-1", 2))
	require.Equal(t, "ev.r1.a.*.generator.t-1.2", AttemptFilter("r1", "generator", "t-1", 2))
	require.Equal(t, "ev.r1.>", RunFilter("r1"))
	require.Equal(t, "ev.r1.m.>", ConductorFilter("r1"))
	require.Equal(t, "ctl.r1.all", ControlSubject("r1"))
}

func TestBadNamesAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "a\r\nPUB x 0", "é", "a!"} {
		require.False(t, ValidToken(bad), bad)
		require.ErrorIs(t, checkSubject(TaskSubject("role", bad, "t"), prefixTask), ErrSubject, bad)
		require.ErrorIs(t, checkSubject(ConductorSubject("r", bad), prefixLog), ErrSubject, bad)
		require.ErrorIs(t, checkSubject(AttemptSubject(bad, "w", "x", "t", 1), prefixLog), ErrSubject, bad)
		require.ErrorIs(t, checkSubject(AttemptSubject("r", bad, "x", "t", 1), prefixLog), ErrSubject, bad)
		require.ErrorIs(t, checkFilter(AttemptFilter("r", bad, "t", 1), prefixLog), ErrSubject, bad)
		require.ErrorIs(t, checkFilter(RunFilter(bad), prefixLog), ErrSubject, bad)
		require.ErrorIs(t, checkFilter(TaskFilter(bad), prefixTask), ErrSubject, bad)
		require.ErrorIs(t, checkControl(ControlSubject(bad)), ErrSubject, bad)
	}
	require.ErrorIs(t, checkSubject("task."+strings.Repeat("x", maxSubject), prefixTask), ErrSubject)
	require.ErrorIs(t, checkSubject("ev.r.m.x", prefixTask), ErrSubject)
	require.ErrorIs(t, checkSubject("ev.r.>", prefixLog), ErrSubject)
	require.ErrorIs(t, checkFilter("ev.>.r", prefixLog), ErrSubject)
	require.ErrorIs(t, checkFilter("ev", prefixLog), ErrSubject)
	require.ErrorIs(t, checkControl("ev.r.m.x"), ErrSubject, "an event must not come in by the side door")
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]bool{
		"ev.r.m.x": true, "ev.r.m.>": true, "ev.>": true, "ev.*.m.*": true,
		"ev.r.m": false, "ev.r.m.y": false, "ev.r.m.x.>": false, "ev.*": false, "ev.q.>": false,
	} {
		require.Equal(t, want, covers(filter, "ev.r.m.x"), filter)
	}
}

// FuzzTokens: no name may add tokens to a subject, and a subject made of good names is always accepted.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"generator", "a.b", "", "*", "\x00", "!\"\""} {
		f.Add(s, "t1")
	}
	f.Fuzz(func(t *testing.T, run, task string) {
		err := checkSubject(TaskSubject("role", run, task), prefixTask)
		if ValidToken(run) && ValidToken(task) && len(run)+len(task) < 900 {
			require.NoError(t, err)
			require.Equal(t, 3, strings.Count(TaskSubject("role", run, task), "."))
			return
		}
		require.ErrorIs(t, err, ErrSubject)
	})
}

// FuzzObjectNames: different names have different subjects, and all are one token behind the prefix.
func FuzzObjectNames(f *testing.F) {
	f.Add("run/task/1/pack", "run=2Ftask")
	f.Add("a", "a ")
	f.Fuzz(func(t *testing.T, a, b string) {
		sa, errA := objectSubject("", a)
		sb, errB := objectSubject("", b)
		require.Equal(t, a == "" || len(a) > maxName, errA != nil)
		if errA != nil || errB != nil {
			return
		}
		require.Equal(t, a == b, sa == sb)
		require.Equal(t, 2, strings.Count(sa, "."))
		require.NotContains(t, sa, " ")
	})
}
