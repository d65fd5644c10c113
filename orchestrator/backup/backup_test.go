package backup

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
)

// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// serving is a state directory whose server is live, with a message, an object and a run.
func serving(t *testing.T) (stateDir string, b *bus.Bus) {
	t.Helper()
	stateDir = filepath.Join(t.TempDir(), "state")
	no := false
	b, err := bus.Open(t.Context(), bus.Options{Dir: StoreDir(stateDir), Sync: &no})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	_, err = b.Append(t.Context(), bus.ConductorSubject("r1", "run"), []byte("[]"), 0)
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "thing", []byte("object")))
	for path, text := range map[string]string{
		"host/id": "id1", "serve/members.json": "{}", "serve/server.pem": "key", "serve/worker/tree/x": "x", "caches/a/go/x": "x",
		"caches/a/checkout/lfs/aa/aab": "large", "mirrors/a/HEAD": "x",
		"runs/r1/repo.git/HEAD": "ref: x", "runs/r1/repo.git/packed-refs.lock": "", "runs/r1/repo.git/objects/pack/tmp_pack_1": "",
		"runs/r1/summary.json": "newer", "runs/local/run.json": "{}",
	} {
		put(t, filepath.Join(stateDir, path), text)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(stateDir, "runs/r1/repo.git/refs"), 0o700))
	require.NoError(t, store.Meta{NATS: "nats://x", Order: "order-1"}.Write(filepath.Join(stateDir, "runs/r1")))
	return stateDir, b
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestABackupHasWhatWasAcknowledgedAndComesBack(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "copy")
	stateDir, b := serving(t)
	m, err := Save(ctx, stateDir, dir, "v1", time.Unix(1000, 0))
	require.NoError(t, err)
	require.Equal(t, []any{"id1", 1, 1, 1, uint64(1)}, []any{m.Server, m.Events, m.Objects, m.Runs, m.Position})
	var has []string
	for _, f := range m.Files {
		if !strings.HasPrefix(f.Path, "serve/bus/") {
			has = append(has, f.Path)
		}
		info, err := os.Stat(filepath.Join(dir, f.Path))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	require.Equal(t, []string{
		"caches/a/checkout/lfs/aa/aab", "host/id", "runs/r1/repo.git/HEAD", "runs/r1/run.json", "serve/members.json",
		"serve/server.pem",
	}, has)
	lost, err := b.Append(ctx, bus.ConductorSubject("r1", "run"), []byte("[1]"), 1)
	require.NoError(t, err)

	to := filepath.Join(t.TempDir(), "new", "state")
	_, from, err := Restore(ctx, dir, to, time.Now())
	require.NoError(t, err)
	require.Greater(t, from, lost)
	require.DirExists(t, filepath.Join(to, "runs/r1/repo.git/refs"))
	require.Equal(t, []string{filepath.Base(to)}, names(t, filepath.Dir(to)))
	r, err := bus.Open(ctx, bus.Options{Dir: StoreDir(to)})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	for range r.Read(ctx, bus.RunFilter("r1"), 0) {
		m.Events--
	}
	require.Zero(t, m.Events, "nothing is missing")
	data, err := r.Get(ctx, "thing")
	require.NoError(t, err)
	require.Equal(t, "object", string(data))
	_, err = r.Append(ctx, bus.ConductorSubject("r1", "run"), []byte("[2]"), lost)
	require.ErrorIs(t, err, bus.ErrFenced)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestOnlyAWholeBackupIsRestoredAndOnlyWhereNothingIs(t *testing.T) {
	t.Parallel()
	stateDir, _ := serving(t)
	manifest := func(t *testing.T, dir string, change func(m *Manifest)) {
		t.Helper()
		path := filepath.Join(dir, manifestFile)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var m Manifest
		require.NoError(t, json.Unmarshal(data, &m))
		change(&m)
		require.NoError(t, os.Remove(path))
		require.NoError(t, m.write(dir))
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, dir, to string)
		why  string
	}{
		"cut short": {func(t *testing.T, dir, _ string) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(dir, manifestFile)))
		}, "it is no backup, or was cut short"},
		"a byte of the log": {func(t *testing.T, dir, _ string) {
			t.Helper()
			path := filepath.Join(StoreDir(dir), bus.Stored()[0], "msgs", "1.blk")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[len(data)/2] ^= 1
			put(t, path, string(data))
		}, "1.blk of the backup is damaged"},
		"a byte of the key": {func(t *testing.T, dir, _ string) {
			t.Helper()
			put(t, filepath.Join(dir, "serve/server.pem"), "kez")
		}, "serve/server.pem of the backup is damaged"},
		"a file is gone": {func(t *testing.T, dir, _ string) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(dir, "host/id")))
		}, "the backup lacks host/id"},
		"a byte of the manifest": {func(t *testing.T, dir, _ string) {
			t.Helper()
			path := filepath.Join(dir, manifestFile)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			put(t, path, strings.Replace(string(data), `"server": "id1"`, `"server": "id2"`, 1))
		}, "its sum is another one"},
		"another format": {func(t *testing.T, dir, _ string) {
			t.Helper()
			manifest(t, dir, func(m *Manifest) { m.Format = 2 })
		}, "has the format 2, of version v1, and this program reads 1"},
		"a path outside": {func(t *testing.T, dir, _ string) {
			t.Helper()
			manifest(t, dir, func(m *Manifest) { m.Files[0].Path = "../x" })
		}, `the backup has a path "../x"`},
		"fewer events": {func(t *testing.T, dir, _ string) {
			t.Helper()
			manifest(t, dir, func(m *Manifest) { m.Events = 2 })
		}, "the backup has 1 events up to 1 and 1 objects, and its manifest says 2, 1 and 1"},
		"the server is there": {func(t *testing.T, _, to string) {
			t.Helper()
			put(t, filepath.Join(to, "host/id"), "id1")
		}, "still has the server of this backup: stop it"},
		"another server is there": {func(t *testing.T, _, to string) {
			t.Helper()
			put(t, filepath.Join(to, "host/id"), "id2")
		}, `has another server, "id2", than that of the backup, "id1"`},
		"something is there": {func(t *testing.T, _, to string) {
			t.Helper()
			put(t, filepath.Join(to, "runs/x/run.json"), "{}")
		}, "is not empty: restore into a new directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, to := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "state")
			_, err := Save(t.Context(), stateDir, dir, "v1", time.Now())
			require.NoError(t, err)
			c.harm(t, dir, to)
			before := names(t, filepath.Dir(to))
			_, _, err = Restore(t.Context(), dir, to, time.Now())
			require.ErrorContains(t, err, c.why)
			require.ErrorAs(t, err, new(*usage.Error))
			require.Equal(t, before, names(t, filepath.Dir(to)), "nothing is left")
		})
	}
}

func TestABackupNeedsAServerAndANewDirectory(t *testing.T) {
	t.Parallel()
	stateDir, _ := serving(t)
	for _, c := range []struct{ stateDir, dir, why string }{
		{t.TempDir(), "x", "has no server"},
		{stateDir, filepath.Join(stateDir, "backup"), "is in the state directory"},
		{stateDir, filepath.Dir(stateDir), "is not empty"},
	} {
		_, err := Save(t.Context(), c.stateDir, c.dir, "v1", time.Now())
		require.ErrorContains(t, err, c.why)
		require.ErrorAs(t, err, new(*usage.Error))
	}
	elsewhere := t.TempDir()
	put(t, filepath.Join(elsewhere, "host/id"), "id")
	_, err := Save(t.Context(), elsewhere, filepath.Join(t.TempDir(), "x"), "v1", time.Now())
	require.ErrorContains(t, err, "has no log of its own: the operator of the NATS cluster backs that up")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cut := filepath.Join(t.TempDir(), "x")
	_, err = Save(ctx, stateDir, cut, "v1", time.Now())
	require.ErrorIs(t, err, context.Canceled)
	_, err = read(cut)
	require.ErrorContains(t, err, "was cut short")
}
