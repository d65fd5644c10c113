package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// page: page NAME GET PATH PATTERN asks the page of a spawned program until the answer matches; the first group of the pattern is
// $FOUND then. page NAME POST PATH BODY STATUS sends a body as the page's script does, and prints the answer. PATH is below /api/v1/.
func page(ts *testscript.TestScript, _ bool, args []string) {
	client, at := pageOf(ts, args[0])
	at.Path = "/api/v1/" + args[2]
	if args[1] == http.MethodPost {
		status, body := sent(ts, client, at, args[3])
		_, err := io.WriteString(ts.Stdout(), body)
		ts.Check(err)
		if strconv.Itoa(status) != args[4] {
			ts.Fatalf("%s answers %d to %s: %s", at, status, args[3], body)
		}
		return
	}
	pattern := regexp.MustCompile(args[3])
	last := ""
	await(ts, args[0], func() bool {
		r, err := client.Get(at.String())
		ts.Check(err)
		data, err := io.ReadAll(r.Body)
		ts.Check(err)
		_ = r.Body.Close()
		last = string(data)
		m := pattern.FindStringSubmatch(last)
		if len(m) > 1 {
			ts.Setenv("FOUND", m[1])
		}
		return m != nil
	})
	client.CloseIdleConnections()
	_, err := io.WriteString(ts.Stdout(), last)
	ts.Check(err)
}

// pageOf is a client that the page of a program has admitted, and its address.
func pageOf(ts *testscript.TestScript, name string) (*http.Client, *url.URL) {
	var address string
	await(ts, name, func() bool {
		out, _ := jobOf(ts, name).output()
		m := regexp.MustCompile(`(?m)^dashboard: (\S+)$`).FindSubmatch(out)
		if m != nil {
			address = string(m[1])
		}
		return m != nil
	})
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	r, err := client.Get(address)
	ts.Check(err)
	_ = r.Body.Close()
	at, err := url.Parse(address)
	ts.Check(err)
	at.RawQuery = ""
	return client, at
}

func sent(ts *testscript.TestScript, client *http.Client, at *url.URL, body string) (status int, answer string) {
	req, err := http.NewRequest(http.MethodPost, at.String(), strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", "http://"+at.Host)
	r, err := client.Do(req)
	ts.Check(err)
	data, err := io.ReadAll(r.Body)
	ts.Check(err)
	_ = r.Body.Close()
	client.CloseIdleConnections()
	return r.StatusCode, string(data)
}
