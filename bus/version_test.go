package bus

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
	"divisi/internal/testkit/chantest"
)

func TestAVersionCrossesInAName(t *testing.T) {
	t.Parallel()
	v := Version{"v1.2.3-rc.1+x", 4, 3}
	require.Equal(t, "divisi/4/3/v1.2.3-rc.1+x", v.join("divisi"))
	require.Equal(t, v, versionIn(v.join("divisi-ABC")))
	require.Equal(t, "divisi", Version{}.join("divisi"))
	require.Equal(t, "divisi/1/0/a_b_c_", Version{"a b'c\n", 1, 0}.join("divisi"))
	for _, name := range []string{
		"", "divisi", "divisi/4/4", "divisi/0/0/v1", "divisi/x/4/v1", "divisi/4//v1", "divisi/4/4/v 1", "divisi/4/4/v1'", "divisi/4/4/" + strings.Repeat("v", 61),
		"divisi/99999999999999999999/4/v1",
	} {
		require.Equal(t, Version{}, versionIn(name), name)
	}
}

func FuzzVersionIn(f *testing.F) {
	f.Add("divisi/4/3/v1.2.3")
	f.Fuzz(func(t *testing.T, name string) {
		if v := versionIn(name); v.Protocol != 0 {
			require.Equal(t, v, versionIn(v.join("divisi")))
		}
	})
}

// TestVersionsMeetAtTheDoor: an older worker ended with "may not read stream EV … check the address", and no word of versions.
func TestVersionsMeetAtTheDoor(t *testing.T) {
	t.Parallel()
	type meeting struct {
		who   string
		there Version
		why   string
	}
	met := make(chan meeting, 8)
	s := serveWith(t, func(o *Options) {
		o.Speaks = Version{"v9.0", 9, 8}
		o.Met = func(m member.Member, there Version, why string) { met <- meeting{m.Name, there, why} }
	})
	s.work(t)
	login := s.joins(t, member.Worker, "w1")
	for _, there := range []Version{{}, {"v7.1", 7, 7}, {"v10.2", 10, 10}} {
		_, err := Open(soon(t), Options{Login: login, Log: zerolog.Nop(), Speaks: there})
		require.ErrorIs(t, err, ErrIncompatible)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "the server is Divisi v9.0, which speaks version 9 of the protocol, and this program is "+there.String()+
			". Install Divisi v9.0 on this machine and start it again")
		at := chantest.Next(t, met)
		require.Equal(t, meeting{"w1", there, at.why}, at)
		require.NotEmpty(t, at.why)
	}
	// What a program of before versions shows of it is the error of the connection.
	key, err := login.Key()
	require.NoError(t, err)
	at, opts := secured(login.URL, login.Certificate)
	_, err = nats.Connect(at, append(opts, nats.Name("divisi"), nats.Nkey(key, login.Sign))...)
	require.ErrorContains(t, err, "the server is Divisi v9.0, which speaks version 9")
	require.NotErrorIs(t, err, nats.ErrAuthorization)
	chantest.Next(t, met)

	for _, there := range []Version{{"v8.3", 8, 8}, {"v9.0", 9, 8}} {
		b := open(t, Options{Login: login, Log: zerolog.Nop(), Speaks: there})
		require.Equal(t, meeting{"w1", there, ""}, chantest.Next(t, met))
		require.NoError(t, b.Unfit())
	}
}

// TestAServerOfBeforeIsNoServerForIt: a worker was ready there, and the run waited without a decision.
func TestAServerOfBeforeIsNoServerForIt(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, err := Open(soon(t), Options{Login: s.joins(t, member.Worker, "w1"), Log: zerolog.Nop(), Speaks: Version{"v9.0", 9, 8}})
	require.ErrorIs(t, err, ErrIncompatible)
	require.ErrorContains(t, err, "is an earlier Divisi, which does not tell its version, and this program is Divisi v9.0, which speaks version 9")
	require.ErrorContains(t, err, "Install the Divisi of that server on this machine, or Divisi v9.0 there")
}

// TestAMemberLeavesAServerThatHasAnotherVersion: it tried to connect for good, and said nothing.
func TestAMemberLeavesAServerThatHasAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]Version{"newer": {"v10", 10, 10}, "older": {"v8", 8, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speaks := Version{"v9", 9, 9}
			s := serveWith(t, func(o *Options) { o.Speaks = speaks })
			s.work(t)
			b := open(t, Options{Login: s.joins(t, member.Worker, "w1"), Log: zerolog.Nop(), Speaks: speaks})
			upgraded(s, after)
			require.NoError(t, s.restart())
			select {
			case <-b.Gone():
			case <-soon(t).Done():
				require.Fail(t, "it stays")
			}
			require.ErrorIs(t, b.Unfit(), ErrIncompatible)
			require.ErrorContains(t, b.Unfit(), after.String())
			_, err := b.Append(soon(t), AttemptSubject("r", "w1", "generator", "t", 1), []byte("x"), 0)
			require.ErrorIs(t, err, ErrIncompatible)
		})
	}
}

// upgraded has the server and its gate come back as another version.
func upgraded(s *served, after Version) {
	s.server.options.Speaks, s.gate.guard.speaks = after, after
}
