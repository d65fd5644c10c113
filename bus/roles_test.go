package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// work is what the server has before members come: a task, an event, objects.
func (s *served) work(t *testing.T) {
	t.Helper()
	work(t, s.Bus)
}

func work(t *testing.T, s *Bus) {
	t.Helper()
	ctx := soon(t)
	_, err := s.Append(ctx, ConductorSubject("r", "run"), []byte("begin"), 0)
	require.NoError(t, err)
	require.NoError(t, s.Enqueue(ctx, TaskSubject("generator", "r", "t--1"), "1", []byte("do")))
	require.NoError(t, s.Put(ctx, "kept", []byte("object")))
	require.NoError(t, s.Cache().Put(ctx, "cached", []byte("object")))
}

// calls are what the public methods of a bus do, by name.
func calls(name string) map[string]func(ctx context.Context, b *Bus) error {
	return map[string]func(ctx context.Context, b *Bus) error{
		"append own": func(ctx context.Context, b *Bus) error {
			_, err := b.AppendFiltered(ctx, AttemptSubject("r", name, "generator", "t", 1), AttemptFilter("r", "generator", "t", 1), nil, 0)
			return err
		},
		"append as conductor": func(ctx context.Context, b *Bus) error {
			_, err := b.Append(ctx, ConductorSubject("r", "landed"), nil, 0)
			return err
		},
		"append as another": func(ctx context.Context, b *Bus) error {
			_, err := b.Append(ctx, AttemptSubject("r", "other", "generator", "t", 1), nil, 0)
			return err
		},
		"enqueue": func(ctx context.Context, b *Bus) error {
			return b.Enqueue(ctx, TaskSubject("generator", "r", "t--2"), "2", nil)
		},
		"purge": func(ctx context.Context, b *Bus) error { return b.Purge(ctx, TaskFilter("r")) },
		"forget": func(ctx context.Context, b *Bus) error {
			_, err := b.Forget(ctx, "r")
			return err
		},
		"take": func(ctx context.Context, b *Bus) error {
			q, err := b.Queue(ctx, "generator", QueueOptions{Run: "r"})
			if err != nil {
				return err
			}
			d, err := q.Next(ctx)
			if err != nil {
				return err
			}
			if err := d.InProgress(ctx); err != nil {
				return err
			}
			return d.Ack(ctx)
		},
		"read": func(ctx context.Context, b *Bus) error {
			for m, err := range b.Read(ctx, RunFilter("r"), 0) {
				if err != nil || string(m.Data) != "begin" {
					return fmt.Errorf("read %q: %w", m.Data, err)
				}
				return nil
			}
			return fmt.Errorf("nothing was read")
		},
		"last": func(ctx context.Context, b *Bus) error {
			_, err := b.Last(ctx, RunFilter("r"))
			return err
		},
		"queued": func(ctx context.Context, b *Bus) error {
			_, err := b.Queued(ctx, TaskFilter("r"))
			return err
		},
		"put": func(ctx context.Context, b *Bus) error { return b.Put(ctx, "of "+name, make([]byte, 2*objectPiece)) },
		"get": func(ctx context.Context, b *Bus) error {
			_, err := b.Get(ctx, "kept")
			return err
		},
		"cache put": func(ctx context.Context, b *Bus) error { return b.Cache().Put(ctx, "of "+name, nil) },
		"cache get": func(ctx context.Context, b *Bus) error {
			_, err := b.Cache().Get(ctx, "cached")
			return err
		},
		"publish":      func(ctx context.Context, b *Bus) error { return b.Publish(ctx, ActiveSubject("r"), nil) },
		"call":         request(CallSubject("r", name)),
		"call other":   request(CallSubject("r", "other")),
		"ask a run":    request(RequestSubject("r", name)),
		"host act":     request("host.act." + name),
		"host read":    request("host.read." + name),
		"host view":    request("host.view." + name),
		"ask a worker": func(ctx context.Context, b *Bus) error { return b.Publish(ctx, WorkerControl("w9"), nil) },
		"who is there": func(ctx context.Context, b *Bus) error { return b.Publish(ctx, PresenceAsk(), nil) },
		"presences": func(ctx context.Context, b *Bus) error {
			stop, err := b.Subscribe(ctx, WorkersPresent(), func(Message, func([]byte) error) {})
			if err == nil {
				stop()
			}
			return err
		},
		"conductors": func(ctx context.Context, b *Bus) error {
			stop, err := b.Subscribe(ctx, RunsPresent(), func(Message, func([]byte) error) {})
			if err == nil {
				stop()
			}
			return err
		},
		"token": request("creds.ask"),
		"subscribe": func(ctx context.Context, b *Bus) error {
			stop, err := b.Subscribe(ctx, ControlSubject("r"), func(Message, func([]byte) error) {})
			if err == nil {
				stop()
			}
			return err
		},
		"presence own":   func(ctx context.Context, b *Bus) error { return b.Publish(ctx, "pres.w."+name, nil) },
		"limits own":     func(ctx context.Context, b *Bus) error { return b.Publish(ctx, "pres.limits."+name, nil) },
		"presence other": func(ctx context.Context, b *Bus) error { return b.Publish(ctx, "pres.w.other", nil) },
		"serve joins": func(ctx context.Context, b *Bus) error {
			stop, err := b.listen(ctx, member.JoinSubject, nil)
			if err == nil {
				stop()
			}
			return err
		},
	}
}

