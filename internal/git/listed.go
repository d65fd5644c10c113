package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Listed lists the files at and below a path of the checkout: those that its index has, and those that git does not track and no
// list of ignored files names. What lies beyond a link or in a submodule is neither. Nothing of the repository runs for it, and
// nothing in it is written.
func (g *Git) Listed(ctx context.Context, c *Checkout, path string) (tracked, untracked []string, err error) {
	v, err := c.openView()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if err := v.copyIndex(c.GitDir); err != nil {
		return nil, nil, err
	}
	out, err := g.exec(ctx, call{dir: Dir{GitDir: v.dir.GitDir, WorkTree: c.Top}, args: []string{
		"ls-files", "-z", "-t", "-c", "-o", "--exclude-standard", "--", path,
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("list the files of %s in %s: %w", path, c.Top, err)
	}
	for record := range strings.SplitSeq(string(out), "\x00") {
		switch tag, name, _ := strings.Cut(record, " "); tag {
		case "":
		case "?":
			untracked = append(untracked, name)
		default:
			tracked = append(tracked, name)
		}
	}
	return tracked, untracked, nil
}
