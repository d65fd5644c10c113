package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

func TestOneOwner(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		require.Equal(t, o.URL == "", b.Embedded())
		require.NotContains(t, b.URL(), "secret")

		_, err := Open(ctx, o)
		var locked *LockedError
		require.ErrorAs(t, err, &locked)
		require.Equal(t, os.Getpid(), locked.PID)
		require.Equal(t, filepath.Join(o.Dir, lockName), locked.Path)
		require.Contains(t, locked.Error(), b.URL())

		path := filepath.Join(o.Dir, OwnerFile)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var h map[string]any
		require.NoError(t, json.Unmarshal(data, &h))
		require.Equal(t, b.URL(), h["url"])
		require.InDelta(t, os.Getpid(), h["pid"], 0)
		require.NotEmpty(t, h["user"])
		require.NotEmpty(t, h["password"])
		require.NotEmpty(t, h["started"])
		lock, err := os.ReadFile(locked.Path)
		require.NoError(t, err)
		require.NotContains(t, string(lock), h["password"])

		require.NoError(t, b.Close(ctx))
		require.NoFileExists(t, path)
		again := open(t, o)
		require.Equal(t, o.URL == "", again.Embedded())
	})
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		ctx := soon(t)
		b := open(t, o)
		pos, err := b.Append(ctx, ConductorSubject("r", "x"), []byte("a"), 0)
		require.NoError(t, err)
		require.NoError(t, b.Put(ctx, "name", []byte("b")))
		require.NoError(t, b.Enqueue(ctx, TaskSubject("reader", "r", "t"), "id", []byte("c")))
		require.NoError(t, b.Close(ctx))

		b = open(t, o)
		last, err := b.Last(ctx, RunFilter("r"))
		require.NoError(t, err)
		require.Equal(t, pos, last.Pos)
		data, err := b.Get(ctx, "name")
		require.NoError(t, err)
		require.Equal(t, "b", string(data))
		require.Equal(t, "c", string(next(t, queue(t, b, "reader", QueueOptions{})).Data))
	})
}

func TestAttach(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		ctx := soon(t)
		_, err := Attach(ctx, o.Dir)
		require.ErrorIs(t, err, ErrNoOwner)
		_, err = Attach(ctx, filepath.Join(o.Dir, "nowhere"))
		require.ErrorIs(t, err, ErrNoOwner)

		b := open(t, o)
		a, err := Attach(ctx, o.Dir)
		require.NoError(t, err)
		require.False(t, a.Embedded())
		pos, err := a.Append(ctx, ConductorSubject("r", "x"), []byte("from outside"), 0)
		require.NoError(t, err)
		last, err := b.Last(ctx, RunFilter("r"))
		require.NoError(t, err)
		require.Equal(t, pos, last.Pos)
		require.NoError(t, a.Close(ctx))
		require.FileExists(t, filepath.Join(o.Dir, OwnerFile), "only the owner removes it")
	})
}

// TestOwnerEnds: what is attached to a run learns that the run's process is gone, and does not wait for ever.
func TestOwnerEnds(t *testing.T) {
	t.Parallel()
	ctx, o := soon(t), fast(t)
	b := open(t, o)
	a, err := Attach(ctx, o.Dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close(ctx)) }()
	_, err = a.Append(ctx, ConductorSubject("r", "x"), nil, 0)
	require.NoError(t, err)
	var end error
	for _, err := range a.Tail(ctx, RunFilter("r"), 0) {
		if err == nil {
			require.NoError(t, b.Close(ctx))
		}
		end = err
	}
	require.ErrorIs(t, end, ErrNoOwner)
	_, err = a.Append(ctx, ConductorSubject("r", "x"), nil, 0)
	require.ErrorIs(t, err, ErrNoOwner)
	_, err = Attach(ctx, o.Dir)
	require.ErrorIs(t, err, ErrNoOwner)
}

func TestCloseIsQuickAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		_, err := b.Subscribe(ctx, "ctl.r", func(Message, func([]byte) error) {})
		require.NoError(t, err)
		q := queue(t, b, "generator", QueueOptions{})
		asking := make(chan struct{})
		var wg sync.WaitGroup
		var nextErr, tailErr error
		wg.Go(func() {
			close(asking)
			_, nextErr = q.Next(ctx)
		})
		wg.Go(func() {
			for _, err := range b.Tail(ctx, RunFilter("r"), 0) {
				tailErr = err
			}
		})
		chantest.Next(t, asking)
		begun := time.Now()
		for range 3 {
			wg.Go(func() {
				if err := b.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Less(t, time.Since(begun), pullExpiry, "it ends what waits")
		require.ErrorIs(t, nextErr, ErrClosed)
		require.ErrorIs(t, tailErr, ErrClosed)
		_, err = b.Append(ctx, ConductorSubject("r", "x"), nil, 0)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, b.Enqueue(ctx, TaskSubject("x", "r", "t"), "id", nil), ErrClosed)
		_, err = b.Get(ctx, "x")
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, b.Purge(ctx, "task.>"), ErrClosed)
	})
}

// TestHandlerThatHangs: Close keeps its time, and reports the handler.
func TestHandlerThatHangs(t *testing.T) {
	t.Parallel()
	o := fast(t)
	b, err := Open(context.Background(), o)
	require.NoError(t, err)
	entered, leave := make(chan struct{}), make(chan struct{})
	_, err = b.Subscribe(soon(t), "ctl.r", func(Message, func([]byte) error) {
		close(entered)
		<-leave
	})
	require.NoError(t, err)
	require.NoError(t, b.Publish(soon(t), "ctl.r", nil))
	chantest.Next(t, entered)
	short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.Close(short), context.DeadlineExceeded)
	close(leave)
	open(t, o) // the server stops in the meantime and gives the lock up
}

func TestOpenFailsClearly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	blocked := filepath.Join(dir, "blocked")
	require.NoError(t, os.Mkdir(blocked, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(blocked, "jetstream"), nil, 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	absent := gone.Addr().String()
	require.NoError(t, gone.Close())
	known := externalServer(t, t.TempDir(), 0).Addr().String()
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	require.NoError(t, err)
	plain.Start()
	t.Cleanup(plain.Shutdown)
	require.True(t, plain.ReadyForConnections(10*time.Second))

	for name, c := range map[string]struct {
		o    Options
		says string
	}{
		"nothing":            {Options{}, "neither a directory nor a server"},
		"directory is file":  {Options{Dir: filepath.Join(file, "sub")}, "not a directory"},
		"store is no folder": {Options{Dir: blocked}, "not a directory"},
		"port in use":        {Options{Dir: filepath.Join(dir, "a"), Listen: taken.Addr().String()}, "address already in use"},
		"no port":            {Options{Dir: filepath.Join(dir, "b"), Listen: "127.0.0.1"}, "host:port"},
		"odd port":           {Options{Dir: filepath.Join(dir, "b2"), Listen: "127.0.0.1:nats"}, "no port number"},
		"no server":          {Options{Dir: filepath.Join(dir, "c"), URL: "nats://ann:secret@" + absent}, "no NATS server"},
		"wrong password":     {Options{Dir: filepath.Join(dir, "d"), URL: "nats://ann:secrets@" + known}, "Authorization"},
		"no password":        {Options{URL: known}, "Authorization Violation"},
		"no address":         {Options{URL: "nats://ann:secret@:x:y"}, "not like nats://"},
		"no JetStream":       {Options{URL: plain.ClientURL()}, "is it enabled there?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(soon(t), c.o)
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
			if c.o.Dir != "" && name != "directory is file" {
				free, err := lockFree(c.o.Dir)
				require.NoError(t, err)
				require.True(t, free, "a failed start gives the directory up")
				require.NoFileExists(t, filepath.Join(c.o.Dir, OwnerFile))
			}
		})
	}
}

