package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// Import takes in a pack from elsewhere and checks each object and that nothing is missing. The error is ErrPack when
// the pack is at fault. What it says is not judged: see CheckPatch.
func (r *Repo) Import(ctx context.Context, pack []byte) error {
	if len(pack) > MaxPack {
		return fmt.Errorf("import a pack of %d bytes: %w", len(pack), ErrTooLarge)
	}
	args := []string{"unpack-objects", "--strict", "-q"}
	if len(pack) >= 12 && binary.BigEndian.Uint32(pack[8:]) >= manyObjects { // so says its header
		args = []string{"index-pack", "--stdin", "--fix-thin", "--strict"}
	}
	began := time.Now()
	_, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, config: []string{"core.bigFileThreshold=64m"}, stdin: bytes.NewReader(pack), args: args,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("import a pack: %w", packError(err)), r.removeUnfinished(began))
	}
	return nil
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
