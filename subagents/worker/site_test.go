package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// site is a bus, a mirror and slots for worker tests.
type site struct {
	lender string
	t      *testing.T
	bus    *bus.Bus
	mirror *git.Repo
	pool   *workspace.Pool
	head   string
	dir    string
	// programs is a directory of programs that commands find.
	programs string
	// conductor, accept and owner are those of Config.
	conductor []byte
	accept    func(*wire.Assignment) error
	outdated  func(context.Context) (bool, error)
	owner     sandbox.Owner
	pauses    []time.Duration
}

func newSite(t *testing.T) *site {
	t.Helper()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	for name, text := range map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n", "b_test.txt": "test\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(user, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(user, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-C", user, "-c", "user.name=T", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	g, err := git.New(t.Context())
	require.NoError(t, err)
	c, err := g.Inspect(t.Context(), user)
	require.NoError(t, err)
	dir := t.TempDir()
	m, err := g.CreateMirror(t.Context(), filepath.Join(dir, "mirror.git"), c, c.Head)
	require.NoError(t, err)
	pool, err := workspace.NewPool(g, m, filepath.Join(dir, "slots"), time.Time{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, workspace.Remove(filepath.Join(dir, "slots"))) })
	noSync := false
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(dir, "bus"), Sync: &noSync, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return &site{t: t, bus: b, mirror: m, pool: pool, head: c.Head, dir: dir}
}

// newEnvironments opens the environments of a test's repository.
func newEnvironments(t *testing.T, dir string) *environment.Store {
	t.Helper()
	s := environment.NewStore(environment.Below(filepath.Join(dir, "caches")), workspace.Remove, time.Now)
	t.Cleanup(s.Close)
	return s
}

// work starts a worker with the model for the roles; it stops when the test ends, unless it was stopped before.
func (s *site) work(m model.Model, roles ...string) *Worker {
	s.t.Helper()
	w := NewWorker(Config{
		Bus: s.bus, Name: "w", Model: m, Mirror: s.mirror, Pool: s.pool, Parallel: 2, Roles: roles, AckWait: 2 * time.Second,
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches"), Lender: s.lender}, Environments: newEnvironments(s.t, s.dir), Temp: s.t.TempDir(),
		Environ: []string{"HOME=" + os.Getenv("HOME"), "PATH=" + s.programs + ":" + os.Getenv("PATH")}, Log: zerolog.Nop(),
		Conductor: s.conductor, Accept: s.accept, Owner: s.owner, Outdated: s.outdated, Pauses: s.pauses,
	})
	require.NoError(s.t, w.Start(s.t.Context()))
	s.t.Cleanup(w.Stop)
	return w
}

func (s *site) assignment(role spec.Role, task string) *wire.Assignment {
	return &wire.Assignment{
		Run: "r1", Task: spec.Task{ID: task, Role: role.Name, Brief: "change it"}, Role: role, Attempt: 1, Head: s.head,
	}
}

func (s *site) enqueue(a *wire.Assignment) {
	s.t.Helper()
	data, err := json.Marshal(a)
	require.NoError(s.t, err)
	// The attempt before leaves the queue a moment after its result is in the log.
	require.Eventually(s.t, func() bool {
		err := s.bus.Enqueue(s.t.Context(), bus.TaskSubject(a.Role.Name, a.Run, a.Task.ID), a.Agent(), data)
		require.True(s.t, err == nil || errors.Is(err, bus.ErrQueued), "%v", err)
		return err == nil
	}, time.Minute, time.Millisecond)
}

// result waits for an attempt's result in the log.
func (s *site) result(a *wire.Assignment) spec.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	for e := range s.tail(ctx, a) {
		if e.Kind == contextscope.KindResult {
			var r spec.Result
			require.NoError(s.t, json.Unmarshal(e.Data, &r))
			require.Empty(s.t, r.Validate())
			return r
		}
	}
	require.FailNow(s.t, "no result came")
	return spec.Result{}
}

func (s *site) tail(ctx context.Context, a *wire.Assignment) func(func(contextscope.Event) bool) {
	return func(yield func(contextscope.Event) bool) {
		for m, err := range s.bus.Tail(ctx, bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, a.Attempt), 0) {
			require.NoError(s.t, err)
			for _, e := range wire.DecodeEvents(m) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// settled waits until nothing is queued or with a worker.
func (s *site) settled(w *Worker) {
	s.t.Helper()
	w.Stop()
	queued, err := s.bus.Queued(s.t.Context(), "task.>")
	require.NoError(s.t, err)
	require.Empty(s.t, queued)
}

var (
	writer = spec.Role{
		Name: "generator", Executor: spec.ExecutorModel, Writes: true, Model: "m",
		Tools: []string{spec.ToolReadFile, spec.ToolWriteFile, spec.ToolRunCommand},
	}
	testerRole = spec.Role{Name: spec.RoleTester}
)

func writesFile(path, text string) modeltest.Step {
	return modeltest.CallsTool(spec.ToolWriteFile, map[string]any{"path": path, "content": text})
}
