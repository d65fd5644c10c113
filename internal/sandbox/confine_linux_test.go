package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func needLandlock(t *testing.T) {
	t.Helper()
	if level := Probe(); !level.Confined() {
		t.Skip(level.String())
	}
}

func TestProbeSaysWhatIsTrue(t *testing.T) {
	t.Parallel()
	abi, why := landlockABI()
	if abi == 0 {
		require.NotEmpty(t, why)
		require.Contains(t, Probe().String(), "NOT confined")
		return
	}
	require.Equal(t, Level{ABI: abi}, Probe())
	require.Contains(t, Probe().String(), "Landlock "+strconv.Itoa(abi))
}

func TestLevelSentences(t *testing.T) {
	t.Parallel()
	require.Contains(t, Level{Why: "no kernel support"}.String(), "NOT confined on this machine: no kernel support.")
	require.Contains(t, Level{ABI: 2}.String(), "truncate")
	require.Contains(t, Level{ABI: 4}.String(), "signal other processes")
	require.False(t, Level{}.Confined())
}

func TestWriteRightsFollowTheVersion(t *testing.T) {
	t.Parallel()
	require.Zero(t, writeRights(1)&unix.LANDLOCK_ACCESS_FS_REFER)
	require.NotZero(t, writeRights(2)&unix.LANDLOCK_ACCESS_FS_REFER)
	require.Zero(t, writeRights(2)&unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	require.NotZero(t, writeRights(3)&unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	require.Zero(t, writeRights(4)&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	require.NotZero(t, writeRights(5)&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
}

// Each script tries to change $OUT, a directory with the file "victim" in it, from within the tree.
var escapes = map[string]string{
	"by path":                 `echo evil > $OUT/new`,
	"overwrite":               `echo evil > $OUT/victim`,
	"append":                  `echo evil >> $OUT/victim`,
	"through dot-dot":         `echo evil > $PWD/../$(basename $OUT)/victim`,
	"through symlink":         `ln -s $OUT/victim link && echo evil > link`,
	"through dir symlink":     `ln -s $OUT dir && echo evil > dir/new`,
	"through proc root":       `echo evil > /proc/self/root$OUT/victim`,
	"through proc cwd":        `cd $OUT && echo evil > /proc/self/cwd/new`,
	"rename out":              `echo evil > mine && mv -T mine $OUT/new`,
	"rename over":             `echo evil > mine && mv -f mine $OUT/victim`,
	"rename in":               `mv $OUT/victim mine`,
	"hard link in":            `ln $OUT/victim mine && echo evil > mine`,
	"hard link out":           `echo evil > mine && ln mine $OUT/new`,
	"symlink out":             `ln -s /etc/passwd $OUT/new`,
	"truncate":                `truncate -s 0 $OUT/victim`,
	"truncate after open":     `: > $OUT/victim`,
	"remove":                  `rm -f $OUT/victim`,
	"mkdir":                   `mkdir $OUT/new`,
	"rmdir":                   `rmdir $OUT/empty`,
	"fifo":                    `mkfifo $OUT/new`,
	"in a subshell's child":   `sh -c "sh -c 'echo evil > $OUT/victim'"`,
	"in a session of its own": `setsid sh -c "echo evil > $OUT/victim"; sleep 0.1; ! grep -q kept $OUT/victim`,
	"copy with attributes":    `cp -a /etc/hostname $OUT/new`,
	"shared temp":             `echo evil > $(dirname $(dirname $OUT))/divisi-new`,
	"device node":             `mknod $OUT/new c 1 3`,
	"device node in the tree": `mknod node c 1 3`,
}

func TestWritesOutsideAreDenied(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			victim := filepath.Join(p.outside, "victim")
			require.NoError(t, os.WriteFile(victim, []byte("kept\n"), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(p.outside, "empty"), 0o700))
			c := p.shell(script)
			c.Env = append(c.Env, "OUT="+p.outside)
			out := p.run(t, c)
			require.NotZero(t, out.ExitCode, "the attempt must be told: %s", out.Text())
			data, err := os.ReadFile(victim)
			require.NoError(t, err)
			require.Equal(t, "kept\n", string(data))
			entries, err := os.ReadDir(p.outside)
			require.NoError(t, err)
			require.Len(t, entries, 2)
		})
	}
}

// The same scripts do their harm without confinement: else the test above would prove nothing.
func TestEscapesWorkUnconfined(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"by path", "through symlink", "rename over", "hard link in", "truncate", "mkdir"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			require.NoError(t, os.WriteFile(filepath.Join(p.outside, "victim"), []byte("kept\n"), 0o600))
			c := p.shell(escapes[name])
			c.Env = append(c.Env, "OUT="+p.outside)
			c.Writable = append(c.Writable, p.outside, filepath.Dir(p.outside))
			require.Zero(t, p.run(t, c).ExitCode)
		})
	}
}

