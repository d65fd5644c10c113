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
// a pack on the disk. So none is ever lost, whenever this ends, and others may read and write the repository meanwhile. One
// caller at a time may pack. It returns how many objects it packed.
func (r *Repo) PackLoose(ctx context.Context) (int, error) {
	packs := filepath.Join(r.Objects(), "pack")
	if err := removeUnfinished(packs); err != nil {
		return 0, fmt.Errorf("pack %s: %w", r.dir, err)
	}
	ids, err := r.loose()
	if err != nil || len(ids) < ManyLoose {
		return 0, err
	}
	for _, c := range []call{
		{
			config: []string{"pack.threads=1"}, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
			args: []string{"pack-objects", "-q", "--non-empty", "--delta-base-offset", filepath.Join(packs, "pack")},
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

// stalePack is far longer than git writes a pack of MaxPack.
const stalePack = time.Hour

// removeUnfinished removes packs that a git was writing which was killed, or refused them. Others may be written now.
func removeUnfinished(packs string) (err error) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(packs), "tmp_*")) // the pattern is well-formed
	for _, path := range left {
		if info, statErr := os.Stat(path); statErr == nil && time.Since(info.ModTime()) > stalePack {
			err = errors.Join(err, os.Remove(path))
		}
	}
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
