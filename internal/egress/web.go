package egress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
)

// web serves one HTTP request: CONNECT, or one with a whole http:// address. A connection carries one of the latter, so that
// nothing that follows it reaches a server unchecked.
func (p *Proxy) web(ctx context.Context, here *peeked, accepted func() error) error {
	r, err := http.ReadRequest(here.read)
	if err != nil {
		return err
	}
	if err := accepted(); err != nil {
		return err
	}
	if r.Method == http.MethodConnect {
		host, port, err := net.SplitHostPort(r.Host)
		if err != nil {
			return answer(here, err)
		}
		there, err := p.connect(ctx, "https", host, port)
		if err != nil {
			return answer(here, err)
		}
		_, err = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		tunnel(ctx, here, there)
		return err
	}
	if r.Method == http.MethodTrace {
		return answer(here, errors.New("TRACE is not forwarded: your proxy could answer it with your login"))
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		return answer(here, errors.New("this is a proxy for CONNECT host:port and for requests with a whole http:// address"))
	}
	return p.plain(ctx, here, r)
}

// plain forwards one request, without what belongs to the connection to this proxy, and its response.
func (p *Proxy) plain(ctx context.Context, here *peeked, r *http.Request) error {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade"} {
		r.Header.Del(name)
	}
	r.Close = true
	via, err := p.users(r.URL)
	write := r.Write
	var there net.Conn
	switch {
	case err != nil:
	case via != nil && strings.HasPrefix(via.Scheme, "http"):
		maps.Copy(r.Header, login(via))
		write = r.WriteProxy
		if err = p.mayForward(ctx, r.URL.Hostname()); err == nil {
			there, err = p.reach(ctx, via)
		}
		p.asked(err)
	default:
		there, err = p.connect(ctx, "http", r.URL.Hostname(), cmp.Or(r.URL.Port(), "80"))
	}
	if err != nil {
		return answer(here, err)
	}
	defer there.Close() // all of the response was copied, or an error reports why not
	stop := context.AfterFunc(ctx, func() { _ = there.Close() })
	defer stop()
	if r.Header.Get("Expect") != "" { // the body is wanted, whatever the server thinks
		r.Header.Del("Expect")
		_, err = io.WriteString(here, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	if err = errors.Join(err, write(there)); err != nil {
		return answer(here, err)
	}
	head := bufio.NewReader(there)
	if line, _ := head.Peek(len("HTTP/1.1 503")); len(line) > 9 && slices.Contains(outOfOrder, string(line[9:])) {
		p.asked(errOutOfOrder)
	}
	_, err = io.Copy(here, head)
	return err
}

// outOfOrder are the status codes of a service, or of the proxy before it, that is out of order.
var (
	outOfOrder    = []string{"502", "503", "504"}
	errOutOfOrder = errors.New("the service is out of order")
)

// answer reports why there is no connection.
func answer(w io.Writer, why error) error {
	status := http.StatusBadGateway
	if _, ok := errors.AsType[*RefusedError](why); ok {
		status = http.StatusForbidden
	}
	text := why.Error() + "\n"
	_, err := fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s", status, http.StatusText(status), len(text), text)
	return errors.Join(why, err)
}
