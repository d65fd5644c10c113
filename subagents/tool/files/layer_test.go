package files

import (
	"os"
	"path/filepath"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// A layer is read where a path leads into it, never written, and left out of what is listed and searched elsewhere.
func TestToolsReadALayer(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"mounted": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, lower := t.TempDir(), t.TempDir()
			put := func(path, text string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			put(filepath.Join(dir, "packages/dep/index.js"), "ours needle\n")
			put(filepath.Join(lower, "lib/index.js"), "installed needle\n")
			require.NoError(t, os.Symlink("../packages/dep", filepath.Join(lower, "dep")))
			require.NoError(t, os.Symlink("../../../etc", filepath.Join(lower, "out")))
			require.NoError(t, os.Link(filepath.Join(lower, "lib/index.js"), filepath.Join(lower, "lib/same.js")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o755))
			if copied {
				put(filepath.Join(dir, "node_modules/lib/index.js"), "a copy needle\n")
			}
			root, err := os.OpenRoot(dir)
			require.NoError(t, err)
			defer root.Close()
			layer, err := os.OpenRoot(lower)
			require.NoError(t, err)
			defer layer.Close()
			tr := &tree{Config{Root: root, Dir: dir, Layers: []Layer{{"node_modules", layer}}, Scope: NewScope(spec.WriteSet{})}, ripgrep("")}

			for path, want := range map[string]string{
				"node_modules/lib/index.js": "installed needle\n", "node_modules/lib/same.js": "installed needle\n",
				"node_modules/dep/index.js": "ours needle\n",
			} {
				data, err := tr.read(path, maxFile)
				require.NoError(t, err)
				require.Equal(t, want, string(data))
			}
			_, err = tr.read("node_modules/out/passwd", maxFile)
			require.ErrorContains(t, err, "leads out of the work tree")
			_, err = tr.writable("node_modules/lib/new.js")
			require.ErrorContains(t, err, "belongs to the environment")
			target, err := tr.writable("node_modules/dep/new.js")
			require.NoError(t, err)
			require.Equal(t, "packages/dep/new.js", target)

			text := func(r any) string { return spec.JSONText(r) }
			require.Contains(t, text(tr.list(t.Context(), listArgs{Path: "node_modules", Depth: 5})), "node_modules/lib/index.js")
			require.NotContains(t, text(tr.list(t.Context(), listArgs{Depth: 5})), "node_modules/lib")
			found := text(tr.search(t.Context(), searchArgs{Pattern: "needle"}))
			require.Contains(t, found, "packages/dep/index.js")
			require.NotContains(t, found, "node_modules/lib")
			require.Contains(t, text(tr.search(t.Context(), searchArgs{Pattern: "needle", Path: "node_modules"})), "node_modules/lib/index.js")
		})
	}
}
