package git

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// MaxTips bounds the tips that a machine names of those that it has: the last ones.
	MaxTips = 5000
	// maxTags bounds the lines of the tags of a history that travels, maxPastObject one commit or tag, and maxPastUnpacked all of
	// them, in bytes.
	maxTags         = 16 << 20
	maxPastObject   = 16 << 20
	maxPastUnpacked = 8 << 30
)

// Check refuses a history of a base that cannot travel: it is too large, or its lines are not those of tags.
func (p Past) Check(base string) error {
	_, err := p.tips(base)
	return err
}

// tips are the tags and, at the end, the base: what leads to them is the history.
func (p Past) tips(base string) (ids []string, err error) {
	if len(p.Tags) > maxTags {
		return nil, fmt.Errorf("the tags of the history have %d bytes: %w", len(p.Tags), ErrTooLarge)
	}
	of, err := len(base), checkIDs(append(slices.Clone(p.Shallow), base)...)
	annotated := false
	for line := range strings.Lines(p.Tags) {
		id, name, is := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		named, peeled := strings.CutPrefix(id, "^")
		switch {
		case len(named) != of || !ValidID(named) || peeled && (is || !annotated) ||
			!peeled && (!strings.HasPrefix(name, "refs/tags/") || ValidRef(name) != nil):
			return nil, fmt.Errorf("the line %.80q of the tags of the history: %w", line, ErrBadName)
		case !peeled:
			ids = append(ids, named)
		}
		annotated = !peeled
	}
	return append(ids, base), err
}

// Cut is the same for histories that begin alike: the name of what is kept of them ends in it.
func (p Past) Cut() string {
	return hex.EncodeToString(digest(64, []byte(strings.Join(slices.Sorted(slices.Values(p.Shallow)), " ")))[:4])
}

