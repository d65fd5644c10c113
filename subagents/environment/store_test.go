package environment_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/testkit/chantest"
	"divisi/subagents/environment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newStore opens a store in the caches of a repository, as another process would.
func newStore(t *testing.T, caches string) *environment.Store {
	t.Helper()
	s := environment.NewStore(environment.Below(caches), os.RemoveAll, func() time.Time { return noon })
	t.Cleanup(s.Close)
	return s
}

func recipe(command ...string) environment.Recipe {
	return environment.Recipe{Command: command, System: "linux", Arch: "amd64", Level: "all"}
}

// tree makes a work tree with what a setup has left.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"node_modules/dep/index.js": "1", "packages/a/node_modules/b/index.js": "2", "generated.txt": "3",
	} {
		write(t, filepath.Join(dir, name), content)
	}
	require.NoError(t, os.Symlink("../packages/a", filepath.Join(dir, "node_modules/a")))
	return dir
}

func write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
}

var left = []string{"generated.txt", "node_modules", "packages/a/node_modules"}

// take is a fill that takes what a setup left in a tree.
func take(dir string, paths ...string) func(context.Context, *environment.Making) error {
	return func(_ context.Context, m *environment.Making) error { return m.Take(dir, paths) }
}

func unasked() {}

func TestWhatASetupLeftIsKept(t *testing.T) {
	t.Parallel()
	caches, dir := t.TempDir(), tree(t)
	s := newStore(t, caches)
	e, made, err := s.Make(t.Context(), recipe("npm", "ci"), unasked, func(ctx context.Context, m *environment.Making) error {
		write(t, filepath.Join(m.Tools(), "bin", "tool"), "tool")
		write(t, filepath.Join(m.Stores(), "yarn", "x"), "x")
		return take(dir, left...)(ctx, m)
	})
	require.NoError(t, err)
	require.True(t, made)
	require.Equal(t, []string{"node_modules", "packages/a/node_modules"}, e.Places)
	require.Equal(t, []string{"generated.txt"}, e.Files)
	require.Empty(t, e.Notes)
	require.NoDirExists(t, filepath.Join(dir, "node_modules"), "it was moved")
	data, err := os.ReadFile(filepath.Join(e.Lower("packages/a/node_modules"), "b/index.js"))
	require.NoError(t, err)
	require.Equal(t, "2", string(data))

	other := newStore(t, caches)
	again, made, err := other.Make(t.Context(), recipe("npm", "ci"), unasked, nil)
	require.NoError(t, err)
	require.False(t, made, "it is there")
	require.Equal(t, e.Manifest, again.Manifest)
	require.Same(t, again, other.Newest())
	list, err := other.List(true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Empty(t, list[0].Damage)
	require.True(t, list[0].InUse)
	require.Equal(t, 14, list[0].Entries)
	require.ErrorIs(t, newStore(t, caches).Remove(e.ID), environment.ErrInUse)
	require.NoError(t, newStore(t, caches).Sweep(noon.AddDate(100, 0, 0)))
	s.Close()
	other.Close()
	require.NoError(t, newStore(t, caches).Remove(e.ID))
	_, err = newStore(t, caches).Open(e.ID)
	require.ErrorIs(t, err, environment.ErrNone)
}

func TestAnEnvironmentThatIsNotWholeIsNotBelieved(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	s := newStore(t, caches)
	broken := errors.New("killed")
	var made string
	_, _, err := s.Make(t.Context(), recipe("a"), unasked, func(_ context.Context, m *environment.Making) error {
		made = m.Dir
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.NoDirExists(t, made)

	write(t, filepath.Join(made, "tree/node_modules/half"), "") // as a maker leaves it that was killed
	_, err = s.Open(filepath.Base(made))
	require.ErrorIs(t, err, environment.ErrNone)
	require.NoError(t, s.Sweep(noon.AddDate(-1, 0, 0)))
	require.NoDirExists(t, made)

	write(t, filepath.Join(made, "tree/node_modules/half"), "")
	e, fresh, err := s.Make(t.Context(), recipe("a"), unasked, take(tree(t), left...))
	require.NoError(t, err)
	require.True(t, fresh)
	require.NoFileExists(t, filepath.Join(e.Lower("node_modules"), "half"))
}

func TestADamagedEnvironmentIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, caches string, e *environment.Environment){
		"a file that was written": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			write(t, filepath.Join(e.Lower("node_modules"), "dep/index.js"), "changed")
		},
		"a file that is gone": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(e.Lower("node_modules"), "dep/index.js")))
		},
		"a new file": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			write(t, filepath.Join(e.Lower("node_modules"), "new"), "")
		},
		"a link elsewhere": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			link := filepath.Join(e.Lower("node_modules"), "a")
			require.NoError(t, errors.Join(os.Remove(link), os.Symlink("../../../etc", link)))
		},
		"a part that is gone": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			require.NoError(t, os.RemoveAll(e.Tools()))
		},
		"a manifest that was cut short": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			require.NoError(t, os.Truncate(filepath.Join(e.Dir, "manifest.json"), 20))
		},
		"a list that was changed": func(t *testing.T, _ string, e *environment.Environment) {
			t.Helper()
			require.NoError(t, os.Truncate(filepath.Join(e.Dir, "content"), 20))
		},
		"downloads that are gone": func(t *testing.T, caches string, _ *environment.Environment) {
			t.Helper()
			require.NoError(t, os.RemoveAll(filepath.Join(caches, "modules")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caches := t.TempDir()
			fill := func(ctx context.Context, m *environment.Making) error {
				write(t, filepath.Join(caches, "modules/m"), "")
				m.Downloaded([]string{"modules/m"})
				return take(tree(t), left...)(ctx, m)
			}
			first := newStore(t, caches)
			e, _, err := first.Make(t.Context(), recipe("a"), unasked, fill)
			require.NoError(t, err)
			first.Close()
			damage(t, caches, e)
			s := newStore(t, caches)
			_, err = s.Open(e.ID)
			var damaged *environment.DamagedError
			require.ErrorAs(t, err, &damaged)
			again, made, err := s.Make(t.Context(), recipe("a"), unasked, fill)
			require.NoError(t, err)
			require.True(t, made)
			require.Len(t, again.Notes, 1)
			require.Contains(t, again.Notes[0], "made again")
			data, err := os.ReadFile(filepath.Join(again.Lower("node_modules"), "dep/index.js"))
			require.NoError(t, err)
			require.Equal(t, "1", string(data))
		})
	}
}

