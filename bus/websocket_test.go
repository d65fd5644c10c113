package bus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// TestAllThatAMemberDoesGoesByWebSocket: large objects are many messages there, and tasks are pulled.
func TestAllThatAMemberDoesGoesByWebSocket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.web = true
	s.work(t)
	b := enters(t, s.joins(t, member.Worker, "w1"))
	require.Regexp(t, `^wss://127\.0\.0\.1:\d+$`, b.URL())
	large := bytes.Repeat([]byte("large"), objectPiece)
	require.NoError(t, b.Put(soon(t), "large", large))
	got, err := b.Get(soon(t), "large")
	require.NoError(t, err)
	require.Equal(t, large, got)
	q, err := b.Queue(soon(t), "generator", QueueOptions{Run: "r"})
	require.NoError(t, err)
	d, err := q.Next(soon(t))
	require.NoError(t, err)
	require.NoError(t, d.Ack(soon(t)))
}

// TestAnotherServerByWebSocket: the digest of the token holds there too.
func TestAnotherServerByWebSocket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.web = true
	token, err := member.ParseToken(s.token(t, member.Worker, ""))
	require.NoError(t, err)
	token.Certificate = "00" + token.Certificate[2:]
	_, err = Join(soon(t), token.String(), "w1", "")
	require.ErrorIs(t, err, member.ErrCertificate)
	token.Certificate, token.URL = s.digest, "wss"+strings.TrimPrefix(s.MemberURL(), "tls")
	_, err = Join(soon(t), token.String(), "w1", "")
	require.ErrorIs(t, err, ErrUnavailable, "the other address speaks no HTTP")
}

// TestARequestForNoWebSocketIsRefused: a browser tells by Origin that it connects for a page, and is no member.
func TestARequestForNoWebSocketIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	at := "https" + strings.TrimPrefix(s.WebSocketURL(), "wss")
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: member.Pinned(s.digest, time.Now), DisableKeepAlives: true}}
	upgrade := http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="},
	}
	with := func(name, value string) http.Header {
		h := upgrade.Clone()
		h.Set(name, value)
		return h
	}
	for name, c := range map[string]struct {
		method string
		header http.Header
		status int
	}{
		"a page":        {"GET", nil, http.StatusBadRequest},
		"no key":        {"GET", with("Sec-Websocket-Key", "x"), http.StatusBadRequest},
		"a browser":     {"GET", with("Origin", at), http.StatusForbidden},
		"a post":        {"POST", upgrade, http.StatusMethodNotAllowed},
		"a long header": {"GET", with("Cookie", strings.Repeat("c", maxRequest)), http.StatusBadRequest},
		"a WebSocket":   {"GET", upgrade, http.StatusSwitchingProtocols},
	} {
		r, err := http.NewRequestWithContext(soon(t), c.method, at, http.NoBody)
		require.NoError(t, err)
		r.Header = c.header
		answer, err := client.Do(r)
		require.NoError(t, err, name)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.status, answer.StatusCode, name)
	}
}

// TestWhatAMemberSendsByWebSocketIsChecked: what is checked is the bytes, in whichever messages and fragments they come.
func TestWhatAMemberSendsByWebSocketIsChecked(t *testing.T) {
	t.Parallel()
	s := serve(t)
	forged := "PUB $JS.API.STREAM.INFO.EV ev.r.m.forged 0\r\n\r\n"
	for name, send := range map[string]func(ws *websocket.Conn) error{
		"good":       message(websocket.BinaryMessage, "PING\r\n"),
		"good parts": frames("\x02\x82\x00\x00\x00\x00PI\x00\x80\x00\x00\x00\x00\x80\x84\x00\x00\x00\x00NG\r\n"),
		"good ping":  frames("\x89\x80\x00\x00\x00\x00\x82\x86\x00\x00\x00\x00PING\r\n"),
		"text":       message(websocket.TextMessage, "PING\r\n"),
		"forged":     message(websocket.BinaryMessage, forged),
		"in parts":   frames("\x02\x8a\x00\x00\x00\x00" + forged[:10] + "\x80\xa4\x00\x00\x00\x00" + forged[10:]),
		"in two": func(ws *websocket.Conn) error {
			return errors.Join(message(websocket.BinaryMessage, forged[:10])(ws), message(websocket.BinaryMessage, forged[10:])(ws))
		},
		"too large":    frames("\x82\xff\x00\x00\x00\x00\x00\x20\x00\x01\x00\x00\x00\x00"),
		"not masked":   frames("\x82\x06PING\r\n"),
		"no beginning": frames("\x80\x86\x00\x00\x00\x00PING\r\n"),
		"no end":       frames("\x02\x86\x00\x00\x00\x00PING\r\n\x82\x86\x00\x00\x00\x00PING\r\n"),
		"no such kind": frames("\x83\x86\x00\x00\x00\x00PING\r\n"),
		"compressed":   frames("\xc2\x86\x00\x00\x00\x00PING\r\n"),
		"a long ping":  frames("\x89\xfe\x00\x7e\x00\x00\x00\x00" + strings.Repeat("x", 126)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, lines := s.socket(t)
			require.NoError(t, send(ws))
			line, err := lines.ReadString('\n')
			if strings.HasPrefix(name, "good") {
				require.NoError(t, err)
				require.Equal(t, "PONG\r\n", line)
				return
			}
			for err == nil { // what was whole is answered before
				_, err = lines.ReadString('\n')
			}
			waited := net.Error(nil)
			require.False(t, errors.As(err, &waited) && waited.Timeout(), "the connection goes on")
		})
	}
}

// socket is a WebSocket of who joins, after its login.
func (s *served) socket(t *testing.T) (*websocket.Conn, *bufio.Reader) {
	t.Helper()
	d := websocket.Dialer{TLSClientConfig: member.Pinned(s.digest, time.Now)}
	ws, answer, err := d.DialContext(soon(t), s.WebSocketURL(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	require.NoError(t, answer.Body.Close())
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(20*time.Second)))
	token, err := s.members.NewToken(member.Admission{Role: member.Worker})
	require.NoError(t, err)
	login := fmt.Sprintf("CONNECT {\"user\":%q,\"pass\":%q}\r\nPING\r\n", member.JoinUser, token.Secret)
	require.NoError(t, message(websocket.BinaryMessage, login)(ws))
	lines := bufio.NewReader(&webStream{Conn: ws})
	for line := ""; line != "PONG\r\n"; {
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	return ws, lines
}

func message(kind int, text string) func(*websocket.Conn) error {
	return func(ws *websocket.Conn) error { return ws.WriteMessage(kind, []byte(text)) }
}

// frames sends bytes as they are.
func frames(text string) func(*websocket.Conn) error {
	return func(ws *websocket.Conn) error {
		_, err := ws.NetConn().Write([]byte(text))
		return err
	}
}
