package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// far is a history on its way to another machine.
type far struct {
	*bundle

	u    *user
	past Past
	dir  string // the collection there
	// sent are the packs, change what becomes of one on its way.
	sent   [][]byte
	change func(pack []byte) io.Reader
}

func newFar(t *testing.T, u *user) *far {
	t.Helper()
	f := &far{u: u, dir: filepath.Join(t.TempDir(), "kept"), change: func(pack []byte) io.Reader { return bytes.NewReader(pack) }}
	f.take(t)
	return f
}

// take takes the user's head, as a run on it does.
func (f *far) take(t *testing.T) {
	t.Helper()
	f.bundle = f.u.mirrored()
	var err error
	f.past, err = f.g.TakePast(t.Context(), f.c, f.base, t.TempDir(), false)
	require.NoError(t, err)
	require.Empty(t, f.past.Whole)
}

// bring has the objects of a run there have the history.
func (f *far) bring(t *testing.T) (there Past, err error) {
	t.Helper()
	there = Past{Commits: filepath.Join(t.TempDir(), "past.git", "objects"), Tags: f.past.Tags, Shallow: f.past.Shallow}
	return there, f.g.Bring(t.Context(), f.base, there, f.dir, func(
		ctx context.Context, have []string, take func(context.Context, io.Reader) error,
	) error {
		var pack bytes.Buffer
		if err := f.m.PackPast(ctx, &pack, f.past, have); err != nil {
			return err
		}
		f.sent = append(f.sent, pack.Bytes())
		return take(ctx, f.change(pack.Bytes()))
	})
}

// tree is a tree there, which has a history.
func (f *far) tree(there Past) *laid {
	l := f.laid(f.bundle.change(f.base, map[string]string{"a.txt": "changed\n"}))
	l.files.Tags, l.files.Shallow = there.Tags, there.Shallow
	l.files.Objects = []string{f.m.Objects(), there.Commits}
	l.write()
	return l
}

func released(t *testing.T, args ...string) *user {
	t.Helper()
	u := newCommitted(t, args...)
	u.git("tag", "-a", "v1.0", "-m", "one")
	u.git("tag", "-a", "nested", "-m", "a tag of a tag", "v1.0")
	u.git("checkout", "-q", "-b", "side")
	u.write("side.txt", "side\n")
	u.commit("side")
	u.git("tag", "light")
	u.git("checkout", "-q", "main")
	u.write("b.txt", "more\n")
	u.commit("more")
	return u
}

func TestAHistoryTravelsOnceAndIsExtended(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--object-format=sha256"}} {
		f := newFar(t, released(t, args...))
		there, err := f.bring(t)
		require.NoError(t, err)
		check := func(there Past, describe, commits string) {
			l := f.tree(there)
			require.Equal(t, describe+l.files.Head[:7], l.git("describe", "--abbrev=7"))
			require.Equal(t, "light\nv1.0", l.git("tag"))
			require.Equal(t, commits, l.git("rev-list", "--count", "HEAD"))
			require.Equal(t, "M\ta.txt", l.git("diff", "--name-status", "origin/main...HEAD"))
			require.Error(t, userCommand(t, l.tree, "cat-file", "-e", f.u.git("rev-parse", "light^{tree}")).Run())
		}
		check(there, "v1.0-2-g", "3")
		again, err := f.bring(t)
		require.NoError(t, err)
		check(again, "v1.0-2-g", "3")
		require.Len(t, f.sent, 1, "it is there")

		for i := range manyPacks { // they become one again
			f.copyPack(t, i)
		}
		f.u.write("a.txt", "later\n")
		f.u.commit("later")
		f.take(t)
		there, err = f.bring(t)
		require.NoError(t, err)
		check(there, "v1.0-3-g", "4")
		packs, err := filepath.Glob(filepath.Join(f.dir, "objects", "pack", "*.pack"))
		require.NoError(t, err)
		require.Less(t, len(packs), 5)
		require.Less(t, len(f.sent[1]), 400, "one commit")
	}
}

// copyPack has the collection have one more pack.
func (f *far) copyPack(t *testing.T, i int) {
	t.Helper()
	id, err := f.g.Run(t.Context(), Dir{GitDir: f.dir}, strings.NewReader(fmt.Sprint(i)), "hash-object", "--stdin", "-w")
	require.NoError(t, err)
	_, err = f.g.Run(t.Context(), Dir{GitDir: f.dir}, bytes.NewReader(id), "pack-objects", "-q", filepath.Join(f.dir, "objects", "pack", "pack"))
	require.NoError(t, err)
}