func TestAChangeThatKeepsSizeAndTimeIsSeenByAWholeLook(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	s := newStore(t, caches)
	e, _, err := s.Make(t.Context(), recipe("a"), unasked, take(tree(t), left...))
	require.NoError(t, err)
	name := filepath.Join(e.Lower("node_modules"), "dep/index.js")
	info, err := os.Stat(name)
	require.NoError(t, err)
	write(t, name, "7")
	require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	list, err := s.List(false)
	require.NoError(t, err)
	require.Empty(t, list[0].Damage)
	list, err = s.List(true)
	require.NoError(t, err)
	require.Contains(t, list[0].Damage, "node_modules/dep/index.js has changed")
}

func TestOneOfManyMakersMakesIt(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	var made, waited atomic.Int32
	begun, goOn := make(chan struct{}), make(chan struct{})
	errs := make(chan error)
	make1 := func() {
		s := newStore(t, caches)
		_, _, err := s.Make(t.Context(), recipe("a"), func() {
			if waited.Add(1) == 3 {
				close(goOn)
			}
		}, func(context.Context, *environment.Making) error {
			made.Add(1)
			close(begun)
			<-goOn
			return nil
		})
		errs <- err
	}
	go make1()
	chantest.Next(t, begun)
	for range 3 {
		go make1()
	}
	for range 4 {
		require.NoError(t, chantest.Next(t, errs))
	}
	require.EqualValues(t, 1, made.Load())
}

func TestAMakerThatIsCancelledStopsWaiting(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	stop := errors.New("stop")
	_, _, err := s.Make(t.Context(), recipe("a"), unasked, func(context.Context, *environment.Making) error {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, _, err := s.Make(ctx, recipe("a"), func() { cancel(stop) }, nil)
		require.ErrorIs(t, err, stop)
		return nil
	})
	require.NoError(t, err)
}

