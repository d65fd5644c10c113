package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"divisi/internal/sandbox"
)

// ErrNone reports that there is no complete environment of that name.
var ErrNone = errors.New("there is no such environment")

// ErrInUse reports that a run uses an environment.
var ErrInUse = errors.New("a run uses it")

// DamagedError reports that an environment is not what its making left.
type DamagedError struct{ ID, Why string }

// Error reports what is damaged, and how.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("environment %s was changed after it was made: %s", e.ID, e.Why)
}

// Store keeps the environments of one repository. Several processes can share it, and several goroutines.
type Store struct {
	dir     string
	discard func(dir string) error
	clock   func() time.Time

	mu sync.Mutex
	// open are those that this process uses, newest the one that it opened last.
	open   map[string]*Environment
	newest *Environment
}

// Below returns the store of a repository, below the directory of its caches.
func Below(caches string) string { return filepath.Join(caches, "environments") }

// NewStore returns the store in a directory, which need not exist. discard takes a directory away, whatever is in it.
func NewStore(dir string, discard func(dir string) error, clock func() time.Time) *Store {
	return &Store{dir: dir, discard: discard, clock: clock, open: map[string]*Environment{}}
}

// Close lets all environments that were opened be removed.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.open {
		e.release()
	}
	clear(s.open)
	s.newest = nil
}

// Newest is the environment that was opened last; nil for none.
func (s *Store) Newest() *Environment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// poll is how often it is tried to become the maker of an environment that another process makes.
const poll = 100 * time.Millisecond

// Open opens an environment, which stays where it is until Close, and marks it as used now. The error is ErrNone, or a
// *DamagedError where a inspect its entries, the first time, shows that they are not those that were made.
func (s *Store) Open(id string) (*Environment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, id)
	if !validID(id) || !there(filepath.Join(dir, manifestFile)) {
		return nil, fmt.Errorf("environment %.80q: %w", id, ErrNone)
	}
	if e := s.open[id]; e != nil {
		return e, nil
	}
	release, err := sandbox.LockCaches(dir)
	if err != nil {
		return nil, fmt.Errorf("use environment %s: %w", id, err)
	}
	e := &Environment{Dir: dir, release: release, remade: new(atomic.Pointer[remade])}
	if e.Manifest, err = readManifest(dir, id); err == nil {
		err = e.check(false)
	}
	if err == nil {
		err = errors.Join(e.downloads(filepath.Dir(s.dir)), e.readRemade())
	}
	if err != nil {
		release()
		return nil, err
	}
	s.open[id], s.newest = e, e
	return e, nil
}

func validID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == ""
}

func readManifest(dir, id string) (m Manifest, err error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("environment %s: %w", id, ErrNone)
	}
	if err != nil {
		return m, fmt.Errorf("read environment %s: %w", id, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, &DamagedError{id, "its manifest cannot be read: " + err.Error()}
	}
	if m.ID != id || m.Recipe.ID() != id {
		return m, &DamagedError{id, "its manifest is another's"}
	}
	return m, nil
}

// downloads returns a *DamagedError where the caches lack what the setup left there.
func (e *Environment) downloads(caches string) error {
	for _, name := range e.Downloads {
		if !there(filepath.Join(caches, filepath.FromSlash(name))) {
			return &DamagedError{e.ID, "the caches lack downloads of its setup, " + name}
		}
	}
	return nil
}

// Make returns the environment of a recipe. It is there, or fill makes it: once, however many processes ask for it at the same
// time; waiting is told when another one makes it. made reports which. What fill leaves counts when it returns nil, and is whole.
// A damaged environment, and one whose making was broken off, is made again.
func (s *Store) Make(
	ctx context.Context, r Recipe, waiting func(), fill func(context.Context, *Making) error,
) (e *Environment, made bool, err error) {
	id := r.ID()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("make the store of environments: %w", err)
	}
	lock, err := s.lock(ctx, id, waiting)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close() // and with it the lock
	var damaged *DamagedError
	again, err := s.dropPassing(id)
	if err != nil {
		return nil, false, err
	}
	if e, err = s.Open(id); err == nil || !errors.Is(err, ErrNone) && !errors.As(err, &damaged) {
		return e, false, err
	}
	dir := filepath.Join(s.dir, id)
	if err := s.discard(dir); err != nil {
		return nil, false, fmt.Errorf("remove the rest of environment %s: %w", id, err)
	}
	release, err := s.use(id)
	if err != nil {
		return nil, false, err
	}
	m := &Making{Dir: dir, again: again, manifest: Manifest{ID: id, Key: r.Key(), Recipe: r, Made: s.clock()}}
	if damaged != nil {
		m.Note(damaged.Error() + "; it was made again")
	}
	if err = m.begin(); err == nil {
		err = fill(ctx, m)
	}
	if err == nil {
		err = m.seal()
	}
	if err != nil {
		err = errors.Join(err, s.discard(dir))
		release()
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e = &Environment{Manifest: m.manifest, Dir: dir, release: release, remade: new(atomic.Pointer[remade])}
	s.open[id], s.newest = e, e
	return e, true, nil
}