func TestAShallowHistoryTravels(t *testing.T) {
	t.Parallel()
	u := released(t)
	c := &user{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	u.git("clone", "-q", "--depth=1", "file://"+u.dir, c.dir)
	f := newFar(t, c)
	there, err := f.bring(t)
	require.NoError(t, err)
	require.Equal(t, "2", f.tree(there).git("rev-list", "--count", "HEAD"))
}

// forged makes a pack of objects as another one would name them.
func forged(objects ...[]byte) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	pack = append(pack, bytes.Join(objects, nil)...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// What is no history, or not the one that was named, is refused, and nothing of it stays; the next one comes whole.
func TestAHistoryThatIsForged(t *testing.T) {
	t.Parallel()
	u := released(t)
	packed := func(ids ...string) []byte {
		cmd := userCommand(t, u.dir, "pack-objects", "--stdout", "-q", "--window=0", "--no-reuse-delta")
		cmd.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
		out, err := cmd.Output()
		require.NoError(t, err)
		return out
	}
	head, base, tag := u.git("rev-parse", "HEAD"), u.git("rev-parse", "HEAD^"), u.git("rev-parse", "v1.0")
	all := []string{head, base, tag, u.git("rev-parse", "light")}
	gone := errors.New("the connection is gone")
	for name, c := range map[string]struct {
		change func(pack []byte) io.Reader
		want   error
		told   string
	}{
		"blob": {func([]byte) io.Reader {
			return bytes.NewReader(packed(append(all, u.git("rev-parse", "HEAD:a.txt"))...))
		}, ErrPack, "type 3"},
		"tree":      {func([]byte) io.Reader { return bytes.NewReader(packed(append(all, u.git("rev-parse", "HEAD:"))...)) }, ErrPack, "type 2"},
		"delta":     {func([]byte) io.Reader { return bytes.NewReader(forged([]byte{deltaBefore<<4 | 4, 1})) }, ErrPack, "type 6"},
		"lacks one": {func([]byte) io.Reader { return bytes.NewReader(packed(head, tag, all[3])) }, ErrPack, "rev-list"},
		"lacks tag": {func([]byte) io.Reader { return bytes.NewReader(packed(head, base, all[3])) }, ErrPack, "rev-list"},
		"large": {func([]byte) io.Reader {
			size := binary.AppendUvarint([]byte{packedCommit<<4 | 0x80}, (maxPastObject+16)>>4)
			return bytes.NewReader(forged(size))
		}, ErrTooLarge, "16777"},
		"other sum": {func(pack []byte) io.Reader {
			return bytes.NewReader(append(bytes.Clone(pack[:len(pack)-1]), pack[len(pack)-1]^1))
		}, ErrPack, "index-pack"},
		"other content": {func([]byte) io.Reader {
			other := packed(all...)
			copy(other[12:], []byte{packedTag<<4 | other[12]&0x8f}) // a commit that is called a tag has another id
			return bytes.NewReader(forged(other[12 : len(other)-20]))
		}, ErrPack, ""},
		"short":  {func(pack []byte) io.Reader { return bytes.NewReader(pack[:len(pack)/2]) }, ErrPack, ""},
		"longer": {func(pack []byte) io.Reader { return bytes.NewReader(append(pack, make([]byte, 100)...)) }, ErrPack, ""},
		"broken": {func(pack []byte) io.Reader {
			r, w := io.Pipe()
			go func() { _, _ = w.Write(pack[:20]); w.CloseWithError(gone) }()
			return r
		}, gone, ""},
	} {
		f := newFar(t, u)
		f.change = c.change
		there, err := f.bring(t)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.told, name)
		require.NoDirExists(t, there.Commits, name)
		packs, err := filepath.Glob(filepath.Join(f.dir, "objects", "pack", "*"))
		require.NoError(t, err)
		require.Empty(t, packs, name)
		f.change = func(pack []byte) io.Reader { return bytes.NewReader(pack) }
		there, err = f.bring(t)
		require.NoError(t, err, name)
		require.Equal(t, f.sent[0], f.sent[1], name)
		require.Contains(t, f.tree(there).git("describe"), "v1.0-2-g")
	}
}

// The lines of tags become those of packed-refs: what could be another ref there is refused.
func TestTagsThatTravel(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 40)
	for tags, good := range map[string]bool{
		"":                                  true,
		id + " refs/tags/v1\n":              true,
		id + " refs/tags/v1\n^" + id + "\n": true,
		"^" + id + "\n":                     false,
		id + " refs/tags/v1\n^" + id + "\n^" + id + "\n": false,
		id + " refs/heads/main\n":                        false,
		id + " refs/tags/../heads/main\n":                false,
		id + id[:24] + " refs/tags/v1\n":                 false,
		"refs/tags/v1\n":                                 false,
		strings.Repeat("\n", maxTags+1):                  false,
	} {
		err := Past{Tags: tags}.Check(id)
		require.Equal(t, good, err == nil, "%.100q: %v", tags, err)
	}
	require.Error(t, Past{Shallow: []string{"--all"}}.Check(id))
}

// What a process that was killed has left is no history.
func TestAHistoryAfterAKill(t *testing.T) {
	t.Parallel()
	f := newFar(t, released(t))
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, "objects"), 0o700))
	_, err := f.bring(t)
	require.NoError(t, err)
	f.u.write("a.txt", "later")
	f.u.commit("later")
	f.take(t)
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, "aside", "objects"), 0o700))
	tips := filepath.Join(f.dir, tipsFile)
	data, err := os.ReadFile(tips)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tips, data[:len(data)-7], 0o600))
	there, err := f.bring(t)
	require.NoError(t, err)
	require.Equal(t, "4", f.tree(there).git("rev-list", "--count", "HEAD"))
}
