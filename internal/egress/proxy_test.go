package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/proxy"

	"divisi/internal/testkit/chantest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is the address that stands for the network in these tests. What is dialled there reaches a server on loopback.
const site = "198.51.100.7"

// world is a proxy in a network that the test makes.
type world struct {
	*Proxy
	address string
	mu      sync.Mutex
	dialled []string
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.dialled...)
}

// start serves a proxy whose every connection ends at the backend, or is refused by a backend "".
func start(t *testing.T, loopback bool, backend string, names map[string][]string) *world {
	t.Helper()
	w := &world{Proxy: New(nil, nil, loopback, Own{})}
	w.users = func(*url.URL) (*url.URL, error) { return nil, nil }
	w.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("198.51.100.200")}, nil }
	w.resolve = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		var addrs []netip.Addr
		for _, text := range names[host] {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		if len(addrs) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return addrs, nil
	}
	w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dialled = append(w.dialled, address)
		w.mu.Unlock()
		if backend == "" {
			return nil, errors.New("no process listens")
		}
		return (&net.Dialer{}).DialContext(ctx, network, backend)
	}
	w.serve(t)
	return w
}

func (w *world) serve(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, chantest.Next(t, done))
	})
}

// hello is a server that greets each request.
func hello(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "hello "+r.Host+r.URL.Path+string(body)+r.Header.Get("Proxy-Authorization")+r.Header.Get("Proxy-Connection"))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// get asks for a page by a way: plain, CONNECT or SOCKS5.
func (w *world) get(t *testing.T, way, host string) (status int, text string, err error) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	switch way {
	case "plain":
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: w.address, User: url.UserPassword("a", "b")})
	case "socks":
		d, err := proxy.SOCKS5("tcp", w.address, nil, nil)
		require.NoError(t, err)
		tr.DialContext = d.(proxy.ContextDialer).DialContext
	case "connect":
		tr.DialContext = func(_ context.Context, _, address string) (net.Conn, error) { return w.tunnelTo(address) }
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/x", strings.NewReader(" body"))
	require.NoError(t, err)
	res, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func (w *world) tunnelTo(address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		return nil, err
	}
	_, _ = io.WriteString(conn, "CONNECT "+address+" HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
	read := bufio.NewReader(conn)
	res, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect})
	if err == nil && res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		err = errors.Join(errors.New(res.Status+" "+string(text)), conn.Close())
	}
	return &peeked{conn, read}, err
}

var ways = []string{"plain", "connect", "socks"}

func TestEveryWayReachesTheNetwork(t *testing.T) {
	t.Parallel()
	w := start(t, false, hello(t), map[string][]string{"registry.example": {site}})
	for _, way := range ways {
		for _, host := range []string{"registry.example", site, "[2001:db8::7]", "[64:ff9b::c633:6407]"} {
			status, text, err := w.get(t, way, host)
			require.NoError(t, err, way)
			require.Equal(t, 200, status)
			require.Equal(t, "hello "+host+"/x body", text, way)
		}
	}
	require.Contains(t, w.dials(), site+":80", "what is dialled is the address, not the name")
	require.Empty(t, w.Refused())
}

// A command chooses the names: those that are noted have a bound.
func TestRefusedHostsAreClipped(t *testing.T) {
	t.Parallel()
	p := New(nil, nil, false, Own{})
	for _, host := range []string{strings.Repeat("a", 60_000) + " x", strings.Repeat("a", 255)} {
		require.Error(t, p.refuse(host, "no name"))
	}
	require.Equal(t, []*RefusedError{
		{strings.Repeat("a", 255) + "…", "no name"}, {strings.Repeat("a", 255), "no name"},
	}, p.Refused())
}

// Everything that leads to this machine or to a metadata service is refused in every protocol, and nothing is dialled for it.
func TestRefused(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"localhost": {"127.0.0.1"}, "rebound.example": {site, "127.0.0.1"}, "cloud.example": {"169.254.169.254"}, "127.1": {"127.0.0.1"},
	}
	w := start(t, false, hello(t), names)
	hosts := []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "198.51.100.200", "169.254.169.254", "169.254.1.1", "100.100.100.200",
		"192.0.0.192", "168.63.129.16", "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]",
		"[fd00:ec2::254]", "[fd20:ce::254]", "[ff02::1]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001::1]", "[::ffff:0:7f00:1]",
		"localhost", "rebound.example", "cloud.example", "127.1",
	}
	for _, way := range ways {
		for _, host := range hosts {
			status, _, err := w.get(t, way, host)
			require.True(t, err != nil || status == http.StatusForbidden, "%s %s: %d", way, host, status)
		}
	}
	require.Empty(t, w.dials())
	require.Len(t, w.Refused(), 10, "the list is bounded")
	for i, refused := range w.Refused() {
		require.Equal(t, i < 5, refused.OfThisMachine(), refused.Host) // the first five hosts
	}
	_, err := w.tunnelTo("127.0.0.1:5432")
	require.ErrorContains(t, err, "403")
	require.ErrorContains(t, err, "an address of this machine")
}

