package conductor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/testkit/fleet"
)

// person is the state directory of who submits runs.
const person = "person"

// machines are processes on this machine that would be on several: a server that conducts and has no places, workers, and a
// person.
type machines struct {
	*fleet.Fleet

	addr    string
	host    *fleet.Process
	workers []*fleet.Process
}

// newMachines starts a server. All processes have env in their environment.
func newMachines(b *testing.B, program string, env ...string) *machines {
	b.Helper()
	m := &machines{Fleet: fleet.New(filepath.Join(b.TempDir(), "machines"), program)}
	require.NoError(b, m.Make())
	b.Cleanup(m.Sweep)
	m.Env = append(m.Env, env...)
	var err error
	m.addr, err = fleet.FreeAddr(b.Context())
	require.NoError(b, err)
	m.host = m.Process(fleet.Serve, "server", "start", "--agents", "0", "--listen", m.addr)
	m.start(b, m.host)
	require.NoError(b, m.Join(b.Context(), "person", person, m.addr))
	return m
}

// start starts a process that ends with the benchmark, and waits until it serves.
func (m *machines) start(b *testing.B, p *fleet.Process) {
	b.Helper()
	require.NoError(b, p.Start())
	b.Cleanup(p.Kill)
	require.NoError(b, fleet.Serves(b.Context(), p))
}

// hire starts more workers.
func (m *machines) hire(b *testing.B, workers int, flags ...string) {
	b.Helper()
	for range workers {
		name := fmt.Sprintf("w%d", len(m.workers))
		require.NoError(b, m.Join(b.Context(), "worker", name, m.addr))
		require.NoError(b, m.Permit(name))
		w := m.Process(name, append([]string{"server", "worker", "--on", fleet.Hub}, flags...)...)
		m.workers = append(m.workers, w)
		m.start(b, w)
	}
}

// end ends all processes, so that they do not disturb what is measured next.
func (m *machines) end() {
	for _, p := range append(m.workers, m.host) {
		p.Kill()
	}
	m.Sweep()
}

// submit leaves a run with the server.
func (m *machines) submit(b *testing.B, args ...string) string {
	b.Helper()
	out, err := m.Run(b.Context(), person, append(args, "--on", fleet.Hub, "--detach")...)
	require.NoError(b, err)
	var started struct {
		Run string `json:"run"`
	}
	require.NoError(b, json.Unmarshal(out, &started))
	return started.Run
}

// watch calls visit with the events of a run, as they come, until it has ended.
func (m *machines) watch(b *testing.B, run string, visit func(contextscope.Event)) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), m.Program, "watch", run, "--on", fleet.Hub, "--output", "json",
		"--state-dir", filepath.Join(m.Dir, person))
	cmd.Env, cmd.Stderr = m.Env, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	printedEvents(b, out, visit)
	require.NoError(b, cmd.Wait())
}

// takes is how long a command of the person takes.
func (m *machines) takes(b *testing.B, args ...string) time.Duration {
	b.Helper()
	began := time.Now()
	_, err := m.Run(b.Context(), person, args...)
	require.NoError(b, err)
	return time.Since(began)
}

// peaks are the most memory that the server, and that one of the workers, had so far.
func (m *machines) peaks(b *testing.B) (host, worker float64) {
	b.Helper()
	host, ok := peakMB(m.host.PID())
	require.True(b, ok)
	for _, w := range m.workers {
		peak, ok := peakMB(w.PID())
		require.True(b, ok)
		worker = max(worker, peak)
	}
	return host, worker
}
