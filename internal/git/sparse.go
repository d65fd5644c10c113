package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/internal/text"
)

// SparseError reports that a sparse checkout leaves out files that are to be read from the work tree.
type SparseError struct {
	Top, Dir string
	Paths    []string
}

// shownSparse is how many paths an error names.
const shownSparse = 5

// Error names the files and the command that brings them.
func (e *SparseError) Error() string {
	return fmt.Sprintf("the sparse checkout %s leaves out %s, which a run reads\nTake them in: git sparse-checkout add %s",
		e.Top, text.Some(e.Paths, shownSparse), text.Shell(e.Dir))
}

// CheckSparse returns a *SparseError where a sparse checkout leaves out tracked files of a directory.
func (g *Git) CheckSparse(ctx context.Context, c *Checkout, dir string) (err error) {
	if !c.sparse {
		return nil
	}
	v, err := c.openView()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if err := v.copyIndex(c.GitDir); err != nil {
		return err
	}
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{"ls-files", "-t", "-z", "--sparse", "--", dir}})
	if err != nil {
		return fmt.Errorf("find the files outside the sparse checkout: %w", err)
	}
	e := &SparseError{Top: c.Top, Dir: dir}
	for record := range strings.SplitSeq(string(out), "\x00") {
		if path, isSkipped := strings.CutPrefix(record, "S "); isSkipped {
			e.Paths = append(e.Paths, path)
		}
	}
	if len(e.Paths) == 0 {
		return nil
	}
	return e
}
