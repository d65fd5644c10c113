package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// manyObjects is from how many objects on Flush writes a pack. A file for each costs more than a process then.
	manyObjects = 50
	// maxDraft bounds what a draft holds back, in bytes.
	maxDraft = 16 << 20
)

// Draft makes trees and commits of a repository without a process for each. They are in the repository when Flush has returned.
// One goroutine at a time may use it.
type Draft struct {
	r *Repo
	// trees and commits are those that were made or read, entries how many entries the trees have together.
	trees   map[string][]treeEntry
	entries int
	commits map[string]Commit
	// objects are not written yet; they have so many bytes.
	objects []draftObject
	bytes   int
	// blobs are those that were made; begun reports whether something is written already.
	blobs map[string]bool
	begun bool
}

type draftObject struct {
	kind string
	// content is without git's header.
	content []byte
}

// Draft returns an empty draft.
func (r *Repo) Draft() *Draft {
	return &Draft{r: r, trees: map[string][]treeEntry{}, commits: map[string]Commit{}, blobs: map[string]bool{}}
}

// tree reads the tree of a commit, or one tree.
func (d *Draft) tree(ctx context.Context, id string) ([]treeEntry, error) {
	if c, made := d.commits[id]; made {
		id = c.Tree
	}
	entries, kept := d.trees[id]
	if !kept {
		entries, kept = d.r.memo.tree(id)
	}
	if kept {
		return entries, nil
	}
	entries, err := d.r.readTree(ctx, id)
	if err == nil {
		d.keep(id, entries)
		d.r.memo.keepTree(id, entries)
	}
	return entries, err
}

func (d *Draft) keep(id string, entries []treeEntry) {
	if _, kept := d.trees[id]; !kept {
		d.trees[id], d.entries = entries, d.entries+len(entries)
	}
}

// commit reads one commit.
func (d *Draft) commit(ctx context.Context, id string) (Commit, error) {
	c, kept := d.commits[id]
	if !kept {
		c, kept = d.r.memo.commit(id)
	}
	if kept {
		return c, nil
	}
	c, err := d.r.Commit(ctx, id)
	if err == nil {
		c = c.alone()
		d.commits[id] = c
		d.r.memo.keepCommit(c)
	}
	return c, err
}

// put holds an object back.
func (d *Draft) put(kind string, content []byte) {
	d.objects, d.bytes = append(d.objects, draftObject{kind, content}), d.bytes+len(content)
}

// Blob makes the object of a file's content and returns its id.
func (d *Draft) Blob(content []byte) string {
	id := objectID(len(d.r.base), withHeader("blob", content))
	if !d.blobs[id] {
		d.blobs[id] = true
		d.put("blob", content)
	}
	return id
}

// CommitTree makes a commit, as CommitTree of a repository does.
func (d *Draft) CommitTree(
	tree string, parents []string, message string, author, committer Ident, at time.Time,
) (string, error) {
	content, err := commitObject(tree, parents, message, author, committer, at)
	if err != nil {
		return "", err
	}
	id := objectID(len(tree), withHeader("commit", content))
	if _, made := d.commits[id]; !made {
		d.commits[id] = Commit{ID: id, Tree: tree, Parents: slices.Clone(parents)}
		d.put("commit", content)
	}
	return id, nil
}

// Flush writes what the draft holds back into the repository.
func (d *Draft) Flush(ctx context.Context) error {
	err := d.flush(ctx)
	if err != nil {
		return fmt.Errorf("write %d objects: %w", len(d.objects), err)
	}
	for id, entries := range d.trees {
		d.r.memo.keepTree(id, entries)
	}
	for _, c := range d.commits {
		d.r.memo.keepCommit(c)
	}
	d.objects, d.bytes, d.begun = nil, 0, d.begun || len(d.objects) > 0
	if d.entries > maxKept {
		d.trees, d.entries = map[string][]treeEntry{}, 0
	}
	return nil
}

// alone is a commit without its message, and without the memory that its message is in.
func (c Commit) alone() Commit {
	c.Message, c.Tree, c.Parents = "", strings.Clone(c.Tree), slices.Clone(c.Parents)
	for i, p := range c.Parents {
		c.Parents[i] = strings.Clone(p)
	}
	return c
}

func (d *Draft) flush(ctx context.Context) error {
	if len(d.objects) >= manyObjects {
		return d.r.g.receive(ctx, d.r.dir, bytes.NewReader(d.pack()))
	}
	for _, o := range d.objects {
		if _, err := writeLoose(d.r.Objects(), len(d.r.base), o.kind, o.content); err != nil {
			return err
		}
	}
	return nil
}

// maxWhole bounds, in bytes, the objects that Pack returns. Of more than that, git packs the differences alone.
const maxWhole = 64 << 10

// Pack returns all that the draft has made as a pack, before it is written; nil where that is much, or some is written already.
func (d *Draft) Pack() []byte {
	if d.begun || d.bytes > maxWhole {
		return nil
	}
	return d.pack()
}

// packTypes are the numbers of the kinds of objects in a pack.
var packTypes = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// pack holds objects back as a pack of version 2 (gitformat-pack).
func (d *Draft) pack() []byte {
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&out, binary.BigEndian, uint32(len(d.objects)))
	z, _ := deflaters.Get().(*zlib.Writer) // it holds nothing else
	defer deflaters.Put(z)
	for _, o := range d.objects {
		size := len(o.content)
		head := packTypes[o.kind]<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		out.WriteByte(head)
		z.Reset(&out)
		_, _ = z.Write(o.content) // a buffer takes all
		_ = z.Close()
	}
	sum := digest(len(d.r.base), out.Bytes())
	return append(out.Bytes(), sum...)
}
