package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// common is a place with a layer, a store and their keeper.
type common struct {
	place
	lower, stores string
	layers        Place
}

func newCommon(t *testing.T, p place, loopback bool) *common {
	t.Helper()
	k := &common{place: p, lower: t.TempDir(), stores: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(k.lower, "index.js"), []byte("as installed"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(k.stores, "package"), []byte("as downloaded"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(p.tree, "node_modules"), 0o700))
	k.layers = Place{Tree: p.tree, Stores: k.stores, Layers: []Layer{{Path: "node_modules", Lower: k.lower}}}
	keeper, err := p.level.keeper(t.Context(), KeeperConfig{Place: k.layers, Scratch: t.TempDir(), Loopback: loopback})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keeper.Close()) })
	k.layers.Keeper = keeper
	return k
}

func (k *common) sh(t *testing.T, script string) *Output {
	t.Helper()
	c := k.shell(script)
	c.Place = k.layers
	return k.run(t, c)
}

// What a command writes over a layer or a store, the next one of its attempt finds, and nothing else does.
func TestCommandsOfAnAttemptShareTheirViews(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k, other := newCommon(t, p, false), newCommon(t, newPlace(t), false)
		out := k.sh(t, "echo changed > node_modules/index.js; echo new > node_modules/new; echo more > "+seenStores+"/more; rm "+seenStores+"/package")
		require.True(t, out.Success(), out.Text())
		require.Equal(t, "changed\nnew\nmore\n", k.sh(t, "cat node_modules/index.js node_modules/new "+seenStores+"/*").Text())
		require.Equal(t, "as installed", other.sh(t, "cat node_modules/*").Text())
		for dir, want := range map[string]int{k.lower: 1, k.stores: 1, filepath.Join(k.tree, "node_modules"): 0} {
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, want)
		}
		data, err := os.ReadFile(filepath.Join(k.lower, "index.js"))
		require.NoError(t, err)
		require.Equal(t, "as installed", string(data))
		written := k.layers.Keeper.Written()
		require.Len(t, written, 1)
		require.Equal(t, "node_modules", written[0].Path)
		for name, want := range map[string]string{"index.js": "changed\n", "new": "new\n"} {
			data, err := os.ReadFile(filepath.Join(written[0].Lower, name))
			require.NoError(t, err)
			require.Equal(t, want, string(data))
		}
	}, full, sharedUser)
}

// Commands meet on the loopback of a keeper that has one, and on no other.
func TestCommandsMeetOnTheLoopbackOfTheirKeeper(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k, other := newCommon(t, p, true), newCommon(t, newPlace(t), true)
		c := k.shell("python3 -c '" + serve + "' & while ! test -e ready; do sleep 0.01; done; exec cat; wait")
		c.Place = k.layers
		s, err := Start(t.Context(), c)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		ask := `while ! test -e ready; do sleep 0.01; done; python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", 5432), 5); print(s.recv(9).decode())'`
		require.Equal(t, "a service\n", k.sh(t, ask).Text())
		c.Network = true
		_, err = p.level.run(t.Context(), c)
		require.ErrorIs(t, err, ErrInvalid)
		require.Contains(t, other.sh(t, "touch ready;"+ask).Text(), "refused")
	}, full)
}

const serve = `import socket; s = socket.create_server(("127.0.0.1", 5432)); open("ready", "w")
while True: s.accept()[0].sendall(b"a service")`

func TestViewsAreTriedOut(t *testing.T) {
	t.Parallel()
	for name, level := range rungs() {
		require.Equal(t, level.have(Namespaces), level.tryViews() == nil, name)
	}
}

