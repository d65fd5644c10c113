package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startAhead has a stage wait. What is started next must have taken it.
func (p place) startAhead(t *testing.T, k *Keeper) {
	t.Helper()
	p.ahead.start(p.level, k)
	p.ahead.mu.Lock()
	defer p.ahead.mu.Unlock()
	require.NotNil(t, p.ahead.ready)
}

func newAhead(t *testing.T, p place) place {
	t.Helper()
	p.ahead = &Ahead{}
	t.Cleanup(func() { require.NoError(t, p.ahead.Close()) })
	return p
}

// follower runs a command that starts the stage of the next one, and returns the id of its process.
func (p place) follower(t *testing.T, c Command) int {
	t.Helper()
	c.Place.Ahead, c.More = p.ahead, true
	out, err := p.level.run(t.Context(), c)
	require.NoError(t, err)
	require.True(t, out.Success(), out.Text())
	p.ahead.starts.Wait()
	p.ahead.mu.Lock()
	defer p.ahead.mu.Unlock()
	require.NotNil(t, p.ahead.ready)
	return p.ahead.ready.stage.Pid
}

func gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

// Every attack on the machine is refused to a command whose stage was started ahead, as it is to any other.
func TestEscapesFromAStageStartedAhead(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		require.Empty(t, attack(t, newAhead(t, p)))
	}, full, sharedUser)
}

// inspect prints what a command has: rights, bounds, mounts, descriptors, processes, names and network.
const inspect = `grep -E '^(Cap|NoNew|Seccomp|Uid|Gid|Groups|Sig(Blk|Ign|Cgt)|Cpus_allowed:)' /proc/self/status; ulimit -a; ulimit -H -a
	cut -d' ' -f4- /proc/self/mountinfo | sort; for f in /proc/self/fd/*; do readlink $f; done
	ps -e -o nice,comm; env; umask; pwd; hostname; cut -d: -f1 /proc/net/dev; cut -d' ' -f2-3 /proc/net/tcp
	ls -na /tmp /dev /divisi; cat /proc/self/oom_score_adj; cat; cat node_modules/index.js`

// A command finds the same, whether its stage was started ahead or not.
func TestACommandFindsTheSameInAStageStartedAhead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many commands, each three times")
	}
	changing := regexp.MustCompile(`\[[0-9]+\]|[A-Z][a-z]{2} +[0-9]+ [0-9:]+`)
	clean := func(out *Output) []string { return strings.Split(changing.ReplaceAllString(out.Text(), "*"), "\n") }
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		for name, change := range map[string]func(c *Command, k *common){
			"plain":  func(*Command, *common) {},
			"input":  func(c *Command, _ *common) { c.Stdin = []byte("given") },
			"keeper": func(c *Command, k *common) { c.Place = k.layers },
			"bounds": func(c *Command, _ *common) {
				c.MaxProcesses, c.MaxMemory, c.Idle, c.Timeout = 100, 100<<20, true, time.Minute
			},
			"network":         func(c *Command, _ *common) { c.Network = true },
			"tree that stays": func(c *Command, _ *common) { c.Place.Tree, c.Place.KeepTree, c.Writable = c.Dir, true, nil },
		} {
			k := newCommon(t, p, false)
			c := k.shell(inspect)
			change(&c, k)
			fresh, ahead := clean(k.run(t, c)), newAhead(t, k.place)
			require.Greater(t, len(fresh), 100)
			for range 2 {
				again := clean(ahead.run(t, c))
				require.Len(t, again, len(fresh), name)
				for i := range fresh {
					require.Equal(t, fresh[i], again[i], name)
				}
			}
			require.NoError(t, k.layers.Keeper.Close())
			require.NoError(t, os.RemoveAll(filepath.Join(k.tree, "node_modules")))
		}
	}, full, sharedUser)
}

