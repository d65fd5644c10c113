package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/store"
)

func TestFreeSpaceIsGraded(t *testing.T) {
	t.Parallel()
	for want, free := range map[Level][]space{
		OK:      {{littleDisk, littleInodes}, {littleDisk, -1}},
		Warning: {{littleDisk - 1, -1}, {littleDisk, littleInodes - 1}, {noDisk, noInodes}},
		Problem: {{noDisk - 1, -1}, {littleDisk, noInodes - 1}, {littleDisk, 0}},
	} {
		for _, s := range free {
			f := Options{Store: store.Dir{Path: "/state"}}.freeSpace("/state", s)
			require.Equal(t, want, f.Level, "%+v", s)
			require.Equal(t, want == OK, f.Do == "", "%+v", s)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{0: "0 MiB", 200 << 20: "200 MiB", 1<<30 - 1: "1023 MiB", 3 << 29: "1.5 GiB"} {
		require.Equal(t, want, Bytes(n))
	}
}

func TestAStateDirectoryThatOthersCanRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	f := at(dir).checkState(t.Context())
	require.Len(t, f, 1)
	require.Equal(t, Warning, f[0].Level)
	require.Equal(t, "chmod 700 "+dir, f[0].Do)

	require.NoError(t, os.Chmod(dir, 0o700))
	require.Equal(t, []Finding{fine("state", "only you can read and write %s", dir)}, at(dir).checkState(t.Context()))

	below := filepath.Join(dir, "a", "b")
	f = at(below).checkState(t.Context())
	require.Equal(t, []Finding{fine("state", "%s does not exist yet; it can be created in %s", below, dir)}, f)
	require.NoDirExists(t, filepath.Dir(below), "a check changes nothing")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, Problem, at(file).checkState(t.Context())[0].Level)
}

func TestAGateWhoseProgramIsMissing(t *testing.T) {
	t.Parallel()
	o := Options{Top: t.TempDir()}
	own := filepath.Join(o.Top, "check.sh")
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\n"), 0o700))
	for _, c := range []struct {
		program string
		setup   bool
		want    Level
	}{
		{"./check.sh", false, OK},
		{own, false, OK},
		{"no-such-program", false, Problem},
		{"no-such-program", true, Warning},
		{"./no-such-program", false, Problem},
	} {
		f := o.gate(spec.Gate{Name: "g", Command: []string{c.program}}, "configured", c.setup)
		require.Equal(t, c.want, f.Level, "%+v", c)
		require.Contains(t, f.Seen, "g (configured): "+c.program)
	}
}

func TestRunsThatDidNotEndInOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, OK, ended.finding("r", nil).Level)
	require.Equal(t, OK, active.finding("r", nil).Level)
	for want, f := range map[string]Finding{
		"run r: no answer → wait a moment, then run divisi doctor again": busy.finding("r", errors.New("no answer")),
		"run r cannot be read: torn; its end is gone → inspect it: divisi show r": unreadable.finding("r",
			errors.New("torn\nits end is gone")),
		"run r never started, or is starting now → if no run is starting, remove it: divisi runs rm r": notBegun.finding("r", nil),
		"the process of run r was killed → resume it: divisi resume r; or end it: divisi cancel r":     killed.finding("r", nil),
	} {
		require.Equal(t, want, f.Seen+" → "+f.Do)
		require.Equal(t, Warning, f.Level)
	}

	o := at(t.TempDir())
	o.leftovers = []string{"/tmp/a", "/tmp/b"}
	f := o.checkRuns(t.Context())
	require.Equal(t, "demos, dry runs or killed processes left 2 directories, such as /tmp/a", f[0].Seen)
	o.leftovers = nil
	require.NoError(t, os.MkdirAll(o.Store.Bus("20260101-000000-abcd"), 0o700))
	f = o.checkRuns(t.Context())
	require.Equal(t, []Finding{notBegun.finding("20260101-000000-abcd", nil)}, f)
	require.NoError(t, os.RemoveAll(o.Store.Runs()))
	require.Equal(t, []Finding{fine("runs", "0 in %s, 0 active", o.Store.Runs())}, o.checkRuns(t.Context()))
	require.NoError(t, os.WriteFile(o.Store.Runs(), nil, 0o600))
	require.Equal(t, Problem, o.checkRuns(t.Context())[0].Level)
}

func at(dir string) Options { return Options{Store: store.Dir{Path: dir}} }

func TestModelsAreGroupedByService(t *testing.T) {
	t.Parallel()
	p := spec.Project{Models: map[string]spec.Model{
		"default": {Provider: "gemini"}, "cheap": {Provider: "gemini"},
		"local": {Provider: spec.ProviderOpenAI, BaseURL: "http://127.0.0.1:9/v1"},
	}}
	require.Equal(t, map[Service][]string{
		{Provider: "gemini"}: {"cheap", "default"}, {Provider: spec.ProviderOpenAI, BaseURL: "http://127.0.0.1:9/v1"}: {"local"},
	}, services(p))
	require.Equal(t, "no key is needed", Service{Provider: spec.ProviderOpenAI, BaseURL: "http://127.0.0.1:9/v1"}.key())
}