// What commands do to the places of layers, and leave in them, reaches neither the layer nor what is beside the tree.
func TestLayersUnderAttack(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k := newCommon(t, p, false)
		su := filepath.Join(k.lower, "su")
		require.NoError(t, os.WriteFile(su, []byte("#!/bin/sh\nid -u"), 0o600))
		require.NoError(t, os.Chmod(su, 0o755|os.ModeSetuid|os.ModeSetgid))
		require.NoError(t, os.WriteFile(filepath.Join(p.outside, "secret"), []byte("secret"), 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(k.lower, "marked"), 0o700))
		for name, value := range map[string]string{"redirect": p.outside, "opaque": "y", "origin": "x", "metacopy": ""} {
			err := unix.Setxattr(filepath.Join(k.lower, "marked"), "user.overlay."+name, []byte(value), 0)
			require.NoError(t, err)
		}
		out := k.sh(t, `rmdir node_modules; rm -rf node_modules; mv node_modules gone; ln -sfn `+p.outside+` node_modules
			ls node_modules; ls node_modules/marked; echo x > node_modules/written; mknod node_modules/null c 1 3; mknod node_modules/white c 0 0`)
		require.NotContains(t, out.Text(), "secret")
		require.NoFileExists(t, filepath.Join(p.outside, "written"))
		left := k.sh(t, "ls node_modules").Text()
		require.Contains(t, left, "written")
		require.NotContains(t, left, "index.js", "rm has emptied what the attempt sees")
		entries, err := os.ReadDir(k.lower)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		require.Equal(t, "1000\n", k.sh(t, "cp /bin/id node_modules/id; chmod 6755 node_modules/id; node_modules/id -u").Text())
		require.NoError(t, os.Remove(filepath.Join(p.tree, "node_modules")))
		require.NoError(t, os.Symlink(p.outside, filepath.Join(p.tree, "node_modules")))
		require.NotContains(t, k.sh(t, "echo x > node_modules/more; cat node_modules/secret").Text(), "installed")
		require.NoFileExists(t, filepath.Join(p.outside, "more"))
	}, full, sharedUser)
}

// A command that starts all processes that it may keeps the next one of its attempt from nothing, and a layer that is removed while it
// is used harms the commands alone that need it.
func TestAKeeperOutlivesItsCommands(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k := newCommon(t, p, false)
		c := k.shell("while sleep 600 & do :; done; echo refused")
		c.Place, c.MaxProcesses, c.Timeout = k.layers, 40, 5*time.Second
		p.run(t, c)
		require.Equal(t, "as installed", k.sh(t, "cat node_modules/index.js").Text())
		require.NoError(t, os.RemoveAll(k.lower))
		require.Equal(t, "alive\n", k.sh(t, "cat node_modules/index.js > /dev/null 2>&1; echo alive").Text())
		_, err := p.level.keeper(t.Context(), KeeperConfig{Place: k.layers, Scratch: t.TempDir()})
		require.ErrorContains(t, err, k.lower)
	}, full)
}

// A keeper that was killed starts nothing more, and the error is not the command's.
func TestAKeeperThatIsKilledIsNoCommandsFault(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k := newCommon(t, p, false)
		require.NoError(t, k.layers.Keeper.process.Kill())
		c := k.shell("true")
		c.Place = k.layers
		for range 2 {
			_, err := p.level.run(t.Context(), c)
			require.ErrorIs(t, err, ErrKeeper)
		}
	}, full)
}

func TestNeitherKeeperNorWaitingStageSurvivesTheParent(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		require.NoError(t, os.Mkdir(filepath.Join(p.tree, "node_modules"), 0o700))
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), attackVar+"=parent", "RUNG="+full, "TREE="+p.tree, "SCRIPT=echo there; exec sleep 600", "KEPT="+t.TempDir())
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said := bufio.NewScanner(stdout)
		var left []unix.PollFd
		for range 2 {
			require.True(t, said.Scan())
			pid, err := strconv.Atoi(said.Text())
			require.NoError(t, err, said.Text())
			fd, err := unix.PidfdOpen(pid, 0)
			require.NoError(t, err)
			defer unix.Close(fd)
			left = append(left, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		require.True(t, said.Scan())
		require.Equal(t, "there", said.Text())
		require.NoError(t, cmd.Process.Kill())
		for i := range left {
			n, err := 0, error(unix.EINTR)
			for errors.Is(err, unix.EINTR) {
				n, err = unix.Poll(left[i:i+1], 30_000)
			}
			require.NoError(t, err)
			require.Equal(t, 1, n, "process %d lives", i)
		}
		require.Error(t, cmd.Wait())
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		require.NoError(t, err)
		require.NotContains(t, string(mounts), "node_modules")
	}, full)
}
