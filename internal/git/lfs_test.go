package git

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func pointerTo(content string) (text, oid string) {
	sum := sha256.Sum256([]byte(content))
	oid = hex.EncodeToString(sum[:])
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(content)), oid
}

func TestLFSFiles(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	text, oid := pointerTo("content")
	u.write("plain.bin", text)
	u.commit("a pointer without an attribute")
	files := func() (paths []string, c *Checkout) {
		c = inspect(t, u.dir)
		m, err := newGit(t).CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), c, c.Head)
		require.NoError(t, err)
		found, err := m.LFSFiles(t.Context(), c.Head)
		require.NoError(t, err)
		for _, f := range found {
			require.Equal(t, oid, f.Pointer.OID)
			paths = append(paths, f.Path)
		}
		return paths, c
	}
	paths, _ := files()
	require.Empty(t, paths)
	for name, content := range map[string]string{
		".gitattributes": "*.dat filter=lfs diff=lfs merge=lfs -text\n", "a.dat": text, "sub/b c.dat": text, "sub/.gitattributes": "no.dat -filter\n",
		"sub/no.dat": text, "content.dat": "no pointer", "c.txt": text,
	} {
		u.write(name, content)
	}
	u.commit("attributes")
	paths, c := files()
	require.Equal(t, []string{"a.dat", "sub/b c.dat"}, paths)

	p := spec.Pointer{OID: oid, Size: 7}
	_, err := c.OpenLFS(p)
	require.ErrorIs(t, err, fs.ErrNotExist)
	at := filepath.Join(".git", "lfs", "objects", oid[:2], oid[2:4], oid)
	u.write(at, "content")
	f, err := c.OpenLFS(p)
	require.NoError(t, err)
	content, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, "content", string(content))
	u.write(at, "longer than it is")
	_, err = c.OpenLFS(p)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Remove(filepath.Join(u.dir, at)))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(u.dir, at)))
	_, err = c.OpenLFS(p)
	require.Error(t, err, "no link leads out of the git directory")
}
