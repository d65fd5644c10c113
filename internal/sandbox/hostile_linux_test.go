package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// secretPlace is a directory outside of everything that commands are given, with a secret in it.
func secretPlace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "id_rsa"), []byte("TOP-SECRET"), 0o600))
	return dir
}

func testCaches(t *testing.T) Caches {
	t.Helper()
	return Caches{Dir: filepath.Join(t.TempDir(), "caches"), Go: Toolchain{Root: "/nonexistent/go", ModCache: "/nonexistent/mod"}}
}

// using is a command of an audience of the caches.
func using(p place, c Cache, script string) Command {
	command := p.shell(script)
	command.Env = append(command.Env, "XDG_CACHE_HOME="+c.Env["XDG_CACHE_HOME"], "GOCACHE="+c.Env["GOCACHE"])
	command.Writable, command.Readable = append(command.Writable, c.Writable...), c.Readable
	command.Place.Downloads = c.Downloads
	if p.level.have(Namespaces) {
		command.Env = append(command.Env, "DOWNLOADS="+seenDownloads)
	} else {
		command.Env = append(command.Env, "DOWNLOADS="+c.Downloads.Dir)
	}
	return command
}

func cacheFor(t *testing.T, p place, caches Caches, who Audience) Cache {
	t.Helper()
	c, err := caches.at(p.level, who, Place{Home: t.TempDir()}, t.TempDir())
	require.NoError(t, err)
	return c
}

// A setup can put a link in the place of what it downloads.
func TestALinkInDownloadsLeadsNowhere(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"to a secret": secretPlace(t), "to itself": "pip"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRungs(t, func(t *testing.T, p place) {
				t.Helper()
				caches := testCaches(t)
				out := p.run(t, using(p, cacheFor(t, p, caches, Setup), `cd $DOWNLOADS; rm -rf pip; ln -s `+target+` pip; ln -s `+target+` other`))
				require.Zero(t, out.ExitCode, out.Text())
				for _, who := range []Audience{Gates, Agents} {
					out = p.run(t, using(p, cacheFor(t, p, caches, who), `cd $DOWNLOADS; cat pip/id_rsa other/id_rsa `+target+`/id_rsa; echo ran`))
					require.NotContains(t, out.Text(), "TOP-SECRET")
					require.Contains(t, out.Text(), "ran\n")
				}
			}, full, sharedUser, oneWorld, noFilter)
		})
	}
}

func TestOthersReadWhatSetupDownloaded(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		caches := testCaches(t)
		out := p.run(t, using(p, cacheFor(t, p, caches, Setup), `echo module > $DOWNLOADS/m`))
		require.Zero(t, out.ExitCode, out.Text())
		for _, who := range []Audience{Gates, Agents} {
			out := p.run(t, using(p, cacheFor(t, p, caches, who), `cat $DOWNLOADS/m; echo forged > $DOWNLOADS/m`))
			require.Contains(t, out.Text(), "module\n")
			require.Equal(t, p.level.views(), out.Success(), "what it may write is a view of its own")
		}
	}, full, sharedUser, oneWorld, noFilter)
}

// What setup puts into the tools directory is on the PATH, and the directory beside it is shown too where it is a toolchain's.
func TestALinkBesideToolsLeadsNowhere(t *testing.T) {
	t.Parallel()
	home := secretPlace(t)
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		tools := t.TempDir()
		setup := p.shell(`mkdir bin; ln -s ` + home + ` lib`)
		setup.Dir, setup.Writable = tools, []string{tools}
		require.Zero(t, p.run(t, setup).ExitCode)
		c := p.shell(`cat ` + home + `/id_rsa ` + tools + `/lib/id_rsa`)
		c.Env, c.Readable = append(c.Env, "PATH="+tools+"/bin:/usr/bin:/bin"), []string{tools}
		require.NotContains(t, p.run(t, c).Text(), "TOP-SECRET")
	}, full, sharedUser, oneWorld, noFilter)
}

func TestARuinedCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	victim := t.TempDir()
	for name, script := range map[string]string{
		"a file":          `rm -rf $XDG_CACHE_HOME; : > $XDG_CACHE_HOME`,
		"a dangling link": `rm -rf $XDG_CACHE_HOME; ln -s /nonexistent/place $XDG_CACHE_HOME`,
		"a closed one":    `mkdir -p $XDG_CACHE_HOME/pkg; chmod 0 $XDG_CACHE_HOME`,
		"a link out":      `rm -rf $XDG_CACHE_HOME; ln -s ` + victim + ` $XDG_CACHE_HOME`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, caches := newPlace(t), testCaches(t)
			require.Zero(t, p.run(t, using(p, cacheFor(t, p, caches, Agents), script)).ExitCode)
			out := p.run(t, using(p, cacheFor(t, p, caches, Agents), `echo x > $XDG_CACHE_HOME/x; echo x > $GOCACHE/x`))
			require.Zero(t, out.ExitCode, out.Text())
			made, err := os.ReadDir(victim)
			require.NoError(t, err)
			require.Empty(t, made)
		})
	}
}

