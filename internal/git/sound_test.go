package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMirrorIsSoundUntilItIsDamaged(t *testing.T) {
	t.Parallel()
	flip := func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)/2] ^= 0x5a
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	for name, damage := range map[string]func(t *testing.T, dir, object string){
		"no HEAD":      func(t *testing.T, dir, _ string) { require.NoError(t, os.Remove(filepath.Join(dir, "HEAD"))) },
		"no refs":      func(t *testing.T, dir, _ string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "refs"))) },
		"a broken ref": func(t *testing.T, dir, _ string) { flip(t, filepath.Join(dir, "refs", "divisi", "base")) },
		"no pack": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "objects", "pack")))
		},
		"a changed blob":  func(t *testing.T, _, object string) { flip(t, object) },
		"a missing blob":  func(t *testing.T, _, object string) { require.NoError(t, os.Remove(object)) },
		"a broken config": func(t *testing.T, dir, _ string) { flip(t, filepath.Join(dir, "config")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCommitted(t).mirrored()
			head := b.change(b.base, map[string]string{"new.txt": strings.Repeat("new\n", 99)})
			require.NoError(t, b.m.Sound(t.Context(), b.base, head))
			blob := strings.TrimSpace(userGit(t, b.m.Dir(), "rev-parse", head+":new.txt"))
			damage(t, b.m.Dir(), filepath.Join(b.m.Dir(), "objects", blob[:2], blob[2:]))
			require.ErrorIs(t, b.m.Sound(t.Context(), b.base, head), ErrMirror)
		})
	}
}

func TestAMirrorIsReplaced(t *testing.T) {
	t.Parallel()
	b := newCommitted(t).mirrored()
	require.NoError(t, os.Remove(filepath.Join(b.m.Dir(), baseFile)))
	_, err := b.g.OpenMirror(b.m.Dir())
	require.ErrorIs(t, err, ErrMirror)
	m, err := b.g.CreateMirror(t.Context(), b.m.Dir()+".new", b.c, b.base)
	require.NoError(t, err)
	m, err = m.Replace(b.m.Dir())
	require.NoError(t, err)
	require.Equal(t, b.m.Dir(), m.Dir())
	require.NoError(t, m.Sound(t.Context(), b.base))
	require.NoDirExists(t, b.m.Dir()+".new")
}
