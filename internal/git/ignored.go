package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Ignored lists the paths of the checkout that git ignores, with slashes and sorted by git: a directory counts once, where nothing
// in it is tracked, and ends in a slash. Nothing of the repository runs for it, and nothing in it is written.
func (g *Git) Ignored(ctx context.Context, c *Checkout) (paths []string, err error) {
	v, err := c.openView()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if err := v.copyIndex(c.GitDir); err != nil {
		return nil, err
	}
	out, err := g.exec(ctx, call{dir: Dir{GitDir: v.dir.GitDir, WorkTree: c.Top}, args: []string{
		"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory",
	}})
	if err != nil {
		return nil, fmt.Errorf("list the ignored files of %s: %w", c.Top, err)
	}
	for path := range bytes.SplitSeq(out, []byte{0}) {
		if len(path) > 0 {
			paths = append(paths, string(path))
		}
	}
	return paths, nil
}
