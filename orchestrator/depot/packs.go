package depot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/subagents/wire"
)

// SealedPack is a pack of a commit in the cache of a bus.
type SealedPack call.Pack

// PutPack puts what write writes of a commit into a cache. It is in a file below dir until it is there, and never in memory as a
// whole.
func PutPack(ctx context.Context, to bus.Cache, dir, commit string, write func(io.Writer) error) (SealedPack, error) {
	return putSealed(ctx, to, dir, wire.SealedCommits, commit, write)
}

// putSealed is putPack of an object of a kind.
func putSealed(
	ctx context.Context, to bus.Cache, dir, kind, what string, write func(io.Writer) error,
) (p SealedPack, err error) {
	f, err := os.CreateTemp(dir, "pack-*")
	if err != nil {
		return p, fmt.Errorf("pack %s: %w", what, err)
	}
	// A process that is killed leaves nothing where files without a name are possible.
	if early := os.Remove(f.Name()); early != nil {
		defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	out := &bounded{w: io.MultiWriter(f, sum), most: wire.MaxCommits}
	err = write(out)
	if out.err != nil { // git says only that it could not write
		err = fmt.Errorf("pack %s: %w", what, out.err)
	}
	if err != nil {
		return p, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return p, fmt.Errorf("pack %s: %w", what, err)
	}
	p = SealedPack{wire.NameOf(kind, sum.Sum(nil)), out.n}
	return p, to.PutFrom(ctx, p.Object, f)
}

// Copy has take read the pack while it comes. One that is not what was sealed is wire.ErrSeal.
func (p SealedPack) Copy(ctx context.Context, from wire.Streams, take func(context.Context, io.Reader) error) error {
	return p.Read(ctx, wire.SealedCommits, from, take)
}

// Read is copy of an object of a kind.
func (p SealedPack) Read(ctx context.Context, kind string, from wire.Streams, take func(context.Context, io.Reader) error) error {
	if p.Size < 0 || p.Size > wire.MaxCommits {
		return fmt.Errorf("the pack %.80s has %d bytes: %w", p.Object, p.Size, git.ErrTooLarge)
	}
	in, out := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := wire.Copy(ctx, from, kind, p.Object, p.Size, out)
		_ = out.CloseWithError(err) // it never fails
		sent <- err
	}()
	err := take(ctx, in)
	_ = in.CloseWithError(errTaken)
	if failed := <-sent; failed != nil && !errors.Is(failed, errTaken) {
		return failed
	}
	return err
}

// errTaken ends the copying of a pack that is not read any more.
var errTaken = errors.New("the pack was read no further")

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