// Two that find a cache ruined get the same new one.
func TestMakersOfARuinedCacheAgree(t *testing.T) {
	t.Parallel()
	for range 30 {
		caches := testCaches(t)
		c := cacheFor(t, place{}, caches, Gates)
		require.NoError(t, os.RemoveAll(c.Env["XDG_CACHE_HOME"]))
		require.NoError(t, os.WriteFile(c.Env["XDG_CACHE_HOME"], nil, 0o600))
		homes := t.TempDir()
		var makers errgroup.Group
		for i := range 4 {
			makers.Go(func() error {
				c, err := caches.For(Gates, Place{Home: filepath.Join(homes, strconv.Itoa(i))}, "")
				if err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(c.Env["GOCACHE"], strconv.Itoa(i)), nil, 0o600)
			})
		}
		require.NoError(t, makers.Wait())
		modules, err := os.ReadDir(c.Env["GOCACHE"])
		require.NoError(t, err)
		require.Len(t, modules, 4, "one of them lost its cache")
	}
}

// A process that has no descriptor left can say nothing of a cache, and keeps it.
func TestACacheOutlivesAWantOfDescriptors(t *testing.T) {
	t.Parallel()
	caches := testCaches(t)
	c := cacheFor(t, place{}, caches, Gates)
	module := filepath.Join(c.Env["GOCACHE"], "module")
	require.NoError(t, os.WriteFile(module, nil, 0o600))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), attackVar+"=cache", "CACHES="+caches.Dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.FileExists(t, module)
	kept, err := filepath.Glob(filepath.Join(caches.Dir, "*-ruined-*"))
	require.NoError(t, err)
	require.Empty(t, kept)
}

// makeWithoutDescriptors is the process of TestACacheOutlivesAWantOfDescriptors. With every number of descriptors that does not
// suffice, it wants the cache.
func makeWithoutDescriptors() int {
	caches := Caches{Dir: os.Getenv("CACHES"), Go: Toolchain{Root: "/nonexistent/go", ModCache: "/nonexistent/mod"}}
	Probe()
	failed := 0
	for free := range uint64(20) {
		var had unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &had); err != nil {
			return 2
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3 + free, Max: had.Max}); err != nil {
			return 3
		}
		err := makeCache(filepath.Join(caches.Dir, string(Gates)), []string{filepath.Join(caches.Dir, string(Gates), "xdg")})
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &had) != nil {
			return 4
		}
		if errors.Is(err, unix.EMFILE) {
			failed++
		} else if err != nil {
			fmt.Println(err) //nolint:forbidigo // the test shows it
			return 5
		}
	}
	if failed < 2 { // the lock could not be opened, the cache could
		return 6
	}
	return 0
}

// A command cannot end, stop or crash the process that watches it, and so outlive it.
func TestACommandCannotSignalItsStage(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell(`for s in KILL STOP TERM SEGV QUIT HUP INT; do kill -$s $PPID && echo "could $s"; done; echo after`))
		require.Zero(t, out.ExitCode, out.Text())
		require.NotContains(t, out.Text(), "could")
		require.Contains(t, out.Text(), "after\n")
	}, full, sharedUser, oneWorld, noFilter)
}

// Where the bound on processes is met, the command is told, and the stage continues.
func TestTheBoundOnProcessesEndsNoStage(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		for range 4 {
			c := p.shell(`n=0; while [ $n -lt 80 ]; do n=$((n+1)); (while :; do :; done) & done; sleep 0.2; echo made them all`)
			c.MaxProcesses, c.Timeout, c.Grace = 24, 400*time.Millisecond, 10*time.Millisecond
			out := p.run(t, c)
			require.NotContains(t, out.Signal, "unknown", out.Text())
			require.NotContains(t, out.Text(), "made them all")
			require.NotContains(t, out.Text(), "thread")
		}
	}, full)
}

func TestAMachineThatCannotBeTriedOutRunsNothing(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "not-there"))
	l := probe()
	var untried *UntriedError
	require.ErrorAs(t, l.Strict(), &untried)
	require.Contains(t, l.String(), "Commands do not run")
	t.Setenv("TMPDIR", "")
	p := newPlace(t)
	_, err := l.run(t.Context(), p.shell("true"))
	require.ErrorAs(t, err, &untried)
	require.ErrorIs(t, err, os.ErrNotExist)
	var weak *WeakError
	require.NotErrorAs(t, err, &weak)
}
