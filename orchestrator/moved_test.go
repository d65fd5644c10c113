package orchestrator_test

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
)

var moves = flag.Int("moves", 1, "how often the host changes for each cause")

// goesOn is within what time a run goes on when its host has changed, or can.
const goesOn = 30 * time.Second

// TestSlowARunGoesOnWhenItsHostMoves: a worker's call hung for ten minutes in the silence of the host before, and what the next one
// put on the queue was thrown away as forged. More of them: go test ./orchestrator -run HostMoves -v -timeout 3h -moves 30
func TestSlowARunGoesOnWhenItsHostMoves(t *testing.T) {
	t.Parallel()
	for cause, move := range map[string]func(*moving){
		// The host is killed, with calls under way.
		"killed": func(m *moving) { m.conducts.kill() },
		// It stands still for longer than its lease lasts, and finds it another's when it goes on.
		"lease": func(m *moving) {
			m.conducts.signal(syscall.SIGSTOP)
			m.later(25*time.Second, func() { m.conducts.signal(syscall.SIGCONT) })
		},
		// No server stores anything for 20 seconds: no host has the lease then.
		"quorum": func(m *moving) {
			back := m.three.stop(1, 2)
			<-time.After(20 * time.Second)
			back()
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			var took []time.Duration
			for range *moves {
				took = append(took, moved(t, cause == "quorum", move))
				slices.Sort(took)
				t.Logf("%s: %d moves, median %s, worst %s", cause, len(took), took[len(took)/2], took[len(took)-1])
			}
			require.LessOrEqual(t, took[len(took)-1], goesOn)
		})
	}
}

// moving is a run with two hosts and a worker.
type moving struct {
	t        *testing.T
	conducts hosting
	three    *trio
	timers   []*time.Timer
}

func (m *moving) later(d time.Duration, do func()) {
	m.timers = append(m.timers, time.AfterFunc(d, do))
}

func (p *process) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Error(err)
	}
}

// moved moves the host of a run, and returns how long it takes until two attempts end that the next one has given out.
func moved(t *testing.T, cluster bool, move func(*moving)) time.Duration {
	t.Helper()
	m, dir := &moving{t: t}, t.TempDir()
	var at string
	if cluster {
		m.three = startTrio(t)
		at = m.three.url
	} else {
		at = broker(t)
	}
	repo, laptop, remove := newRepository()
	defer remove()
	m.conducts = hostAt(t, filepath.Join(dir, "one"), at)
	other := hostAt(t, filepath.Join(dir, "two"), at)
	var plan strings.Builder
	plan.WriteString("goal: Write files\ntasks:\n")
	for i := range 200 {
		fmt.Fprintf(&plan, "  - {id: t%d, role: editor, brief: Write the file., files: [f%d.txt]}\n", i, i)
	}
	id := submitted(t, half{
		State: laptop, NATS: at, Repo: repo, Plan: "plan.yaml", PlanText: plan.String(),
		Role: `[sh, -c, 'sleep 1; cp notes.txt "$DIVISI_FILES"']`,
	})
	work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: at, Parallel: 4})
	defer func() {
		for _, timer := range m.timers {
			timer.Stop()
		}
		for _, p := range []*process{m.conducts.process, other.process, work} {
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}()
	b, err := bus.Open(t.Context(), bus.Options{URL: at, Run: id})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(t.Context())) }()

	setUps, results, since := 0, 0, time.Time{}
	for e, err := range b.Tail(t.Context(), bus.RunFilter(id), 1) {
		require.NoError(t, err)
		switch text := string(e.Data); {
		case strings.Contains(text, `"setup":"setup-`):
			setUps, results = setUps+1, 0
		case strings.Contains(e.Subject, ".a.") && strings.Contains(text, `"kind":"`+string(contextscope.KindResult)+`"`):
			results++
		}
		if results < 2 {
			continue
		}
		if setUps > 1 && !since.IsZero() {
			break
		}
		if since.IsZero() {
			before := time.Now()
			move(m)
			if since = before; cluster { // before that no host can
				since = time.Now()
			}
			results = 0
		}
	}
	return time.Since(since).Round(100 * time.Millisecond)
}

// trio are three servers that know each other.
type trio struct {
	t       *testing.T
	url     string
	options []*server.Options
	servers []*server.Server
}

func startTrio(t *testing.T) *trio {
	t.Helper()
	three := &trio{t: t, servers: make([]*server.Server, 3)}
	var ports []int
	var held []net.Listener
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held, ports = append(held, l), append(ports, l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // of tcp
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	var routes []*url.URL
	var urls []string
	for i := range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", ports[3+i])})
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	three.url = strings.Join(urls, ",")
	for i := range 3 {
		three.options = append(three.options, &server.Options{
			ServerName: fmt.Sprintf("s%d", i), Host: "127.0.0.1", Port: ports[i], NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
			JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[3+i]}, Routes: routes,
		})
	}
	three.start(0, 1, 2)
	t.Cleanup(func() {
		for _, s := range three.servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(three.servers, func(s *server.Server) bool {
			return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3
		})
	}, time.Minute, 20*time.Millisecond)
	return three
}

// start starts servers.
func (c *trio) start(which ...int) {
	for _, i := range which {
		s, err := server.NewServer(c.options[i].Clone())
		if err != nil {
			c.t.Error(err)
			return
		}
		s.Start()
		c.servers[i] = s
	}
}

// stop stops servers, until back.
func (c *trio) stop(which ...int) (back func()) {
	for _, i := range which {
		c.servers[i].Shutdown()
		c.servers[i].WaitForShutdown()
	}
	return func() { c.start(which...) }
}
