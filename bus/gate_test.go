package bus

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
	"divisi/internal/testkit/chantest"
)

// TestNoAnswerGoesWhereAMemberMayNotWrite: the server publishes its answers with all rights, wherever a request wants them. So
// the answer to what a member may ask could be an event of the conductor, or a call that empties a stream.
func TestNoAnswerGoesWhereAMemberMayNotWrite(t *testing.T) {
	t.Parallel()
	byEach(t, cutsWhatNoMemberMaySend)
}

func cutsWhatNoMemberMaySend(t *testing.T, s *served) {
	t.Helper()
	s.work(t)
	require.NoError(t, s.Put(soon(t), "call", []byte(`{}`)))
	login := s.joins(t, member.Worker, "w1")
	pushing := `{"stream_name":"EV","config":{"name":"x","filter_subject":"ev.r.m.run","deliver_subject":"task.generator.r.x","ack_policy":"none"}}`
	for name, m := range map[string]*nats.Msg{
		"an event":           {Subject: "$JS.API.STREAM.INFO.EV", Reply: "ev.r.m.forged"},
		"a copy of an event": {Subject: "$JS.API.DIRECT.GET.EV.ev.r.m.run", Reply: "ev.r.m.forged"},
		"a task":             {Subject: "$JS.API.CONSUMER.MSG.NEXT.TASKS.generator", Reply: "task.generator.r.forged"},
		"a call":             {Subject: "$JS.API.DIRECT.GET.OBJ.obj.n.call", Reply: "$JS.API.STREAM.PURGE.OBJ"},
		"a request":          {Subject: "ctl.r.conduct", Reply: "ev.r.m.forged"},
		"with headers":       {Subject: "$JS.API.STREAM.INFO.EV", Reply: "ev.r.m.forged", Header: nats.Header{"A": {"b"}}},
		"a push":             {Subject: "$JS.API.CONSUMER.CREATE.EV.x.ev.r.m.run", Reply: "_INBOX_w1.x", Data: []byte(pushing)},
	} {
		closed := make(chan struct{})
		key, err := login.Key()
		require.NoError(t, err)
		opts := []nats.Option{nats.Secure(member.Pinned(login.Certificate, time.Now))}
		if !s.web { // the WebSocket is that of the client library
			opts = append(opts, nats.TLSHandshakeFirst())
		}
		nc, err := nats.Connect(login.URL, append(opts,
			nats.Nkey(key, login.Sign), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
		require.NoError(t, err)
		require.NoError(t, nc.PublishMsg(m))
		select {
		case <-closed:
		case <-soon(t).Done():
			require.Fail(t, "the connection goes on: "+name)
		}
	}
	newest, err := s.Last(soon(t), "ev.>")
	require.NoError(t, err)
	require.Equal(t, "ev.r.m.run", newest.Subject)
	queued, err := s.Queued(soon(t), "task.>")
	require.NoError(t, err)
	require.Len(t, queued, 1)
	_, err = s.Get(soon(t), "call")
	require.NoError(t, err)
}

// TestAMemberComesInByTheGateAlone: the address on loopback, which processes of the owner attach to, refuses nothing to them.
func TestAMemberComesInByTheGateAlone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	login := s.joins(t, member.Worker, "w1")
	key, err := login.Key()
	require.NoError(t, err)
	_, err = nats.Connect(s.URL(), nats.Nkey(key, login.Sign))
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

// TestMembersConnectAgainWhenTheServerRestarts: the address and the certificate stay.
func TestMembersConnectAgainWhenTheServerRestarts(t *testing.T) {
	t.Parallel()
	byEach(t, connectsAgain)
}

func connectsAgain(t *testing.T, s *served) {
	t.Helper()
	s.work(t)
	b := enters(t, s.joins(t, member.Worker, "w1"))
	back := b.Back()
	require.NoError(t, s.restart())
	select {
	case <-back:
	case <-soon(t).Done():
		require.Fail(t, "the member is not back")
	}
	_, err := b.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("x"), 0)
	require.NoError(t, err)
}

// silent connects from an address and says nothing.
func (s *served) silent(t *testing.T, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(soon(t), "tcp", s.gate.listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// requireClosed waits until the gate has closed a connection.
func requireClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(gatePatience/2)), "before the handshake is over")
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestStrangersTakeNoPlaceOfOthers: the oldest silent connection of an address goes for the next one, and the log has one line.
func TestStrangersTakeNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	told := make(chan int, 64)
	s.gate.crowded.tell = func(times int, _ string) { told <- times }
	g := &s.gate.silent
	g.mu.Lock()
	g.each, g.most = 3, 6
	g.mu.Unlock()
	var first []net.Conn
	for i := range 12 {
		if conn := s.silent(t, "127.0.0.2"); i < 9 {
			first = append(first, conn)
		}
	}
	for _, conn := range first {
		requireClosed(t, conn)
	}
	b := enters(t, s.joins(t, member.Person, "ada"))
	_, err := b.Queued(soon(t), TaskFilter("r"))
	require.NoError(t, err)
	require.Equal(t, 1, chantest.Next(t, told))
	require.Empty(t, told, "the others are told a minute later")
}

