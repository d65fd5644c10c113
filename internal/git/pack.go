package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// MaxPack bounds a pack that Import takes, in bytes.
const MaxPack = 256 << 20

// ErrPack reports that a pack is not sound: damaged, incomplete, or holding what no repository may hold.
var ErrPack = errors.New("the pack is not sound")

// packError calls a failure of git on a received pack by its name.
func packError(err error) error {
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code < 0 || exit.Unwrap() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrPack, err)
}

// Import takes in the pack of a patch and checks each object, the modes in its trees, and that nothing is missing. The error is
// ErrPack or ErrTooLarge when the pack is at fault. What it says is not judged: see CheckPatch.
func (r *Repo) Import(ctx context.Context, pack []byte) error {
	err := weigh(pack, len(r.base)/2)
	if err != nil {
		return fmt.Errorf("import a pack of %d bytes: %w", len(pack), err)
	}
	return r.importFrom(ctx, bytes.NewReader(pack), "--strict=badFilemode=error")
}

// ImportFrom takes in a pack of any size, of commits that were judged before. It is never in memory as a whole. An error of the
// reader is returned, and not ErrPack.
func (r *Repo) ImportFrom(ctx context.Context, pack io.Reader) error {
	return r.importFrom(ctx, pack, "--strict")
}

func (r *Repo) importFrom(ctx context.Context, pack io.Reader, strict string) error {
	in := bufio.NewReaderSize(pack, 1<<16)
	args := []string{"unpack-objects", strict, "-q"}
	if head, _ := in.Peek(12); len(head) == 12 && binary.BigEndian.Uint32(head[8:]) >= manyObjects { // git meets the error again
		args = []string{"index-pack", "--stdin", "--fix-thin", strict}
	}
	began := time.Now()
	if err := r.g.takePack(ctx, r.dir, in, args...); err != nil {
		return errors.Join(fmt.Errorf("import a pack: %w", err), r.removeUnfinished(began))
	}
	return nil
}

// takePack has a git read a pack from its standard input.
func (g *Git) takePack(ctx context.Context, gitDir string, pack io.Reader, args ...string) error {
	in := &remembering{r: pack}
	_, err := g.exec(ctx, call{
		dir: Dir{GitDir: gitDir}, config: []string{"core.bigFileThreshold=64m"}, stdin: in, args: args,
	})
	if err != nil && in.err != nil { // git says only that its input ended early
		return in.err
	}
	return packError(err)
}

// remembering keeps the error of a reader.
type remembering struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Pack returns a thin pack with everything that a repository needs which has base, to have commit too, and more commits; a whole
// one where base is empty.
func (r *Repo) Pack(ctx context.Context, commit, base string, more ...string) ([]byte, error) {
	if err := checkIDs(append(more, commit)...); err != nil {
		return nil, err
	}
	revs := strings.Join(append([]string{commit}, more...), "\n") + "\n"
	if base != "" {
		if err := checkIDs(base); err != nil {
			return nil, err
		}
		revs += "^" + base + "\n"
	}
	var out bytes.Buffer
	if err := r.pack(ctx, &out, revs, "--thin"); err != nil {
		return nil, fmt.Errorf("pack %s without %s: %w", commit, base, err)
	}
	return out.Bytes(), nil
}

// PackTo writes a thin pack with everything that a repository lacks to have commit too, which has the commits in have, each with
// all that leads to it from the base of this one. What this one does not have of them does not count.
func (r *Repo) PackTo(ctx context.Context, w io.Writer, commit string, have ...string) error {
	revs, err := r.without(ctx, commit, have)
	if err == nil {
		err = r.pack(ctx, w, revs, "--thin")
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", commit, err)
	}
	return nil
}

// without names a commit, and as not wanted those of have that the repository has, as git reads revisions.
func (r *Repo) without(ctx context.Context, commit string, have []string) (revs string, err error) {
	infos, err := r.stat(ctx, append([]string{commit}, have...))
	if err != nil {
		return "", err
	}
	revs = commit + "\n"
	for _, i := range infos[1:] {
		if i.kind == "commit" {
			revs += "^" + i.id + "\n"
		}
	}
	return revs, nil
}

// PackBase writes a pack with what a repository lacks to have the base of this one, whole but without its history, which has the
// commits in have likewise. Those that neither this repository nor the object directory beside it has do not count. What these
// objects truly hold is not judged: who takes the pack finds something missing where they lie, and asks for a pack without have.
func (r *Repo) PackBase(ctx context.Context, w io.Writer, objects string, have ...string) (err error) {
	if len(have) == 0 {
		return r.PackTo(ctx, w, r.base)
	}
	if err := checkIDs(have...); err != nil {
		return err
	}
	tmp, remove, err := scratch()
	if err != nil {
		return fmt.Errorf("pack %s: %w", r.base, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	both := &Repo{g: r.g, dir: filepath.Join(tmp, "both"), base: r.base}
	defer both.Close()
	s := skeleton{format: len(r.base), borrow: []string{r.Objects(), objects}, shallow: append([]string{r.base}, have...)}
	if err := s.write(both.dir); err != nil {
		return fmt.Errorf("pack %s: %w", r.base, err)
	}
	revs, err := both.without(ctx, r.base, have)
	if err == nil { // --shallow has the trees of commits count that nothing leads to
		err = both.pack(ctx, w, revs, "--thin", "--shallow")
	}
	if err != nil {
		return fmt.Errorf("pack %s without %d commits: %w", r.base, len(have), err)
	}
	return nil
}

// pack runs pack-objects on a list of revisions. Indexes of what is reachable are not used: with them, older history
// counts as present, which a mirror does not have.
func (r *Repo) pack(ctx context.Context, w io.Writer, revs string, more ...string) error {
	args := []string{"pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", "--no-use-bitmap-index"}
	_, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, config: []string{"pack.threads=1"}, stdin: strings.NewReader(revs), stdout: w,
		args: append(args, more...),
	})
	return err
}