// allowedCalls are those of calls that each role may make.
func allowedCalls() map[member.Role][]string {
	reading := []string{"read", "last", "queued", "get", "who is there", "presences", "conductors"}
	return map[member.Role][]string{
		member.Worker: {
			"append own", "take", "put", "cache put", "cache get", "publish", "call", "subscribe", "presence own",
			"limits own", "queued", "get", "who is there", "conductors",
		},
		member.Person: append([]string{"put", "cache put", "cache get", "ask a run", "host act", "host read", "ask a worker"}, reading...),
		member.Viewer: {"host view", "queued", "who is there", "presences", "conductors"},
	}
}

// grantedCalls are those of a viewer who is shown what commands printed.
func grantedCalls() []string {
	return []string{"host read", "read", "last", "queued", "get", "who is there", "presences", "conductors"}
}

// answering has a bus answer what members ask.
func answering(t *testing.T, b *Bus) {
	t.Helper()
	for _, subject := range []string{CallFilter("r"), RequestFilter("r"), "host.act.*", "host.read.*", "host.view.*"} {
		stop, err := b.Subscribe(soon(t), subject, func(_ Message, reply func([]byte) error) {
			if err := reply([]byte("!")); err != nil {
				b.log.Error().Err(err).Msg("reply")
			}
		})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
}

// requireAllowed makes every call as a member: what may does not list is denied, with a text.
func requireAllowed(t *testing.T, b *Bus, name string, may []string, denied string) {
	t.Helper()
	b.tryPatience, b.retryPatience = time.Hour, time.Hour // what waits for them fails
	for call, do := range calls(name) {
		err := do(soon(t), b)
		require.Eventually(t, func() bool { // a server of a cluster hears late of what listens at another one
			if errors.Is(err, ErrNoListener) {
				err = do(soon(t), b)
			}
			return !errors.Is(err, ErrNoListener)
		}, time.Minute, time.Millisecond, call)
		if slices.Contains(may, call) {
			require.NoError(t, err, call)
		} else {
			require.ErrorIs(t, err, ErrDenied, call)
			require.ErrorContains(t, err, denied, call)
		}
	}
}

func request(subject string) func(context.Context, *Bus) error {
	return func(ctx context.Context, b *Bus) error {
		_, err := b.Request(ctx, subject, []byte("?"))
		return err
	}
}

// TestEachRoleMayDoWhatItNeedsAndNoMore tries every call as every role: what is not listed is denied, at once.
func TestEachRoleMayDoWhatItNeedsAndNoMore(t *testing.T) {
	t.Parallel()
	for role, may := range allowedCalls() {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.work(t)
			answering(t, s.Bus)
			requireAllowed(t, enters(t, s.joins(t, role, "m1")), "m1", may, string(role)+" m1 may not")
			for subject, left := range map[string]bool{RunFilter("r"): true, "ev.*.m.landed": false, "ev.*.a.other.>": false} {
				m, err := s.Last(soon(t), subject)
				require.NoError(t, err)
				require.Equal(t, left, m != nil, subject)
			}
		})
	}
}

// TestAViewerWhoWasGrantedItReadsTheLog: the grant is of the token, and stays with the member when it gets another key.
func TestAViewerWhoWasGrantedItReadsTheLog(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.work(t)
	answering(t, s.Bus)
	var login *member.Login
	for _, what := range []member.Admission{{Role: member.Viewer, Raw: true}, {Name: "v1", Replaces: true}} {
		token, err := s.members.NewToken(what)
		require.NoError(t, err)
		token.URL, token.Certificate = s.MemberURL(), s.digest
		login, err = Join(soon(t), token.String(), "v1", "")
		require.NoError(t, err)
	}
	requireAllowed(t, enters(t, login), "v1", grantedCalls(), "viewer v1 may not")
}