func TestLoopbackThatIsTrusted(t *testing.T) {
	t.Parallel()
	w := start(t, true, hello(t), map[string][]string{"localhost": {"127.0.0.1"}})
	for _, way := range ways {
		for _, host := range []string{"127.0.0.1", "localhost", "198.51.100.200", "[::1]"} {
			status, _, err := w.get(t, way, host)
			require.NoError(t, err)
			require.Equal(t, 200, status, way+" "+host)
		}
		for _, host := range []string{"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"} {
			status, _, err := w.get(t, way, host)
			require.True(t, err != nil || status == http.StatusForbidden, "metadata stays refused: %s", host)
		}
	}
}

// A name whose address changes between two look-ups is looked up once.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := start(t, false, hello(t), nil)
	var mu sync.Mutex
	asked := 0
	w.resolve = func(context.Context, string, string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr(site)}, nil
	}
	status, _, err := w.get(t, "socks", "rebinding.example")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Equal(t, []string{site + ":80"}, w.dials())
	_, _, err = w.get(t, "socks", "rebinding.example")
	require.Error(t, err)
	require.Len(t, w.dials(), 1)
}

// The user's own proxy gets everything that is not refused, with the user's password, which the command does not see.
func TestUsersProxy(t *testing.T) {
	t.Parallel()
	outer := start(t, false, hello(t), map[string][]string{"registry.example": {site}})
	for _, scheme := range []string{"http", "socks5"} {
		w := start(t, false, outer.address, map[string][]string{"cloud.example": {"169.254.169.254"}})
		w.users = func(*url.URL) (*url.URL, error) {
			return &url.URL{Scheme: scheme, Host: outer.address, User: url.UserPassword("me", "pass")}, nil
		}
		for _, way := range ways {
			status, text, err := w.get(t, way, "registry.example") // a name that only the outer proxy knows
			if scheme == "socks5" {                                // the outer one here knows no logins
				w.users = func(*url.URL) (*url.URL, error) { return &url.URL{Scheme: scheme, Host: outer.address}, nil }
				status, text, err = w.get(t, way, "registry.example")
			}
			require.NoError(t, err, scheme+way)
			require.Equal(t, 200, status)
			require.Equal(t, "hello registry.example/x body", text)
			for _, host := range []string{"127.0.0.1", "cloud.example", "localhost", "127.1", "metadata.google.internal", "[::1]"} {
				status, _, err := w.get(t, way, host)
				require.True(t, err != nil || status == http.StatusForbidden || status == http.StatusBadGateway, "%s %s %s", scheme, way, host)
			}
		}
	}
}

// The user's proxy gets the user's password from Divisi; the command sees neither that nor its own to this proxy passed on.
func TestUsersPassword(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var logins []string
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		logins = append(logins, r.Header.Get("Proxy-Authorization"))
		http.Error(w, "who are you?", http.StatusTeapot)
	}))
	t.Cleanup(outer.Close)
	w := start(t, false, outer.Listener.Addr().String(), map[string][]string{"registry.example": {site}})
	w.users = func(*url.URL) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: "proxy.example:3128", User: url.UserPassword("me", "pass")}, nil
	}
	status, _, err := w.get(t, "plain", "registry.example")
	require.NoError(t, err)
	require.Equal(t, http.StatusTeapot, status)
	_, err = w.tunnelTo("registry.example:443")
	require.ErrorContains(t, err, "connect to registry.example:443 through your proxy proxy.example:3128: it answers 418")
	require.NotContains(t, err.Error(), "pass")
	require.Equal(t, []string{"Basic bWU6cGFzcw==", "Basic bWU6cGFzcw=="}, logins)
}

