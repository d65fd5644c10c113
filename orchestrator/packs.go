package orchestrator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"divisi/internal/git"
	"divisi/subagents/wire"
)

// pack puts a pack of a commit into the cache of the bus, for a working half whose mirror has the commits in have, and returns
// its name and size. It is in a file until it is there, and never in memory as a whole.
func (h *conduct) pack(ctx context.Context, commit string, have []string) (name string, size int64, err error) {
	if len(have) > git.MaxKept {
		return "", 0, fmt.Errorf("pack %s: %d commits are more than %d", commit, len(have), git.MaxKept)
	}
	f, err := os.CreateTemp(h.path, "pack-*")
	if err != nil {
		return "", 0, fmt.Errorf("pack %s: %w", commit, err)
	}
	// A process that is killed leaves nothing where files without a name are possible.
	if early := os.Remove(f.Name()); early != nil {
		defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	out := &bounded{w: io.MultiWriter(f, sum), most: wire.MaxCommits}
	if commit == h.spec.Base && h.checkout != nil {
		err = h.mirror.PackBase(ctx, out, h.checkout.Objects, have...)
	} else {
		err = h.mirror.PackTo(ctx, out, commit, have...)
	}
	if out.err != nil { // git says only that it could not write
		err = fmt.Errorf("pack %s: %w", commit, out.err)
	}
	if err != nil {
		return "", 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", 0, fmt.Errorf("pack %s: %w", commit, err)
	}
	name = wire.NameOf(wire.SealedCommits, sum.Sum(nil))
	return name, out.n, h.bus.Cache().PutFrom(ctx, name, f)
}

// bounded fails when more is written to it than it may take.
type bounded struct {
	w       io.Writer
	n, most int64
	err     error
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.err == nil && b.n+int64(len(p)) > b.most {
		b.err = fmt.Errorf("it has more than %d bytes: %w", b.most, git.ErrTooLarge)
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.w.Write(p)
	b.n, b.err = b.n+int64(n), err
	return n, err
}
