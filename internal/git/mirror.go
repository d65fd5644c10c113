package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// baseFile names, in a mirror, the commit that it was made from. Only a finished mirror has it.
const baseFile = "divisi-base"

// ErrOtherBase reports that a mirror was made from another commit than the one asked for.
var ErrOtherBase = errors.New("the mirror was made from another commit")

// oldFaults are faults of old commits and trees that do no harm; a base that has them is accepted as it is.
const oldFaults = "zeroPaddedFilemode=ignore,missingEmail=ignore,badEmail=ignore,missingNameBeforeEmail=ignore," +
	"missingSpaceBeforeEmail=ignore,badTimezone=ignore"

// CreateMirror makes a bare repository at dir that holds one commit of the user's repository, without its history. It is
// built beside dir and moved there when it is complete, so that a creation that was killed can be repeated; a mirror of
// the same commit that is there already is opened. One caller at a time may create at dir. Errors: ErrDamaged, *PartialError.
func (g *Git) CreateMirror(ctx context.Context, dir string, c *Checkout, commit string) (r *Repo, err error) {
	source, remove, err := g.cutOff(c, commit)
	if err != nil {
		return nil, fmt.Errorf("make mirror of %s: %w", commit, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := damaged(source.promised(ctx, c, commit), commit); err != nil {
		return nil, err
	}
	return g.createMirror(ctx, dir, commit, skeleton{exclude: c.exclude}, func(gitDir string) error {
		return damaged(source.send(ctx, gitDir, commit+"\n"), commit)
	})
}

// BorrowMirror makes a mirror that reads the objects of the checkout instead of having them: nothing is copied, and no id of an
// object is proven. Commands in a sandbox see none of them. Errors: *PartialError.
func (g *Git) BorrowMirror(ctx context.Context, dir string, c *Checkout, commit string) (*Repo, error) {
	if err := g.Lacks(ctx, c, commit); err != nil {
		return nil, err
	}
	return g.createMirror(ctx, dir, commit, skeleton{exclude: c.exclude, borrow: c.borrow()}, func(string) error { return nil })
}

// cutOff makes a repository that reads the objects of a checkout, and has one of its commits without its history.
func (g *Git) cutOff(c *Checkout, commit string) (r *Repo, remove func() error, err error) {
	if err := checkIDs(commit); err != nil {
		return nil, nil, err
	}
	tmp, remove, err := scratch()
	if err != nil {
		return nil, nil, err
	}
	r = &Repo{g: g, dir: filepath.Join(tmp, "source")}
	cut := skeleton{format: len(commit), borrow: c.borrow(), shallow: []string{commit}}
	if err := cut.write(r.dir); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return r, remove, nil
}

// damaged calls a failure of git to read a commit whole by its name.
func damaged(err error, commit string) error {
	if errors.Is(err, ErrPack) {
		err = fmt.Errorf("%w: %s, or an object below it, is missing or damaged (git fsck names it): %w", ErrDamaged, commit, err)
	}
	return err
}

// ErrDamaged is a repository with an object that is not there, or whose content does not match its id.
var ErrDamaged = errors.New("the repository is damaged")

// send packs what revs name and has another repository receive it. Errors: ErrPack, also where this one lacks an object.
func (r *Repo) send(ctx context.Context, gitDir, revs string) error {
	pr, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := packError(r.pack(ctx, pw, revs))
		sent <- errors.Join(err, pw.CloseWithError(cmp.Or(err, io.EOF)))
	}()
	err := r.g.receive(ctx, gitDir, pr)
	return cmp.Or(err, pr.Close(), <-sent) // what one of the two meets is the other's error too
}

// receive fills a repository from a pack. The ids of all objects are computed from their content: what a pack or an object store
// from elsewhere calls them does not count.
func (g *Git) receive(ctx context.Context, gitDir string, pack io.Reader) error {
	return g.takePack(ctx, gitDir, pack, "index-pack", "--stdin", "--fix-thin", "--strict="+oldFaults)
}

func (g *Git) createMirror(ctx context.Context, dir, commit string, s skeleton, fill func(string) error) (*Repo, error) {
	if r, err := g.OpenMirror(dir); err == nil {
		if r.base != commit {
			return nil, fmt.Errorf("mirror %s of %s: %w: %s", dir, commit, ErrOtherBase, r.base)
		}
		return r, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return nil, fmt.Errorf("remove an unfinished mirror: %w", err)
	}
	s.format, s.shallow = len(commit), []string{commit}
	if err := s.write(partial); err != nil {
		return nil, fmt.Errorf("make mirror %s: %w", dir, err)
	}
	if err := fill(partial); err != nil {
		return nil, errors.Join(fmt.Errorf("make mirror of %s: %w", commit, err), os.RemoveAll(partial))
	}
	if err := g.finishMirror(ctx, partial, dir, commit); err != nil {
		return nil, fmt.Errorf("make mirror of %s: %w", commit, err)
	}
	return g.OpenMirror(dir)
}

// finishMirror proves that the commit is there, protects it by a ref and moves the mirror to its place.
func (g *Git) finishMirror(ctx context.Context, partial, dir, commit string) error {
	r := &Repo{g: g, dir: partial, base: commit}
	defer r.Close()
	if ok, err := r.Has(ctx, commit); err != nil || !ok {
		return errors.Join(fmt.Errorf("commit %s in its pack: %w", commit, ErrNotFound), err)
	}
	if err := r.UpdateRef(ctx, "refs/divisi/base", commit, ""); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(partial, baseFile), commit+"\n"); err != nil {
		return err
	}
	return moveSynced(partial, dir)
}

