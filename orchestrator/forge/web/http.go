package web

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// requestTime bounds one request with its answer.
const requestTime = 2 * time.Minute

// HTTP is a client that follows few redirects, of reads alone, and none that leaves https. No credential goes to
// another host.
func HTTP() *http.Client {
	return &http.Client{Timeout: requestTime, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case to.Method != http.MethodGet && to.Method != http.MethodHead:
			return http.ErrUseLastResponse
		case len(via) > 5:
			return errors.New("the forge redirects without end")
		case !Private(to.URL):
			return errors.New("the forge redirects to an address that is not https")
		}
		if to.URL.Host != via[0].URL.Host { // the library minds no port
			to.Header.Del("Authorization")
		}
		return nil
	}}
}

// Private reports whether what is sent to an address can be read on no way there: it is https, or on this machine.
func Private(at *url.URL) bool {
	ip := net.ParseIP(at.Hostname())
	return at.Scheme == "https" || at.Scheme == "http" && (at.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
