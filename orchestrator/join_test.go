package orchestrator_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/hub"
	"divisi/orchestrator/station"
)

// served serves a state directory until the test ends.
func served(t *testing.T) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	_, stop := servingAt(t, stateDir, "127.0.0.1:0")
	t.Cleanup(stop)
	return stateDir
}

// servingAt serves a state directory until stop.
func servingAt(t *testing.T, stateDir, listen string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- hub.Serve(ctx, hub.ServeOptions{
			StateDir: stateDir, Listen: listen, Ready: func(at hub.Serving) { ready <- at.URL }, Notice: func(string) {},
		})
	}()
	select {
	case url = <-ready:
	case err := <-ended:
		cancel()
		require.NoError(t, err)
	}
	return url, func() { cancel(); require.NoError(t, <-ended) }
}

func tokenFrom(t *testing.T, stateDir, role string) string {
	t.Helper()
	text, err := hub.NewToken(t.Context(), stateDir, hub.TokenOptions{Role: role})
	require.NoError(t, err)
	return text
}

func TestAServerIsFoundByItsHost(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	name, at, err := depot.Join(t.Context(), state, tokenFrom(t, served(t), "person"), "", "")
	require.NoError(t, err)
	for _, called := range []string{name, "127.0.0.1"} {
		found, err := orchestrator.FindServer(state, called)
		require.NoError(t, err, called)
		require.Equal(t, at, found)
	}
}

// A token whose login cannot be kept would be lost, and so would the name of the member.
func TestATokenIsNotUsedWhereItsLoginCannotBeKept(t *testing.T) {
	t.Parallel()
	text, state := tokenFrom(t, served(t), "worker"), t.TempDir()
	inTheWay := filepath.Join(state, "servers")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	_, _, err := depot.Join(t.Context(), state, text, "", "w1")
	require.ErrorContains(t, err, "directory of logins")
	require.NoError(t, os.Remove(inTheWay))
	_, _, err = depot.Join(t.Context(), state, text, "", "w1")
	require.NoError(t, err)
}

// A server whose certificate has ended makes another one at its address: a token for another key brings the member there.
func TestATokenForAnotherKeyBringsTheNewCertificate(t *testing.T) {
	t.Parallel()
	serveDir, state := t.TempDir(), t.TempDir()
	at, stop := servingAt(t, serveDir, "127.0.0.1:0")
	_, before, err := depot.Join(t.Context(), state, tokenFrom(t, serveDir, "person"), "host", "ada")
	require.NoError(t, err)
	stop()
	require.NoError(t, os.Remove(filepath.Join(serveDir, "serve", "server.pem")))
	_, stop = servingAt(t, serveDir, strings.TrimPrefix(at, "tls://"))
	defer stop()
	_, err = orchestrator.On(before).List(t.Context())
	require.ErrorContains(t, err, "the server has another certificate")
	token, err := hub.Rotate(t.Context(), serveDir, "ada", false)
	require.NoError(t, err)
	_, after, err := depot.Join(t.Context(), state, token, "host", "")
	require.NoError(t, err)
	_, err = orchestrator.On(after).List(t.Context())
	require.NoError(t, err)

	other, err := hub.Rotate(t.Context(), serveDir, "ada", false)
	require.NoError(t, err)
	stranger := served(t)
	_, _, err = depot.Join(t.Context(), state, tokenFrom(t, stranger, "person"), "other", "ada")
	require.NoError(t, err)
	_, _, err = depot.Join(t.Context(), state, other, "other", "")
	require.ErrorContains(t, err, "has the login of another member")
}

func TestAStateDirectoryHasOneServer(t *testing.T) {
	t.Parallel()
	err := hub.Serve(t.Context(), hub.ServeOptions{StateDir: served(t), Listen: "127.0.0.1:0"})
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "runs already")
}

// A viewer asks the host what changes nothing, and no more.
func TestAViewerReadsAndNoMore(t *testing.T) {
	t.Parallel()
	_, at, err := depot.Join(t.Context(), t.TempDir(), tokenFrom(t, served(t), "viewer"), "", "")
	require.NoError(t, err)
	runs, err := orchestrator.On(at).List(t.Context())
	require.NoError(t, err)
	require.Empty(t, runs)
	_, err = orchestrator.ResumeOn(t.Context(), at, orchestrator.ResumeOptions{Run: "r1"})
	require.ErrorContains(t, err, "the server does not permit it: viewer ")
}

// Two workers in one directory would remove each other's work trees, and one in that of a host the host's repositories.
func TestAWorkerHasADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	state := served(t)
	_, at, err := depot.Join(t.Context(), state, tokenFrom(t, state, "worker"), "", "")
	require.NoError(t, err)
	o := station.WorkerOptions{StateDir: state, Server: at}
	w, err := station.NewWorker(t.Context(), o)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(state, "worker.key"))
	_, err = station.NewWorker(t.Context(), o)
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "another worker works in")
	w.Close()
	w, err = station.NewWorker(t.Context(), o)
	require.NoError(t, err)
	w.Close()
}

// A worker is started again with the token of its unit: that is used up, and need not be asked for. A token of another server is.
func TestAWorkerThatHasJoinedIsFoundByAnyTokenOfItsServer(t *testing.T) {
	t.Parallel()
	one, other, state := served(t), served(t), t.TempDir()
	used := tokenFrom(t, one, "worker")
	as, _, err := depot.Joined(state, used)
	require.NoError(t, err)
	require.Empty(t, as)
	as, at, err := depot.Join(t.Context(), state, used, "", "w1")
	require.NoError(t, err)
	for _, token := range []string{used, tokenFrom(t, one, "worker")} {
		name, found, err := depot.Joined(state, token)
		require.NoError(t, err)
		require.Equal(t, as, name)
		require.Equal(t, at, found)
	}
	rotated, err := hub.Rotate(t.Context(), one, "w1", false)
	require.NoError(t, err)
	for _, token := range []string{tokenFrom(t, other, "worker"), tokenFrom(t, one, "person"), rotated} {
		name, _, err := depot.Joined(state, token)
		require.NoError(t, err)
		require.Empty(t, name)
	}
}
