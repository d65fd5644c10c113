package bus

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is between a client and a server and can lose the server's answers.
type proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	word  []byte // once the client has said it, nothing comes back, and after a while the line is cut
	cut   bool
	conns []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, server: server}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) loseAnswers(word []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word, p.cut = word, false
}

func (p *proxy) lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		l := &line{proxy: p, client: client, server: server}
		p.wg.Go(l.forth)
		p.wg.Go(l.back)
	}
}

type line struct {
	proxy          *proxy
	client, server net.Conn
	mu             sync.Mutex
	deaf           bool
}

func (l *line) forth() {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		l.listen(buf[:n])
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// listen turns the line deaf before the word reaches the server.
func (l *line) listen(data []byte) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.proxy.word != nil && bytes.Contains(data, l.proxy.word) {
		l.proxy.word = nil
		l.mu.Lock()
		l.deaf = true
		l.mu.Unlock()
	}
}

func (l *line) back() {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		deaf := l.deaf
		l.mu.Unlock()
		if deaf { // the server has answered: it has stored what it got
			l.proxy.mu.Lock()
			l.proxy.cut = true
			l.proxy.mu.Unlock()
			return
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *line) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
