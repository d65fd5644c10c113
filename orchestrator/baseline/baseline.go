// Package baseline keeps the gate results of a base commit, for later runs. Its input are a key, which stands for everything that
// decides the outcome, and the receipts; its output are the receipts of an earlier run. It never runs a gate, and it is no
// record: what is damaged, old or too much is forgotten.
package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"divisi/contextscope/artifact"
	"divisi/internal/gocache"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

const (
	// version changes when receipts mean something else than before.
	version = 3
	// most is how many baselines of a repository are kept, life for how long.
	most = 20
	life = 30 * 24 * time.Hour
)

// Store keeps the baselines of one repository in a directory that no command can write. Several processes can share it.
type Store struct {
	Dir string
	// Cache is the build cache that the gates on the base commit fill: gates of a patch only read it. Without that a baseline is
	// not used.
	Cache string
	// Host stands for what the gates find on this machine beside the repository: programs, variables, confinement.
	Host  func() (string, error)
	Clock func() time.Time
}

// Below returns the directory of the baselines of a repository, below that of its caches.
func Below(caches string) string { return filepath.Join(caches, "baselines") }

// Key stands for everything that decides what gates find on a commit: what their git has, the gates, the setup with the id of
// the environment that it made, and this machine.
func (s *Store) Key(world string, p spec.Project, environment string) (string, error) {
	host, err := s.Host()
	if err != nil {
		return "", fmt.Errorf("find the inputs of the gates: %w", err)
	}
	p.Gates = slices.Clone(p.Gates)
	for i := range p.Gates {
		p.Gates[i].Timeout = 0
	}
	// No gate sees these.
	p.Models, p.ModelOutage, p.QuotaWait, p.Limits, p.Protected, p.MCPServers = nil, 0, 0, spec.Limits{}, nil, nil
	p.ToolOutput, p.Summaries, p.Delegation = nil, spec.Summaries{}, spec.Delegation{}
	p.Prove, p.Commits, p.GatePermits, p.Parallel = "", "", 0, 0
	p.Budget, p.BudgetDay = spec.Budget{}, spec.Budget{}
	return artifact.Digest([]byte(spec.JSONText([]any{version, world, p, environment, host}))), nil
}

// file is how a baseline is stored.
type file struct {
	Sum  string          `json:"sum"`
	Kept json.RawMessage `json:"kept"`
}

// Kept returns the baseline of a key; nil where there is none that can be used. The error is what is wrong with one.
func (s *Store) Kept(key string) (*run.KeptBaseline, error) {
	data, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Sum != sum(key, f.Kept) {
		err = errors.New("it was changed since it was written")
	}
	var k run.KeptBaseline
	if err == nil {
		err = json.Unmarshal(f.Kept, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("read the baseline %s: %w", s.path(key), err)
	}
	if s.Clock().Sub(k.Made) > life || !gocache.Marked(s.Cache, key) {
		return nil, nil
	}
	return &k, nil
}

// Took returns how long each gate took on the base commit that was tried last, by the baselines of a directory; nil where none is
// kept.
func Took(dir string) (took map[string]time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var newest run.KeptBaseline
	for _, e := range entries {
		var f file
		var k run.KeptBaseline
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && json.Unmarshal(data, &f) == nil && json.Unmarshal(f.Kept, &k) == nil && k.Made.After(newest.Made) {
			newest = k
		}
	}
	for _, r := range newest.Receipts {
		if took == nil {
			took = map[string]time.Duration{}
		}
		took[r.Gate] = r.Duration
	}
	return took
}

// Keep keeps a baseline in place of another one of its key, and forgets the oldest ones.
func (s *Store) Keep(key string, k *run.KeptBaseline) error {
	if err := errors.Join(s.write(key, k), gocache.Mark(s.Cache, key)); err != nil {
		return fmt.Errorf("keep the baseline: %w", err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("list the baselines: %w", err)
	}
	age := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // another process may have removed it
			age[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age[b.Name()].Compare(age[a.Name()]) })
	for i, e := range entries {
		if i >= most {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

func (s *Store) write(key string, k *run.KeptBaseline) error {
	kept, err := json.Marshal(k)
	if err != nil {
		return err
	}
	data, err := json.Marshal(file{sum(key, kept), kept})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.Dir, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (s *Store) path(key string) string { return filepath.Join(s.Dir, key+".json") }

func sum(key string, kept []byte) string { return artifact.Digest(append([]byte(key+"\n"), kept...)) }
