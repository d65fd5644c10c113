package baseline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/baseline"
	"divisi/orchestrator/run"
)

var made = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func newStore(t *testing.T) *baseline.Store {
	t.Helper()
	return &baseline.Store{
		Dir: filepath.Join(t.TempDir(), "baselines"), Cache: t.TempDir(), Host: func() (string, error) { return "host", nil },
		Clock: func() time.Time { return made.Add(time.Hour) },
	}
}

func TestABaselineIsFoundByItsKeyAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	none, err := s.Kept("a")
	require.NoError(t, err)
	require.Nil(t, none)
	k := &run.KeptBaseline{Run: "r1", Commit: "c", Made: made, Receipts: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}}
	require.NoError(t, s.Keep("a", k))
	got, err := s.Kept("a")
	require.NoError(t, err)
	require.Equal(t, k, got)
	require.NoError(t, os.Rename(filepath.Join(s.Dir, "a.json"), filepath.Join(s.Dir, "b.json")))
	_, err = s.Kept("b")
	require.ErrorContains(t, err, "changed since it was written")
	s.Clock = func() time.Time { return made.Add(31 * 24 * time.Hour) }
	require.NoError(t, s.Keep("a", k))
	old, err := s.Kept("a")
	require.NoError(t, err)
	require.Nil(t, old)
}

// Gates of a patch do not fill the cache: that takes the gates on the base commit.
func TestABaselineIsNotUsedWithoutTheCacheThatItFilled(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.Keep("a", &run.KeptBaseline{Run: "r1", Made: made}))
	got, err := s.Kept("a")
	require.NoError(t, err)
	require.NotNil(t, got)
	require.NoError(t, os.RemoveAll(s.Cache))
	require.NoError(t, os.Mkdir(s.Cache, 0o700))
	got, err = s.Kept("a")
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestADamagedBaselineIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(data []byte) []byte{
		"cut":     func(data []byte) []byte { return data[:len(data)/2] },
		"empty":   func([]byte) []byte { return nil },
		"changed": func(data []byte) []byte { return append(data[:len(data)-20], data[len(data)-19:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			require.NoError(t, s.Keep("a", &run.KeptBaseline{Run: "a run", Made: made}))
			file := filepath.Join(s.Dir, "a.json")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, damage(data), 0o600))
			got, err := s.Kept("a")
			require.Error(t, err)
			require.Nil(t, got)
		})
	}
}

func TestTheNewestBaselinesStay(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 25 {
		key := fmt.Sprintf("k%02d", i)
		require.NoError(t, s.Keep(key, &run.KeptBaseline{Made: made}))
		at := made.Add(time.Duration(i) * time.Second)
		require.NoError(t, os.Chtimes(filepath.Join(s.Dir, key+".json"), at, at))
	}
	require.NoError(t, s.Keep("new", &run.KeptBaseline{Made: made}))
	entries, err := os.ReadDir(s.Dir)
	require.NoError(t, err)
	require.Len(t, entries, 20)
	for key, want := range map[string]bool{"new": true, "k24": true, "k06": true, "k05": false} {
		got, err := s.Kept(key)
		require.NoError(t, err)
		require.Equal(t, want, got != nil, key)
	}
}

func TestWhatDecidesAKey(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project := func(change func(p *spec.Project)) spec.Project {
		p := spec.Project{Gates: []spec.Gate{{Name: "test", Command: []string{"go", "test"}}}}
		change(&p)
		return p
	}
	key := func(tree string, p spec.Project, environment string) string {
		k, err := s.Key(tree, p, environment)
		require.NoError(t, err)
		return k
	}
	same := project(func(*spec.Project) {})
	first := key("tree", same, "e")
	for name, change := range map[string]func(p *spec.Project){
		"time": func(p *spec.Project) { p.Gates[0].Timeout = 1 },
		"parallel": func(p *spec.Project) {
			p.Parallel, p.Budget, p.GatePermits, p.Prove = 3, spec.Tokens(4), 5, spec.ProveEach
		},
		"models": func(p *spec.Project) { p.Models = map[string]spec.Model{"default": {Name: "m"}} },
	} {
		require.Equal(t, first, key("tree", project(change), "e"), name)
	}
	for name, change := range map[string]func(p *spec.Project){
		"command": func(p *spec.Project) { p.Gates[0].Command = []string{"go", "vet"} },
		"format":  func(p *spec.Project) { p.Gates[0].Format = "tap" },
		"gates":   func(p *spec.Project) { p.Gates = append(p.Gates, spec.Gate{Name: "lint"}) },
		"setup":   func(p *spec.Project) { p.Setup.Command = []string{"make"} },
		"env":     func(p *spec.Project) { p.Env = []string{"CI"} },
	} {
		require.NotEqual(t, first, key("tree", project(change), "e"), name)
	}
	require.NotEqual(t, first, key("other", same, "e"))
	require.NotEqual(t, first, key("tree", same, "f"))
	s.Host = func() (string, error) { return "another", nil }
	require.NotEqual(t, first, key("tree", same, "e"))
}
