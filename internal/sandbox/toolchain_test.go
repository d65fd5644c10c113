package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoIsAskedWithoutTheFlagsOfAShell(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"HOME=/me", "GOPROXY=off"}, asksGo([]string{"HOME=/me", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOFLAGS=-x"}))
	require.Equal(t, []string{"A=b", "HOME=" + os.DevNull}, asksGo([]string{"A=b"}), "go ends where it knows no home")
}

func TestAFailureOfGoIsTold(t *testing.T) {
	t.Parallel()
	_, err := exec.CommandContext(t.Context(), "sh", "-c", "echo 'go: no such toolchain' >&2; echo more >&2; exit 1").Output()
	require.Equal(t, ": go: no such toolchain", complaint(err))
	require.Empty(t, complaint(errors.New("not started")))
}
