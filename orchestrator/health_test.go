package orchestrator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

// The disk of one of two workers is full for a while: the run goes on with the other one, which is never idle, no attempt counts
// as failed, and the run says which machine lacks how much, and that it is back.
func TestSlowAFullDiskOfOneWorkerIsItsOwn(t *testing.T) {
	t.Parallel()
	const tasks = 60
	repo, state, remove := newRepository()
	defer remove()
	s := &shared{t: t, url: broker(t), dir: t.TempDir()}
	plan := "tasks:\n"
	for i := range tasks {
		plan += fmt.Sprintf("  - {id: t-%d, role: editor, brief: Write., files: [f%d.txt]}\n", i, i)
	}
	full := filepath.Join(s.dir, "full")
	conduct := spawn(t, half{
		State: state, NATS: s.url, Repo: repo, Plan: "plan.yaml", PlanText: plan, Parallel: 4,
		Role: `[sh, -c, 'sleep 0.2; echo hi > "$1"', sh, '{files}']`,
	})
	s.id = conduct.line()
	worker := func(name string) *process {
		return spawn(t, half{
			Work: true, Name: name, State: filepath.Join(s.dir, name+"-state"), NATS: s.url, Parallel: 2, Lacks: filepath.Join(s.dir, name),
		})
	}
	sound, hurt := worker("sound"), worker("full")
	said := func(n int, want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			found := 0
			for _, e := range s.events(contextscope.KindRun) {
				found += strings.Count(string(e.Data), want)
			}
			for _, e := range s.events(contextscope.KindResult) {
				found += strings.Count(e.Worker+" has done", want)
			}
			return found >= n
		}, time.Minute, 50*time.Millisecond)
	}
	said(3, "full has done")
	require.NoError(t, os.WriteFile(full, nil, 0o600))
	said(1, "worker full lacks no space left on device at /data/slots (5120 KiB more are needed)")
	said(1, "it takes nothing until it has that")
	require.NoError(t, os.Remove(full))
	said(1, "worker full is back, and takes tasks again")
	require.Contains(t, conduct.line(), fmt.Sprintf("%d landed", tasks))
	conduct.ended()
	sound.ended()
	hurt.ended()

	done := map[string]bool{}
	for _, e := range s.events(contextscope.KindTask) {
		require.NotContains(t, string(e.Data), `"parked"`)
	}
	for _, e := range s.events(contextscope.KindResult) {
		if strings.HasPrefix(e.Task, "t-") {
			done[e.Task] = true
			require.Equal(t, 1, e.Attempt, string(e.Data))
		}
	}
	require.Len(t, done, tasks)
	var last time.Time
	var idle time.Duration
	for _, e := range s.events(contextscope.KindStarted) {
		if e.Worker == "sound" && e.Task != "" && strings.HasPrefix(e.Task, "t-") {
			if !last.IsZero() {
				idle = max(idle, e.Time.Sub(last))
			}
			last = e.Time
		}
	}
	t.Logf("%d tasks, 0 parked; the sound worker began nothing for %s at the most", tasks, idle.Round(time.Millisecond))
	require.Less(t, idle, 10*time.Second)
}
