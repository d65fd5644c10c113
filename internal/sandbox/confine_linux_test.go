package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	"remove":                  `rm $OUT/victim`,
	"mkdir":                   `mkdir $OUT/new`,
	"rmdir":                   `rmdir $OUT/empty`,
	"fifo":                    `mkfifo $OUT/new`,
	"in a subshell's child":   `sh -c "sh -c 'echo evil > $OUT/victim'"`,
	"in a session of its own": `setsid sh -c "echo evil > $OUT/victim"; sleep 0.1; grep -q evil $OUT/victim`,
	"copy with attributes":    `cp -a /etc/services $OUT/new`,
	"device node":             `mknod $OUT/new c 1 3`,
	"device node in the tree": `mknod node c 1 3`,
}

func TestSlowWritesOutsideAreDenied(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		victim := filepath.Join(p.outside, "victim")
		require.NoError(t, os.WriteFile(victim, []byte("kept\n"), 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(p.outside, "empty"), 0o700))
		for name, script := range escapes {
			c := p.shell("rm -f mine link dir; " + script)
			c.Env = append(c.Env, "OUT="+p.outside)
			out := p.run(t, c)
			require.NotZero(t, out.ExitCode, "%s must be told: %s", name, out.Text())
			data, err := os.ReadFile(victim)
			require.NoError(t, err, name)
			require.Equal(t, "kept\n", string(data), name)
			entries, err := os.ReadDir(p.outside)
			require.NoError(t, err, name)
			require.Len(t, entries, 2, name)
		}
	}, full, sharedUser, oneWorld, noFilter)
}

func TestWritingInsideWorks(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell(`set -e; mkdir -p a/b; echo x > a/b/f; mv a/b/f a/g; ln a/g h; ln -s h i; truncate -s 0 h; rm -r a
			mkfifo q; chmod 700 h; echo x > /dev/null; cat /etc/passwd > copy; test -s copy; mktemp`))
		require.Zero(t, out.ExitCode, out.Text())
		info, err := os.Stat(filepath.Join(p.tree, "copy"))
		require.NoError(t, err)
		owned, err := os.Stat(p.tree)
		require.NoError(t, err)
		require.Equal(t, owner(t, owned), owner(t, info), "files of a command are as if Divisi had made them")
	})
}

func TestNothingIsWritableUnlessSaid(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`cat /dev/null && ls > /dev/null && ! echo x > mine`)
		c.Writable = nil
		out := p.run(t, c)
		require.Zero(t, out.ExitCode, out.Text())
		require.NoFileExists(t, filepath.Join(p.tree, "mine"))
	}, full, sharedUser, oneWorld, noFilter)
}

func TestOneWritableFile(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		file := filepath.Join(p.outside, "report")
		require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
		c := p.shell(`echo new > ` + file + ` && ! rm -f ` + file)
		c.Writable = append(c.Writable, file)
		out := p.run(t, c)
		require.Zero(t, out.ExitCode, out.Text())
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "new\n", string(data))
	}, full, sharedUser, oneWorld, noFilter)
}

func TestWritablePathsMustBeReal(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		link := filepath.Join(p.outside, "link")
		require.NoError(t, os.Symlink("/", link))
		for _, path := range []string{link, filepath.Join(p.outside, "missing"), "relative"} {
			for _, c := range []Command{
				{Args: []string{"true"}, Dir: p.tree, Env: p.env, Writable: []string{path}},
				{Args: []string{"true"}, Dir: p.tree, Env: p.env, Place: Place{Tree: path}},
			} {
				_, err := p.level.run(t.Context(), c)
				require.ErrorContains(t, err, path)
			}
		}
	})
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

