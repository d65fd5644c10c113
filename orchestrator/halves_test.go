package orchestrator_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/sample"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// halfVar has the test binary carry out one half of a run: its value is a half as JSON.
const halfVar = "DIVISI_TEST_HALF"

type half struct {
	Work     bool   `json:"work"`
	Serve    bool   `json:"serve"`
	Submit   bool   `json:"submit"`
	Review   bool   `json:"review"`
	Send     bool   `json:"send"`
	Resume   bool   `json:"resume"`
	State    string `json:"state"`
	Run      string `json:"run"`
	NATS     string `json:"nats"`
	Repo     string `json:"repo"`
	Plan     string `json:"plan"`
	PlanText string `json:"plan_text"`
	Role     string `json:"role"`
	Name     string `json:"name"`
	Parallel int    `json:"parallel"`
	Budget   int    `json:"budget"`
	Sample   bool   `json:"sample"`
	Lacks    string `json:"lacks"`
}

// runHalf prints the id of a run when it has begun, and how it ends.
func runHalf(text string) int {
	var h half
	try(json.Unmarshal([]byte(text), &h))
	ctx := context.Background()
	if h.Work {
		return runWorker(ctx, &h)
	}
	if h.Serve {
		return serve(ctx, &h)
	}
	host := orchestrator.Machine{StateDir: h.State, Elsewhere: true}
	var r *orchestrator.Run
	var err error
	if h.Resume {
		r, err = orchestrator.Resume(ctx, orchestrator.ResumeOptions{Machine: host, Run: h.Run})
	} else {
		o := orchestrator.Options{
			Machine: host, Repo: h.Repo, NATS: h.NATS, Parallel: h.Parallel, Budget: spec.Tokens(h.Budget), Sample: h.Sample,
			Plan:  &orchestrator.File{Name: h.Plan, Data: []byte(h.PlanText)},
			Trust: func(context.Context, []string) (bool, error) { return true, nil },
		}
		if h.Role != "" {
			o.Roles = []orchestrator.File{role(h.Role)}
		}
		if h.Submit {
			o.Elsewhere, o.NATS, o.Review, o.SendEnvironment = false, "", h.Review, h.Send
			return submit(ctx, &o, h.NATS)
		}
		r, err = orchestrator.Start(ctx, o)
	}
	if err == nil {
		fmt.Fprintln(os.Stdout, r.ID())
		var end orchestrator.Result
		if end, err = r.Wait(ctx); err == nil {
			fmt.Fprintln(os.Stdout, end.State, end.Ref, end.Reason)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// permit lets setups run, which have the network, on the worker of a state directory.
func permit(stateDir string) error {
	err := os.MkdirAll(stateDir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(stateDir, "worker.yaml"), []byte("network: [registry.example]\nenvironments: any\n"), 0o600)
	}
	return err
}

// runWorker works for the first run that it finds, and prints what it has to say.
func runWorker(ctx context.Context, h *half) int {
	if err := permit(h.State); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w, err := station.NewWorker(ctx, station.WorkerOptions{
		StateDir: h.State, Server: orchestrator.Server{URL: h.NATS}, Once: true, Name: h.Name, Agents: h.Parallel, Gates: 4,
		Notice: func(text string) { fmt.Fprintln(os.Stderr, text) }, Room: h.room(),
	})
	if err == nil {
		defer w.Close()
		err = w.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// room measures a machine whose disk is full while the file Lacks is there.
func (h *half) room() func(bool, ...string) error {
	if h.Lacks == "" {
		return nil
	}
	return func(bool, ...string) error {
		if _, err := os.Stat(h.Lacks); err != nil {
			return nil
		}
		return &machine.Fault{What: "no space left on device", Path: "/data/slots", Missing: 5 << 20}
	}
}

// process is a half in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
	err bytes.Buffer
}

func spawn(t *testing.T, h half, also ...func(*exec.Cmd)) *process {
	t.Helper()
	text, err := json.Marshal(h)
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), halfVar+"="+string(text))
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr, p.out = &p.err, bufio.NewScanner(out)
	for _, f := range also {
		f(p.cmd)
	}
	require.NoError(t, p.cmd.Start())
	return p
}

// line is the next line that it prints; "" at its end.
func (p *process) line() string {
	p.out.Scan()
	return p.out.Text()
}

func (p *process) ended() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Wait(), p.err.String())
}

