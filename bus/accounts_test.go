package bus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// space is an account of a server that is another's, with the seeds of its users, by name.
type space struct {
	name  string
	seeds map[string]string // files
}

// roles are the names of the members of a space: each has that of its role.
var roles = []member.Role{member.Worker, member.Person, member.Viewer}

// spaces is the configuration of a server, with a key in each place that is to be filled in.
func spaces(t *testing.T, names ...string) (all []space, options func() *server.Options) {
	t.Helper()
	a := member.Accounts{Spaces: names}
	for _, role := range roles {
		a.Members = append(a.Members, member.Member{Name: string(role), Role: role})
	}
	require.NoError(t, a.Check())
	conf := "port: -1\n" + a.Conf()
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, []byte(conf), 0o600))
	_, err := server.ProcessConfigFile(path)
	require.ErrorContains(t, err, "public nkey", "a key is missing")
	for _, name := range names {
		s := space{name, map[string]string{}}
		for _, user := range append([]member.Role{member.HostName}, roles...) {
			conf = strings.Replace(conf, "KEY_OF_"+string(user)+"_IN_"+name, s.user(t, string(user)), 1)
		}
		all = append(all, s)
	}
	require.NoError(t, os.WriteFile(path, []byte(conf), 0o600))
	return all, func() *server.Options {
		o, err := server.ProcessConfigFile(path)
		require.NoError(t, err)
		return o
	}
}

// user makes a key, and returns its public half.
func (s *space) user(t *testing.T, name string) string {
	t.Helper()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	s.seeds[name] = filepath.Join(t.TempDir(), name+".nk")
	require.NoError(t, os.WriteFile(s.seeds[name], seed, 0o600))
	return public
}

// host opens the bus of who may do everything in a space.
func (s *space) host(t *testing.T, url string) *Bus {
	t.Helper()
	return open(t, Options{URL: url, Credentials: s.seeds[member.HostName], Log: zerolog.Nop()})
}

// member opens that of a member.
func (s *space) member(t *testing.T, url string, role member.Role) *Bus {
	t.Helper()
	return open(t, Options{URL: url, Credentials: s.seeds[string(role)], Name: string(role), Log: zerolog.Nop()})
}

// raw connects without the bus, which would ask for nothing wrong.
func (s *space) raw(t *testing.T, url, name string, errs func(error)) *nats.Conn {
	t.Helper()
	seed, err := nats.NkeyOptionFromSeed(s.seeds[name])
	require.NoError(t, err)
	nc, err := nats.Connect(url, seed, nats.CustomInboxPrefix(member.Inbox(name)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs(err) }))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// single starts one server.
func single(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog, o.JetStream, o.StoreDir = "127.0.0.1", true, true, true, t.TempDir()
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s.ClientURL()
}

// A cluster has no direct reads, no gate and no registry: its configuration alone says who may do what.
func TestEachRoleOfAnAccountOfACluster(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "one", "two")
	_, url := clusterOf(t, 3, options)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			eachRole(t, s, url)
		})
	}
}

func TestEachRoleOfAnAccountOfAServer(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "include")
	eachRole(t, all[0], single(t, options()))
}

func eachRole(t *testing.T, s space, url string) {
	t.Helper()
	host := s.host(t, url)
	work(t, host)
	answering(t, host)
	for role, may := range allowedCalls() {
		name := string(role)
		requireAllowed(t, s.member(t, url, role), name, may, "this login, as "+name+", may not")
	}
	for _, filter := range []string{"ev.*.m.landed", "ev.*.a.other.>"} {
		m, err := host.Last(soon(t), filter)
		require.NoError(t, err)
		require.Nil(t, m, filter)
	}
}

