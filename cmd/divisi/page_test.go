package main

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// page: page NAME GET PATH PATTERN asks the page of a spawned program until the answer matches; the first group of the pattern is
// $FOUND then. page NAME POST PATH BODY STATUS sends a body as the page's script does, and prints the answer. PATH is below /api/v1/.
// NAME can be @FILE with a link to the page of the spawned program hub.
func page(ts *testscript.TestScript, _ bool, args []string) {
	if file, link := strings.CutPrefix(args[0], "@"); link {
		args[0] = strings.TrimSpace(ts.ReadFile(file))
	}
	client, at := pageOf(ts, args[0])
	at.Path = "/api/v1/" + args[2]
	if args[1] == http.MethodPost {
		status, body, err := sent(client, at, args[3])
		ts.Check(err)
		_, err = io.WriteString(ts.Stdout(), body)
		ts.Check(err)
		if strconv.Itoa(status) != args[4] {
			ts.Fatalf("%s answers %d to %s: %s", at, status, args[3], body)
		}
		return
	}
	pattern := regexp.MustCompile(args[3])
	last := ""
	job := args[0]
	if strings.HasPrefix(job, "https://") {
		job = "hub" // the server of the link
	}
	await(ts, job, func() bool {
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
	address := name
	if !strings.HasPrefix(name, "https://") {
		await(ts, name, func() bool {
			out, _ := jobOf(ts, name).output()
			m := regexp.MustCompile(`(?m)^dashboard: (\S+)$`).FindSubmatch(out)
			if m != nil {
				address = string(m[1])
			}
			return m != nil
		})
	}
	at, err := addressOf(address)
	ts.Check(err)
	client, err := entered(address)
	ts.Check(err)
	return client, at
}

// visitors are the clients that a link has admitted, by the link: it admits one.
var visitors sync.Map

// entered opens a page. That of a server has a certificate that no authority has signed.
func entered(address string) (*http.Client, error) {
	if client, signedIn := visitors.Load(address); signedIn {
		return client.(*http.Client), nil //nolint:forcetypeassert // it is stored below
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	r, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	client.CloseIdleConnections()
	visitors.Store(address, client)
	return client, r.Body.Close()
}

func addressOf(address string) (*url.URL, error) {
	at, err := url.Parse(address)
	if err == nil {
		at.RawQuery = ""
	}
	return at, err
}

// sent sends a body as the page's script does.
func sent(client *http.Client, at *url.URL, body string) (status int, answer string, err error) {
	req, err := http.NewRequest(http.MethodPost, at.String(), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", at.Scheme+"://"+at.Host)
	r, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	data, err := io.ReadAll(r.Body)
	client.CloseIdleConnections()
	return r.StatusCode, string(data), errors.Join(err, r.Body.Close())
}