// TestAMemberTakesNoPlaceOfOthers: with more connections than it may have it is told so; another one connects.
func TestAMemberTakesNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	byEach(t, func(t *testing.T, s *served) {
		t.Helper()
		g := &s.gate.open
		g.mu.Lock()
		g.each = 3
		g.mu.Unlock()
		login := s.joins(t, member.Viewer, "eve")
		var had *Bus
		for range 3 {
			had = enters(t, login)
		}
		_, err := Open(soon(t), Options{Login: login, Log: zerolog.Nop()})
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, errCrowded.Error())
		enters(t, s.joins(t, member.Person, "ada"))
		require.NoError(t, had.Close(soon(t)))
		require.Eventually(t, func() bool {
			b, err := Open(soon(t), Options{Login: login, Log: zerolog.Nop()})
			return err == nil && b.Close(soon(t)) == nil
		}, time.Minute, 10*time.Millisecond, "the place of one that left is free")
	})
}

// TestALoginComesInTime: who says nothing is cut, who has logged in stays, who joins stays for a while.
func TestALoginComesInTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key  string
		in   bool
		stay time.Duration // 0 for as long as it wants
	}{
		"silent": {stay: loginPatience}, "a member": {in: true, key: "UA"}, "who joins": {in: true, stay: joinPatience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gate{silent: crowd{each: 1, most: 1, oldest: true}, open: crowd{each: 1, most: 1}}
				conn, other := net.Pipe()
				login, leave := g.meet(conn)
				if tt.in {
					require.NoError(t, login(tt.key))
				}
				begun, ended := time.Now(), make(chan time.Duration, 1)
				go func() {
					_, _ = other.Read(make([]byte, 1))
					ended <- time.Since(begun)
				}()
				<-time.After(24 * time.Hour)
				if tt.stay == 0 {
					require.Empty(t, ended)
					require.NoError(t, conn.Close())
				} else {
					require.Equal(t, tt.stay, <-ended)
				}
				leave()
				require.Zero(t, g.silent.count+g.open.count)
			})
		})
	}
}

// TestSlowAPersonConnectsBesideAFlood prints how many commands of a person at 127.0.0.1 succeed while 127.0.0.2 opens 500 silent
// connections a second and a viewer opens 1,100 with its login, and how long they took.
func TestSlowAPersonConnectsBesideAFlood(t *testing.T) {
	t.Parallel()
	const commands, rate, logins = 20, 500, 1100
	s := serve(t)
	eve, ada := s.joins(t, member.Viewer, "eve"), s.joins(t, member.Person, "ada")
	ctx, end := context.WithCancel(context.Background())
	var under sync.WaitGroup
	defer under.Wait()
	defer end()
	var silents, refused atomic.Int64
	under.Go(func() {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
		for pause(ctx, nil, time.Second/rate) == nil {
			conn, err := d.DialContext(ctx, "tcp", s.gate.listener.Addr().String())
			if err == nil {
				silents.Add(1)
				defer func() { _ = conn.Close() }()
			}
		}
	})
	many, left := make(chan struct{}, 8), atomic.Int64{}
	left.Store(logins)
	for range 8 {
		under.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				b, err := Open(ctx, Options{Login: eve, Log: zerolog.Nop()})
				if err != nil {
					refused.Add(1)
					continue
				}
				defer func() { _ = b.Close(context.WithoutCancel(ctx)) }()
			}
			many <- struct{}{}
			<-ctx.Done()
		})
	}
	succeeded, longest := 0, time.Duration(0)
	command := func() {
		begun := time.Now()
		b, err := Open(soon(t), Options{Login: ada, Log: zerolog.Nop()})
		if err == nil {
			_, err = b.Queued(soon(t), TaskFilter("r"))
			err = errors.Join(err, b.Close(soon(t)))
		}
		if err == nil {
			succeeded++
		} else {
			t.Log(err)
		}
		longest = max(longest, time.Since(begun))
	}
	for range commands / 2 { // while they connect
		command()
	}
	for range 8 {
		chantest.Next(t, many)
	}
	for range commands / 2 { // when all have tried
		command()
	}
	t.Logf("%d of %d commands succeeded, the longest in %s, beside %d silent connections and %d of %d refused with one login",
		succeeded, commands, longest.Round(time.Millisecond), silents.Load(), refused.Load(), logins)
	require.Equal(t, commands, succeeded)
	require.EqualValues(t, logins-maxOpenEach, refused.Load())
}

// TestNoReplyLeavesTheInboxes: who answers a request may have more rights than who asked, and publishes where that one says.
func TestNoReplyLeavesTheInboxes(t *testing.T) {
	t.Parallel()
	b := open(t, fast(t))
	replied := make(chan error, 1)
	stop, err := b.Subscribe(soon(t), ControlSubject("r"), func(_ Message, reply func([]byte) error) { replied <- reply(nil) })
	require.NoError(t, err)
	defer stop()
	require.NoError(t, b.nc.PublishRequest(ControlSubject("r"), ConductorSubject("r", "forged"), nil))
	require.ErrorIs(t, chantest.Next(t, replied), ErrSubject)
}
