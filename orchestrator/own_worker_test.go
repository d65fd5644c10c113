package orchestrator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/hub"
)

// A file of the owner that refuses the machine, or that is refused itself, takes the server's own worker from it, and not the server.
func TestAServerBeginsWithoutAWorkerOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		why  string
	}{
		"unknown field": {"nettwork: [a]\n", 0o600, `unknown field "nettwork"`},
		"readable":      {"only: gates\n", 0o644, "other users can read or change it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := t.TempDir()
			file := filepath.Join(stateDir, "serve", configs.PolicyFile)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			require.NoError(t, os.Chmod(file, c.mode))
			_, told := servingWith(t, stateDir, 1)
			all := strings.Join(told(), "\n")
			require.Contains(t, all, "the server has no worker of its own: ")
			require.Contains(t, all, file)
			require.Contains(t, all, c.why)
			_, host, err := depot.Join(t.Context(), t.TempDir(), tokenFrom(t, stateDir, "person"), "", "ada")
			require.NoError(t, err)
			list, err := hub.Workers(t.Context(), host)
			require.NoError(t, err)
			require.JSONEq(t, "[]", string(list))
		})
	}
}
