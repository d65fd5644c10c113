package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"divisi/internal/spec"
)

// LFSFile is a file of a commit whose content Git LFS keeps.
type LFSFile struct {
	Entry

	Pointer spec.Pointer
}

// LFSFiles lists the files of a commit that its attributes give to Git LFS and that are pointers.
func (r *Repo) LFSFiles(ctx context.Context, commit string) ([]LFSFile, error) {
	entries, err := r.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	var attributes, small []Entry
	for _, e := range entries {
		switch {
		case e.Mode != ModeFile && e.Mode != ModeExec:
		case path.Base(e.Path) == ".gitattributes":
			attributes = append(attributes, e)
		case e.Size <= spec.MaxPointer:
			small = append(small, e)
		}
	}
	uses := false
	if err := r.ReadBlobs(ctx, attributes, func(_ Entry, content []byte) error {
		uses = uses || bytes.Contains(content, []byte("filter=lfs"))
		return nil
	}); err != nil || !uses {
		return nil, err
	}
	var files []LFSFile
	if err := r.ReadBlobs(ctx, small, func(e Entry, content []byte) error {
		if p, ok := spec.ParsePointer(content); ok {
			files = append(files, LFSFile{e, p})
		}
		return nil
	}); err != nil || len(files) == 0 {
		return nil, err
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	filters, err := r.Filters(ctx, commit, paths)
	return slices.DeleteFunc(files, func(f LFSFile) bool { return filters[f.Path] != "lfs" }), err
}

// OpenLFS opens the content that a checkout has for a pointer, which is still to be compared with it. No link leads out of its
// git directory. fs.ErrNotExist where it has none.
func (c *Checkout) OpenLFS(p spec.Pointer) (io.ReadCloser, error) {
	root, err := os.OpenRoot(c.CommonDir)
	if err != nil {
		return nil, fmt.Errorf("open the git directory: %w", err)
	}
	defer root.Close() // a handle
	name := filepath.Join("lfs", "objects", p.OID[:2], p.OID[2:4], p.OID)
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != p.Size {
		return nil, errors.Join(err, os.ErrNotExist, f.Close())
	}
	return f, nil
}
