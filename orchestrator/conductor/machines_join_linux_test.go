package conductor_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/fleet"
)

// BenchmarkMachinesJoin has a worker join a server that waits with a run of a large repository, and begin its first task, beside
// git clone of the repository from a git daemon. Both cross a proxy on loopback that counts bytes. Then the next commit has a
// run, and one of a hundred tasks. A task begins when the tree of its attempt is there.
func BenchmarkMachinesJoin(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, files := range []int{2500, 25000} {
		b.Run(fmt.Sprintf("%d-files", files), func(b *testing.B) {
			for b.Loop() {
				l := newLarge(b, program, files)
				cloned, clonedBytes := l.clone(b)
				l.job(b, "command: [sh, -c, 'echo line >> \"$1\"', sh, '{files}']", "shard: {by: file, glob: 'd000/f00.txt'}")
				joinAndGoOn(b, l, cloned)
				b.ReportMetric(cloned.Seconds(), "clone-s")
				b.ReportMetric(clonedBytes/1e6, "clone-MB")
			}
		})
	}
}

func joinAndGoOn(b *testing.B, l *large, cloned time.Duration) {
	b.Helper()
	ctx, m := b.Context(), newMachines(b, l.program)
	line := throughProxy(b, m.addr)
	token, err := m.Token(ctx, "worker", "w0", line.Addr())
	require.NoError(b, err)
	first := m.submit(b, l.args()...)
	require.NoError(b, fleet.Again(ctx, time.Minute, func() error { return m.isRunning(b, first) }))
	require.NoError(b, m.Permit("w0"))
	w := m.Process("w0", "server", "worker", "--join", token, "--name", "w0", "--agents", "4")
	began := time.Now()
	m.start(b, w)
	joined := m.begins(b, first).Sub(began)
	b.ReportMetric(joined.Seconds(), "join-s")
	b.ReportMetric(joined.Seconds()/cloned.Seconds(), "times-clone")
	b.ReportMetric(1.5, "goal-x")
	b.ReportMetric(float64(line.Passed())/1e6, "join-MB")

	l.write(b, "repo/d000/f00.txt", "another line\n")
	sh(b, l.repo, "git -c user.name=t -c user.email=t@t commit -q -a -m next")
	passed, began := line.Passed(), time.Now()
	next := m.submit(b, l.args()...)
	submitted := time.Since(began)
	b.ReportMetric((m.begins(b, next).Sub(began) - submitted).Seconds(), "next-s")
	b.ReportMetric(2, "next-goal-s")
	b.ReportMetric(submitted.Seconds(), "submit-s")
	b.ReportMetric(float64(line.Passed()-passed)/1e3, "next-KB")

	const tasks = 100
	l.job(b, "command: [sh, -c, 'echo line >> \"$1\"', sh, '{files}']", "shard: {by: file, glob: 'd001/*', max_files: 1}")
	passed = line.Passed()
	m.watch(b, m.submit(b, l.args()...), func(contextscope.Event) {})
	b.ReportMetric(float64(line.Passed()-passed)/1e3/tasks, "KB/task")
	m.end()
}

// throughProxy is a proxy in front of a server.
func throughProxy(b *testing.B, server string) *fleet.Proxy {
	b.Helper()
	p, err := fleet.NewProxy(b.Context(), server)
	require.NoError(b, err)
	b.Cleanup(p.End)
	return p
}

// clone clones the repository from a daemon, and returns how long that took and the bytes on the wire.
func (l *large) clone(b *testing.B) (took time.Duration, bytes float64) {
	b.Helper()
	addr, err := fleet.FreeAddr(b.Context())
	require.NoError(b, err)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(b, err)
	git, err := exec.LookPath("git")
	require.NoError(b, err)
	f := fleet.New(filepath.Join(b.TempDir(), "daemon"), git)
	require.NoError(b, f.Make())
	daemon := &fleet.Process{
		Name: "daemon", Dir: f.Dir, Program: git, Env: f.Env,
		Args: []string{"daemon", "--listen=127.0.0.1", "--port=" + port, "--base-path=" + l.dir, "--export-all"},
	}
	require.NoError(b, daemon.Start())
	defer f.Sweep()
	defer daemon.Kill()
	require.NoError(b, fleet.Again(b.Context(), time.Minute, func() error {
		return exec.CommandContext(b.Context(), git, "ls-remote", "git://"+addr+"/repo").Run()
	}))
	line := throughProxy(b, addr)
	began := time.Now()
	sh(b, f.Dir, "git clone -q git://"+line.Addr()+"/repo clone")
	return time.Since(began), float64(line.Passed())
}

// isRunning reports an error until a run has tasks for workers.
func (m *machines) isRunning(b *testing.B, run string) error {
	b.Helper()
	out, err := m.Command(b.Context(), person, "show", run, "--on", fleet.Hub)
	if err != nil {
		return err
	}
	var shown struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		return err
	}
	if shown.State != "running" {
		return fmt.Errorf("the run is %s", shown.State)
	}
	return nil
}

// begins waits for the end of a run, and returns when the tree of its first task was there.
func (m *machines) begins(b *testing.B, run string) (when time.Time) {
	b.Helper()
	m.watch(b, run, func(e contextscope.Event) {
		if e.Task == "" || e.Task == "--baseline" || e.Attempt != 1 {
			return
		}
		switch e.Kind {
		case contextscope.KindStarted:
			if when.IsZero() {
				when = e.Time
			}
		case contextscope.KindResult:
			var r spec.Result
			require.NoError(b, json.Unmarshal(e.Data, &r))
			when = when.Add(r.Slot)
		}
	})
	require.False(b, when.IsZero())
	return when
}
