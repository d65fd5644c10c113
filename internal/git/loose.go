package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ManyLoose is from how many loose objects on packing pays: each is a file of its own, and a tree of many files differs from the
// one before in a few bytes.
const ManyLoose = 2000

// PackLoose packs the loose objects of a repository where it has ManyLoose, reachable or not, and then removes those that are in
// a pack on the disk. Many packs get one index. So none is ever lost, whenever this ends, and others may read and write the
// repository meanwhile. One caller at a time may pack. It returns how many objects it packed.
func (r *Repo) PackLoose(ctx context.Context) (int, error) {
	r.packing.Lock()
	defer r.packing.Unlock()
	if err := errors.Join(r.removeStale(), r.indexPacks(ctx)); err != nil {
		return 0, fmt.Errorf("pack %s: %w", r.dir, err)
	}
	ids, err := r.loose()
	if err != nil || len(ids) < ManyLoose {
		return 0, err
	}
	for _, c := range []call{
		{
			config: []string{"pack.threads=1"}, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
			args: []string{"pack-objects", "-q", "--non-empty", "--delta-base-offset", filepath.Join(r.packs(), "pack")},
		},
		{args: []string{"prune-packed", "-q"}},
	} {
		c.dir = Dir{GitDir: r.dir}
		if _, err := r.g.exec(ctx, c); err != nil {
			return 0, fmt.Errorf("pack %s: %w", r.dir, err)
		}
	}
	return len(ids), nil
}

// removeUnfinished removes what a git left of packs that it was writing since a time and refused. What is packed meanwhile stays.
func (r *Repo) removeUnfinished(since time.Time) (err error) {
	if !r.packing.TryLock() {
		return nil
	}
	defer r.packing.Unlock()
	for _, f := range r.unfinished() {
		if !f.ModTime().Before(since.Truncate(time.Second)) {
			err = errors.Join(err, os.Remove(filepath.Join(r.packs(), f.Name())))
		}
	}
	return err
}

// stalePack is far longer than git writes a pack of MaxPack.
const stalePack = time.Hour

// removeStale removes packs that a git was writing which was killed. Others may be written now.
func (r *Repo) removeStale() (err error) {
	for _, f := range r.unfinished() {
		if time.Since(f.ModTime()) > stalePack {
			err = errors.Join(err, os.Remove(filepath.Join(r.packs(), f.Name())))
		}
	}
	return err
}

func (r *Repo) packs() string { return filepath.Join(r.Objects(), "pack") }

// unfinished are packs that git is writing, or was.
func (r *Repo) unfinished() (files []os.FileInfo) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(r.packs()), "tmp_*")) // the pattern is well-formed
	for _, path := range left {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// manyPacks is from how many packs on one index of them all pays.
const manyPacks = 50

// indexPacks writes one index of all packs where there are many: else git looks for an object in one after the other.
func (r *Repo) indexPacks(ctx context.Context) error {
	packs, _ := filepath.Glob(filepath.Join(escapeGlob(r.packs()), "*.pack")) // the pattern is well-formed
	if len(packs) < manyPacks {
		return nil
	}
	_, err := r.run(ctx, "multi-pack-index", "write")
	return err
}

// loose lists the objects that are files of their own.
func (r *Repo) loose() (ids []string, err error) {
	dirs, err := os.ReadDir(r.Objects())
	if err != nil {
		return nil, fmt.Errorf("list the objects of %s: %w", r.dir, err)
	}
	for _, d := range dirs {
		files, err := os.ReadDir(filepath.Join(r.Objects(), d.Name()))
		if len(d.Name()) != 2 || errors.Is(err, fs.ErrNotExist) {
			continue // prune-packed removes empty ones
		}
		if err != nil {
			return nil, fmt.Errorf("list the objects of %s: %w", r.dir, err)
		}
		for _, f := range files {
			if id := d.Name() + f.Name(); ValidID(id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
