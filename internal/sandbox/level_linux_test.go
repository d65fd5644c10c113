package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

func TestProbeSaysWhatIsTrue(t *testing.T) {
	t.Parallel()
	l := Probe()
	require.Len(t, l.Protections(), 4)
	for _, layer := range l.Protections() {
		require.Equal(t, layer.Have, layer.Why == "" && layer.Advice == "", layer)
	}
	if err := start(&syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
	}); err == nil && !strings.Contains(l.String(), "mount a proc") { // containers hide parts of theirs, and so all of it
		require.True(t, l.have(Namespaces), "this machine has namespaces: %s", l)
	}
	if l.Strict() == nil {
		require.True(t, l.Confined())
		require.Empty(t, l.leaks)
		require.Contains(t, l.String(), "a network of their own.")
	}
}

func TestLevelSentences(t *testing.T) {
	t.Parallel()
	all := []Protection{{Name: Namespaces}, {Name: Landlock}, {Name: Seccomp}, {Name: OwnUser}}
	level := func(have ...string) Level {
		l := Level{}
		for _, layer := range all {
			layer.Why, layer.Advice = "the kernel is old", "Take a new one."
			for _, name := range have {
				if name == layer.Name {
					layer = Protection{Name: name, Have: true}
				}
			}
			l.layers = append(l.layers, layer)
		}
		return l
	}
	require.Contains(t, level().String(), "NOT confined on this machine: no namespaces (the kernel is old); no landlock")
	require.False(t, level().Confined())
	require.False(t, Level{}.Confined())
	require.Error(t, Level{}.Strict())

	l := level(Landlock, Seccomp)
	l.abi, l.leaks = 2, []string{"reach the network"}
	require.True(t, l.Confined())
	for _, part := range []string{"no network, not even loopback", "truncate", "signal other processes", "can reach the network"} {
		require.Contains(t, l.String(), part)
	}
	weak, ok := errors.AsType[*WeakError](l.Strict())
	require.True(t, ok)
	require.Equal(t, []string{
		"no namespaces: the kernel is old. Take a new one.", "no own user: the kernel is old. Take a new one.",
	}, weak.Missing)

	require.NoError(t, level(Namespaces, Landlock, Seccomp, OwnUser).Strict())
}

// Going down the ladder gives up what failed, then whatever is left, and ends.
func TestLevelGoesDown(t *testing.T) {
	t.Parallel()
	l := Level{layers: []Protection{{Name: Namespaces, Have: true}, {Name: Landlock, Have: true}, {Name: Seccomp, Have: true}}}
	require.True(t, l.lower(&layerError{Seccomp, errors.New("refused")}))
	require.False(t, l.have(Seccomp))
	require.True(t, l.lower(errors.New("anything")))
	require.False(t, l.have(Namespaces))
	require.True(t, l.lower(errors.New("anything")))
	require.False(t, l.Confined())
	require.False(t, l.lower(errors.New("anything")))
}

// A trial sees what gets through.
func TestTrialsSeeLeaks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), nil, 0o600))
	port, closePort, err := anyPort()
	require.NoError(t, err)
	t.Cleanup(closePort)
	trial := stage.Trial{Write: filepath.Join(dir, "written"), Read: filepath.Join(dir, "secret"), Port: port}
	r, err := perform(rungs()[nothing], Command{Dir: "/"}, &trial)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{stage.Reads, "reach the network", "use every system call"}, r.Leaks)
	require.FileExists(t, trial.Write)
}