// raw connects as a member without the bus, which would ask for nothing wrong.
func raw(t *testing.T, login *member.Login) (nc *nats.Conn, denied chan error) {
	t.Helper()
	denied = make(chan error, 64)
	key, err := login.Key()
	require.NoError(t, err)
	nc, err = nats.Connect(login.URL, nats.Secure(member.Pinned(login.Certificate, time.Now)), nats.TLSHandshakeFirst(),
		nats.Nkey(key, login.Sign), nats.CustomInboxPrefix(member.Inbox(login.Name)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc, denied
}

// TestTheServerItselfDenies: what no method of a bus asks for, a stranger's program may.
func TestTheServerItselfDenies(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.work(t)
	for _, role := range []member.Role{member.Worker, member.Person, member.Viewer} {
		nc, denied := raw(t, s.joins(t, role, "my-"+string(role)))
		publish := []string{
			"ev.r.m.landed", "ev.r.a.other.generator.t.1", "ev.r.x", "task.generator.r.t", "join", "pres.w.other", "pres.limits.other", "pres.freed.other", "_INBOX_other.x",
			"ctl.r", "pres.r.r", "creds.ask", "ctl.r.conduct.other", "ctl.r.conductor.other", "host.act.other", "host.read.other",
			"$JS.API.STREAM.DELETE.EV", "$JS.API.STREAM.PURGE.EV", "$JS.API.STREAM.PURGE.TASKS", "$JS.API.STREAM.UPDATE.EV",
			"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.MSG.DELETE.OBJ", "$JS.API.STREAM.RESTORE.EV", "$JS.API.STREAM.SNAPSHOT.EV",
			"$JS.API.CONSUMER.DELETE.TASKS.generator", "$JS.API.CONSUMER.CREATE.OBJ.x", "$JS.API.CONSUMER.DURABLE.CREATE.EV.x",
			"$JS.API.CONSUMER.PAUSE.TASKS.generator", "$JS.API.CONSUMER.LIST.TASKS", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "other",
		}
		if role != member.Worker {
			publish = append(publish, "ev.r.a.my-"+string(role)+".generator.t.1", "$JS.API.CONSUMER.CREATE.TASKS.x",
				"$JS.API.CONSUMER.MSG.NEXT.TASKS.generator", "$JS.ACK.TASKS.generator.1.1.1.1.0", "pres.w.my-"+string(role),
				"ctl.r.conduct.w9", "ctl.r.active")
		}
		if role == member.Viewer {
			publish = append(publish, "ctl.r.conductor.my-viewer", "host.act.my-viewer", "obj.n.x", "cache.n.x", "$JS.API.DIRECT.GET.CACHE.cache.n.x",
				"host.read.my-viewer", "$JS.API.DIRECT.GET.EV.ev.r.>", "$JS.API.DIRECT.GET.OBJ.obj.n.x", "$JS.API.STREAM.MSG.GET.OBJ",
				"$JS.API.CONSUMER.CREATE.EV.x", "$JS.API.CONSUMER.MSG.NEXT.EV.x")
		} else {
			publish = append(publish, "host.view.my-"+string(role))
		}
		for _, subject := range publish {
			require.NoError(t, nc.Publish(subject, nil))
			requireDenied(t, denied, "Publish", subject)
		}
		subscribe := []string{">", "_INBOX.>", "_INBOX_other.>", "_INBOX_*.>", "_JOIN_x.>", "ev.>", "task.>", "obj.>", "join", "$JS.>", "$SYS.>", "ctl.>", "ctl.*", "ctl.*.>", "host.>", "ctl.r.conduct.*"}
		if role == member.Viewer {
			subscribe = append(subscribe, "ctl.r")
		}
		for _, subject := range subscribe {
			_, err := nc.SubscribeSync(subject)
			require.NoError(t, err)
			requireDenied(t, denied, "Subscription", subject)
		}
	}
}

func requireDenied(t *testing.T, denied chan error, what, subject string) {
	t.Helper()
	select {
	case err := <-denied:
		require.ErrorContains(t, err, fmt.Sprintf("Permissions Violation for %s to %q", what, subject))
	case <-soon(t).Done():
		require.Fail(t, "not denied: "+subject)
	}
}

// TestWhoJoinsMayDoNothingElse: a token is no membership.
func TestWhoJoinsMayDoNothingElse(t *testing.T) {
	t.Parallel()
	s := serve(t)
	token, err := member.ParseToken(s.token(t, member.Worker, ""))
	require.NoError(t, err)
	denied := make(chan error, 64)
	nc, err := nats.Connect(token.URL, nats.Secure(member.Pinned(token.Certificate, time.Now)), nats.TLSHandshakeFirst(),
		nats.UserInfo(member.JoinUser, token.Secret),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	for _, subject := range []string{"ev.r.m.landed", "ctl.r", "$JS.API.STREAM.INFO.EV", "obj.n.x"} {
		require.NoError(t, nc.Publish(subject, nil))
		requireDenied(t, denied, "Publish", subject)
	}
	for _, subject := range []string{"ctl.>", "join", "_JOIN_*.>", "_INBOX.>"} {
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		requireDenied(t, denied, "Subscription", subject)
	}
}