func TestBadContent(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Log("as root every file can be read")
	}
	dir := tree(t)
	deps := filepath.Join(dir, "node_modules")
	require.NoError(t, os.Symlink("/home/me/.ssh", filepath.Join(deps, "keys")))
	require.NoError(t, os.Symlink("../../../../../etc/passwd", filepath.Join(deps, "up")))
	require.NoError(t, os.Symlink("/usr/bin/python3", filepath.Join(deps, "python")))
	require.NoError(t, os.Symlink("/divisi/tree/x", filepath.Join(deps, "x")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(deps, "pipe"), 0o600))
	write(t, filepath.Join(deps, "as-root"), "")
	require.NoError(t, os.Chmod(filepath.Join(deps, "as-root"), 0o755|os.ModeSetuid))
	write(t, filepath.Join(deps, "closed/file"), "")
	require.NoError(t, os.Chmod(filepath.Join(deps, "closed/file"), 0))
	require.NoError(t, os.Chmod(filepath.Join(deps, "closed"), 0))
	write(t, filepath.Join(deps, "line\nbreak \"\xff"), "")
	write(t, filepath.Join(deps, "git-dep/.git/HEAD"), "x")

	s := newStore(t, t.TempDir())
	e, _, err := s.Make(t.Context(), recipe("a"), unasked, take(dir, left...))
	require.NoError(t, err)
	lower := e.Lower("node_modules")
	require.Equal(t, []string{
		"2 links that lead out of the tree were left out: node_modules/keys -> /home/me/.ssh, node_modules/up -> ../../../../../etc/passwd",
		"1 pipes and sockets were left out: node_modules/pipe",
		"1 files lost the right to run as another user: node_modules/as-root",
	}, e.Notes)
	for name, kept := range map[string]bool{
		"keys": false, "up": false, "python": true, "x": true, "a": true, "pipe": false, "closed/file": true, "git-dep/.git/HEAD": true,
	} {
		_, err := os.Lstat(filepath.Join(lower, name))
		require.Equal(t, kept, err == nil, name)
	}
	info, err := os.Stat(filepath.Join(lower, "as-root"))
	require.NoError(t, err)
	require.Zero(t, info.Mode()&os.ModeSetuid)
	list, err := s.List(true)
	require.NoError(t, err)
	require.Empty(t, list[0].Damage)

	_, _, err = s.Make(t.Context(), recipe("b"), unasked, take(dir, "../x"))
	var bad *environment.BadContentError
	require.ErrorAs(t, err, &bad)
	write(t, filepath.Join(dir, "a\tb/x"), "")
	_, _, err = s.Make(t.Context(), recipe("b"), unasked, take(dir, "a\tb"))
	require.ErrorAs(t, err, &bad)
}

func BenchmarkOpen(b *testing.B) {
	if runtime.GOOS == "windows" {
		b.Skip("no locks")
	}
	dir := b.TempDir()
	for i := range 40_000 {
		name := filepath.Join(dir, "node_modules", strconv.Itoa(i/50), strconv.Itoa(i))
		if i%50 == 0 {
			require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		require.NoError(b, os.WriteFile(name, []byte(strings.Repeat("x", 1000)), 0o644))
	}
	caches := b.TempDir()
	open := func() *environment.Store {
		return environment.NewStore(environment.Below(caches), os.RemoveAll, func() time.Time { return noon })
	}
	s := open()
	begin := time.Now()
	e, _, err := s.Make(b.Context(), recipe("a"), unasked, func(_ context.Context, m *environment.Making) error {
		return m.Take(dir, []string{"node_modules"})
	})
	require.NoError(b, err)
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/make")
	s.Close()
	for b.Loop() {
		s := open()
		_, err := s.Open(e.ID)
		require.NoError(b, err)
		s.Close()
	}
}

// An environment that lacks what a service may give later serves the runs that use it, and no later one.
func TestAnEnvironmentThatLacksAPartForAWhileIsMadeAgain(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	setUp := func(s *environment.Store, asked, away bool, lacks ...string) (*environment.Environment, bool) {
		e, made, err := s.Make(t.Context(), recipe("sh", "setup.sh"), unasked, func(ctx context.Context, m *environment.Making) error {
			if len(lacks) > 0 {
				m.Lacks(lacks, asked, away)
			}
			return take(tree(t), left...)(ctx, m)
		})
		require.NoError(t, err)
		return e, made
	}
	first := newStore(t, caches)
	lacking, made := setUp(first, true, true, "b")
	require.True(t, made)
	require.True(t, lacking.Passing)
	_, made = setUp(first, true, true)
	require.False(t, made, "it serves its run")
	second := newStore(t, caches)
	_, made = setUp(second, true, true)
	require.False(t, made, "a run uses it")
	first.Close()
	second.Close()
	third := newStore(t, caches)
	_, err := third.Open(lacking.ID)
	require.NoError(t, err, "a run that continues has it")
	third.Close()
	for _, c := range []struct {
		asked, away bool
		lacks       []string
		made        bool
	}{
		{true, true, []string{"b"}, true},
		{true, true, []string{"b"}, true},
		{true, false, []string{"b"}, true},
		{true, false, nil, false}, // twice, and every service answered
	} {
		s := newStore(t, caches)
		e, made := setUp(s, c.asked, c.away, c.lacks...)
		require.Equal(t, c.made, made)
		require.Equal(t, []string{"b"}, e.Lacks)
		require.NotEqual(t, e.Recipe.Digest(), e.Digest, "receipts of one that has all are not compared")
		s.Close()
	}
}
