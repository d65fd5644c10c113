package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Ignored lists the paths of the checkout that a list of ignored files names: a directory that it names counts once and ends in a
// slash. Nothing of the repository runs for it, and nothing in it is written.
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
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
		"--no-renames",
	}})
	if err != nil {
		return nil, fmt.Errorf("list the ignored files of %s: %w", c.Top, err)
	}
	for item := range bytes.SplitSeq(out, []byte{0}) {
		if path, ignored := bytes.CutPrefix(item, []byte("!! ")); ignored {
			paths = append(paths, string(path))
		}
	}
	return paths, nil
}
