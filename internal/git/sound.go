package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrMirror reports that a mirror is gone or damaged: a file of its directory, or an object.
var ErrMirror = errors.New("the mirror is damaged")

// Sound reads every object of a mirror. Errors: ErrMirror where one is damaged, or where one is missing that the refs or the
// commits lead to.
func (r *Repo) Sound(ctx context.Context, commits ...string) error {
	var config []string
	for fault := range strings.SplitSeq(oldFaults, ",") {
		config = append(config, "fsck."+fault)
	}
	_, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, config: config, args: []string{"fsck", "--full", "--no-dangling", "--no-progress"},
	})
	if err != nil {
		return r.unsound(err)
	}
	return r.Whole(ctx, commits...)
}

// Whole looks for everything that commits lead to; the content of files is not read. Errors: ErrMirror.
func (r *Repo) Whole(ctx context.Context, commits ...string) error {
	if err := checkIDs(commits...); err != nil {
		return err
	}
	_, err := r.run(ctx, append([]string{"rev-list", "--quiet", "--objects"}, commits...)...)
	return r.unsound(err)
}

// unsound calls a failure of git on a mirror by its name.
func (r *Repo) unsound(err error) error {
	if err = packError(err); errors.Is(err, ErrPack) {
		err = fmt.Errorf("%w: %w", ErrMirror, err)
	}
	if err != nil {
		return fmt.Errorf("look through the mirror %s: %w", r.dir, err)
	}
	return nil
}

// Replace puts a mirror into the place of one that is damaged, and removes that.
func (r *Repo) Replace(dir string) (*Repo, error) {
	r.Close()
	err := os.RemoveAll(dir)
	if err == nil {
		err = moveSynced(r.dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("replace the mirror %s: %w", dir, err)
	}
	return r.g.OpenMirror(dir)
}
