package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"divisi/internal/git"
)

// Pool lends out slots. A process that holds its directory is the only one to use it.
type Pool struct {
	git    *git.Git
	mirror *git.Repo
	dir    string
	free   chan *Slot
}

// NewPool makes a pool of n slots (at least one) below dir, which belongs to the pool alone: whatever a holder that died
// left there is removed, read-only directories too; links are not followed. Slots are built when they are first reset.
func NewPool(g *git.Git, mirror *git.Repo, dir string, n int) (*Pool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	if err := remove(dir); err != nil {
		return nil, fmt.Errorf("remove the slots of an earlier run: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	p := &Pool{git: g, mirror: mirror, dir: dir, free: make(chan *Slot, max(n, 1))}
	for i := range max(n, 1) {
		name := "slot" + strconv.Itoa(i)
		p.free <- &Slot{
			git: g, mirror: mirror, name: name,
			dir: filepath.Join(dir, name), gitDir: filepath.Join(dir, name+".git"),
		}
	}
	return p, nil
}

// Acquire waits for a free slot; its content is whatever the last holder left until Reset is called. The caller calls
// Release. The error is ctx's.
func (p *Pool) Acquire(ctx context.Context) (*Slot, error) {
	select {
	case s := <-p.free:
		s.held.Store(true)
		return s, nil
	default:
	}
	select {
	case s := <-p.free:
		s.held.Store(true)
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a slot: %w", context.Cause(ctx))
	}
}

// Release gives a slot back; every process that worked in it must have ended. A second call does nothing.
func (p *Pool) Release(s *Slot) {
	if s.held.CompareAndSwap(true, false) {
		p.free <- s
	}
}

// Close removes the pool's directory. No slot may be in use.
func (p *Pool) Close() error {
	if err := remove(p.dir); err != nil {
		return fmt.Errorf("remove the slots: %w", err)
	}
	return nil
}