// moveSynced moves a directory, for good.
func moveSynced(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// OpenMirror opens the mirror that CreateMirror made at dir. Errors: ErrMirror, with fs.ErrNotExist when there is none.
func (g *Git) OpenMirror(dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, baseFile))
	base := strings.TrimSpace(string(data))
	if err == nil {
		err = checkIDs(base)
	}
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w: %w", dir, ErrMirror, err)
	}
	return &Repo{g: g, dir: dir, base: base, memo: &memo{}}, nil
}

// rawBytes makes a work tree hold exactly the bytes of the blobs, and a comparison or a merge see them: no line ending, keyword,
// filter or encoding is converted, whatever a tree's own attributes ask for.
const rawBytes = "* -text -ident -filter !working-tree-encoding !diff !merge !conflict-marker-size\n"

// asStored is no attributes at all beside those of the tree. treeBytes leaves to them what a checkout converts; they choose no
// filter, no way to merge or to compare.
const (
	asStored  = "none"
	treeBytes = "* -filter !diff !merge !conflict-marker-size\n"
)

// Borrow makes a private repository directory at dir, which must not exist, that reads the mirror's objects and keeps
// new ones to itself. Between it and a work tree git converts what attributes and the user's settings ask for, encodings once
// Encode says so. More lists of ignored files can be named.
func (g *Git) Borrow(dir string, mirror *Repo, ignored ...string) (*Repo, error) {
	refs, err := mirror.Refs()
	if err != nil {
		return nil, fmt.Errorf("borrow from %s: %w", mirror.dir, err)
	}
	s := skeleton{
		attributes: treeAttributes(false), ends: refs.Ends,
		format: len(mirror.base), borrow: []string{mirror.Objects()}, shallow: []string{mirror.base},
		exclude: ignoreLists(append(ignored, filepath.Join(mirror.dir, "info", "exclude"))...),
	}
	if err := s.write(dir); err != nil {
		return nil, fmt.Errorf("borrow from %s: %w", mirror.dir, err)
	}
	return &Repo{g: g, dir: dir, base: mirror.base}, nil
}

func writeSynced(path, content string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(content); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes a rename last; systems that cannot sync a directory are not asked to.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return errors.Join(err, d.Close())
	}
	return d.Close()
}
