package bus

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// served is a server with TLS that members can join.
type served struct {
	*Bus
	members *member.Registry
	digest  string
	web     bool // tokens are for WebSocket
}

// byEach runs a test with members that connect by TLS, and by WebSocket.
func byEach(t *testing.T, test func(t *testing.T, s *served)) {
	t.Helper()
	for name, web := range map[string]bool{"tls": false, "websocket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.web = web
			test(t, s)
		})
	}
}

func serve(t testing.TB) *served {
	t.Helper()
	return serveStore(t, 0)
}

// serveStore is a server whose store takes so many bytes; 0 for what the disk has.
func serveStore(t testing.TB, size int64) *served {
	t.Helper()
	return serveWith(t, func(o *Options) { o.MaxStore = size })
}

// serveWith is a server with other options than the usual.
func serveWith(t testing.TB, edit func(*Options)) *served {
	t.Helper()
	dir := t.TempDir()
	s := &served{}
	var err error
	s.members, err = member.Open(dir, time.Now)
	require.NoError(t, err)
	cert, digest, err := member.Certificate(dir, []string{"127.0.0.1"}, time.Now)
	require.NoError(t, err)
	o := fast(t)
	o.Members, o.TLS, s.digest = s.members, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, digest
	o.WebSocket = "127.0.0.1:0"
	edit(&o)
	s.Bus = open(t, o)
	stop, err := s.ServeJoins(soon(t), func(member.Member, error) {})
	require.NoError(t, err)
	t.Cleanup(stop)
	return s
}

// token is the text of a new token.
func (s *served) token(t testing.TB, role member.Role, name string) string {
	t.Helper()
	token, err := s.members.NewToken(member.Admission{Role: role, Name: name})
	require.NoError(t, err)
	token.URL, token.Certificate = s.MemberURL(), s.digest
	if s.web {
		token.URL = s.WebSocketURL()
	}
	return token.String()
}

// joins makes a member.
func (s *served) joins(t testing.TB, role member.Role, name string) *member.Login {
	t.Helper()
	login, err := Join(soon(t), s.token(t, role, ""), name, "")
	require.NoError(t, err)
	require.Equal(t, name, login.Name)
	require.Equal(t, role, login.Role)
	return login
}

// enters opens the bus of a member, which may be denied what it asks.
func enters(t testing.TB, login *member.Login) *Bus {
	t.Helper()
	return open(t, Options{Login: login, Log: zerolog.Nop()})
}

func TestAMemberJoinsWithItsToken(t *testing.T) {
	t.Parallel()
	byEach(t, joinsWithItsToken)
}

func joinsWithItsToken(t *testing.T, s *served) {
	t.Helper()
	text := s.token(t, member.Worker, "w1")
	login, err := Join(soon(t), text, "", "")
	require.NoError(t, err)
	require.Equal(t, "w1", login.Name, "the token has the name")
	_, err = Join(soon(t), text, "", "")
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorIs(t, err, member.ErrToken, "a token admits one member")

	path := filepath.Join(t.TempDir(), "login.json")
	require.NoError(t, login.Write(path))
	read, err := member.ReadLogin(path)
	require.NoError(t, err)
	b := enters(t, read)
	_, err = b.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("x"), 0)
	require.NoError(t, err)
}

func TestATokenThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	good := s.token(t, member.Worker, "")
	_, err := Join(soon(t), good[:len(good)-3], "w1", "")
	require.ErrorContains(t, err, "the end of the token is missing")

	token, err := member.ParseToken(good)
	require.NoError(t, err)
	other := token
	other.Certificate = "00" + token.Certificate[2:]
	_, err = Join(soon(t), other.String(), "w1", "")
	require.ErrorIs(t, err, member.ErrCertificate)
	require.ErrorIs(t, err, ErrUnavailable)
	other = token
	other.Secret = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	_, err = Join(soon(t), other.String(), "w1", "")
	require.ErrorIs(t, err, member.ErrToken)

	_, err = Join(soon(t), good, "not a name", "")
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "letters, digits")
	_, err = Join(soon(t), good, "w1", "")
	require.NoError(t, err, "a refused name does not use the token up")
	_, err = Join(soon(t), s.token(t, member.Worker, ""), "w1", "")
	require.ErrorContains(t, err, "another member is called w1")
}

func TestAServerWithAnotherCertificateIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	login := s.joins(t, member.Viewer, "v1")
	login.Certificate = "00" + login.Certificate[2:]
	_, err := Open(soon(t), Options{Login: login, Log: zerolog.Nop()})
	require.ErrorIs(t, err, member.ErrCertificate)
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestAnEndedCertificateIsRefused(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), fast(t)
	members, err := member.Open(dir, time.Now)
	require.NoError(t, err)
	cert, digest, err := member.Certificate(dir, []string{"127.0.0.1"}, func() time.Time { return time.Now().AddDate(-2, 0, 0) })
	require.NoError(t, err)
	o.TLS, o.Members = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, members
	b := open(t, o)
	s := &served{Bus: b, members: members, digest: digest}
	_, err = Join(soon(t), s.token(t, member.Worker, "w1"), "", "")
	require.ErrorIs(t, err, member.ErrEnded)
}

func TestAServerForOtherMachinesNeedsMembersAndTLS(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		o := fast(t)
		o.Listen = listen
		_, err := Open(soon(t), o)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "other machines can reach")
	}
}

// TestAProcessAttachesToAServerWithTLS: the owner's own credential continues to work beside members.
func TestAProcessAttachesToAServerWithTLS(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, err := s.Append(soon(t), ConductorSubject("r", "x"), []byte("1"), 0)
	require.NoError(t, err)
	b, err := Attach(soon(t), s.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	_, err = b.Append(soon(t), ConductorSubject("r", "y"), []byte("2"), 0)
	require.NoError(t, err)
}

func TestAStrangerIsNotAdmitted(t *testing.T) {
	t.Parallel()
	s := serve(t)
	login, err := member.NewLogin(member.Token{
		URL: s.MemberURL(), Certificate: s.digest, Role: member.Worker,
	}, "w1")
	require.NoError(t, err)
	_, err = Open(soon(t), Options{Login: login, Log: zerolog.Nop()})
	require.ErrorIs(t, err, ErrDenied)
	require.ErrorContains(t, err, "does not know worker w1")

	known := s.joins(t, member.Worker, "w2")
	key, err := known.Key()
	require.NoError(t, err)
	_, err = nats.Connect(known.URL, nats.Secure(member.Pinned(s.digest, time.Now)), nats.TLSHandshakeFirst(),
		nats.Nkey(key, login.Sign))
	require.ErrorIs(t, err, nats.ErrAuthorization, "a key is worth nothing without its secret half")
}

func TestADisconnectedMemberIsCutOff(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := enters(t, s.joins(t, member.Worker, "w1"))
	other := enters(t, s.joins(t, member.Worker, "w2"))
	q, err := b.Queue(soon(t), "generator", QueueOptions{Run: "r"})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := q.Next(context.Background())
		ended <- err
	}()
	require.NoError(t, s.Disconnect("w1"))
	select {
	case err := <-ended:
		require.ErrorIs(t, err, ErrDenied)
		require.ErrorContains(t, err, "does not know worker w1")
	case <-soon(t).Done():
		require.Fail(t, "who waits for a task does not learn that it was removed")
	}
	_, err = b.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("x"), 0)
	require.ErrorIs(t, err, ErrDenied)
	_, err = other.Append(soon(t), AttemptSubject("r", "w2", "generator", "t", 1), []byte("x"), 0)
	require.NoError(t, err, "the others stay")
	require.ErrorIs(t, s.Disconnect("w1"), member.ErrUnknown)
}