// The account of the server has to have the streams, and the login has to be that of the name.
func TestAMemberOfAnAccountThatCannotBegin(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "one")
	s, url := all[0], single(t, options())
	_, err := Open(soon(t), Options{URL: url, Credentials: s.seeds["worker"], Name: "worker"})
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "the streams are not there yet; the host of the server makes them")
	s.host(t, url)
	_, err = Open(soon(t), Options{URL: url, Credentials: s.seeds["worker"], Name: "w9"})
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "this login, as w9, may not read the answers to another member")
	_, err = Open(soon(t), Options{URL: url, Name: "worker"})
	require.ErrorContains(t, err, "Authorization Violation")
	_, err = Open(soon(t), Options{URL: url, Credentials: filepath.Join(t.TempDir(), "none.nk"), Name: "worker"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A space learns nothing of another one, whatever its user may do in its own.
func TestASpaceReadsNothingOfAnother(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "one", "two")
	one, two, url := all[0], all[1], single(t, options())
	nc := two.raw(t, url, member.HostName, func(error) {})
	made, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.CREATED.*")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	theirs := two.host(t, url)
	for range streamConfigs(1) { // a user hears what happens in its own space
		_, err := made.NextMsgWithContext(soon(t))
		require.NoError(t, err)
	}
	heard := make(chan *nats.Msg, 1024)
	var subs []*nats.Subscription
	for _, subject := range []string{">", "$SYS.>"} {
		sub, err := nc.ChanSubscribe(subject, heard)
		require.NoError(t, err)
		subs = append(subs, sub)
	}
	require.NoError(t, nc.Flush())

	host := one.host(t, url)
	work(t, host)
	answering(t, host)
	require.NoError(t, host.Publish(soon(t), ControlSubject("r"), []byte("secret")))
	_, err = one.member(t, url, member.Person).Request(soon(t), "host.read.person", []byte("secret"))
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	require.Empty(t, heard, "a message of one space came to another")
	for _, sub := range subs { // else it would be asked below
		require.NoError(t, sub.Unsubscribe())
	}
	require.NoError(t, nc.Flush())

	_, err = theirs.Request(soon(t), "host.read.host", []byte("?"))
	require.ErrorIs(t, err, ErrNoListener, "the host of one space answers another")
	for _, b := range []*Bus{theirs, two.member(t, url, member.Person)} {
		m, err := b.Last(soon(t), "ev.>")
		require.NoError(t, err)
		require.Nil(t, m)
		_, err = b.Get(soon(t), "kept")
		require.ErrorIs(t, err, ErrNotFound)
		_, err = b.Cache().Get(soon(t), "cached")
		require.ErrorIs(t, err, ErrNotFound)
		queued, err := b.Queued(soon(t), "task.>")
		require.NoError(t, err)
		require.Empty(t, queued)
	}
	for _, stream := range []string{streamEvents, streamTasks, streamObjects, streamCache, streamLeases} {
		s, err := theirs.js.Stream(soon(t), stream)
		require.NoError(t, err)
		require.Zero(t, s.CachedInfo().State.Msgs, stream)
	}
}

// What the gate of the built-in server refuses no permission can: docs/bus.md tells so. A server that refuses it itself some day
// fails this test, and the page is then wrong.
func TestAnAccountDoesNotDenyWhatTheGateDoes(t *testing.T) {
	t.Parallel()
	all, options := spaces(t, "one")
	s, url := all[0], single(t, options())
	host := s.host(t, url)
	work(t, host)
	nc := s.raw(t, url, "viewer", func(error) {})
	require.NoError(t, nc.PublishRequest("$JS.API.STREAM.INFO.EV", "ev.r.m.landed", nil))
	require.Eventually(t, func() bool {
		m, err := host.Last(soon(t), "ev.r.m.landed")
		return err == nil && m != nil
	}, 10*time.Second, 10*time.Millisecond, "the answer is an event of the conductor")
	nc = s.raw(t, url, "person", func(error) {})
	require.NoError(t, nc.PublishRequest("$JS.API.DIRECT.GET.OBJ.obj.n.none", "$JS.API.STREAM.PURGE.TASKS", nil))
	require.Eventually(t, func() bool {
		queued, err := host.Queued(soon(t), "task.>")
		return err == nil && len(queued) == 0
	}, 10*time.Second, 10*time.Millisecond, "the answer empties the queue")

	answer, err := nc.Request("$JS.API.STREAM.INFO.OBJ", []byte(`{"subjects_filter":">"}`), 10*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(answer.Data), objectSubjectOf(t, "kept"), "objects can be listed")
	heard := make(chan string, 8)
	stop, err := host.listen(soon(t), "ctl.r.all", func(m Message, _ func([]byte) error) { heard <- string(m.Data) })
	require.NoError(t, err)
	t.Cleanup(stop)
	_, err = nc.Request("$JS.API.CONSUMER.CREATE.EV.x", []byte(`{"stream_name":"EV","config":{"name":"x","deliver_subject":"ctl.r.all"}}`), 10*time.Second)
	require.NoError(t, err)
	select {
	case data := <-heard:
		require.Equal(t, "begin", data, "a consumer pushes events as what a person asks of workers")
	case <-soon(t).Done():
		require.Fail(t, "nothing was pushed")
	}
}
