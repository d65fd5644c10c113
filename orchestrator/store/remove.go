package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/subagents/workspace"
)

const (
	day = 24 * time.Hour
	// beginTime is how long a run may take from its directory to its description.
	beginTime = time.Hour
)

// Removal says what to remove: Runs, those that began Before, Leftovers of demos and killed processes; Local leaves runs on their
// NATS servers. A Preview removes nothing, and yields what would be removed.
type Removal struct {
	Runs      []string
	Before    time.Time
	Leftovers bool
	Local     bool
	Preview   bool
}

// Removed is a run or a directory that was removed, its size here and on its server, and the branches of a run, which stay.
// OnServer reports that it has data on a NATS server too, whose size a preview does not know.
type Removed struct {
	What               string
	Bytes, ServerBytes uint64
	OnServer           bool
	Repo               string
	Branches           []string
}

// Remove removes runs and leftovers, and yields each. An error ends the sequence.
func (d Dir) Remove(ctx context.Context, o Removal, now time.Time) iter.Seq2[Removed, error] {
	return func(yield func(Removed, error) bool) {
		runs, err := d.toRemove(o)
		for _, id := range runs {
			r, err := d.removeRun(ctx, id, &o, now)
			if err != nil {
				err = fmt.Errorf("remove run %s: %w", id, err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err == nil && o.Leftovers {
			for _, dir := range d.Leftovers(now) {
				size, err := removeDir(ctx, dir, o.Preview)
				if !yield(Removed{What: dir, Bytes: size}, err) || err != nil {
					return
				}
			}
		}
		if err != nil {
			yield(Removed{}, err)
		}
	}
}

func (d Dir) toRemove(o Removal) ([]string, error) {
	runs := slices.Clone(o.Runs)
	if !o.Before.IsZero() {
		ids, err := d.IDs()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if began, ok := BeganAt(id); ok && began.Before(o.Before) && !bus.Locked(d.Bus(id)) {
				runs = append(runs, id)
			}
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

// removeRun holds the run's store meanwhile, so that no process resumes it, and removes it there first: it is still known
// here when that fails.
func (d Dir) removeRun(ctx context.Context, id string, o *Removal, now time.Time) (r Removed, err error) {
	if !bus.ValidToken(id) {
		return r, usage.Errorf("%q is no run's id", id)
	}
	dir := d.Run(id)
	m, err := ReadMeta(dir)
	never := errors.As(err, new(*usage.Error))
	switch {
	case never && !old(dir, beginTime, now):
		return r, usage.Errorf("it has no description, because it may be starting now; try again in an hour")
	case err != nil && !never && !o.Local:
		return r, usage.With(fmt.Errorf("%w\nThat file names its NATS server", err), usage.ServerKeeps, id)
	}
	release, err := d.seize(id, o.Preview)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	r = Removed{What: id, Repo: m.Repo, OnServer: m.NATS != "" && !o.Local}
	if r.OnServer && !o.Preview {
		if r.ServerBytes, err = d.forget(ctx, id, m.Server()); err != nil {
			return r, usage.With(fmt.Errorf("%w\nThe run is still here", err), usage.ServerKeeps, id)
		}
	}
	r.Branches = published(ctx, m.Repo, id)
	r.Bytes, err = removeDir(ctx, dir, o.Preview)
	return r, err
}

// seize takes the store of a run that is not active until release is called; a preview changes nothing, also no lock.
func (d Dir) seize(id string, preview bool) (release func() error, err error) {
	active := usage.With(usage.Errorf("it is active"), usage.Active, id)
	if preview {
		if bus.Locked(d.Bus(id)) {
			return nil, active
		}
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(d.Bus(id), 0o700); err != nil {
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	if release, err = bus.Lock(d.Bus(id)); errors.As(err, new(*bus.LockedError)) {
		return nil, active
	}
	return release, err
}

// published lists the branches of a run that its repository has: a retry may have made more, -2, -3.
func published(ctx context.Context, repo, id string) (branches []string) {
	g, err := git.New(ctx)
	if err != nil || repo == "" {
		return nil
	}
	c, err := g.Inspect(ctx, repo)
	if err != nil {
		return nil
	}
	ref := run.IntegrationRef(id)
	for n := 2; ; n++ {
		if _, err := g.Resolve(ctx, c, ref); err != nil {
			return branches
		}
		branches = append(branches, strings.TrimPrefix(ref, "refs/heads/"))
		ref = fmt.Sprintf("%s-%d", run.IntegrationRef(id), n)
	}
}

func (d Dir) forget(ctx context.Context, id string, at Server) (freed uint64, err error) {
	o, err := at.Options()
	if err != nil {
		return 0, err
	}
	o.Log = d.Log
	b, err := bus.Open(ctx, o)
	if err != nil {
		return 0, err
	}
	defer d.Close(b)
	return b.Forget(ctx, id)
}

// old reports whether nothing was put into a directory of this user for some time.
func old(dir string, age time.Duration, now time.Time) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || now.Sub(info.ModTime()) <= age {
		return false
	}
	owner, known := git.OwnerOf(info)
	return !known || owner == os.Geteuid()
}

// Demos is how the names of the directories of this state directory's demos begin: another one's runs may still work on theirs.
func (d Dir) Demos() string {
	digest := sha256.Sum256([]byte(d.Path))
	return "divisi-demo-" + hex.EncodeToString(digest[:4]) + "-"
}

// Leftovers lists the directories that no run here needs and that nothing was put into for a day: temporary ones of this user,
// and those of runs that never began.
func (d Dir) Leftovers(now time.Time) (dirs []string) {
	ids, err := d.IDs()
	if err != nil {
		d.Log.Info().Err(err).Msg("the leftovers of killed processes are not known")
		return nil
	}
	var repos []string
	for _, id := range ids {
		m, err := ReadMeta(d.Run(id))
		repos = append(repos, filepath.Dir(m.Repo))
		if errors.As(err, new(*usage.Error)) && old(d.Run(id), day, now) && !bus.Locked(d.Bus(id)) {
			dirs = append(dirs, d.Run(id))
		}
	}
	prefixes := []string{d.Demos()}
	for _, kind := range []string{"doctor", "dry-run", "explain", "git", "probe", "shards"} {
		prefixes = append(prefixes, "divisi-"+kind+"-")
	}
	for _, prefix := range prefixes {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // the pattern is right
		for _, dir := range found {
			if old(dir, day, now) && !slices.Contains(repos, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// removeDir removes a directory, unless for a preview, and returns its size.
func removeDir(ctx context.Context, dir string, preview bool) (size uint64, err error) {
	size, err = BytesBelow(ctx, dir)
	if preview {
		return size, err
	}
	if err = errors.Join(err, workspace.Remove(dir)); err != nil {
		return size, fmt.Errorf("remove %s: %w", dir, err)
	}
	return size, nil
}

// BytesBelow adds up the files below a directory. Files that cannot be read are not counted; the error is that of ctx.
func BytesBelow(ctx context.Context, dir string) (size uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += uint64(max(0, info.Size()))
			}
		}
		return ctx.Err()
	})
	return size, err
}
