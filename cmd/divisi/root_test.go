package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
)

func TestASignalAtTheSameMomentIsTheFirstOneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, done, second := make(chan os.Signal), make(chan struct{}), make(chan bool, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { second <- interrupted(got, done, cancel) }()
		got <- syscall.SIGTERM
		synctest.Wait()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		got <- syscall.SIGTERM
		time.Sleep(sameSignal) //nolint:forbidigo // the bubble's time
		got <- syscall.SIGTERM
		synctest.Wait()
		require.Empty(t, second)
		time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's time
		got <- syscall.SIGTERM
		require.True(t, <-second)

		go func() { second <- interrupted(got, done, cancel) }()
		close(done)
		require.False(t, <-second)
	})
}

// An old name means its command where help is asked for, where a shell completes, and where it is run.
func TestOldNames(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"--help serve":            {"Run a server that workers and people"},
		"help serve":              {"Run a server that workers and people"},
		"--help runs":             {"List the runs"},
		"-h --output json runs":   {"List the runs"},
		"serve --help":            {"divisi serve is now divisi server start", "Run a server that workers and people"},
		"serve token --help":      {"divisi serve token is now divisi server token;", "Print a token"},
		"__complete serve tok":    {"token\tMake a token"},
		"__complete serve --lis":  {"--listen\t"},
		"__complete worker --jo":  {"--join\t"},
		"__complete creds rev":    {"revoke\t"},
		"__complete server work":  {"workers\t"},
		"__complete --all serve ": {"token\t"},
	} {
		var out, errOut bytes.Buffer
		require.Equal(t, cli.CodeOK, execute(strings.Split(line, " "), strings.NewReader(""), &out, &errOut), line)
		all := out.String() + errOut.String()
		for _, words := range want {
			require.Contains(t, all, words, line)
		}
		require.Equal(t, strings.HasPrefix(strings.TrimPrefix(line, "--help "), "serve"), strings.Contains(all, "is now"), line)
	}
}