// left are what a command leaves for the next one, whose stage waits already, and how that one would notice.
var left = map[string][2]string{
	"a process":       {`setsid sh -c 'while :; do touch here; sleep 0.01; done' >/dev/null 2>&1 & sleep 0.1`, `rm -f here; sleep 0.2; ! test -e here && test $(ls /proc | grep -c '^[0-9]') -le 6`},
	"a mount":         {`mkdir -p m; mount -t tmpfs none m; mount --bind /usr m; touch m/x`, `! grep -q '/m ' /proc/self/mountinfo`},
	"a file in /tmp":  {`echo evil > /tmp/left; mkfifo /dev/shm/left; ln -s /etc/passwd /tmp/link`, `! test -e /tmp/left && ! test -e /tmp/link && ! test -e /dev/shm/left`},
	"a limit":         {`ulimit -n 10; ulimit -f 1; ulimit -u 5; umask 0777`, `test $(ulimit -n) -gt 10 && test $(umask) != 0777 && head -c 100000 /dev/zero > big`},
	"a priority":      {`renice 19 -p $$; renice 19 -g 0; renice 19 -u $(id -u); nice`, `test $(nice) = 0`},
	"a name":          {`hostname evil; echo evil > /proc/sys/kernel/hostname`, `test $(hostname) != evil`},
	"a directory":     {`cd /tmp; rm -rf "$PWD"`, `test -d . && touch x`},
	"a killed stage":  {`kill -9 -1; kill -9 1; for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done; true`, `true`},
	"a socket":        {`python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("\0left"); s.listen(); import os; os.fork() or __import__("time").sleep(5)' &  sleep 0.1`, `! grep -q left /proc/net/unix`},
	"shared memory":   {`ipcmk -M 4096 >/dev/null 2>&1; ipcmk -Q >/dev/null 2>&1; true`, `test -z "$(ipcs -m -q 2>/dev/null | grep ^0x)"`},
	"a lot of memory": {`head -c 100000000 /dev/zero > /tmp/big`, `test $(df --output=used /tmp | tail -1) -lt 1000`},
}

func TestNothingOfACommandReachesTheNextOne(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, on place) {
		t.Helper()
		for name, scripts := range left {
			p := newPlace(t)
			p.level = on.level
			p = newAhead(t, p)
			p.startAhead(t, nil) // it waits while the first command runs
			_, err := p.level.run(t.Context(), p.shell(scripts[0]+"; exit 0"))
			require.NoError(t, err, name)
			next := p.shell(scripts[1])
			next.Place.Ahead = p.ahead
			out, err := p.level.run(t.Context(), next)
			require.NoError(t, err, name)
			require.True(t, out.Success(), "%s: %s", name, out.Text())
			require.Nil(t, p.ahead.ready, name)
		}
	}, full, sharedUser)
}

// A stage that fails, that does not answer, or that hears no Begin carries nothing out.
func TestAStageDoesNotTakeItsCommand(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		for name, hinder := range map[string]func(pid int) error{
			"no descriptors": func(pid int) error {
				return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 6, Max: 6}, nil)
			},
			"stopped": func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) },
		} {
			ahead := newAhead(t, p)
			pid := ahead.follower(t, ahead.shell("true"))
			require.NoError(t, hinder(pid), name)
			c := ahead.shell("echo done")
			c.Place.Ahead = ahead.ahead
			out, err := p.level.run(t.Context(), c)
			require.NoError(t, err, name)
			require.Equal(t, "done\n", out.Text(), name)
			require.True(t, gone(pid), name)
		}
		for _, order := range []string{"", "T"} {
			w, err := startWaiting(p.level, nil)
			require.NoError(t, err)
			config, trees, err := compose(p.level, p.shell("touch ran").withDefaults(), "id")
			require.NoError(t, err)
			told, err := inMemory(config)
			require.NoError(t, err)
			given, closeNone, err := streams{}.files()
			require.NoError(t, err)
			require.NoError(t, unix.Sendmsg(int(w.control.Fd()), []byte{0}, unix.UnixRights(numbers(append(append(given, told), trees...))...), nil, 0))
			_, err = w.control.Read(make([]byte, 1))
			require.NoError(t, err)
			_, err = w.control.WriteString(order)
			require.NoError(t, errors.Join(err, w.control.Close()))
			_, err = w.stage.Wait()
			require.NoError(t, err)
			closeNone()
			closeAll(append(trees, told))
			require.NoFileExists(t, filepath.Join(p.tree, "ran"))
		}
	}, full, sharedUser)
}

// The bound of the hand-over is none of the command's. Views of downloads are descriptors too.
func TestACommandOutlastsTheHandOver(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := newAhead(t, p).shell("sleep 2.2; cat " + seenDownloads + "/kept; touch " + seenDownloads + "/new")
		c.Place.Downloads = DownloadDirs{Dir: t.TempDir(), Modules: t.TempDir(), Scratch: t.TempDir()}
		require.NoError(t, os.WriteFile(filepath.Join(c.Place.Downloads.Dir, "kept"), []byte("downloaded"), 0o600))
		out := newAhead(t, p).run(t, c)
		require.True(t, out.Success(), out.Text())
		require.Equal(t, "downloaded", out.Text())
	}, full)
}

