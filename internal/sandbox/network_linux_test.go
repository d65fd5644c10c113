package sandbox

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// probes are what a command tries: to connect by itself, by both protocols of the proxy, and by what a library makes of the
// environment.
const probes = `
import os, socket, sys, urllib.request
host, port = sys.argv[1], int(sys.argv[2])
def through():
    at = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
    return socket.create_connection((at[0], int(at[1])), 10)
def direct():
    socket.create_connection((host, port), 5)
    return "open"
def connect():
    s = through()
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return s.recv(99).decode().split("\r")[0]
def socks():
    s = through()
    s.sendall(b"\x05\x01\x00")
    assert s.recv(2) == b"\x05\x00"
    s.sendall(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
    return str(s.recv(10)[1])
def library():
    return urllib.request.urlopen(f"http://{host}:{port}/", timeout=10).read().decode()
for probe in direct, connect, socks, library:
    try:
        print(probe.__name__, probe())
    except Exception as e:
        print(probe.__name__, "failed", str(e))
`

func (p place) probe(t *testing.T, loopback bool, address string) *Output {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return p.run(t, Command{
		Args: []string{"python3", "-c", probes, host, port}, Dir: p.tree, Env: p.env, Writable: []string{p.tree},
		Network: true, Loopback: loopback,
	})
}

// A networked command reaches nothing of this machine by itself, and by its proxy only what is trusted.
func TestSlowHostServices(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a host service")) }))
	t.Cleanup(s.Close)
	service := s.Listener.Addr().String()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.probe(t, false, service)
		require.Regexp(t, `direct failed.*\nconnect HTTP/1.1 403 Forbidden\nsocks 2\nlibrary failed`, out.Text())
		require.Len(t, out.Refused, 1)
		require.Equal(t, "127.0.0.1", out.Refused[0].Host)
		out = p.probe(t, false, "169.254.169.254:80")
		require.Regexp(t, `direct failed.*\nconnect HTTP/1.1 403 Forbidden\nsocks 2\nlibrary failed HTTP Error 403`, out.Text())
		for _, own := range ownHosts(t) {
			require.Regexp(t, `direct failed.*\nconnect HTTP/1.1 403 Forbidden\nsocks 2\n`, p.probe(t, false, net.JoinHostPort(own, "22")).Text())
		}

		out = p.probe(t, true, service)
		require.Regexp(t, `direct failed.*\nconnect HTTP/1.1 200 .*\nsocks 0\nlibrary a host service`, out.Text())
		require.Empty(t, out.Refused)
	}, full, sharedUser)
}

// ownHosts are the addresses of this machine beside loopback.
func ownHosts(t *testing.T) []string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	require.NoError(t, err)
	var own []string
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			own = append(own, n.IP.String())
		}
	}
	return own
}

// Without namespaces a networked command has the machine's network; with and without them no command has its abstract sockets.
func TestNetworkIsAskedFor(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	outside := listeners(t)
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' ` +
			strings.TrimPrefix(l.Addr().String(), "127.0.0.1:"))
		require.False(t, p.run(t, c).Success())
		c.Network = true
		require.Equal(t, p.level.HostNetwork(), p.run(t, c).Success())
		at := slices.IndexFunc(outside, func(v string) bool { return strings.HasPrefix(v, "ABSTRACT=") })
		c = p.shell(`python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"])'`)
		c.Network, c.Env = true, append(c.Env, outside[at])
		require.False(t, p.run(t, c).Success(), "abstract sockets belong to the network, and are not meant")
	}, full, sharedUser, oneWorld)
}

// A server of the command's own is where it always is, and a session has its way to the network too, which ends with it.
func TestOwnLoopbackBesideTheProxy(t *testing.T) {
	t.Parallel()
	if !Probe().have(Namespaces) {
		t.Skip("no namespaces here")
	}
	p := newPlace(t)
	c := p.shell(`python3 -c '
import http.server, threading, urllib.request
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{s.server_port}/").status, flush=True)
input()'`)
	c.Network = true
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	b := make([]byte, 64)
	n, err := s.Read(b)
	require.NoError(t, err, s.Tail())
	require.Equal(t, "200\n", string(b[:n]))
	require.NoError(t, s.Close())
}

func TestProxiesInTheEnvironment(t *testing.T) {
	for _, name := range append([]string{"NO_PROXY", "no_proxy"}, proxyVars...) {
		t.Setenv(name, "")
	}
	t.Setenv("https_proxy", "http://me:pass@proxy.example:3128")
	t.Setenv("http_proxy", "me:pass@proxy.example:3128")
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	c := Command{Env: []string{"MAVEN_OPTS=mine", "HTTP_PROXY=http://users.example"}}
	require.Equal(t, c.Env, c.withOwnProxy().Env)
	require.Equal(t, c.Env, c.withUsersProxies().Env)
	c.Network = true
	env := c.withUsersProxies().environment(Place{})
	require.Contains(t, env, "HTTPS_PROXY=http://proxy.example:3128")
	require.NotContains(t, strings.Join(env, "\n"), "pass")
	env = c.withOwnProxy().environment(Place{})
	for _, name := range proxyVars {
		require.Contains(t, env, name+"=http://127.0.0.1:61080")
	}
	require.Contains(t, env, "NO_PROXY=localhost,127.0.0.1,::1")
	require.Regexp(t, `(?m)^MAVEN_OPTS=-Dhttp.proxyHost=127\.0\.0\.1 .*useSystemProperties=true mine$`, strings.Join(env, "\n"))
	c.Loopback = true
	require.Contains(t, c.withOwnProxy().environment(Place{}), "NO_PROXY=")
}

// A command sets its own priority and processors, and those of its other processes and threads.
func TestOwnPriority(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		script := "nice -n 5 true && taskset 1 true && ionice -c 3 true && chrt -b 0 true"
		if !p.level.HostNetwork() {
			script += " && { sleep 60 & renice -n 5 -p $! && taskset -p 1 $!; }"
		}
		out := p.run(t, p.shell(script+" && ! renice -n 5 -p $PPID && ! taskset -p 1 $PPID"))
		require.True(t, out.Success(), out.Text())
	}, full, sharedUser, oneWorld)
}
