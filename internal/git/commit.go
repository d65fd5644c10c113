package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git names its objects by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// maxCommit bounds a commit object, in bytes.
const maxCommit = 4 << 20

// Ident is a person or program in a commit.
type Ident struct {
	Name, Email string
}

// Commit is a commit as it is stored.
type Commit struct {
	ID, Tree string
	Parents  []string
	// Message is everything after the headers.
	Message string
}

// Commit reads one commit; ErrNotFound when it is not there. The oldest commit of a mirror names parents that are not
// in it.
func (r *Repo) Commit(ctx context.Context, id string) (Commit, error) {
	if err := checkIDs(id); err != nil {
		return Commit{}, err
	}
	data, kind, err := r.object(ctx, id, maxCommit)
	if err != nil {
		return Commit{}, fmt.Errorf("read commit %s: %w", id, err)
	}
	if kind != "commit" {
		return Commit{}, fmt.Errorf("read commit %s: it is a %s: %w", id, kind, ErrNotFound)
	}
	c, err := parseCommit(string(data))
	c.ID = id
	return c, err
}

// Tree returns the tree of a commit.
func (r *Repo) Tree(ctx context.Context, commit string) (string, error) {
	c, err := r.Commit(ctx, commit)
	return c.Tree, err
}

// parseCommit reads a commit object.
func parseCommit(data string) (Commit, error) {
	var c Commit
	headers, message, _ := strings.Cut(data, "\n\n")
	c.Message = message
	for line := range strings.SplitSeq(headers, "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		}
	}
	if !ValidID(c.Tree) {
		return Commit{}, fmt.Errorf("commit without a tree: %w", errFormat)
	}
	if err := checkIDs(c.Parents...); err != nil {
		return Commit{}, err
	}
	return c, nil
}

// CommitTree writes a commit and returns its id. The same arguments give the same id on every machine: the time counts
// in whole seconds, in UTC. The tree and the parents are taken as they are.
func (r *Repo) CommitTree(
	tree string, parents []string, message string, author, committer Ident, at time.Time,
) (string, error) {
	content, err := commitObject(tree, parents, message, author, committer, at)
	if err != nil {
		return "", err
	}
	id, err := writeLoose(r.Objects(), len(tree), "commit", content)
	if err != nil {
		return "", fmt.Errorf("commit tree %s: %w", tree, err)
	}
	return id, nil
}

func commitObject(tree string, parents []string, message string, author, committer Ident, at time.Time) ([]byte, error) {
	if err := checkIDs(append([]string{tree}, parents...)...); err != nil {
		return nil, err
	}
	if at.Unix() < 0 {
		return nil, errors.New("a commit cannot be older than 1970")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	for _, who := range []struct {
		header string
		ident  Ident
	}{{"author", author}, {"committer", committer}} {
		if err := who.ident.check(); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s %s <%s> %d +0000\n", who.header, who.ident.Name, who.ident.Email, at.Unix())
	}
	b.WriteString("\n" + cleanMessage(message))
	return b.Bytes(), nil
}

// crud are characters that git takes from both ends of a name.
const crud = " .,:;\"'"

// check refuses what git would refuse or silently change.
func (i Ident) check() error {
	if i.Name == "" || strings.Trim(i.Name, crud) != i.Name || strings.TrimSpace(i.Email) != i.Email ||
		strings.ContainsAny(i.Name+i.Email, "\x00\n<>") {
		return fmt.Errorf("author %q <%s>: %w", i.Name, i.Email, ErrBadName)
	}
	return nil
}

// cleanMessage makes any text a message that git takes: valid UTF-8 without NUL bytes, ending in one line break.
func cleanMessage(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	return strings.TrimRight(s, "\n") + "\n"
}

// Landed is one commit of a branch with its trailers.
type Landed struct {
	Commit  string
	Parents []string
	Subject string
	// Trailers are the values by key, in order; keys are as written.
	Trailers map[string][]string
}

func parseLanded(out string) ([]Landed, error) {
	var all []Landed
	for record := range strings.SplitSeq(out, "\x00") {
		if record == "" {
			continue
		}
		fields := strings.Split(record, "\x1e")
		if len(fields) < 4 || !ValidID(fields[0]) {
			return nil, fmt.Errorf("log record %q: %w", record, errFormat)
		}
		l := Landed{Commit: fields[0], Parents: strings.Fields(fields[1]), Subject: fields[2], Trailers: map[string][]string{}}
		for _, f := range fields[3:] {
			if key, value, ok := strings.Cut(f, "\x1f"); ok {
				l.Trailers[key] = append(l.Trailers[key], value)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// writeLoose writes one object into an object directory as git does and returns its id. Starting a process for a commit
// of 300 bytes would take twenty times as long. format is the length of an id.
func writeLoose(objects string, format int, kind string, content []byte) (string, error) {
	data := withHeader(kind, content)
	id := objectID(format, data)
	dir, path := filepath.Join(objects, id[:2]), filepath.Join(objects, id[:2], id[2:])
	if _, err := os.Lstat(path); err == nil {
		return id, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	tmp, err := writeTemp(dir, data)
	if err != nil {
		return "", err
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	return id, nil
}

// withHeader is an object as git names and stores it.
func withHeader(kind string, content []byte) []byte {
	return append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
}

func objectID(format int, data []byte) string { return hex.EncodeToString(digest(format, data)) }

func digest(format int, data []byte) []byte {
	if format == 2*sha256.Size {
		sum := sha256.Sum256(data)
		return sum[:]
	}
	sum := sha1.Sum(data) //nolint:gosec // git names its objects by it
	return sum[:]
}

// deflaters are kept, because each has most of a megabyte. They work as git's own do on single objects: fast.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is one
	return z
}}

// writeTemp writes compressed data to a file with a name that git knows as unfinished.
func writeTemp(dir string, data []byte) (string, error) {
	var packed bytes.Buffer
	z, _ := deflaters.Get().(*zlib.Writer) // it holds nothing else
	defer deflaters.Put(z)
	z.Reset(&packed)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "tmp_obj_")
	if err != nil {
		return "", err
	}
	_, err = f.Write(packed.Bytes())
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