func TestWritingInsideWorks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out := p.run(t, p.shell(`set -e; mkdir -p a/b; echo x > a/b/f; mv a/b/f a/g; ln a/g h; ln -s h i; truncate -s 0 h; rm -r a
		mkfifo q; chmod 700 h; echo x > /dev/null; cat /etc/passwd > copy; test -s copy; mktemp`))
	require.Zero(t, out.ExitCode, out.Text())
}

func TestNothingIsWritableUnlessSaid(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	p := newPlace(t)
	c := p.shell(`cat /dev/null && ! echo x > mine`)
	c.Writable = nil
	require.Zero(t, p.run(t, c).ExitCode)
	require.NoFileExists(t, filepath.Join(p.tree, "mine"))
}

func TestOneWritableFile(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	p := newPlace(t)
	file := filepath.Join(p.outside, "report")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	c := p.shell(`echo new > ` + file + ` && ! rm -f ` + file)
	c.Writable = append(c.Writable, file)
	require.Zero(t, p.run(t, c).ExitCode)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
}

func TestWritablePathsMustBeReal(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	p := newPlace(t)
	link := filepath.Join(p.outside, "link")
	require.NoError(t, os.Symlink("/", link))
	for _, path := range []string{link, filepath.Join(p.outside, "missing"), "relative"} {
		c := p.shell("true")
		c.Writable = []string{path}
		_, err := Run(t.Context(), c)
		require.ErrorContains(t, err, path)
	}
}

func TestOtherGoroutinesStayFree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if _, err := Run(t.Context(), p.shell("true")); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(p.outside, strconv.Itoa(i)), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	require.Contains(t, string(status), "NoNewPrivs:\t0")
}

func TestRestrictedThreadDies(t *testing.T) {
	t.Parallel()
	var thread string
	release, err := onOwnThread(noNewPrivileges, func() error {
		thread = "/proc/self/task/" + strconv.Itoa(unix.Gettid())
		return nil
	})
	require.NoError(t, err)
	require.DirExists(t, thread)
	release()
	require.Eventually(t, func() bool {
		_, err := os.Stat(thread)
		return os.IsNotExist(err)
	}, 10*time.Second, time.Millisecond)
}

func TestFailedStartIsHandedBack(t *testing.T) {
	t.Parallel()
	_, err := onOwnThread(noNewPrivileges, func() error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
}

func TestCommandCannotSignalOthers(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	if Probe().ABI < 6 {
		t.Skip("signals are not scoped before Landlock 6")
	}
	out := newPlace(t).run(t, newPlace(t).shell(`kill -0 `+strconv.Itoa(os.Getpid())))
	require.NotZero(t, out.ExitCode)
	require.Contains(t, out.Text(), "not permitted")
}

func TestNoNewPrivilegesInside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.Contains(t, p.run(t, p.shell(`grep NoNewPrivs /proc/self/status`)).Text(), "NoNewPrivs:\t1")
}