// TestFullStore: each kind of write reports at once that there is no room, and stored messages stay readable.
func TestFullStore(t *testing.T) {
	t.Parallel()
	o, ctx := fast(t), soon(t)
	o.MaxStore = 2 << 20
	b := open(t, o)
	s := ConductorSubject("r", "x")
	var last uint64
	var err error
	n := 0
	for ; n < 10 && err == nil; n++ {
		var pos uint64
		if pos, err = b.Append(ctx, s, bytes.Repeat([]byte{byte(n)}, 512<<10), last); err == nil {
			last = pos
		}
	}
	require.ErrorIs(t, err, ErrFull)
	require.GreaterOrEqual(t, n, 3)
	require.ErrorIs(t, b.Put(ctx, "x", make([]byte, 1<<19)), ErrFull)
	require.ErrorIs(t, b.Enqueue(ctx, TaskSubject("x", "r", "t"), "id", make([]byte, 1<<19)), ErrFull)
	kept := collect(t, b, ctx, RunFilter("r"), 0)
	require.Len(t, kept, n-1)
	require.NoError(t, b.Close(ctx))

	o.MaxStore = 0
	b = open(t, o)
	_, err = b.Append(ctx, s, []byte("there is room again"), last)
	require.NoError(t, err)
}

// What is shown of an address has no password.
func TestAnAddressIsShownWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for address, shown := range map[string]string{
		"nats://ann:secret@a:4222, b:4222": "nats://a:4222,nats://b:4222",
		"tls://a:4222":                     "tls://a:4222",
		"nats://ann:sec%ret@:4222":         ":4222",
	} {
		require.Equal(t, shown, Shown(address))
	}
}

func TestAnExternalServerCannotBeSharedWithTooSmallMessages(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, MaxPayload: 64 << 10,
	})
	require.NoError(t, err)
	s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(10*time.Second))
	_, err = Open(soon(t), Options{URL: s.ClientURL()})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "max_payload")
}

// TestForbiddenCalls: the server answers a forbidden call with silence; the log and the error name the reason, at once.
func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	everything := &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{">"}}}
	little := &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"$JS.API.STREAM.INFO.>"}}}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 20,
		Users: []*server.User{
			{Username: "ann", Password: "secret", Permissions: everything},
			{Username: "bob", Password: "secret", Permissions: little},
		},
	})
	require.NoError(t, err)
	s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(10*time.Second))
	open(t, Options{URL: "nats://ann:secret@" + s.Addr().String()})

	var log syncBuffer
	bob := open(t, Options{URL: "nats://bob:secret@" + s.Addr().String(), Log: zerolog.New(&log)})
	_, err = bob.Append(soon(t), ConductorSubject("r", "x"), nil, 0)
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "may not append as the conductor (ev.r.m.x)")
	require.NotContains(t, log.String(), "ermissions", "what a call returns is not logged too")
}

func TestStreamsOfAnotherShapeAreBroughtIntoShape(t *testing.T) {
	t.Parallel()
	ctx, o := soon(t), fast(t)
	b := open(t, o)
	c := b.objects.CachedInfo().Config
	c.MaxMsgsPerSubject = 7
	c.Description = "an operator's note"
	_, err := b.js.UpdateStream(ctx, c)
	require.NoError(t, err)
	require.NoError(t, b.Close(ctx))
	b = open(t, o)
	require.Equal(t, int64(1), b.objects.CachedInfo().Config.MaxMsgsPerSubject)
	require.Equal(t, "an operator's note", b.objects.CachedInfo().Config.Description)
	require.True(t, b.events.CachedInfo().Config.DenyDelete)
}

func TestTheServersLogArrives(t *testing.T) {
	t.Parallel()
	o := fast(t)
	var log syncBuffer
	o.Log = zerolog.New(&log).Level(zerolog.TraceLevel)
	b := open(t, o)
	require.NoError(t, b.Close(soon(t)))
	require.Contains(t, log.String(), "nats-server")
	require.Contains(t, log.String(), "Starting JetStream")
	require.NotContains(t, log.String(), `"level":"error"`)
	require.NotContains(t, log.String(), `"level":"warn"`)
}

func TestClassesDoNotOverlap(t *testing.T) {
	t.Parallel()
	b := open(t, fast(t))
	for _, err := range []error{ErrFull, ErrUnavailable, ErrClosed, ErrNoOwner, ErrFenced, ErrTooLarge} {
		require.Equal(t, err, b.class(context.Background(), err))
	}
	require.NoError(t, b.class(context.Background(), nil))
	require.ErrorIs(t, b.class(context.Background(), errors.New("?")), ErrUnavailable)
}

type syncBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
