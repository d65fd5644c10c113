package service

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The test program is also the service: in a sandbox there is no other one that every machine has.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			os.Exit(serve()) //nolint:forbidigo // here the test binary is another program
		case "ask":
			os.Exit(ask()) //nolint:forbidigo // as above
		}
	}
	goleak.VerifyTestMain(m)
}

const address = "127.0.0.1:7311"

// serve answers with what prepare left, and counts the visits in its home.
func serve() int {
	home := os.Getenv("HOME")
	data, err := os.ReadFile(filepath.Join(home, "prepared"))
	if err != nil {
		data = []byte("unprepared")
	}
	fmt.Fprintln(os.Stdout, "serving", string(data))
	err = http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/die" {
			os.Exit(3) //nolint:forbidigo // it ends by itself
		}
		visits, _ := os.ReadFile(filepath.Join(home, "visits"))
		_ = os.WriteFile(filepath.Join(home, "visits"), append(visits, 'x'), 0o600)
		fmt.Fprintf(w, "%s %s", data, visits)
	}))
	fmt.Fprintln(os.Stdout, err)
	return 1
}

func ask() int {
	c := http.Client{Timeout: 5 * time.Second}
	r, err := c.Get("http://" + address + os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	defer r.Body.Close()
	body := make([]byte, 100)
	n, _ := r.Body.Read(body)
	fmt.Fprintf(os.Stdout, "answer: %s %s\n", body[:n], os.Getenv("WHERE"))
	return 0
}

// try is a configuration with a keeper, for one try.
func try(t *testing.T, services ...spec.Service) Config {
	t.Helper()
	if err := sandbox.Views(); err != nil {
		t.Skip("no namespaces:", err)
	}
	dir := t.TempDir()
	for _, d := range []string{"tree", "scratch", "try"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	place := sandbox.Place{Tree: filepath.Join(dir, "tree")}
	place.Keeper, err = sandbox.StartKeeper(t.Context(), sandbox.KeeperConfig{
		Place: place, Scratch: filepath.Join(dir, "scratch"), Loopback: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, place.Keeper.Close()) })
	for i := range services {
		for _, argv := range []*[]string{&services[i].Command, &services[i].Prepare, &services[i].Ready} {
			if len(*argv) > 0 && (*argv)[0] == "self" {
				(*argv)[0] = self
			}
		}
	}
	return Config{
		Services: services, Dir: filepath.Join(dir, "try"), Prepared: filepath.Join(dir, "prepared"),
		Command: sandbox.Command{
			Dir: place.Tree, Place: place, Readable: []string{filepath.Dir(self)},
			Env: []string{"PATH=" + os.Getenv("PATH"), "GOMEMLIMIT=256MiB"},
		},
	}
}

func web() spec.Service {
	return spec.Service{
		Name: "web", Command: []string{"self", "serve"}, Ready: []string{"self", "ask", "/"},
		Prepare: []string{"sh", "-c", "printf seed > $HOME/prepared; date +%N > $HOME/when; mkdir -m 700 $HOME/closed"},
		Env:     map[string]string{"WHERE": "here"},
	}
}

// gate runs a command as a gate of the try would.
func gate(t *testing.T, c *Config, args ...string) *sandbox.Output {
	t.Helper()
	command := c.Command
	self, err := os.Executable()
	require.NoError(t, err)
	command.Args, command.Env = append([]string{self}, args...), append(command.Env, Env(c.Services)...)
	out, err := sandbox.Run(t.Context(), command)
	require.NoError(t, err)
	return out
}

func TestGatesMeetTheirService(t *testing.T) {
	t.Parallel()
	c := try(t, web())
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	out := gate(t, &c, "ask", "/")
	require.True(t, out.Success(), out.Text())
	require.Contains(t, out.Text(), "answer: seed x")
	require.Contains(t, out.Text(), "here")
	require.Nil(t, s.Failed())
	s.Close()
	require.Contains(t, s.Output(), "serving seed")
	require.False(t, gate(t, &c, "ask", "/").Success(), "it has ended")
	_, err = net.DialTimeout("tcp", address, time.Second)
	require.Error(t, err, "it was never on the machine's own loopback")
}

// Each try begins with what prepare left, and prepare runs once.
func TestTriesBeginAlike(t *testing.T) {
	t.Parallel()
	c := try(t, web())
	for range 2 {
		s, err := Start(t.Context(), c)
		require.NoError(t, err)
		require.Contains(t, gate(t, &c, "ask", "/").Text(), "seed x ", "one visit before it: that of ready")
		s.Close()
		require.NoError(t, os.RemoveAll(c.Dir))
		require.NoError(t, os.Mkdir(c.Dir, 0o755))
	}
	info, err := os.Stat(filepath.Join(c.Prepared, "web", "closed"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	left, err := os.ReadDir(c.Prepared)
	require.NoError(t, err)
	require.Len(t, left, 1, "no half-made home stays")
}

func TestServicesThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*spec.Service)
		want   string
	}{
		{"ends", func(s *spec.Service) { s.Command = []string{"sh", "-c", "echo no room; exit 4"} }, "service web ended by itself (exit code 4)"},
		{"forks away", func(s *spec.Service) {
			s.Command = []string{"sh", "-c", "sleep 1000 & exit 0"}
		}, "its command must stay in the foreground"},
		{"is never ready", func(s *spec.Service) {
			s.Command, s.Ready = []string{"sh", "-c", "echo waiting; exec sleep 1000"}, []string{"false"}
		}, "was not ready after 500ms: false: exit code 1"},
		{"is not there", func(s *spec.Service) { s.Command = []string{"nosuchprogram"} }, "nosuchprogram: not found"},
		{"has no ready", func(s *spec.Service) { s.Ready = []string{"nosuchready"} }, "has a ready command that cannot be run"},
		{"is not prepared", func(s *spec.Service) { s.Prepare = []string{"sh", "-c", "echo bad; exit 9"} }, "could not be prepared: exit code 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := web()
			c.change(&one)
			cfg := try(t, one)
			if c.name == "is never ready" {
				cfg.Ready = 500 * time.Millisecond
			}
			_, err := Start(t.Context(), cfg)
			var failed *FailedError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, filepath.Join(cfg.Prepared, "web", "nothing"))
		})
	}
}

// A service that dies while the gates run is noticed.
func TestServiceThatDies(t *testing.T) {
	t.Parallel()
	c := try(t, web())
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	defer s.Close()
	gate(t, &c, "ask", "/die")
	chantest.Next(t, s.running[0].ended)
	require.ErrorContains(t, s.Failed(), "service web ended by itself (exit code 3)")
}

// A try that is cancelled ends its services, and is no service's fault.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	one := web()
	one.Ready = []string{"false"}
	c := try(t, one)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, c)
	var failed *FailedError
	require.NotErrorAs(t, err, &failed)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
