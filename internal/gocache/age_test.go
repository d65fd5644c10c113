package gocache

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// old makes a file of a cache that was used and renewed some time ago.
func old(t *testing.T, file string, now time.Time, used, renewed time.Duration) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Chtimes(file, now.Add(-used), now.Add(-renewed)))
	return file
}

const day = 24 * time.Hour

// name is that of an entry.
func name(first string) string { return first + strings.Repeat("0", 63) }

func TestEntriesGoThatAreNotUsed(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	at := func(elements ...string) string { return filepath.Join(append([]string{dir}, elements...)...) }
	kept := []string{
		old(t, at("go-build", "10", name("1")+"-d"), now, 4*day, 4*day), old(t, at("xdg", "lint", "10", name("1")+"-a"), now, time.Minute, 9*day),
		old(t, at("go-build", "10", name("2")+"-d"), now, 9*day, time.Hour), old(t, at("go-build", "trim.txt"), now, 9*day, 9*day),
	}
	gone := []string{
		old(t, at("go-build", "10", name("3")+"-d"), now, 6*day, 3*time.Hour), old(t, at("xdg", "lint", "10", name("3")+"-a"), now, 6*day, 6*day),
		filepath.Dir(old(t, at("go-build", "10", name("4")+"-d", "program"), now, 0, 0)),
	}
	require.NoError(t, os.Chtimes(gone[2], now.Add(-6*day), now.Add(-6*day)))
	outside := old(t, filepath.Join(t.TempDir(), name("5")+"-a"), now, 9*day, 9*day)
	require.NoError(t, os.Symlink(filepath.Dir(outside), at("link")))
	require.NoError(t, os.Symlink(outside, at(name("6")+"-a")))
	require.NoError(t, Trim(dir, now))
	for _, file := range append(kept, outside) {
		require.FileExists(t, file)
	}
	for _, file := range gone {
		require.NoFileExists(t, file)
		require.NoDirExists(t, file)
	}
}

// What is renewed looks fresh to the go command, and goes as if it were not.
func TestARenewedEntryGoesAllTheSame(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	entry := old(t, filepath.Join(dir, "10", name("1")+"-d"), now, 6*day, 6*day)
	fresh := old(t, filepath.Join(dir, "10", name("2")+"-d"), now, 0, Fresh/2)
	other := old(t, filepath.Join(dir, "other"), now, 6*day, 6*day)
	require.NoError(t, Renew(dir, now))
	for file, age := range map[string]time.Duration{entry: 0, fresh: Fresh / 2, other: 6 * day} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.InDelta(t, age, now.Sub(info.ModTime()), float64(time.Second), file)
	}
	require.NoError(t, Trim(dir, now))
	require.FileExists(t, entry, "a command may read it")
	require.NoError(t, Trim(dir, now.Add(inUse)))
	require.NoFileExists(t, entry)
}

// The helper marks what it finds, as the go command does.
func TestWhatIsFoundIsMarkedAsUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, now := has(t, b.own, id{1}, "own"), time.Now()
	list := []string{b.own.file(id{1}, "a"), b.own.file(e.output, "d")}
	for _, file := range list {
		require.NoError(t, os.Chtimes(file, now.Add(-9*day), now.Add(-9*day)))
	}
	require.False(t, b.asked(t, get(t, id{1}))[0].Miss)
	require.NoError(t, Trim(string(b.own), now.Add(inUse)))
	for _, file := range list {
		require.FileExists(t, file)
	}
}

func TestAMarkGoesWithWhatWasUsedWithIt(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	key := name("a")
	require.False(t, Marked(dir, key))
	require.NoError(t, Mark(dir, key))
	require.True(t, Marked(dir, key))
	require.NoError(t, Trim(dir, now))
	require.True(t, Marked(dir, key))
	require.NoError(t, Trim(dir, now.Add(6*day)))
	require.False(t, Marked(dir, key))
	require.Error(t, Mark(filepath.Join(dir, "none"), key))
	require.False(t, Marked(filepath.Join(dir, "none"), key))

	outside := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(outside, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, key+"-a")))
	require.NoError(t, Mark(dir, key), "a link that a command has left leads nowhere")
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}

func TestAMarkWaitsForNoReaderOfAPipe(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), name("a")
	require.NoError(t, exec.Command("mkfifo", filepath.Join(dir, key+"-a")).Run())
	done := make(chan error, 1)
	go func() { done <- Mark(dir, key) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.Fail(t, "it waits for a reader")
	}
}
