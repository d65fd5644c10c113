package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALinkOfPathThatLeadsOutOfSight(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	bin, far := filepath.Join(top, "node_modules", ".bin"), filepath.Join(top, "node_modules", "@google", "gemini")
	lib := filepath.Join(top, "lib")
	for _, dir := range []string{bin, far, lib, filepath.Join(top, "bin")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, file := range []string{filepath.Join(far, "g.js"), filepath.Join(lib, "g.js"), filepath.Join(bin, "own")} {
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755))
	}
	require.NoError(t, os.Symlink("../@google/gemini/g.js", filepath.Join(bin, "gemini")))
	require.NoError(t, os.Symlink("../lib/g.js", filepath.Join(top, "bin", "gemini")))
	env := []string{"PATH=" + bin + ":" + filepath.Join(top, "bin") + ":/usr/bin:/bin"}
	require.Empty(t, Hides(filepath.Join(bin, "own"), env))
	require.Empty(t, Hides(filepath.Join(top, "bin", "gemini"), env), "as npm install -g makes it")
	require.Empty(t, Hides("/bin/sh", env))
	want := ""
	if Probe().Confined() {
		want = filepath.Join(far, "g.js")
	}
	require.Equal(t, want, Hides(filepath.Join(bin, "gemini"), env))
	require.NoError(t, os.Symlink(top, filepath.Join(lib, "home")))
	below := filepath.Join(lib, "home", "node_modules", ".bin")
	require.Empty(t, Hides(filepath.Join(below, "own"), []string{"PATH=" + below}), "a directory of PATH below a link")
	require.Equal(t, want, Hides(filepath.Join(below, "gemini"), []string{"PATH=" + below}))
	rust := filepath.Join(top, ".rustup")
	require.NoError(t, os.Mkdir(rust, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(rust, "cargo"), nil, 0o755))
	require.Empty(t, Hides(filepath.Join(rust, "cargo"), []string{"HOME=" + top}), "commands get RUSTUP_HOME")
	require.Equal(t, want, Hides(filepath.Join(far, "g.js"), env))
}