// PackPast writes the commits and tags of the history of a mirror, and nothing else, for a machine that has what leads to those
// in have. Each is whole, so that its kind and size can be read where it lies.
func (r *Repo) PackPast(ctx context.Context, w io.Writer, p Past, have []string) (err error) {
	tips, err := p.tips(r.base)
	if err != nil {
		return fmt.Errorf("pack the history: %w", err)
	}
	tmp, remove, err := scratch()
	if err != nil {
		return fmt.Errorf("pack the history: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	from := &Repo{g: r.g, dir: filepath.Join(tmp, "past")}
	defer from.Close()
	var except string
	err = skeleton{format: len(r.base), borrow: []string{p.Commits}, shallow: p.Shallow}.write(from.dir)
	if err == nil {
		except, err = from.except(ctx, have)
	}
	if err == nil {
		lacks := append(lacked(tips, have), r.base) // git takes no empty list
		err = from.packCommits(ctx, w, strings.Join(lacks, "\n")+"\n"+except, "--no-reuse-delta", "--window=0")
	}
	if err != nil {
		return fmt.Errorf("pack the history: %w", err)
	}
	return nil
}

// Bring has the directory p.Commits have the commits and tags of the history of a base, which come from another machine, as links
// to a collection at dir. That is made where it is not there, and extended: from has take read a pack of what it lacks, with what
// it has. What comes lies aside until all of it has been checked. One caller at a time may do it, of all processes. Errors:
// ErrPack, ErrTooLarge, ErrDamaged, and those of from.
func (g *Git) Bring(
	ctx context.Context, base string, p Past, dir string,
	from func(ctx context.Context, have []string, take func(context.Context, io.Reader) error) error,
) error {
	tips, err := p.tips(base)
	if err != nil {
		return fmt.Errorf("bring the history: %w", err)
	}
	c := &Collection{&Repo{g: g, dir: dir}}
	defer c.Close()
	known, err := Tips(dir)
	if err == nil && known == nil { // what was begun and not ended goes
		err = cmp.Or(os.RemoveAll(dir), skeleton{format: len(base), shallow: p.Shallow}.write(dir))
	}
	lacks := lacked(tips, known)
	if err == nil && len(lacks) > 0 {
		err = from(ctx, known[max(0, len(known)-MaxTips):], func(ctx context.Context, pack io.Reader) error {
			return c.extend(ctx, p, lacks, known, pack)
		})
		if err == nil {
			err = writeSynced(filepath.Join(dir, tipsFile), strings.Join(append(known, lacks...), "\n")+"\n")
		}
	}
	if err == nil {
		err = c.join(ctx)
	}
	to := filepath.Dir(p.Commits)
	if err == nil {
		err = cmp.Or(os.RemoveAll(to), skeleton{format: len(base)}.write(to), c.link(to))
	}
	if err != nil {
		return fmt.Errorf("bring the history: %w", err)
	}
	return nil
}

// Tips lists the tips that a collection of Bring has, the newest at the end.
func Tips(dir string) (tips []string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, tipsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	// A kill may have cut the last.
	return slices.DeleteFunc(strings.Fields(string(data)), func(id string) bool { return !ValidID(id) }), err
}

// extend takes in a pack after which the collection has all that leads to the tips which it lacks.
func (c *Collection) extend(ctx context.Context, p Past, lacks, known []string, pack io.Reader) error {
	aside := &Collection{&Repo{g: c.r.g, dir: filepath.Join(c.r.dir, "aside")}}
	defer aside.Close()
	s := skeleton{format: len(lacks[0]), borrow: []string{c.r.Objects()}, shallow: p.Shallow}
	if err := cmp.Or(os.RemoveAll(aside.r.dir), s.write(aside.r.dir)); err != nil {
		return err
	}
	pr, pw := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		err := onlyPast(io.TeeReader(pack, pw))
		checked <- err
		_ = pw.CloseWithError(err) // it never fails
	}()
	err := c.r.g.takePack(ctx, aside.r.dir, pr, "index-pack", "--stdin")
	_ = pr.Close()                                                                       // it never fails
	if bad := <-checked; err == nil || bad != nil && !errors.Is(bad, io.ErrClosedPipe) { // git may have been faster
		err = bad
	}
	if err == nil {
		revs := strings.Join(lacks, "\n") + "\n"
		if len(known) > 0 {
			revs += "^" + strings.Join(known, "\n^") + "\n"
		}
		_, err = c.r.g.exec(ctx, call{
			dir: Dir{GitDir: aside.r.dir}, stdin: strings.NewReader(revs), args: []string{"rev-list", "--quiet", "--stdin"},
		})
		err = packError(err)
	}
	if err == nil {
		err = aside.link(c.r.dir)
	}
	return cmp.Or(err, os.RemoveAll(aside.r.dir))
}

// join makes one pack of many: no tree leads to what they have, so that a repack would lose it.
func (c *Collection) join(ctx context.Context) error {
	packs, err := c.packs()
	if err != nil || len(packs) < manyPacks {
		return err
	}
	for _, args := range [][]string{{"write"}, {"repack", "--batch-size=0"}, {"expire"}} {
		if _, err := c.r.run(ctx, append([]string{"multi-pack-index"}, args...)...); err != nil {
			return packError(err)
		}
	}
	return nil
}

// link gives another repository the packs, each before its index. Those that it has stay.
func (c *Collection) link(gitDir string) error {
	names, err := c.packs()
	for _, name := range names {
		for _, end := range []string{".pack", ".idx"} {
			if err == nil {
				err = os.Link(filepath.Join(c.r.packs(), name+end), filepath.Join(gitDir, "objects", "pack", name+end))
			}
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
		}
	}
	return err
}

// onlyPast reads a pack to its end, and fails where it has other objects than commits and tags, each whole, or too much. An error
// of the reader is returned as it is.
func onlyPast(pack io.Reader) error {
	from := &remembering{r: pack}
	in, total := bufio.NewReader(from), uint64(0)
	head := make([]byte, 12)
	_, err := io.ReadFull(in, head)
	s := scale{in: in, past: true}
	for n := uint32(0); err == nil && n < binary.BigEndian.Uint32(head[8:]); n++ {
		var size, most uint64
		size, most, err = s.next()
		if total += size; err == nil && (size > most || total > maxPastUnpacked) {
			return fmt.Errorf("object %d of the history has %d bytes, and all up to it %d: %w", n, size, total, ErrTooLarge)
		}
	}
	n, end := io.Copy(io.Discard, io.LimitReader(in, 2*sha256.Size)) // git compares the sum
	if err = cmp.Or(err, end); err == nil && n > sha256.Size {
		err = errors.New("it has more than its objects")
	}
	if err != nil && from.err == nil {
		err = fmt.Errorf("%w: the history: %w", ErrPack, err)
	}
	return cmp.Or(from.err, err)
}
