package orchestrator_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
)

// hub serves a state directory until the test ends.
func hub(t *testing.T) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- orchestrator.Serve(ctx, orchestrator.ServeOptions{
			StateDir: stateDir, Listen: "127.0.0.1:0", Ready: func(at orchestrator.Serving) { ready <- at.URL }, Notice: func(string) {},
		})
	}()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		require.NoError(t, err)
	}
	return stateDir
}

func tokenFrom(t *testing.T, stateDir, role string) string {
	t.Helper()
	text, err := orchestrator.NewToken(t.Context(), stateDir, orchestrator.TokenOptions{Role: role})
	require.NoError(t, err)
	return text
}

func TestAServerIsFoundByItsHost(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	name, at, err := orchestrator.Join(t.Context(), state, tokenFrom(t, hub(t), "person"), "", "")
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
	text, state := tokenFrom(t, hub(t), "worker"), t.TempDir()
	inTheWay := filepath.Join(state, "servers")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	_, _, err := orchestrator.Join(t.Context(), state, text, "", "w1")
	require.ErrorContains(t, err, "directory of logins")
	require.NoError(t, os.Remove(inTheWay))
	_, _, err = orchestrator.Join(t.Context(), state, text, "", "w1")
	require.NoError(t, err)
}

func TestAStateDirectoryHasOneServer(t *testing.T) {
	t.Parallel()
	err := orchestrator.Serve(t.Context(), orchestrator.ServeOptions{StateDir: hub(t), Listen: "127.0.0.1:0"})
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "runs already")
}

// A viewer asks the host what changes nothing, and no more.
func TestAViewerReadsAndNoMore(t *testing.T) {
	t.Parallel()
	_, at, err := orchestrator.Join(t.Context(), t.TempDir(), tokenFrom(t, hub(t), "viewer"), "", "")
	require.NoError(t, err)
	runs, err := orchestrator.On(at).List(t.Context())
	require.NoError(t, err)
	require.Empty(t, runs)
	_, err = orchestrator.ResumeOn(t.Context(), at, "r1", nil, false)
	require.ErrorContains(t, err, "the server does not permit it: viewer ")
}

// Two workers in one directory would remove each other's work trees, and one in that of a host the host's repositories.
func TestAWorkerHasADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	state := hub(t)
	_, at, err := orchestrator.Join(t.Context(), state, tokenFrom(t, state, "worker"), "", "")
	require.NoError(t, err)
	o := orchestrator.WorkerOptions{StateDir: state, Server: at}
	w, err := orchestrator.NewWorker(t.Context(), o)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(state, "worker.key"))
	_, err = orchestrator.NewWorker(t.Context(), o)
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "another worker works in")
	w.Close()
	w, err = orchestrator.NewWorker(t.Context(), o)
	require.NoError(t, err)
	w.Close()
}
