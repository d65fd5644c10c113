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
	"strings"
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
	return r.filtered(ctx, commit, files)
}

// filtered keeps the files to which the attributes of the commit give the filter lfs.
func (r *Repo) filtered(ctx context.Context, commit string, files []LFSFile) (kept []LFSFile, err error) {
	tmp, remove, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	at := Dir{GitDir: filepath.Join(tmp, "view")}
	// The attributes that a repository of Divisi's own has for all files would hide the commit's.
	s := skeleton{format: len(commit), borrow: []string{r.Objects()}, shallow: []string{r.base}, attributes: asStored}
	if err := s.write(at.GitDir); err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	if _, err := r.g.exec(ctx, call{dir: at, args: []string{"read-tree", commit}}); err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	var in strings.Builder
	for _, f := range files {
		in.WriteString(f.Path + "\x00")
	}
	out, err := r.g.exec(ctx, call{
		dir: at, stdin: strings.NewReader(in.String()), args: []string{"check-attr", "--cached", "-z", "--stdin", "filter"},
	})
	if err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	fields := strings.Split(string(out), "\x00") // path, attribute and value of each file, in their order
	for i, f := range files {
		if len(fields) > 3*i+2 && fields[3*i] == f.Path && fields[3*i+2] == "lfs" {
			kept = append(kept, f)
		}
	}
	return kept, nil
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
