package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackAndImport(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	b, far := u.mirrored(), u.mirrored()
	next := b.change(b.base, map[string]string{"a.txt": "one\ntwo\nthree\nfour\n"})
	pack, err := b.m.Pack(t.Context(), next, b.base)
	require.NoError(t, err)
	require.Less(t, len(pack), 1000)
	require.NoError(t, far.m.Import(t.Context(), pack))
	require.NoError(t, far.m.Import(t.Context(), pack), "twice is once")
	data, err := far.m.ReadFile(t.Context(), next, "a.txt", 100)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\nfour\n", string(data))
}

// TestPackOfARevert goes back to content of the cut-off history, which the mirror does not have.
func TestPackOfARevert(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("a.txt", "second\n")
	u.commit("second")
	u.git("repack", "-adbq")
	b, far := u.mirrored(), u.mirrored()
	next := b.change(b.base, map[string]string{"a.txt": "one\ntwo\nthree\n"})
	pack, err := b.m.Pack(t.Context(), next, b.base)
	require.NoError(t, err)
	require.NoError(t, far.m.Import(t.Context(), pack))
	userGit(t, far.m.Dir(), "fsck", "--strict", "--no-dangling")
}

// Many objects stay in a pack, which is completed from what the repository has.
func TestImportOfManyObjects(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	files := map[string]string{}
	for i := range 2 * manyObjects {
		files[fmt.Sprintf("many/%d", i)] = strings.Repeat(fmt.Sprintf("line of %d\n", i), 40)
	}
	for name, content := range files {
		u.write(name, content)
	}
	u.commit("many")
	b, far := u.mirrored(), u.mirrored()
	for name, content := range files {
		files[name] = content + "more\n"
	}
	next := b.change(b.base, files)
	pack, err := b.m.Pack(t.Context(), next, b.base)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, far.m.Import(t.Context(), pack), "twice is once")
	}
	require.Len(t, packsOf(t, far.m), 2, "one of the base")
	data, err := far.m.ReadFile(t.Context(), next, "many/7", 1000)
	require.NoError(t, err)
	require.Equal(t, files["many/7"], string(data))
	userGit(t, far.m.Dir(), "fsck", "--strict", "--no-dangling")
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	b, far := newBundle(t), newBundle(t)
	many := map[string]string{}
	for i := range manyObjects {
		many[fmt.Sprint("many/", i)] = fmt.Sprint(i)
	}
	for parent, how := range map[string]string{b.base: "a few objects", b.change(b.base, many): "many objects"} {
		for name, id := range map[string]string{
			"a .git entry": b.badTree(parent, ".git", ModeFile), "..": b.badTree(parent, "..", ModeFile),
			"a short name of .git": b.badTree(parent, "git~1", ModeFile),
			"a linked .gitmodules": b.badTree(parent, ".gitmodules", ModeSymlink),
		} {
			pack, err := b.m.Pack(t.Context(), id, b.base)
			require.NoError(t, err)
			require.ErrorIs(t, far.m.Import(t.Context(), pack), ErrPack, "%s, %s", how, name)
			has, err := far.m.Has(t.Context(), id)
			require.NoError(t, err)
			require.False(t, has, "%s, %s", how, name)
			require.ErrorIs(t, far.m.Import(t.Context(), pack[:len(pack)-3]), ErrPack, "%s, cut off", how)
		}
		later := b.change(b.change(parent, map[string]string{"a.txt": "between"}), many)
		pack, err := b.m.Pack(t.Context(), later, must(b.m.Commit(t.Context(), later)).Parents[0])
		require.NoError(t, err)
		require.ErrorIs(t, far.m.Import(t.Context(), pack), ErrPack, "%s, its parent is missing", how)
	}
	left, err := filepath.Glob(filepath.Join(far.m.Objects(), "pack", "tmp_*"))
	require.NoError(t, err)
	require.Empty(t, left, "of what was refused")
	next := b.change(b.base, map[string]string{"a.txt": strings.Repeat("x", 100)})
	pack, err := b.m.Pack(t.Context(), next, b.base)
	require.NoError(t, err)
	require.ErrorIs(t, far.m.Import(t.Context(), pack[:len(pack)-3]), ErrPack)
	require.ErrorIs(t, far.m.Import(t.Context(), []byte("nonsense")), ErrPack)
	require.ErrorIs(t, far.m.Import(t.Context(), nil), ErrPack)
	between := b.change(b.base, map[string]string{"a.txt": "between"})
	later := b.change(between, map[string]string{"a.txt": "later"})
	pack, err = b.m.Pack(t.Context(), later, between)
	require.NoError(t, err)
	require.ErrorIs(t, far.m.Import(t.Context(), pack), ErrPack, "its parent is missing")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = far.m.Import(ctx, pack)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrPack)
}

