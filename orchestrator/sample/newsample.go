package sample

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
)

// Sample is a repository with a plan for it, to try a run on.
type Sample struct {
	Repo, Plan string // where they are
	// Made describes the result, without its content: a directory, or what is new in one that was there.
	Made []string
}

// NewSample makes a sample below a directory that is new or empty; "" for a temporary one.
func NewSample(ctx context.Context, stateDir, dir string) (s Sample, err error) {
	g, err := git.New(ctx)
	if err != nil {
		return s, err
	}
	if _, err := os.Stat(dir); dir != "" && errors.Is(err, fs.ErrNotExist) {
		s.Made = []string{dir}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", store.Dir{Path: stateDir}.Demos()); err != nil {
			return s, fmt.Errorf("make a temporary directory: %w", err)
		}
		s.Made = []string{dir}
	}
	s.Repo, s.Plan = filepath.Join(dir, "harbour"), filepath.Join(dir, "plan.yaml")
	if s.Made == nil {
		s.Made = []string{s.Repo, s.Plan}
	}
	text, err := PlanFile()
	if err == nil {
		err = Make(ctx, g, s.Repo)
	}
	if err == nil {
		err = os.WriteFile(s.Plan, text, 0o600)
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("make the sample: %w", err), s.Remove())
	}
	return s, nil
}

// Remove removes what was made.
func (s *Sample) Remove() (err error) {
	for _, path := range s.Made {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// Cache counts the entries of the build cache that all samples of a state directory share. A first run fills it: what it
// compiles then, later ones find.
func Cache(stateDir string) (entries int) {
	cache := filepath.Join(store.Dir{Path: stateDir}.Caches(), depot.SampleCaches, string(sandbox.Gates))
	_ = filepath.WalkDir(cache, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			entries++
		}
		return nil // what is not there, or goes meanwhile, does not count
	})
	return entries
}
