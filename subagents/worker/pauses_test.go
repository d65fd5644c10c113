package worker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// A setup waits for a service that does not work, once for one that answers, and not at all where it asks none. What it had left
// is gone when it runs again.
func TestASetupWaitsForAServiceThatIsAway(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().HostNetwork() {
		t.Skip("this machine has no namespaces")
	}
	s := newSite(t)
	s.pauses = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	s.work(nil, "tester")
	for name, test := range map[string]struct {
		answers []int
		asked   int32
		status  spec.Status
	}{
		"back":       {[]int{503, 502, 504, 200}, 4, spec.StatusDone},
		"away":       {[]int{503}, 4, spec.StatusFailed},
		"wrong":      {[]int{404}, 2, spec.StatusFailed},
		"back-later": {[]int{500, 200}, 2, spec.StatusDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.answers[min(int(asked.Add(1)), len(test.answers))-1])
			}))
			t.Cleanup(service.Close)
			a := s.assignment(testerRole, name)
			a.Project.Loopback = true
			a.Setup = []string{"sh", "-c", fmt.Sprintf("echo '*' >.gitignore && mkdir half && test ! -e $DIVISI_TOOLS/half && "+
				"touch $DIVISI_TOOLS/half && python3 -c 'import urllib.request; urllib.request.urlopen(%q)'", service.URL)}
			a.Project.Gates = []spec.Gate{{Name: "g", Command: []string{"true"}}}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, test.status, r.Status, "%+v", r.Error)
			require.Equal(t, test.asked, asked.Load())
		})
	}
	t.Run("asks nothing", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.pauses = []time.Duration{time.Hour}
		s.work(nil, "tester")
		a := s.assignment(testerRole, "none")
		a.Setup, a.Project.Gates = []string{"false"}, []spec.Gate{{Name: "g", Command: []string{"true"}}}
		s.enqueue(a)
		require.Equal(t, spec.StatusFailed, s.result(a).Status)
	})
}

// What a setup may leave out, and left out because a service was away, the next run tries again. One that says so without having
// asked anybody leaves it out for ever.
func TestSlowAPartThatIsNotInstalledIsTriedAgain(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().HostNetwork() {
		t.Skip("this machine has no namespaces")
	}
	s := newSite(t)
	status := http.StatusServiceUnavailable
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(service.Close)
	n := 0
	run := func(part string) string {
		w := s.work(nil, "tester")
		n++
		a := s.assignment(testerRole, "--setup")
		a.Attempt, a.Project.Loopback = n, true
		a.Setup = []string{"sh", "-c", "{ " + part + " && touch $DIVISI_TOOLS/b; } || echo 'not installed: b'"}
		a.Project.Gates = []spec.Gate{{Name: "g", Command: []string{"true"}}}
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		w.Stop()
		w.cfg.Environments.Close()
		return strings.Join(r.Handoff.Deviations, "\n")
	}
	asks := fmt.Sprintf("python3 -c 'import urllib.request; urllib.request.urlopen(%q)'", service.URL)
	require.Contains(t, run(asks), "the next run sets up again")
	require.NotContains(t, run(asks), "setup did not run")
	status = http.StatusOK
	require.NotContains(t, run(asks), "not install")
	require.Contains(t, run(asks), "setup did not run")
	require.NotContains(t, run("false"), "next run")
	again := run("false")
	require.Contains(t, again, "setup did not run")
	require.Contains(t, again, "setup could not install b")
}
