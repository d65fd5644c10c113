// Package store keeps the state directory: the places of its runs, their descriptions (run.json), and their summaries. Its input
// is the id of a run, its output the run's connection to its log, or the state that is folded from it. It never appends to a log.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/trust"
	"divisi/internal/usage"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// Dir is a state directory. Without a Path it has no runs: of one on a server only the log is known.
type Dir struct {
	Path string
	Log  zerolog.Logger
}

// Runs is where the directories of the runs are.
func (d Dir) Runs() string { return filepath.Join(d.Path, "runs") }

// Run is a run's directory.
func (d Dir) Run(id string) string { return filepath.Join(d.Runs(), id) }

// Bus is where a run's log, lock and server.json are.
func (d Dir) Bus(id string) string { return filepath.Join(d.Run(id), "bus") }

// Caches is where the build caches of the repositories are.
func (d Dir) Caches() string { return filepath.Join(d.Path, "caches") }

// Fetched is where the objects are that were fetched for a partial clone: in the caches of its repository.
func (d Dir) Fetched(c *git.Checkout) (string, error) {
	id, err := c.Identity()
	return filepath.Join(d.Caches(), id, "history", "fetched.git"), err
}

// Inspect reads the repository at a path, with what was fetched for it.
func (d Dir) Inspect(ctx context.Context, g *git.Git, path string) (*git.Checkout, error) {
	c, err := g.Inspect(ctx, path)
	if err != nil || d.Path == "" {
		return c, err
	}
	fetched, err := d.Fetched(c)
	c.Lend(fetched)
	return c, err
}

// Mirrors is where a worker of runs that are conducted elsewhere keeps what it got of each repository.
func (d Dir) Mirrors() string { return filepath.Join(d.Path, "mirrors") }

// Trash is where directories wait that are to be removed.
func (d Dir) Trash() string { return filepath.Join(d.Path, "trash") }

// IDs lists the runs, newest first: their ids begin with the time.
func (d Dir) IDs() ([]string, error) {
	entries, err := os.ReadDir(d.Runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && bus.ValidToken(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// openTries is how often a log is opened that another process takes or gives up meanwhile.
const openTries = 5

// Open connects to a run's log: to the process that carries the run out; where there is none, which alone reports, the log is
// only read, as its files or its NATS server have it, and nothing is written.
func (d Dir) Open(ctx context.Context, id string) (b *bus.Bus, alone bool, err error) {
	for range openTries {
		// The holder ends when the run has, which is nothing to log.
		if b, err = bus.Attach(zerolog.Nop().WithContext(ctx), d.Bus(id)); err == nil {
			return b, false, nil
		} else if !errors.Is(err, bus.ErrNoOwner) {
			return nil, false, fmt.Errorf("connect to the holder of run %s: %w", id, err)
		}
		var meta Meta
		if meta, err = ReadMeta(d.Run(id)); err != nil {
			return nil, false, err
		}
		if meta.NATS != "" {
			b, err = d.open(ctx, id, "", meta.Server())
			return b, true, err
		}
		if b, err = bus.OpenFiles(d.Bus(id), id); err == nil {
			return b, true, nil
		} else if !errors.As(err, new(*bus.LockedError)) {
			break
		}
	}
	return nil, false, fmt.Errorf("read the store of run %s: %w", id, err)
}

// Hold makes this process the holder of a run's log, or connects it to the NATS server of the run.
func (d Dir) Hold(ctx context.Context, id string, at Server) (*bus.Bus, error) {
	return d.open(ctx, id, d.Bus(id), at)
}

func (d Dir) open(ctx context.Context, id, dir string, at Server) (*bus.Bus, error) {
	o, err := at.Options()
	if err != nil {
		return nil, fmt.Errorf("log in for run %s: %w", id, err)
	}
	o.Run, o.Dir, o.Log = id, dir, d.Log
	b, err := bus.Open(ctx, o)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, bus.ErrDamaged):
		return nil, usage.With(fmt.Errorf("open the store of run %s: %w\nThe run can be shown, and no process can continue it",
			id, err), usage.Damaged, id)
	case o.URL == "" || errors.As(err, new(*bus.LockedError)):
		return nil, errors.Join(fmt.Errorf("open the store of run %s: %w", id, err), machine.Room(o.Dir))
	default:
		return nil, usage.With(fmt.Errorf("use the NATS server of run %s: %w", id, err), usage.Server)
	}
}

// closeTime bounds how long closing a log takes.
const closeTime = 3 * time.Second

// Close closes a connection to a log; what goes wrong is logged.
func (d Dir) Close(b *bus.Bus) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		d.Log.Warn().Err(err).Msg("the store did not close cleanly")
	}
}

// State reads a run's log, and keeps the summary of a run that has ended; alone reports that no process carries the run out.
func (d Dir) State(ctx context.Context, id string) (st *run.State, alone bool, err error) {
	held, unknown := bus.Taken(d.Bus(id))
	b, alone, err := d.Open(ctx, id)
	if err != nil {
		return nil, false, err
	}
	defer d.Close(b)
	if st, err = d.Fold(ctx, b, id); err == nil && alone && unknown == nil {
		d.summarise(st, held)
	}
	return st, alone, err
}

// Fold reads the log of a run that has begun.
func (d Dir) Fold(ctx context.Context, b *bus.Bus, id string) (*run.State, error) {
	st, err := eventlog.Fold(ctx, b, id)
	if err != nil {
		return nil, err
	}
	return st, d.Check(st, id)
}

// Check refuses a log without its first event: it was never written, or has been lost since.
func (d Dir) Check(st *run.State, id string) error {
	switch {
	case st.Spec.Run != "":
		return nil
	case len(st.Unread) > 0:
		return usage.With(fmt.Errorf("the first event of run %s in %s cannot be read: %s", id, d.Bus(id), st.Unread[0]),
			usage.Events, id)
	}
	at := "that of its NATS server"
	if m, err := ReadMeta(d.Run(id)); d.Path != "" && (err != nil || m.NATS == "") {
		at = d.Bus(id)
	}
	return usage.With(usage.Errorf("run %s has no events: it was killed before its first one, or its store is damaged: %s\n"+
		"Put a copy of the store back if you have one", id, at), usage.Events, id)
}

// runTime is how the id of a run begins: with the time.
const runTime = "20060102-150405"

// NewID names a run by its time, so that runs sort: the second, and in four digits the part of it, in 65536ths. Of two
// that begin in one and the same, the second finds the directory of the first and is refused.
func NewID(at time.Time) string {
	return fmt.Sprintf("%s-%04x", at.UTC().Format(runTime), int64(at.Nanosecond())<<16/int64(time.Second))
}

// BeganAt is when a run began, by its id.
func BeganAt(id string) (time.Time, bool) {
	at, err := time.ParseInLocation(runTime, id[:min(len(id), len(runTime))], time.UTC)
	return at, err == nil
}

// Decisions opens the place of the decision whether a repository is trusted, which cannot lie in its own work trees.
func (d Dir) Decisions(c *git.Checkout) (*trust.Store, error) {
	identity, err := c.Identity()
	if err != nil {
		return nil, err
	}
	s, err := trust.Open(filepath.Join(d.Path, "trust"), identity, c.CommonDir,
		c.Top, strings.TrimSuffix(c.CommonDir, string(filepath.Separator)+".git"))
	if err != nil {
		return nil, usage.With(usage.Errorf("%v", err), usage.StateDir)
	}
	return s, nil
}
