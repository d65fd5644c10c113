package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/rogpeppe/go-internal/testscript"
)

// exampleServer: exampleserver NAME builds the MCP SDK's example server where the script's commands find it.
func exampleServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: exampleserver NAME")
	}
	to := filepath.Join(ts.Getenv("HOLD"), args[0])
	cmd := exec.Command("go", "build", "-o", to, "github.com/modelcontextprotocol/go-sdk/examples/server/hello")
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("build the example server: %v\n%s", err, out)
	}
}

// fetch: fetch URL-FILE FILE writes what an HTTP server answers; the first file has the address.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch URL-FILE FILE")
	}
	a, err := (&http.Client{Timeout: time.Minute}).Get(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	data, err := io.ReadAll(a.Body)
	ts.Check(errors.Join(err, a.Body.Close()))
	if a.StatusCode != http.StatusOK {
		ts.Fatalf("the server answers %s: %s", a.Status, data)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// newNKey: nkey NAME… makes a key for each, writes its seed to NAME.nk and sets NAME to its public half.
func newNKey(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		key, err := nkeys.CreateUser()
		ts.Check(err)
		seed, err := key.Seed()
		ts.Check(err)
		public, err := key.PublicKey()
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".nk"), seed, 0o600))
		ts.Setenv(name, public)
	}
}

// recorder: recorder FILE serves HTTP on a loopback port for the rest of the script, sets PORT, and writes down whatever arrives:
// nothing arrived when there is no FILE. It refuses every request as a wrong key's.
func recorder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recorder FILE")
	}
	file := ts.MkAbs(args[0])
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	srv.Listener = recordedListener{srv.Listener, file}
	srv.Start()
	ts.Defer(func() { srv.CloseClientConnections(); srv.Close() })
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	ts.Check(err)
	ts.Setenv("PORT", port)
}

// recordedListener writes down connections and every byte that they bring.
type recordedListener struct {
	net.Listener
	file string
}

func (l recordedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("connected\n")
	return recordedConn{c, f}, err
}

type recordedConn struct {
	net.Conn
	to *os.File
}

func (c recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if _, werr := c.to.Write(p[:n]); werr != nil {
		return n, werr
	}
	return n, err
}

func (c recordedConn) Close() error { return errors.Join(c.Conn.Close(), c.to.Close()) }

// connectProxy: connectproxy FILE is a proxy on a loopback port for the rest of the script, sets PROXY, and writes down the
// addresses that it is asked for. It finds each of them on loopback, whatever the host is called.
func connectProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: connectproxy FILE")
	}
	to, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	proxy := &connecting{log: to}
	srv := httptest.NewServer(proxy)
	ts.Setenv("PROXY", srv.URL)
	ts.Defer(func() {
		srv.Close()
		proxy.work.Wait()
		_ = to.Close()
	})
}

type connecting struct {
	work sync.WaitGroup
	log  *os.File
}

// ServeHTTP answers CONNECT.
func (p *connecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = p.log.WriteString(r.Method + " " + r.Host + "\n") // the script misses a line that is not there
	_, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(w, "CONNECT alone", http.StatusMethodNotAllowed)
		return
	}
	server, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	_, _ = client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		p.work.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		})
	}
}
