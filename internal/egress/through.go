package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
)

// connectThrough connects through the user's proxy. Errors never hold that proxy's password.
func (p *Proxy) connectThrough(ctx context.Context, via *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := p.through(ctx, via, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s through your proxy %s: %w", address, via.Host, err)
	}
	return conn, nil
}

func (p *Proxy) through(ctx context.Context, via *url.URL, address string) (net.Conn, error) {
	if via.Scheme == "socks5" || via.Scheme == "socks5h" {
		d, err := proxy.FromURL(via, nil)
		if err != nil {
			return nil, err
		}
		return d.(proxy.ContextDialer).DialContext(ctx, "tcp", address) //nolint:errcheck // the library's dialer is one
	}
	conn, err := p.reach(ctx, via)
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: login(via)}
	read := bufio.NewReader(conn)
	var res *http.Response
	if err = conn.SetDeadline(end); err == nil {
		err = r.Write(conn)
	}
	if err == nil {
		res, err = http.ReadResponse(read, r) //nolint:bodyclose // what follows the head is the tunnel
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", res.Status)
	}
	if err != nil {
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	return &peeked{conn, read}, conn.SetDeadline(time.Time{})
}

// reach connects to the user's proxy itself, which may be on this machine.
func (p *Proxy) reach(ctx context.Context, via *url.URL) (net.Conn, error) {
	port := cmp.Or(via.Port(), map[string]string{"http": "80", "https": "443"}[via.Scheme])
	conn, err := p.dial(ctx, "tcp", net.JoinHostPort(via.Hostname(), port))
	if err == nil && via.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: via.Hostname(), MinVersion: tls.VersionTLS12})
	}
	return conn, err
}

// login is the header with the user's name and password for that proxy.
func login(via *url.URL) http.Header {
	if via.User == nil {
		return http.Header{}
	}
	password, _ := via.User.Password()
	basic := base64.StdEncoding.EncodeToString([]byte(via.User.Username() + ":" + password))
	return http.Header{"Proxy-Authorization": {"Basic " + basic}}
}
