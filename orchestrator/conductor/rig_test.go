package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// rig is a repository with everything that carries a run out: real bus, real git, real commands.
type rig struct {
	t        testing.TB
	dir      string
	git      *git.Git
	checkout *git.Checkout
	mirror   *git.Repo
	bus      *bus.Bus
	spec     run.Spec
	model    model.Model
	ids      atomic.Int64
	// publishes counts the times that the branch was put into the repository.
	publishes atomic.Int64
	log       zerolog.Logger
}

// newRig makes a repository of the files in one commit, and an empty run on it.
func newRig(t testing.TB, files map[string]string, change func(*run.Spec)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), log: zerolog.Nop()}
	if os.Getenv("RIG_LOG") != "" {
		r.log = zerolog.New(os.Stderr)
	}
	repo := filepath.Join(r.dir, "repo")
	for name, text := range files {
		path := filepath.Join(repo, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	sh(t, repo, "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -q -m base")
	var err error
	ctx := t.Context()
	r.git, err = git.New(ctx)
	require.NoError(t, err)
	r.checkout, err = r.git.Inspect(ctx, repo)
	require.NoError(t, err)
	r.mirror, err = r.git.CreateMirror(ctx, filepath.Join(r.dir, "repo.git"), r.checkout, r.checkout.Head)
	require.NoError(t, err)
	roles, err := configs.BuiltInRoles()
	require.NoError(t, err)
	project, err := configs.DefaultProject()
	require.NoError(t, err)
	project.Gates = []spec.Gate{{Name: "ok", Command: []string{"true"}, Format: "text"}}
	r.spec = run.Spec{
		Run: "r1", Goal: "test", Repo: r.checkout.Top, Base: r.checkout.Head, Branch: "main", Project: project, Roles: roles,
		Parallel: 4, AutoApprove: true, Created: time.Now().UTC(),
	}
	change(&r.spec)
	r.open(bus.Options{Dir: filepath.Join(r.dir, "bus")})
	return r
}

func (r *rig) open(o bus.Options) {
	b, err := bus.Open(r.t.Context(), o)
	require.NoError(r.t, err)
	r.bus = b
	r.t.Cleanup(func() { require.NoError(r.t, b.Close(context.Background())) })
}

// client is one of the run's server that writes what it likes.
func (r *rig) client() *nats.Conn {
	r.t.Helper()
	var server struct {
		URL      string `json:"url"`
		User     string `json:"user"`
		Password string `json:"password"`
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "bus", "server.json"))
	require.NoError(r.t, err)
	require.NoError(r.t, json.Unmarshal(data, &server))
	conn, err := nats.Connect(server.URL, nats.UserInfo(server.User, server.Password))
	require.NoError(r.t, err)
	r.t.Cleanup(conn.Close)
	return conn
}

func sh(t testing.TB, dir, script string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, out)
	return string(out)
}

func (r *rig) newID() string { return fmt.Sprintf("e%08d", r.ids.Add(1)) }

func (r *rig) config() conductor.Config {
	return conductor.Config{
		Person: wire.Person("ada"),
		Run:    r.spec.Run, Bus: r.bus, Mirror: r.mirror, Tree: r.tree, Log: r.log,
		Clock: func() time.Time { return time.Now().UTC() }, NewID: r.newID,
		Publish: func(ctx context.Context, commit, base, had string) (string, error) {
			r.publishes.Add(1)
			ref := run.IntegrationRef(r.spec.Run)
			return ref, r.git.Publish(ctx, r.checkout, r.mirror, ref, commit, base, had)
		},
	}
}

func (r *rig) tree(commit, _ string) plan.Tree {
	return &evidence.CommitTree{Repo: r.mirror, Commit: commit}
}

// worker starts the hands of the run; the returned function stops them.
func (r *rig) worker(ctx context.Context) (stop func()) {
	pool, err := workspace.NewPool(r.git, r.mirror, filepath.Join(r.dir, "slots"), time.Time{})
	require.NoError(r.t, err)
	for _, d := range []string{"tmp"} {
		require.NoError(r.t, os.MkdirAll(filepath.Join(r.dir, d), 0o755))
	}
	var roles []string
	for name := range r.spec.Roles {
		roles = append(roles, name)
	}
	w := worker.NewWorker(worker.Config{
		Bus: r.bus, Model: r.model, Mirror: r.mirror, Pool: pool, Caches: sandbox.Caches{Dir: filepath.Join(r.dir, "caches")},
		Environments: environment.NewStore(filepath.Join(r.dir, "caches", "environments"), workspace.Remove, time.Now), Temp: filepath.Join(r.dir, "tmp"), Environ: os.Environ(),
		Gates: gate.NewLimiter(2), Parallel: r.spec.Parallel, Roles: roles, Run: r.spec.Run, IDs: r.newID, Log: r.log,
		Tools: func(a *wire.Assignment) []tool.Tool {
			if a.Role.Name != spec.RoleMaster {
				return nil
			}
			return []tool.Tool{plan.NewTool(r.check, r.spec.Roles)}
		},
	})
	require.NoError(r.t, w.Start(ctx))
	return w.Stop
}

func (r *rig) fold(ctx context.Context) (*run.State, error) {
	return eventlog.Fold(ctx, r.bus, r.spec.Run)
}

func (r *rig) check(ctx context.Context, p spec.Plan) (plan.Checked, error) {
	st, err := r.fold(ctx)
	if err != nil {
		return plan.Checked{}, err
	}
	return plan.Check(ctx, p, &st.Agenda, st.Works, r.tree(st.Head, ""))
}

// run carries the run out from its first event to its end.
func (r *rig) run(ctx context.Context) *run.State {
	r.t.Helper()
	c, err := conductor.New(ctx, r.config())
	require.NoError(r.t, err)
	require.NoError(r.t, c.Start(ctx, r.spec))
	stop := r.worker(ctx)
	defer stop()
	require.NoError(r.t, c.Run(ctx))
	return c.State()
}

// landed lists the tasks on the published branch, by their trailers, oldest first.
func (r *rig) landed() []string {
	ref := "divisi/" + r.spec.Run
	out := sh(r.t, r.checkout.Top, "git log --reverse --format='%(trailers:key=Divisi-Task,valueonly)' main.."+ref)
	return strings.Fields(out)
}

// command is a role that runs a shell script in the work tree.
func command(name, script string) spec.Role {
	return spec.Role{
		Name: name, Executor: spec.ExecutorCommand, Writes: true, Command: []string{"sh", "-c", script}, Source: "test",
		Limits: spec.Limits{Time: spec.Duration(time.Minute)},
	}
}

func planOf(tasks ...spec.Task) *spec.Plan { return &spec.Plan{Goal: "test", Tasks: tasks} }