// A stage that waits executes no command but one of its Ahead and its keeper.
func TestAStageCarriesOutNoOthersCommand(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		beside := newPlace(t)
		beside.level = p.level
		k, other := newCommon(t, p, false), newCommon(t, beside, true)
		for name, of := range map[string]Place{"as installed": other.layers, "": {Tree: p.tree}} {
			ahead := newAhead(t, p)
			c := ahead.shell("echo of the first > node_modules/index.js")
			c.Place = k.layers
			pid := ahead.follower(t, c)
			c.Args, c.Place, c.Place.Ahead = []string{"sh", "-c", "cat node_modules/*; true"}, of, ahead.ahead
			c.Dir = of.Tree
			out, err := p.level.run(t.Context(), c)
			require.NoError(t, err, name)
			require.Equal(t, name, strings.TrimPrefix(out.Text(), "cat: 'node_modules/*': No such file or directory\n"))
			require.True(t, gone(pid), "%s: it was ended", name)
		}
		one, two := newAhead(t, p), newAhead(t, p)
		pid := one.follower(t, one.shell("true"))
		require.Nil(t, two.ahead.take(nil))
		out, err := p.level.run(t.Context(), two.shell("true"))
		require.NoError(t, err)
		require.True(t, out.Success())
		require.False(t, gone(pid), "another attempt's command leaves it waiting")
		require.NoError(t, one.ahead.Close())
		require.True(t, gone(pid))
		c := one.shell("true")
		c.Place.Ahead, c.More = one.ahead, true
		out, err = p.level.run(t.Context(), c)
		require.NoError(t, err)
		require.True(t, out.Success())
		require.Nil(t, one.ahead.ready, "none is started after the attempt's end")
	}, full, sharedUser)
}

// A stage that was killed while it waited costs the next command nothing.
func TestAStageIsKilledBetweenTwoCommands(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k := newCommon(t, p, false)
		for _, place := range []Place{{}, k.layers} {
			ahead := newAhead(t, p)
			c := ahead.shell("echo done")
			c.Place = place
			pid := ahead.follower(t, c)
			require.NoError(t, unix.Kill(pid, unix.SIGKILL))
			require.Eventually(t, func() bool { return ended(pid) }, time.Minute, time.Millisecond)
			c.Place.Ahead = ahead.ahead
			out, err := p.level.run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, "done\n", out.Text())
			require.True(t, gone(pid))
		}
	}, full, sharedUser)
}

// ended reports whether a child has ended that was not waited for.
func ended(pid int) bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil && info.Signo != 0
}

// Where there are no namespaces, and where no command follows, none is started.
func TestNoStageIsStartedAhead(t *testing.T) {
	t.Parallel()
	for name, level := range rungs() {
		p := newPlace(t)
		p.level = level
		p = newAhead(t, p)
		for _, more := range []bool{false, true} {
			c := p.shell("true")
			c.Place.Ahead, c.More = p.ahead, more
			out, err := p.level.run(t.Context(), c)
			require.NoError(t, err)
			require.True(t, out.Success())
			p.ahead.starts.Wait()
			require.Equal(t, more && slices.Contains([]string{full, sharedUser}, name), p.ahead.ready != nil, name)
		}
	}
}

// The attempt may end at any moment.
func TestAnAttemptEndsWhileAStageIsStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if !p.level.have(Namespaces) {
		t.Skip("none is started ahead")
	}
	for range 20 {
		ahead := newAhead(t, p)
		began := make(chan struct{})
		ahead.ahead.follow(p.level, nil, began)
		go close(began)
		require.NoError(t, ahead.ahead.Close())
		require.Nil(t, ahead.ahead.ready)
	}
}

// A keeper starts a stage in its own control group: it is moved into that of the command before it gets the command.
func TestAStageOfAKeeperEntersItsControlGroup(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell("true")
		c.Place = newCommon(t, p, false).layers
		config, trees, err := compose(p.level, c.withDefaults(), "id")
		require.NoError(t, err)
		defer closeAll(trees)
		told, err := inMemory(config)
		require.NoError(t, err)
		defer told.Close()
		dir, err := os.Open(t.TempDir())
		require.NoError(t, err)
		s := &process{command: c, box: &box{dir}, began: make(chan struct{}), over: make(chan struct{})}
		require.NoError(t, s.begin(p.level, streams{}, told, trees))
		go s.hear()
		require.NoError(t, s.begun())
		require.Equal(t, strconv.Itoa(s.stage.Pid), text(filepath.Join(dir.Name(), "cgroup.procs")))
		require.NoError(t, s.wait(&Output{}))
	}, full)
}