// A host that the user's proxy could read as another one than was checked never comes to it, and no request that it answers with
// the login.
func TestUsersProxyIsToldPlainHosts(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "socks5"} {
		w := start(t, false, "", nil)
		w.users = func(*url.URL) (*url.URL, error) { return &url.URL{Scheme: scheme, Host: "proxy.example:3128"}, nil }
		for _, request := range []string{
			"GET http://127.0.0.\uff11/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://localhost\u3002/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://%e2%93%9bocalhost/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://ip6-localhost/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"CONNECT / HTTP/1.1\r\nHost: 127.0.0.1:22 HTTP/1.1 .example:80\r\n\r\n",
			"CONNECT / HTTP/1.1\r\nHost: a.example:80@127.0.0.1\r\n\r\n",
			"\x05\x01\x00\x05\x01\x00\x03\x11127.0.0.1\x00.example\x00\x50",
			"\x05\x01\x00\x05\x01\x00\x03\x14127.0.0.1:22/.example\x00\x50",
			"TRACE http://registry.example/ HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n",
		} {
			conn, err := net.Dial("tcp", w.address)
			require.NoError(t, err)
			_, err = io.WriteString(conn, request)
			require.NoError(t, err)
			_, err = io.ReadAll(conn)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			require.Empty(t, w.dials(), "%s: %q", scheme, request)
		}
	}
}

// The environment of Divisi names the user's proxies; addresses of this machine never go there.
func TestUsersEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "all_proxy"} {
		t.Setenv(name, "")
	}
	t.Setenv("ALL_PROXY", "socks5://proxy.example:1080")
	t.Setenv("HTTPS_PROXY", "http://secure.example:3128")
	t.Setenv("NO_PROXY", "inside.example")
	p := New(nil, nil, false, Own{})
	for address, want := range map[string]string{
		"https://a.example:443": "http://secure.example:3128", "http://a.example": "socks5://proxy.example:1080",
		"https://inside.example": "", "https://127.0.0.1:80": "",
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		via, err := p.users(u)
		require.NoError(t, err)
		if want == "" {
			require.Nil(t, via, address)
		} else {
			require.Equal(t, want, via.String())
		}
	}
	own, err := ownAddresses()
	require.NoError(t, err)
	require.Contains(t, own, netip.MustParseAddr("127.0.0.1"))
}

// One plain request is served on a connection: what follows it on the wire reaches no server.
func TestNothingFollowsAPlainRequest(t *testing.T) {
	t.Parallel()
	w := start(t, false, hello(t), nil)
	conn, err := net.Dial("tcp", w.address)
	require.NoError(t, err)
	_, err = io.WriteString(conn, strings.Repeat("GET http://"+site+"/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", 2))
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(all), "hello"), string(all))
	require.Contains(t, string(all), "100 Continue")
	require.NoError(t, conn.Close())
	require.Len(t, w.dials(), 1)
}

func TestWhatIsNoProxyRequest(t *testing.T) {
	t.Parallel()
	w := start(t, false, "", map[string][]string{"gone.example": {site}})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                                         "this is a proxy",
		"GET https://" + site + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                     "this is a proxy",
		"CONNECT " + site + " HTTP/1.1\r\nHost: x\r\n\r\n":                          "missing port",
		"CONNECT gone.example:443 HTTP/1.1\r\nHost: x\r\n\r\n":                      "no process listens",
		"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50":                      "\x05\x00\x05\x07",
		"\x05\x01\x00\x05\x01\x00\x03\x0cgone.example\x00\x50":                      "\x05\x00\x05\x01",
		"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50":                      "\x05\x00\x05\x02",
		"GET http://x/ HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n": "",
	} {
		conn, err := net.Dial("tcp", w.address)
		require.NoError(t, err)
		_, _ = io.WriteString(conn, request)
		all, _ := io.ReadAll(conn)
		require.Contains(t, string(all), want)
		require.NoError(t, conn.Close())
	}
}

// The end of a command ends its tunnels, idle ones too.
func TestTheEndOfACommandEndsItsTunnels(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	w := start(t, false, silent.Addr().String(), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, l) }()
	conn, err := w.tunnelTo(site + ":443")
	require.NoError(t, err)
	cancel()
	require.NoError(t, chantest.Next(t, done))
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the tunnel ended")
}

// Whatever a command sends first, it is answered or ended, and what is dialled was checked.
func FuzzFirstBytes(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x09localhost\x00\x50"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x04\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("POST http://[::1]/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := New(nil, nil, false, Own{})
		p.users = func(*url.URL) (*url.URL, error) { return nil, nil }
		p.resolve = func(context.Context, string, string) ([]netip.Addr, error) { return nil, &net.DNSError{} }
		p.dial = func(_ context.Context, _, address string) (net.Conn, error) {
			at, err := netip.ParseAddrPort(address)
			if err == nil && refusal(at.Addr(), nil, false) != "" {
				panic("dialled " + address)
			}
			return nil, errors.New("no network")
		}
		ours, theirs := net.Pipe()
		var running sync.WaitGroup
		running.Go(func() { p.serve(t.Context(), theirs) })
		running.Go(func() { _, _ = io.Copy(io.Discard, ours) })
		_, _ = ours.Write(data)
		_ = ours.Close()
		running.Wait()
	})
}
