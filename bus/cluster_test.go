package bus

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// cluster starts servers that know each other, and returns them and their addresses with commas between.
func cluster(t *testing.T, n int) ([]*server.Server, string) {
	t.Helper()
	return clusterOf(t, n, func() *server.Options { return &server.Options{} })
}

// clusterOf is cluster with what each server has besides.
func clusterOf(t *testing.T, n int, options func() *server.Options) ([]*server.Server, string) {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var all []*server.Server
	var urls []string
	for i := range n {
		o := options()
		o.ServerName, o.Host, o.Port, o.NoSigs, o.JetStream = fmt.Sprintf("s%d", i), "127.0.0.1", server.RANDOM_PORT, true, true
		o.StoreDir, o.JetStreamMaxStore, o.JetStreamMaxMemory = t.TempDir(), 1<<30, 64<<20
		o.Cluster, o.Routes = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}, routes
		s, err := server.NewServer(o)
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		all = append(all, s)
	}
	for _, s := range all {
		require.True(t, s.ReadyForConnections(10*time.Second))
		urls = append(urls, s.ClientURL())
	}
	require.Eventually(t, func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() && s.NumRoutes() > 0 {
				return len(s.JetStreamClusterPeers()) == n
			}
		}
		return false
	}, 20*time.Second, 20*time.Millisecond)
	return all, strings.Join(urls, ",")
}

// A cluster whose third server joins while the streams are made waits for it, and has three copies.
func TestAClusterWaitsForItsServers(t *testing.T) {
	t.Parallel()
	var first *server.Options
	all, _ := clusterOf(t, 2, func() *server.Options {
		first = &server.Options{}
		return first
	})
	third := first.Clone()
	third.ServerName, third.StoreDir, third.Port, third.Cluster.Port = "s2", t.TempDir(), server.RANDOM_PORT, server.RANDOM_PORT
	late, err := server.NewServer(third)
	require.NoError(t, err)
	t.Cleanup(func() { late.Shutdown(); late.WaitForShutdown() })
	defer time.AfterFunc(time.Second, late.Start).Stop()
	o := fast(t)
	o.Dir, o.URL = "", all[0].ClientURL()
	b := open(t, o)
	require.Equal(t, 3, b.events.CachedInfo().Config.Replicas)
}

// All is on three servers, and one of them may go while it is used.
func TestAClusterLosesAServer(t *testing.T) {
	t.Parallel()
	for _, leads := range []string{streamEvents, streamCache} {
		t.Run(leads, func(t *testing.T) {
			t.Parallel()
			losesAServer(t, leads)
		})
	}
}

func losesAServer(t *testing.T, leads string) {
	t.Helper()
	all, urls := cluster(t, 3)
	o := fast(t)
	o.Dir, o.URL = "", urls
	b, ctx := open(t, o), soon(t)
	for name, copies := range map[string]int{streamEvents: 3, streamTasks: 3, streamObjects: 3, streamLeases: 3, streamCache: 3} {
		s, err := b.js.Stream(ctx, name)
		require.NoError(t, err)
		require.Equal(t, copies, s.CachedInfo().Config.Replicas, name)
	}
	require.Equal(t, jetstream.NoCompression, b.events.CachedInfo().Config.Compression)
	l := b.NewLease("host", "one", 0)
	_, err := l.Take(ctx, ignore)
	require.NoError(t, err)
	require.NoError(t, b.Put(ctx, "object", []byte("kept")))

	last := uint64(0)
	for i := range 30 {
		if i == 10 {
			stream, err := b.js.Stream(ctx, leads)
			require.NoError(t, err)
			leader := stream.CachedInfo().Cluster.Leader // which answers
			for _, s := range all {
				if s.Name() == leader {
					s.Shutdown()
				}
			}
		}
		last, err = b.Append(ctx, ConductorSubject("r", "run"), fmt.Append(nil, i), last)
		require.NoError(t, err, i)
	}
	var got []string
	for m, err := range b.Read(ctx, RunFilter("r"), 0) {
		require.NoError(t, err)
		got = append(got, string(m.Data))
	}
	require.Len(t, got, 30)
	for i, data := range got {
		require.Equal(t, fmt.Sprint(i), data)
	}
	data, err := b.Get(ctx, "object")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
	require.NoError(t, l.Keep(ctx, noting(nil)))
	late := open(t, o)
	require.NoError(t, late.Cache().Put(ctx, "pack", []byte("sent")))
	data, err = b.Cache().Get(ctx, "pack")
	require.NoError(t, err)
	require.Equal(t, "sent", string(data))
}

// A cluster answers a message before it has done with it, and refuses for a moment what is fenced by it: a writer who is alone
// is never fenced. A thousand appends on a busy machine met it once or twice.
func TestAClusterFencesNoOneByItsOwnMessage(t *testing.T) {
	t.Parallel()
	inProcess := &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}
	require.True(t, transient(inProcess))
	require.False(t, refused(inProcess))
	if testing.Short() {
		t.Skip("the thousand appends take a minute")
	}
	_, urls := cluster(t, 3)
	o := fast(t)
	o.Dir, o.URL = "", urls
	b := open(t, o)
	last := uint64(0)
	for i := range 1000 {
		var err error
		last, err = b.Append(t.Context(), ConductorSubject("r", "run"), fmt.Append(nil, i), last)
		require.NoError(t, err, i)
	}
}

// Two servers are a cluster too, and have no three copies.
func TestASmallClusterKeepsOneCopy(t *testing.T) {
	t.Parallel()
	_, urls := cluster(t, 2)
	o := fast(t)
	o.Dir, o.URL = "", urls
	b := open(t, o)
	require.Equal(t, 1, b.events.CachedInfo().Config.Replicas)
}

// Servers that are busy elect for longer than one answer may take: what their streams are opened with waits for that too.
func TestTheStreamsOfAClusterMayBeElecting(t *testing.T) {
	t.Parallel()
	_, urls := cluster(t, 2)
	one := externalServer(t, t.TempDir(), 0)
	for at, patience := range map[string]time.Duration{
		urls: retryPatience, "nats://ann:secret@" + one.Addr().String(): openPatience,
	} {
		h, err := external(Options{URL: at})
		require.NoError(t, err)
		b := &Bus{}
		b.init()
		require.NoError(t, b.connect(h))
		require.Equal(t, patience, b.retryPatience)
		require.NoError(t, b.Close(t.Context()))
	}
}
