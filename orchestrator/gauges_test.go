package orchestrator_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/host"
	"divisi/orchestrator/hub"
	"divisi/subagents/wire"
)

// serving serves a state directory until stop, and returns how it is reached and what it has told.
func serving(t *testing.T, stateDir string) (at hub.Serving, told func() []string) {
	t.Helper()
	return servingWith(t, stateDir, 0)
}

// servingWith serves with a worker of its own, where it has agents.
func servingWith(t *testing.T, stateDir string, agents int) (at hub.Serving, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan hub.Serving, 1), make(chan error, 1)
	go func() {
		ended <- hub.Serve(ctx, hub.ServeOptions{
			StateDir: stateDir, Listen: "127.0.0.1:0", Metrics: "127.0.0.1:0", Agents: agents, Gates: agents,
			Ready: func(at hub.Serving) { ready <- at },
			Notice: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, text)
			},
		})
	}()
	t.Cleanup(func() { cancel(); require.NoError(t, chantest.Next(t, ended)) })
	select {
	case at = <-ready:
	case err := <-ended:
		ended <- nil
		require.NoError(t, err)
	}
	return at, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) gauge$`)
)

// numbers reads the text of version 0.0.4, by its rules: each metric has its type before its samples, in one group, and no sample
// comes twice.
func numbers(t *testing.T, url string) map[string]float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Body.Close()) }()
	data, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.StatusCode, string(data))
	require.True(t, strings.HasSuffix(string(data), "\n"))
	found, typed, now := map[string]float64{}, map[string]bool{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			require.False(t, typed[m[1]], line)
			now, typed[m[1]] = m[1], true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		require.Equal(t, now, m[1], "a sample outside its group")
		n, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err, line)
		require.NotContains(t, found, m[1]+m[2])
		found[m[1]+m[2]] = n
	}
	return found
}

func TestAServerShowsItsNumbers(t *testing.T) {
	t.Parallel()
	ctx, stateDir := t.Context(), t.TempDir()
	at, _ := serving(t, stateDir)
	o, err := bus.OwnerOptions(filepath.Join(stateDir, "serve", "bus"))
	require.NoError(t, err)
	b, err := bus.Open(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	none := numbers(t, at.Metrics)
	require.InDelta(t, 0, none[`divisi_workers{state="ready"}`], 0)
	for _, task := range []string{"a--1", "b--1"} {
		require.NoError(t, b.Enqueue(ctx, bus.TaskSubject("generator", "r1", task), task, []byte("x")))
	}
	says := func(name string, state wire.WorkerState, run wire.Service) {
		p := wire.Presence{
			Worker: name, State: state, Protocol: wire.Protocol, Key: make([]byte, 32), Places: wire.Places{Agents: 4, Gates: 2},
			Runs: map[string]wire.Service{"r1": run},
		}
		data, err := json.Marshal(p)
		require.NoError(t, err)
		stop, err := b.Subscribe(ctx, bus.PresenceAsk(), func(bus.Message, func([]byte) error) {
			if b.Publish(ctx, bus.WorkerPresence(name), data) != nil {
				t.Error("the presence was not sent")
			}
		})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	says("w1", wire.WorkerReady, wire.Service{At: []string{"a--1", "--batch-1--1", "t--verify--1", "t--red--2"}})
	says("w2", wire.WorkerPaused, wire.Service{})
	wait := spec.Wait{For: spec.WaitQuota, Model: `"evil"`, Account: "acc", Until: time.Now().Add(time.Hour)}
	data, err := json.Marshal(wait.Sent(time.Now()))
	require.NoError(t, err)
	require.NoError(t, b.Publish(ctx, bus.LimitsSubject("w1"), data))
	got := numbers(t, at.Metrics)
	for name, want := range map[string]float64{
		`divisi_queue_attempts{role="generator",run="r1"}`:        2,
		`divisi_workers{state="ready"}`:                           1,
		`divisi_workers{state="paused"}`:                          1,
		`divisi_workers{state="draining"}`:                        0,
		`divisi_worker_places{worker="w1",kind="agents"}`:         4,
		`divisi_worker_places{worker="w2",kind="gates"}`:          2,
		`divisi_worker_places_used{worker="w1",kind="agents"}`:    2,
		`divisi_worker_places_used{worker="w1",kind="gates"}`:     2,
		`divisi_worker_places_used{worker="w2",kind="agents"}`:    0,
		`divisi_decisions_open`:                                   0,
		`divisi_limits{for="` + spec.WaitQuota + `"}`:             1,
		`divisi_limit_wait_seconds{for="` + spec.WaitQuota + `"}`: 3600,
	} {
		require.Contains(t, got, name)
		require.InDelta(t, want, got[name], 30*map[bool]float64{true: 1}[want == 3600], name)
	}
	require.Greater(t, got["divisi_store_bytes"], none["divisi_store_bytes"])
	require.Greater(t, got["divisi_store_ceiling_bytes"], got["divisi_store_bytes"])
	_, there, err := depot.Join(ctx, t.TempDir(), tokenFrom(t, stateDir, "person"), "", "ada")
	require.NoError(t, err)
	_, err = host.Quarantine(ctx, there, "w1", time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return numbers(t, at.Metrics)[`divisi_limits{for="`+spec.WaitQuota+`"}`] == 0
	}, time.Minute, 50*time.Millisecond, "what a worker in quarantine told holds on")
	require.InDelta(t, float64(time.Now().Add(365*24*time.Hour).Unix()), got["divisi_certificate_end_timestamp_seconds"], 120)
}

func TestAServerTellsThatItsCertificateEndsSoon(t *testing.T) {
	t.Parallel()
	stateDir := t.TempDir()
	made := time.Now().Add(-355 * 24 * time.Hour)
	_, _, err := member.Certificate(filepath.Join(stateDir, "serve"), []string{"127.0.0.1"}, func() time.Time { return made })
	require.NoError(t, err)
	_, told := serving(t, stateDir)
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(told(), "\n"), "in 9 days") }, time.Minute, 5*time.Millisecond)
	_, expiry, err := hub.Credentials(t.Context(), stateDir)
	require.NoError(t, err)
	require.Contains(t, expiry, "the certificate of the server ends on ")
	_, expiry, err = hub.Credentials(t.Context(), served(t))
	require.NoError(t, err)
	require.Empty(t, expiry)
}
