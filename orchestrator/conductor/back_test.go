package conductor_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// cable stands between a client and a server. While it is deaf, what the server says is lost, and lost is set once that was a
// scout's task; cut breaks it.
type cable struct {
	net.Listener
	deaf  atomic.Bool
	lost  atomic.Bool
	mu    sync.Mutex
	conns []net.Conn
	all   sync.WaitGroup
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{Listener: l}
	c.all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			c.all.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			c.all.Go(func() { _, _ = io.Copy(muffled{c, near}, far); _ = near.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.cut(); c.all.Wait() })
	return c
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
	c.deaf.Store(false)
}

type muffled struct {
	c  *cable
	to io.Writer
}

func (m muffled) Write(p []byte) (int, error) {
	if m.c.deaf.Load() {
		if bytes.Contains(p, []byte("task.scout.")) {
			m.c.lost.Store(true)
		}
		return len(p), nil
	}
	return m.to.Write(p)
}

// A task that the server gave out just before the connection was lost is with no worker. It is taken up soon after the
// connection is back, and not when its time without a sign of life is over.
func TestATaskLostWithAConnectionIsTakenUpSoonAfterIt(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(10*time.Second))
	theirs, ours := newCable(t, srv.Addr().String()), newCable(t, srv.Addr().String())
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Project.Gates, s.AllowUnverified = nil, true
		scout := s.Roles[spec.RoleReader]
		scout.Name = "scout"
		addRoles(s, scout)
		s.Plan = planOf(spec.Task{ID: "a", Role: spec.RoleReader, Brief: "b"},
			spec.Task{ID: "b", Role: "scout", Brief: "b", DependsOn: []string{"a"}})
	})
	r.open(bus.Options{URL: "nats://" + theirs.Addr().String()})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		if a.Task.ID == "a" {
			theirs.deaf.Store(true) // b is lost on its way
		}
		return done()
	})()
	r.open(bus.Options{URL: "nats://" + ours.Addr().String()})
	ended := make(chan run.Status, 1)
	go func() {
		st, _ := r.conduct(t.Context(), r.config())
		ended <- st.Status
	}()
	require.Eventually(t, theirs.lost.Load, time.Minute, time.Millisecond)
	theirs.cut()
	ours.cut()
	back := time.Now()
	require.Equal(t, run.Done, chantest.Next(t, ended))
	require.Less(t, time.Since(back), 40*time.Second, "about 2.5 s on an idle machine; AckWait is a minute")
}