// What lies in the user's home is not there, but for the toolchains that PATH leads to.
func TestHomeIsNotThere(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		home := t.TempDir()
		for _, name := range []string{
			".ssh/id", ".local/bin/tool", ".local/lib/part", ".local/share/keyrings/key", ".rustup/toolchain", "notes",
		} {
			path, script := filepath.Join(home, name), "#!/bin/sh\necho read "+name+"\n"
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(script), 0o700)) // a program
		}
		c := p.shell(`sh $(command -v tool); for f in .ssh/id .local/lib/part .local/share/keyrings/key .rustup/toolchain notes; do
			cat $REALHOME/$f; done 2>/dev/null; ! echo x > $REALHOME/.local/bin/tool`)
		env, err := Env(Settings{
			Base: []string{"PATH=" + home + "/.local/bin:" + os.Getenv("PATH"), "HOME=" + home}, Home: p.tree, Temp: p.tree,
		})
		require.NoError(t, err)
		c.Env = append(env, "REALHOME="+home)
		out := p.run(t, c)
		require.Zero(t, out.ExitCode, out.Text())
		for _, name := range []string{".local/bin/tool", ".local/lib/part", ".rustup/toolchain"} {
			require.Contains(t, out.Text(), "read "+name)
		}
		for _, name := range []string{".ssh/id", "keyrings", "notes"} {
			require.NotContains(t, out.Text(), "read "+name)
		}
	}, full, sharedUser, oneWorld, noFilter)
}

// The machine sees the commands of root as a user who owns nothing, though inside, and on the disk, all seems to be as ever.
func TestRootsCommandsAreNotRoots(t *testing.T) {
	t.Parallel()
	if l := Probe(); os.Geteuid() != 0 || !l.have(Namespaces) || !l.have(OwnUser) {
		t.Skip("Divisi is not root here, or cannot tell its commands from itself")
	}
	p := newPlace(t)
	secret := filepath.Join(p.outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	require.NoError(t, os.Chown(secret, stranger, stranger))
	c := p.shell("id -u; cat " + secret + "; echo done; exec sleep 600")
	c.Readable = []string{p.outside}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := ""
	c.OnOutput = func(b []byte) {
		if said += string(b); strings.Contains(said, "done") {
			cancel()
		}
	}
	c = c.withDefaults()
	j, err := p.level.start(c)
	require.NoError(t, err)
	require.NoError(t, j.process.begun())
	status := text("/proc/" + strconv.Itoa(j.process.stage.Pid) + "/status")
	for _, name := range []string{"Uid", "Gid"} {
		require.Contains(t, status, name+":\t"+strconv.Itoa(ownID))
	}
	require.Contains(t, status, "Groups:\t \n")
	out, err := j.finish(ctx, c)
	require.NoError(t, err)
	require.True(t, out.Cancelled)
	require.Equal(t, "1000", lines(said)[0])
	require.Contains(t, said, "ermission denied", "files of others stay theirs")
}

// A server of a role that changes nothing has the tree to read.
func TestATreeThatIsKept(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(p.tree, "a"), []byte("kept"), 0o600))
		c := p.shell(`cat a; echo x > a; echo x > new; echo x > $HOME/mine && echo " written"`)
		c.Place, c.Writable = Place{Tree: p.tree, Home: t.TempDir(), KeepTree: true}, nil
		c.Env = append(c.Env, "HOME="+c.Place.Home)
		if p.level.have(Namespaces) {
			c.Env = append(c.Env, "HOME="+seenHome)
		}
		out := p.run(t, c)
		require.Contains(t, out.Text(), "kept")
		require.Contains(t, out.Text(), " written")
		require.FileExists(t, filepath.Join(c.Place.Home, "mine"))
		require.NoFileExists(t, filepath.Join(p.tree, "new"))
		require.Equal(t, "kept", text(filepath.Join(p.tree, "a")))
	}, full, sharedUser, oneWorld, noFilter)
}

// The process between has nothing that a command could take over.
func TestTheStageHasNoRights(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := p.shell("exec sleep 600").withDefaults()
		j, err := p.level.start(c)
		require.NoError(t, err)
		require.NoError(t, j.process.begun())
		status := text("/proc/" + strconv.Itoa(j.process.stage.Pid) + "/status")
		for _, line := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"} {
			require.Contains(t, status, line)
		}
		cancel()
		out, err := j.finish(ctx, c)
		require.NoError(t, err)
		require.True(t, out.Cancelled)
	})
}

// A program for another kind of processor, or one that says so, has calls that the filter does not know.
func TestForeignCallsKill(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("there is one kind of calls only")
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell(`exec python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)'`))
		require.Equal(t, "bad system call", out.Signal)
	}, full, oneWorld)
}
