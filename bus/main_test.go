package bus

import (
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childEnv makes the test binary play another process; see process_test.go.
const childEnv = "DIVISI_BUS_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role)) //nolint:forbidigo // here the test binary is another program
	}
	goleak.VerifyTestMain(m)
}

// fast opens without fsync: most tests are not about the disk.
func fast(t testing.TB) Options {
	no := false
	return Options{Dir: t.TempDir(), Sync: &no, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)}
}

func open(t testing.TB, o Options) *Bus {
	t.Helper()
	b, err := Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

// backends are the two ways to get a bus; the same tests run on both.
func backends(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, fast(t))
	})
	t.Run("external", func(t *testing.T) {
		t.Parallel()
		o := fast(t)
		s := externalServer(t, t.TempDir(), 0)
		o.URL = "nats://ann:secret@" + s.Addr().String()
		test(t, o)
	})
}

// externalServer is another server, with a password. port 0 takes any.
func externalServer(t testing.TB, dir string, port int) *server.Server {
	t.Helper()
	return externalServerOf(t, dir, port, 1<<30)
}

// externalServerOf is an externalServer whose store takes so many bytes.
func externalServerOf(t testing.TB, dir string, port int, store int64) *server.Server {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoSigs: true, JetStream: true, StoreDir: dir,
		JetStreamMaxStore: store, JetStreamMaxMemory: 64 << 20, Username: "ann", Password: "secret",
	})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10*time.Second))
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func portOf(t testing.TB, s *server.Server) int {
	t.Helper()
	_, text, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return port
}

// soon bounds what must not hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
