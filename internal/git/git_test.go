package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

func TestNew(t *testing.T) {
	t.Run("finds git", func(t *testing.T) {
		g, err := New(t.Context())
		require.NoError(t, err)
		require.Regexp(t, `^\d+\.\d+`, g.Version())
		require.True(t, filepath.IsAbs(g.Path()))
	})
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := New(t.Context())
		require.ErrorIs(t, err, ErrNoGit)
	})
	t.Run("an old git", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 2.37.9\n"), 0o755))
		t.Setenv("PATH", dir)
		_, err := New(t.Context())
		require.ErrorIs(t, err, ErrOld)
		require.ErrorContains(t, err, "2.37.9")
	})
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"git version 2.38.0\n":               "2.38.0",
		"git version 2.39.5 (Apple Git-154)": "2.39.5",
		"git version 2.50.1.windows.1":       "2.50.1.windows.1",
		"git version 3.0.0":                  "3.0.0",
		"git version 2.37.9":                 "",
		"git version 1.99.0":                 "",
		"something else":                     "",
	} {
		got, err := checkVersion(out)
		require.Equal(t, want, got, out)
		if want == "" {
			require.ErrorIs(t, err, ErrOld, out)
		}
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.g.Run(t.Context(), Dir{GitDir: b.m.Dir()}, nil, "cat-file", "blob", "nothing")
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 128, exit.Code)
	require.Equal(t, []string{"cat-file", "blob", "nothing"}, exit.Args)
	require.Contains(t, exit.Stderr, "Not a valid object name")

	_, err = b.g.Run(t.Context(), Dir{}, nil, "status")
	require.ErrorContains(t, err, "without a repository")
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	answered := &signal{ch: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := b.g.exec(ctx, call{
			dir: Dir{GitDir: b.m.Dir()}, stdin: endless(b.base + "\n"), stdout: answered, args: []string{"cat-file", "--batch-check"},
		})
		done <- err
	}()
	chantest.Next(t, answered.ch)
	cancel(stop)
	require.ErrorIs(t, chantest.Next(t, done), stop)
}

// endless is an input that repeats itself: git ends only when it is killed.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// signal closes its channel at the first write.
type signal struct {
	ch   chan struct{}
	once bool
}

func (s *signal) Write(p []byte) (int, error) {
	if !s.once {
		s.once = true
		close(s.ch)
	}
	return len(p), nil
}

func TestValidRef(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{
		"refs/heads/main": true, "refs/heads/divisi/r1": true, "refs/divisi/base": true, "refs/heads/ü": true,
		"refs/heads/a.b": true, "refs/heads/@": true,
		"main": false, "refs/heads": false, "refs/heads/": false, "refs/heads//x": false, "refs/heads/.x": false,
		"refs/heads/x.lock": false, "refs/heads/a..b": false, "refs/heads/a b": false, "refs/heads/a~1": false,
		"refs/heads/a^": false, "refs/heads/a:b": false, "refs/heads/a?": false, "refs/heads/a*": false,
		"refs/heads/a[": false, `refs/heads/a\b`: false, "refs/heads/a@{1}": false, "refs/heads/a.": false,
		"refs/heads/a\x01": false, "refs/heads/\x7f": false, "refs/heads/x.lock/y": false, "": false,
	} {
		err := ValidRef(ref)
		require.Equal(t, want, err == nil, "%q: %v", ref, err)
		gitErr := exec.CommandContext(t.Context(), "git", "check-ref-format", ref).Run()
		if want {
			require.NoError(t, gitErr, "git refuses %q", ref)
		} else {
			require.ErrorIs(t, err, ErrBadName)
		}
		if gitErr != nil {
			require.False(t, want)
		}
	}
	require.ErrorIs(t, ValidRef("refs/heads/-x"), ErrBadName)
	require.ErrorIs(t, ValidRef("refs/heads/"+strings.Repeat("x", 300)), ErrBadName)
}