func (p *process) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	require.Error(p.t, p.cmd.Wait())
}

// broker starts a server on loopback.
func broker(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s.ClientURL()
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// Two processes with nothing in common but a server land the demo.
func TestTheHalvesLandTheDemoInTwoProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole demo, twice")
	}
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	repo := filepath.Join(dir, "harbour")
	require.NoError(t, sample.Make(t.Context(), g, repo))
	plan, err := sample.PlanFile()
	require.NoError(t, err)
	conduct := spawn(t, half{
		State: filepath.Join(dir, "conduct"), NATS: url, Repo: repo, Plan: filepath.Join(dir, "plan.yaml"), PlanText: string(plan),
		Sample: true, Parallel: 4,
	})
	id := conduct.line()
	require.NotEmpty(t, id)
	work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), NATS: url})
	require.Equal(t, "done refs/heads/divisi/"+id+" 13 landed, proven by one worker", conduct.line())
	conduct.ended()
	work.ended()
	require.NotEmpty(t, gitIn(t, repo, "log", "--oneline", "main..divisi/"+id))
	require.DirExists(t, filepath.Join(dir, "work", "worker", "runs", id, "repo.git"))
	require.NoDirExists(t, filepath.Join(dir, "conduct", "runs", id, "slots"))
}

// Each half outlives the other: what a killed one leaves, the next one goes on with.
func TestSlowAHalfThatIsKilledIsReplaced(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, state, remove := newRepository()
	defer remove()
	h := half{State: state, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sleep, '3600']"}
	first := spawn(t, h)
	h.Run = first.line()
	require.NotEmpty(t, h.Run)
	w := half{Work: true, State: filepath.Join(dir, "work"), NATS: url}
	work := spawn(t, w)
	until(t, url, h.Run, contextscope.KindStarted)
	first.kill()
	h.Resume = true
	second := spawn(t, h)
	require.Equal(t, h.Run, second.line())
	until(t, url, h.Run, contextscope.KindStarted, contextscope.KindStarted)
	work.kill()
	second.kill()
	third := spawn(t, h)
	require.Equal(t, h.Run, third.line())
	again := spawn(t, w)
	until(t, url, h.Run, contextscope.KindStarted, contextscope.KindStarted, contextscope.KindStarted)
	r, err := orchestrator.Local(state).Open(t.Context(), h.Run)
	require.NoError(t, err)
	_, err = r.Act(t.Context(), act.Cancel{Reason: "it was enough"})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "cancelled  it was enough", third.line())
	third.ended()
	again.ended()
}

// until follows the log of the agents of a run until it has had events of these kinds for a task.
func until(t *testing.T, url, id string, kinds ...contextscope.Kind) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{URL: url, Run: id})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	for m, err := range b.Tail(t.Context(), bus.RunFilter(id), 1) {
		require.NoError(t, err)
		for _, e := range wire.DecodeEvents(m) {
			if e.Task == "capitals" && len(kinds) > 0 && e.Kind == kinds[0] {
				kinds = kinds[1:]
			}
		}
		if len(kinds) == 0 {
			return
		}
	}
}

// A run whose workers are elsewhere needs a server that they reach.
func TestElsewhereNeedsAServer(t *testing.T) {
	t.Parallel()
	repo, state, remove := newRepository()
	defer remove()
	_, err := orchestrator.Start(t.Context(), orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: state, Elsewhere: true}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[true]")},
	})
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	entries, err := os.ReadDir(filepath.Join(state, "runs"))
	require.NoError(t, err)
	require.Empty(t, entries)
}