// What no patch may have is not unpacked: neither a file that is too large nor a mode that git does not write.
func TestImportRefusesBeforeItUnpacks(t *testing.T) {
	t.Parallel()
	b, far := newBundle(t), newBundle(t)
	large := b.blob(strings.Repeat("\x00", MaxBlob+1))
	next := b.change(b.base, map[string]string{"a.txt": "1\n"})
	ids := strings.Join([]string{next, must(b.m.Tree(t.Context(), next)), b.blob("1\n"), large}, "\n")
	pack := must(b.g.Run(t.Context(), Dir{GitDir: b.m.dir}, strings.NewReader(ids), "pack-objects", "-q", "--stdout"))
	require.Less(t, len(pack), 100_000)
	require.ErrorIs(t, far.m.Import(t.Context(), pack), ErrTooLarge)
	delta := must(b.g.Run(t.Context(), Dir{GitDir: b.m.dir}, strings.NewReader(ids[:len(ids)-len(large)]), "pack-objects", "-q", "--stdout"))
	delta = append(append(delta[:12:12], bombDelta(far.base, maxTree+1)...), make([]byte, 20)...)
	delta[11] = 1
	require.ErrorIs(t, far.m.Import(t.Context(), delta), ErrTooLarge)
	require.Empty(t, must(far.m.loose()))
	for mode, good := range map[string]bool{"100644": true, "100755": true, "100664": false, "104755": false, "100600": false, "120755": false} {
		id := b.commitOf(b.withTop(treeEntry{"odd", mode, b.blob("x\n")}))
		pack := must(b.m.Pack(t.Context(), id, b.base))
		if err := far.m.Import(t.Context(), pack); good {
			require.NoError(t, err, mode)
		} else {
			require.ErrorIs(t, err, ErrPack, mode)
			require.ErrorContains(t, err, "bad file modes", mode)
		}
	}
}

// bombDelta is an object of a pack, a difference from a named one, that becomes so many bytes.
func bombDelta(base string, size uint64) []byte {
	data := binary.AppendUvarint(binary.AppendUvarint(nil, 1), size)
	var out bytes.Buffer
	out.WriteByte(deltaNamed<<4 | byte(len(data)))
	out.Write(must(hex.DecodeString(base)))
	z := zlib.NewWriter(&out)
	_ = must(z.Write(data))
	must(0, z.Close())
	return out.Bytes()
}

// A base with modes that git does not write any more is as good as any, beside what changes too.
func TestAPatchOfABaseWithOddModes(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	b := u.mirrored()
	inner := b.treeOf(treeEntry{"f", "100664", b.blob("1\n")}, treeEntry{"g", "100644", b.blob("2\n")})
	u.git("--git-dir", b.m.Dir(), "push", "-q", u.dir, b.commitOf(b.withTop(treeEntry{"odd", modeTree, inner}))+":refs/heads/odd")
	u.git("checkout", "-q", "odd")
	b = u.mirrored()
	far := u.mirrored()
	for _, file := range []string{"a.txt", "odd/g", "odd/new"} {
		id := b.change(b.base, map[string]string{file: "changed\n"})
		require.NoError(t, far.m.Import(t.Context(), must(b.m.Pack(t.Context(), id, b.base))))
		p := b.patchOf(b.base, id)
		require.Equal(t, []string{file}, p.Files)
		require.NoError(t, CheckPatch(t.Context(), far.m, p, all))
	}
}

func FuzzWeigh(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x33x\x9cKL*\x04\x00\x02\x4d\x01\x27"))
	f.Add(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), bombDelta(idA, 1<<40)...))
	f.Fuzz(func(t *testing.T, pack []byte) {
		err := weigh(pack, 20)
		if err != nil && !errors.Is(err, ErrPack) && !errors.Is(err, ErrTooLarge) {
			t.Fatalf("%v", err)
		}
	})
}

// badTree commits a tree that git itself would not write.
func (b *bundle) badTree(parent, name, mode string) string {
	b.t.Helper()
	d := Dir{GitDir: b.m.dir}
	out, err := b.g.Run(b.t.Context(), d, strings.NewReader("bad"+name), "hash-object", "-w", "--stdin")
	require.NoError(b.t, err)
	in := strings.NewReader(mode + " blob " + strings.TrimSpace(string(out)) + "\t" + name + "\n")
	out, err = b.g.Run(b.t.Context(), d, in, "mktree")
	require.NoError(b.t, err)
	id, err := b.m.CommitTree(strings.TrimSpace(string(out)), []string{parent}, "bad", divisi, divisi, noon)
	require.NoError(b.t, err)
	return id
}
