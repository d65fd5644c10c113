package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator"
)

// subjectIn is where a call goes: to those that change nothing, or may.
func subjectIn(call string) string {
	for _, verb := range []string{"hello", "list", "summary", "look", "commit", "diff", "context", "decisions", "have"} {
		if strings.Contains(call, `"call":"`+verb+`"`) {
			return "host.read.local"
		}
	}
	return "host.act.local"
}

// answered asks the host as any process can that reaches the server.
func answered(t *testing.T, url, call string) (text string) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	data, err := b.Request(t.Context(), subjectIn(call), []byte(call))
	require.NoError(t, err)
	return string(data)
}

// setUps counts how often the workers of a run were told what they are made of.
func setUps(t *testing.T, url, id string) (n int) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{URL: url, Run: id})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	for m, err := range b.Read(t.Context(), bus.ConductorSubject(id, string(contextscope.KindRun)), 1) {
		require.NoError(t, err)
		n += strings.Count(string(m.Data), `"setup":"setup-`)
	}
	return n
}

// What the host is sent is not trusted, and an order that is sent again begins nothing again.
func TestAHostTakesAnOrderOnceAndNoOther(t *testing.T) {
	t.Parallel()
	url := broker(t)
	repo, laptop, remove := newRepository()
	defer remove()
	state := t.TempDir()
	first := hosts(t, state, url)
	defer func() { first.Stop() }()
	r, err := orchestrator.Submit(t.Context(), orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: laptop}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[true]")},
	}, orchestrator.Server{URL: url})
	require.NoError(t, err)
	id := r.ID()
	require.NoError(t, r.Close())
	var meta struct {
		Order string `json:"order"`
	}
	require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(state, "runs", id, "run.json"))), &meta))
	order := meta.Order
	start := fmt.Sprintf(`{"call":"start","run":%q,"body":%q}`, id, order)
	setUp(t, url, id, 1)
	for range 3 {
		require.JSONEq(t, `{"result":{}}`, answered(t, url, start))
	}
	require.Equal(t, 1, setUps(t, url, id))
	others, err := bus.Open(t.Context(), bus.Options{URL: url, Run: "20261123-000000-aaaa"})
	require.NoError(t, err)
	defer func() { require.NoError(t, others.Close(context.Background())) }()
	require.NoError(t, others.Put(t.Context(), "waste", []byte("of an order that is refused")))
	lying := "order-" + strings.Repeat("0", 64)
	for call, want := range map[string]string{
		fmt.Sprintf(`{"call":"start","run":%q,"body":%q}`, id, lying):                       "the host has another run",
		`{"call":"start","run":"20261123-000000-aaaa","body":"` + lying + `"}`:              "no such object",
		`{"call":"start","run":"20261123-000000-aaaa","body":"../x"}`:                       "names no order",
		`{"call":"start","run":"../x","body":"` + order + `"}`:                              "is no run's id",
		`{"call":"start","run":"serve","body":"` + order + `"}`:                             "no such object",
		`{"call":"start","run":"` + id + `","body":"` + order + `","more":1}`:               "more",
		`{"call":"base","run":"` + id + `","body":{"more":1}}`:                              `unknown field \"more\"`,
		`{"call":"commit","run":"` + id + `","body":{"commit":"--all","have":""}}`:          "has not landed",
		`{"call":"fetched","run":"` + id + `","body":"../x"}`:                               "is no commit",
		`{"call":"have","body":{"base":"../x","commit":"` + strings.Repeat("a", 40) + `"}}`: "name no repository",
		`{"call":"have","body":{"name":"x","commit":"--all"}}`:                              "name no repository",
		`{"call":"remove","run":"` + id + `"}`:                                              "is active",
		`{"call":"erase","run":"` + id + `"}`:                                               "unknown call",
		`{"call":"context","run":"` + id + `","body":{"Turn":-1}}`:                          "is not from 0 to",
		`{"call":"act","run":"` + id + `","body":7}`:                                        "cannot be read",
		`{"call":"summary","run":".."}`:                                                     "is no run's id",
		`{`:                                                                                 "cannot be read", "\x00": "cannot be read",
		`{"verb":"list"}`: "another version of Divisi",
	} {
		said := answered(t, url, call)
		require.Contains(t, said, want, call)
		refused := want != "no such object" && strings.HasPrefix(call, `{"call"`) && want != "more"
		require.Equal(t, refused, strings.Contains(said, `"class":"refused"`), call)
	}
	_, err = others.Get(t.Context(), "waste")
	require.ErrorIs(t, err, bus.ErrNotFound, "what was refused is removed")
	require.JSONEq(t, fmt.Sprintf(`{"result":{"runs":[%q]}}`, id), answered(t, url, `{"call":"list"}`), "nothing was left behind")
	require.JSONEq(t, fmt.Sprintf(`{"result":{"runs":[%q],"stands":{%[1]q:{"mark":"active","active":true}}}}`, id),
		answered(t, url, `{"call":"list","body":{"stands":true}}`))

	// An answer that was lost: the order is sent again, by many at once, to a host that has only the server.
	first.Stop()
	first = hosts(t, t.TempDir(), url)
	b, err := bus.Open(t.Context(), bus.Options{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	said := make(chan string, 4)
	for range cap(said) {
		go func() {
			data, err := b.Request(t.Context(), subjectIn(start), []byte(start))
			if err != nil {
				data = []byte(err.Error())
			}
			said <- string(data)
		}()
	}
	for range cap(said) {
		require.JSONEq(t, `{"result":{}}`, chantest.Next(t, said))
	}
	setUp(t, url, id, 2)
	require.Equal(t, 2, setUps(t, url, id))
}
