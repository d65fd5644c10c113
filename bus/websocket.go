package bus

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nats-io/nats.go"

	"divisi/bus/member"
)

const (
	webScheme  = "wss://"
	maxRequest = 8 << 10        // bytes of the HTTP request that asks for a WebSocket
	maxFrames  = 2 * minPayload // bytes of one message of a WebSocket: one of the bus, and what the client wrote before it
	webBuffer  = 4 << 10
)

// webStream is the bytes in the binary messages of a WebSocket, wherever those begin and end.
type webStream struct {
	*websocket.Conn
	rest io.Reader // what is left of a message; nil for none
}

// Read implements io.Reader. It is io.EOF when the other side has closed or gone.
func (s *webStream) Read(p []byte) (int, error) {
	for {
		if s.rest == nil {
			kind, r, err := s.NextReader()
			if errors.As(err, new(*websocket.CloseError)) {
				return 0, io.EOF
			}
			if err == nil && kind != websocket.BinaryMessage {
				err = errors.New("a message of a WebSocket is not binary")
			}
			if err != nil {
				return 0, err
			}
			s.rest = r
		}
		n, err := s.rest.Read(p)
		if errors.Is(err, io.EOF) {
			s.rest, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write implements io.Writer.
func (s *webStream) Write(p []byte) (int, error) {
	if err := s.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetDeadline implements net.Conn.
func (s *webStream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// upgrade answers the request for a WebSocket. Pages of browsers get none: a browser would connect for any page.
func upgrade(conn net.Conn) (io.ReadWriter, error) {
	r := bufio.NewReader(io.LimitReader(conn, maxRequest))
	request, err := http.ReadRequest(r)
	if err != nil {
		return nil, errors.Join(err, refuse(conn, http.StatusBadRequest))
	}
	u := websocket.Upgrader{
		ReadBufferSize: webBuffer, WriteBufferSize: webBuffer,
		CheckOrigin: func(r *http.Request) bool { return len(r.Header["Origin"]) == 0 },
		Error: func(_ http.ResponseWriter, _ *http.Request, status int, _ error) {
			err = refuse(conn, status)
		},
	}
	ws, refused := u.Upgrade(&webReply{conn: conn, r: r}, request, nil)
	if refused != nil {
		return nil, errors.Join(refused, err)
	}
	ws.SetReadLimit(maxFrames)
	return &webStream{Conn: ws}, nil
}

// refuse answers a request with an error, in plain text.
func refuse(conn net.Conn, status int) error {
	text := http.StatusText(status) + "\n"
	answer := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(text)),
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
	return answer.Write(conn)
}

// webReply hands a connection to websocket.Upgrader, which answers a request through nothing else.
type webReply struct {
	http.ResponseWriter // not there: the Upgrader has an Error of its own

	conn net.Conn
	r    *bufio.Reader
}

// Hijack implements http.Hijacker.
func (a *webReply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return a.conn, bufio.NewReadWriter(a.r, bufio.NewWriter(a.conn)), nil
}

// secured is how a client reaches the gate of a server, whose certificate has the digest: the address and the options for NATS.
func secured(address, certificate string) (string, []nats.Option) {
	pinned := member.Pinned(certificate, time.Now)
	host, web := strings.CutPrefix(address, webScheme)
	if !web {
		return address, []nats.Option{nats.Secure(pinned), nats.TLSHandshakeFirst()}
	}
	d := webDialer{address, pinned, http.ProxyFromEnvironment}
	return "tls://" + host, []nats.Option{nats.SetCustomDialer(d), nats.SkipHostLookup()} // a proxy knows the name of the host
}

// webDialer connects to a gate by WebSocket, through a proxy where there is one. TLS goes through it unread.
type webDialer struct {
	url   string
	tls   *tls.Config
	proxy func(*http.Request) (*url.URL, error)
}

// Dial implements nats.CustomDialer.
func (d webDialer) Dial(string, string) (net.Conn, error) {
	dialer := websocket.Dialer{
		Proxy: d.proxy, TLSClientConfig: d.tls, HandshakeTimeout: connectPatience,
		ReadBufferSize: webBuffer, WriteBufferSize: webBuffer,
	}
	ws, answer, err := dialer.DialContext(context.Background(), d.url, nil) //nolint:bodyclose // it is no stream
	if answer != nil && err != nil {
		err = fmt.Errorf("%w: the answer is %.80q", err, answer.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("connect by WebSocket: %w", err)
	}
	return &webStream{Conn: ws}, nil
}

// SkipTLSHandshake tells NATS that the connection has TLS.
func (webDialer) SkipTLSHandshake() bool { return true }
