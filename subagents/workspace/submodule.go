package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

// unusual lists entries of a commit that no patch adds or removes.
type unusual struct {
	// links are the places of submodules. Their content is never checked out.
	links []string
	// emptyDirs reports whether there are directories without a file, which git leaves out of each tree that it writes.
	emptyDirs bool
}

func (p *Pool) unusual(ctx context.Context) (*unusual, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base != nil {
		return p.base, nil
	}
	links, emptyDirs, err := p.mirror.Unusual(ctx, p.mirror.Base())
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	p.base = &unusual{links, emptyDirs}
	return p.base, nil
}

// emptySubmodules removes what an attempt left in the places of submodules, where git does not clean.
func (s *Slot) emptySubmodules(ctx context.Context) error {
	return s.eachSubmodule(ctx, func(root *os.Root, path string) error {
		entries, err := fs.ReadDir(root.FS(), path)
		if err == nil && len(entries) == 0 {
			return nil
		}
		if err := root.RemoveAll(path); err != nil {
			return err
		}
		return root.MkdirAll(path, 0o755)
	})
}

// checkSubmodules returns a *ContentError where an attempt wrote into the place of a submodule, which git would pass over. A
// directory that is gone is made again, because a missing one means that the submodule is removed.
func (s *Slot) checkSubmodules(ctx context.Context) error {
	return s.eachSubmodule(ctx, func(root *os.Root, path string) error {
		entries, err := fs.ReadDir(root.FS(), path)
		switch {
		case err == nil && len(entries) == 0:
			return nil
		case err != nil && root.MkdirAll(path, 0o755) == nil:
			return nil
		}
		return &ContentError{Why: fmt.Sprintf("%s is a submodule, which a run does not change: remove the files there", path)}
	})
}

func (s *Slot) eachSubmodule(ctx context.Context, visit func(root *os.Root, path string) error) error {
	base, err := s.pool.unusual(ctx)
	if err != nil || len(base.links) == 0 {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, path := range base.links {
		if err := visit(root, path); err != nil {
			return err
		}
	}
	return nil
}
