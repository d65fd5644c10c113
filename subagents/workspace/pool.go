package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"divisi/internal/git"
)

// patience is far longer than git compares a tree for.
const patience = 10 * time.Minute

// Pool lends out slots, and makes one where none is free: agents that wait keep theirs, and those that they wait for need some
// too. How many there are is bounded by who asks. A process that holds its directory is the only one to use it.
type Pool struct {
	git    *git.Git
	mirror *git.Repo
	dir    string
	refs   git.Refs
	past   git.Past
	day    time.Time
	// world is the digest of both.
	world string
	// patience is how long a tree that commands have left is read before it is made again.
	patience time.Duration

	mu sync.Mutex
	// free are the slots that no attempt has; the one that was given back first is lent first. made counts all.
	free []*Slot
	made int
	// base lists the unusual entries of the base; nil until it was looked up.
	base *unusual
}

// NewPool makes a pool below dir, which belongs to the pool alone: whatever a holder that died left there is removed, read-only
// directories too; links are not followed. Slots are built when they are first reset. Commits that are made to prove a tree have
// the date of the day on which the run was created, on every machine.
func NewPool(g *git.Git, mirror *git.Repo, dir string, created time.Time) (*Pool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	if err := Remove(dir); err != nil {
		return nil, fmt.Errorf("remove the slots of an earlier run: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	p := &Pool{git: g, mirror: mirror, dir: dir, day: created.UTC().Truncate(24 * time.Hour), patience: patience}
	if p.refs, err = mirror.Refs(); err == nil {
		p.past, err = mirror.Past()
	}
	if err != nil {
		return nil, fmt.Errorf("make a pool of slots: %w", err)
	}
	names := p.refs
	names.Main, names.Upstream = "", "" // they move with the base, which is no part of it either
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %t %t %q %q", names, p.past.Whole != "", p.past.Commits != "", p.past.Shallow,
		p.past.Tags))
	p.world = hex.EncodeToString(sum[:])
	return p, nil
}

// World is the same for pools whose trees have the same names of refs and the same history.
func (p *Pool) World() string { return p.world }

// slot makes one more slot.
func (p *Pool) slot() *Slot {
	name := "slot" + strconv.Itoa(p.made)
	p.made++
	return &Slot{
		pool: p, git: p.git, mirror: p.mirror, name: name,
		dir: filepath.Join(p.dir, name), gitDir: filepath.Join(p.dir, name+".git"),
	}
}

// Acquire lends a slot; its content is whatever the last holder left until Reset is called. The caller calls Release. The error
// is ctx's.
func (p *Pool) Acquire(ctx context.Context) (*Slot, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("get a slot: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.free = append(p.free, p.slot())
	}
	s := p.free[0]
	p.free = p.free[1:]
	s.taken.Store(true)
	return s, nil
}

// Release gives a slot back; every process that worked in it must have ended. A second call does nothing.
func (p *Pool) Release(s *Slot) {
	if s.taken.CompareAndSwap(true, false) {
		s.shared.Store(false)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, s)
	}
}
