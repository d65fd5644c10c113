package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Past is the history before the base that trees of a mirror have. Its zero value is none: trees begin with the base.
type Past struct {
	// Whole is a directory of objects with all that the base and the tags reach, Commits one with the commits and tags alone.
	// Each may be empty where it is not there.
	Whole   string `json:"whole,omitempty"`
	Commits string `json:"commits,omitempty"`
	// Shallow are the commits with which the history of the user's clone begins.
	Shallow []string `json:"shallow,omitempty"`
	// Tags are lines of git's packed-refs, in their order.
	Tags string `json:"tags,omitempty"`
}

// pastFile keeps it in a mirror.
const pastFile = "divisi-past"

// KeepPast has a mirror keep what trees have of the history.
func (r *Repo) KeepPast(p Past) error { return r.keepJSON(pastFile, p, "the history of trees") }

// keepJSON has a mirror keep a value in a file of its own.
func (r *Repo) keepJSON(file string, value any, what string) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = writeSynced(filepath.Join(r.dir, file), string(data))
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", what, err)
	}
	return nil
}

// Past returns what trees have of the history.
func (r *Repo) Past() (p Past, err error) {
	data, err := os.ReadFile(filepath.Join(r.dir, pastFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err = cmp.Or(err, json.Unmarshal(data, &p)); err != nil {
		return p, fmt.Errorf("read the history of trees: %w", err)
	}
	return p, nil
}

// TakePast brings two collections below a directory, which are made where they are not there, to have the history of a commit of
// the checkout, and of its tags that name commits: one the commits alone, one all of it, if whole. Nothing else of it gets
// there: no stash, no other branch. What was taken before is not read again; for a clone whose history begins elsewhere by now
// there are new ones. One caller at a time may do it, of all processes; others may read. Errors: ErrDamaged where objects of the
// history are missing, as they are in a partial clone; p has the commits then.
func (g *Git) TakePast(ctx context.Context, c *Checkout, commit, dir string, whole bool) (p Past, err error) {
	v, err := c.openView()
	if err != nil {
		return p, err
	}
	source := &Repo{g: g, dir: v.dir.GitDir}
	defer func() { source.Close(); err = errors.Join(err, v.close()) }()
	tips, tags, err := source.tagged(ctx)
	if err != nil {
		return p, err
	}
	p.Shallow, p.Tags = append([]string(nil), c.shallow...), tags
	tips = append([]string{commit}, tips...)
	for _, part := range []struct {
		name string
		as   *string
		pack packing
	}{{"commits", &p.Commits, source.packCommits}, {"whole", &p.Whole, source.packWhole}} {
		if part.as == &p.Whole && !whole {
			continue
		}
		at := &past{Repo{g: g, dir: filepath.Join(dir, part.name+"-"+p.Cut()+".git")}, part.pack}
		if err := at.extend(ctx, source, tips); err != nil {
			return p, fmt.Errorf("take the history of %s: %w", c.Top, err)
		}
		*part.as = at.Objects()
	}
	return p, nil
}

// tagged lists the tags that name commits: their objects, and their lines of packed-refs. A tag of a tag is none of them.
func (r *Repo) tagged(ctx context.Context) (ids []string, lines string, err error) {
	const format = "--format=%(objecttype) %(objectname) %(refname) %(type) %(object)"
	out, err := r.run(ctx, "for-each-ref", format, "refs/tags")
	if err != nil {
		return nil, "", fmt.Errorf("list the tags: %w", err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ") // names can have other white space
		switch {
		case len(f) != 5 || ValidRef(f[2]) != nil || !utf8.ValidString(f[2]) || !ValidID(f[1]):
			continue
		case f[0] == "commit":
			fmt.Fprintf(&b, "%s %s\n", f[1], f[2])
		case f[0] == "tag" && f[3] == "commit":
			fmt.Fprintf(&b, "%s %s\n^%s\n", f[1], f[2], f[4])
		default:
			continue
		}
		ids = append(ids, f[1])
	}
	return ids, b.String(), nil
}

// packing packs what revisions reach, with more flags.
type packing func(ctx context.Context, w io.Writer, revs string, more ...string) error

func (r *Repo) packWhole(ctx context.Context, w io.Writer, revs string, more ...string) error {
	return r.pack(ctx, w, revs, append(more, "--thin")...)
}

// packCommits packs the commits and tags alone that revisions reach.
func (r *Repo) packCommits(ctx context.Context, w io.Writer, revs string, more ...string) error {
	ids, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, stdin: strings.NewReader(revs), limit: maxPast, args: []string{"rev-list", "--stdin"},
	})
	if err != nil {
		return err
	}
	list := new(bytes.Buffer)
	for rev := range strings.Lines(revs) { // rev-list leaves tags out; what is there twice is packed once
		if !strings.HasPrefix(rev, "^") {
			list.WriteString(rev)
		}
	}
	list.Write(ids)
	_, err = r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, config: []string{"pack.threads=1"}, stdin: list, stdout: w,
		args: append([]string{"pack-objects", "--stdout", "-q", "--delta-base-offset"}, more...),
	})
	return err
}

// maxPast bounds, in bytes, the list of a history's commits.
const maxPast = 1 << 30

// past is one of the two collections.
type past struct {
	Repo

	fill packing
}

// tipsFile names in a collection the commits and tags whose history it has, a line each.
const tipsFile = "divisi-tips"

// extend takes in what tips reach and the collection does not have.
func (p *past) extend(ctx context.Context, from *Repo, tips []string) error {
	data, err := os.ReadFile(filepath.Join(p.dir, tipsFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(os.RemoveAll(p.dir), os.MkdirAll(filepath.Dir(p.dir), 0o700)) // what was begun and not ended
		if err == nil {
			err = skeleton{format: len(tips[0])}.write(p.dir)
		}
	}
	if err = cmp.Or(err, p.removeStale()); err != nil {
		return err
	}
	known := strings.Fields(string(data))
	lacks := lacked(tips, known)
	if len(lacks) == 0 {
		return nil
	}
	if err := cmp.Or(p.take(ctx, from, lacks, known), p.indexPacks(ctx)); err != nil {
		return err
	}
	return writeSynced(filepath.Join(p.dir, tipsFile), strings.Join(append(known, lacks...), "\n")+"\n")
}

// lacked are the tips that are not known, each once.
func lacked(tips, known []string) (lacks []string) {
	has := map[string]bool{}
	for _, tip := range known {
		has[tip] = true
	}
	for _, tip := range tips {
		if !has[tip] {
			has[tip], lacks = true, append(lacks, tip)
		}
	}
	return lacks
}

// except names those of some commits and tags as not wanted that the repository has, as git reads revisions.
func (r *Repo) except(ctx context.Context, known []string) (revs string, err error) {
	infos, err := r.stat(ctx, known)
	var b strings.Builder // they can be many thousand tags
	for _, i := range infos {
		if i.kind != "" {
			b.WriteString("^" + i.id + "\n")
		}
	}
	return b.String(), err
}

func (p *past) take(ctx context.Context, from *Repo, tips, known []string) error {
	except, err := from.except(ctx, known)
	if err != nil {
		return err
	}
	revs := strings.Join(tips, "\n") + "\n" + except
	pr, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := p.fill(ctx, pw, revs)
		sent <- errors.Join(err, pw.CloseWithError(cmp.Or(err, io.EOF)))
	}()
	err = p.g.takePack(ctx, p.dir, pr, "index-pack", "--stdin", "--fix-thin")
	err = cmp.Or(err, pr.Close(), <-sent) // what one of the two meets is the other's error too
	if err = packError(err); errors.Is(err, ErrPack) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