// dropPassing removes an environment that lacks what a later try may install, unless a run uses it.
func (s *Store) dropPassing(id string) (dropped bool, err error) {
	dir := filepath.Join(s.dir, id)
	if m, err := readManifest(dir, id); err != nil || !m.Passing {
		return false, nil //nolint:nilerr // opening it tells
	}
	lock, err := sandbox.TryLock(dir + useLock)
	if err != nil || lock == nil {
		return false, err
	}
	defer lock.Close() // and with it the lock
	return true, s.discard(dir)
}

// use keeps the directory of an environment from being removed. One of that name that was open is gone.
func (s *Store) use(id string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone := s.open[id]; gone != nil {
		gone.release()
		delete(s.open, id)
	}
	release, err = sandbox.LockCaches(filepath.Join(s.dir, id))
	if err != nil {
		return nil, fmt.Errorf("use environment %s: %w", id, err)
	}
	return release, nil
}

// lock makes this process the maker of an environment.
func (s *Store) lock(ctx context.Context, id string, waiting func()) (*sandbox.Lock, error) {
	var tick *time.Ticker
	for {
		lock, err := sandbox.TryLock(filepath.Join(s.dir, id+makeLock))
		if err != nil {
			return nil, fmt.Errorf("lock environment %s: %w", id, err)
		}
		if lock != nil {
			return lock, nil
		}
		if tick == nil {
			tick = time.NewTicker(poll)
			defer tick.Stop()
			waiting()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for environment %s: %w", id, context.Cause(ctx))
		}
	}
}

const (
	makeLock = ".make"
	useLock  = ".lock" // see sandbox.LockCaches
)

// Sweep removes what a maker that died has left, and environments that no run has used since unused.
func (s *Store) Sweep(unused time.Time) error {
	ids, err := s.ids()
	errs := []error{err}
	for _, id := range ids {
		if !there(filepath.Join(s.dir, id, manifestFile)) {
			errs = append(errs, s.sweepOne(id))
		}
	}
	return errors.Join(append(errs, sandbox.DropCaches(s.dir, unused, s.discard))...)
}

// sweepOne removes what is left of an environment that is not complete, and that no process makes.
func (s *Store) sweepOne(id string) error {
	lock, err := sandbox.TryLock(filepath.Join(s.dir, id+makeLock))
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close() // and with it the lock
	if there(filepath.Join(s.dir, id, manifestFile)) {
		return nil // its maker was done before it was locked
	}
	return s.discard(filepath.Join(s.dir, id))
}

// ids lists the directories of environments, complete or not.
func (s *Store) ids() (ids []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() && validID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Listed is an environment in a list. Damage is what is wrong with it.
type Listed struct {
	Manifest

	Dir    string    `json:"dir"`
	Used   time.Time `json:"used"`
	InUse  bool      `json:"in_use,omitempty"`
	Damage string    `json:"damage,omitempty"`
}

// List returns the complete environments, the last used first. With whole the content of each is read and compared with what was
// made.
func (s *Store) List(whole bool) ([]Listed, error) {
	ids, err := s.ids()
	var list []Listed
	for _, id := range ids {
		l := Listed{Dir: filepath.Join(s.dir, id)}
		var bad error
		if l.Manifest, bad = readManifest(l.Dir, id); errors.Is(bad, ErrNone) {
			continue
		}
		l.ID = id
		if info, err := os.Stat(l.Dir + useLock); err == nil {
			l.Used = info.ModTime()
		}
		lock, locked := sandbox.TryLock(l.Dir + useLock)
		if l.InUse = locked == nil && lock == nil; lock != nil {
			_ = lock.Close() // nothing was written
		}
		if bad == nil && whole {
			bad = (&Environment{Manifest: l.Manifest, Dir: l.Dir}).check(true)
		}
		if bad != nil {
			l.Damage = bad.Error()
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Listed) int { return b.Used.Compare(a.Used) })
	return list, err
}

// Remove removes an environment, complete or not, that no run uses; else the error is ErrInUse.
func (s *Store) Remove(id string) error {
	dir := filepath.Join(s.dir, id)
	if !validID(id) || !there(dir) {
		return fmt.Errorf("environment %.80q: %w", id, ErrNone)
	}
	for _, name := range []string{makeLock, useLock} {
		lock, err := sandbox.TryLock(dir + name)
		if err != nil {
			return fmt.Errorf("lock environment %s: %w", id, err)
		}
		if lock == nil {
			return fmt.Errorf("environment %s: %w", id, ErrInUse)
		}
		defer lock.Close() // and with it the lock
	}
	return errors.Join(s.discard(dir), os.Remove(dir+makeLock), os.Remove(dir+useLock))
}
