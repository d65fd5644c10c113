package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/hub"
)

// A run on a server is acted on by a person through each door that reaches it, and by no one else through any.
func TestWhoMayActOnAServer(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Strict() != nil {
		t.Skip("a worker refuses to work where commands could read its login")
	}
	server := servedHere(t)
	for _, d := range []way{doors[0], doors[2]} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			a := submittedTo(t, server, strings.Fields(d.name)[0])
			if d.name == "page" {
				a.page, a.who = link(t, server, "person", "ana"), "user:ana"
			} else {
				for _, o := range a.others(t, server) {
					o.mayNot(t)
				}
			}
			a.tries(t, d)
		})
	}
}

// servedHere serves runs until the test ends, with a worker, to members and on a page. It returns its state directory.
func servedHere(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- hub.Serve(ctx, hub.ServeOptions{
			StateDir: state, Listen: "127.0.0.1:0", Hosts: []string{"localhost"}, Page: "127.0.0.1:0", Agents: 8,
			Ready: func(hub.Serving) { close(ready) }, Notice: func(string) {},
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		require.NoError(t, err)
	}
	t.Cleanup(func() { cancel(); require.NoError(t, chantest.Next(t, ended)) })
	return state
}

// member joins a server as host, and returns the state directory with the login.
func member(t *testing.T, server, role, name string) (state string, at orchestrator.Server) {
	t.Helper()
	state = t.TempDir()
	token, err := hub.NewToken(t.Context(), server, hub.TokenOptions{Role: role})
	require.NoError(t, err)
	_, at, err = depot.Join(t.Context(), state, token, "host", name)
	require.NoError(t, err)
	return state, at
}

func link(t *testing.T, server, role, name string) string {
	t.Helper()
	address, err := hub.NewLink(t.Context(), server, hub.TokenOptions{Role: role, Name: name})
	require.NoError(t, err)
	return address
}

// submittedTo submits a run to a server, as a person of its own, and waits until all of it waits.
func submittedTo(t *testing.T, server, name string) *acted {
	t.Helper()
	a := &acted{repo: filepath.Join(t.TempDir(), "repo"), on: "host", active: true, dir: t.TempDir()}
	actedRepo(t, a.repo)
	var at orchestrator.Server
	a.state, at = member(t, server, "person", name)
	r, err := orchestrator.Submit(t.Context(), a.options(a.state), at)
	require.NoError(t, err)
	a.run, a.runs, a.who, a.holder = r.ID(), orchestrator.On(at), "user:"+name, r
	left := map[string]int{"held": 3, "parked": 2, "landed": 1}
	for line, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		var e struct {
			Data struct {
				State string `json:"state"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal(line, &e))
		if left[e.Data.State]--; left["held"] <= 0 && left["parked"] <= 0 && left["landed"] <= 0 {
			break
		}
	}
	a.still(t)
	return a
}

// other is a way of one who may not act on the run, and what that is told.
type other struct {
	acted
	way

	why string
}

// others are a viewer and a worker of the server, and one who may inspect its page.
func (a *acted) others(t *testing.T, server string) (out []other) {
	t.Helper()
	for _, role := range []string{"viewer", "worker"} {
		o := other{*a, way{}, role + " " + role + "-" + a.who[len("user:"):] + " may not "}
		var at orchestrator.Server
		o.state, at = member(t, server, role, role+"-"+a.who[len("user:"):])
		o.runs = orchestrator.On(at)
		for _, o.way = range []way{doors[0], doors[3], doors[4]} {
			out = append(out, o)
		}
	}
	guest := other{*a, doors[2], "guest may look, and do nothing here"}
	guest.page = link(t, server, "viewer", "guest")
	return append(out, guest)
}

// mayNot tries each act as a caller without the right to it.
func (o *other) mayNot(t *testing.T) {
	t.Helper()
	for i := range tries {
		if what := &tries[i]; !what.refused && o.has(what) && what.on == "" {
			_, err := o.do(t, &o.acted, what)
			require.ErrorContains(t, err, o.why, what.act)
		}
	}
}
