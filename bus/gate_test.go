package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
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

// TestNoReplyLeavesTheInboxes: who answers a request may have more rights than who asked, and publishes where that one says.
func TestNoReplyLeavesTheInboxes(t *testing.T) {
	t.Parallel()
	b := open(t, fast(t))
	replied := make(chan error, 1)
	stop, err := b.Subscribe(soon(t), ControlSubject("r"), func(_ Message, reply func([]byte) error) { replied <- reply(nil) })
	require.NoError(t, err)
	defer stop()
	require.NoError(t, b.nc.PublishRequest(ControlSubject("r"), ConductorSubject("r", "forged"), nil))
	require.ErrorIs(t, <-replied, ErrSubject)
}
