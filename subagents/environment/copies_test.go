package environment_test

import (
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/sandbox"

	"github.com/stretchr/testify/require"
)

// Tests that import a copy of a package prove nothing of a patch to it.
func TestCopiesOfTheTreesOwnPackagesAreNoticed(t *testing.T) {
	t.Parallel()
	const origin, own = ".venv/lib/site-packages/own-1.0.dist-info/direct_url.json", `{"name": "dep", "version": "1.0.0"}`
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"pip":                   {origin, `{"url": "file://TREE", "dir_info": {}}`, []string{"."}},
		"pip of a directory":    {origin, `{"url": "file://TREE/libs/a", "dir_info": {}}`, []string{"libs/a"}},
		"editable":              {origin, `{"url": "file://TREE", "dir_info": {"editable": true}}`, nil},
		"elsewhere":             {origin, `{"url": "file:///home/conda/feedstock", "dir_info": {}}`, nil},
		"a name that is longer": {origin, `{"url": "file://TREE2", "dir_info": {}}`, nil},
		"archive":               {origin, `{"url": "https://example.test/x.whl", "archive_info": {}}`, nil},
		"broken":                {origin, `{"url"`, nil},
		"node":                  {"node_modules/dep/package.json", own, []string{"packages/dep"}},
		"pnpm":                  {"node_modules/.pnpm/dep@file+packages+dep/node_modules/dep/package.json", own, []string{"packages/dep"}},
		"of a registry":         {"node_modules/dep/package.json", `{"name": "dep", "version": "2.0.0"}`, nil},
		"by another name":       {"node_modules/alias/package.json", own, []string{"packages/dep"}},
		"with a scope":          {"node_modules/@x/dep/package.json", own, []string{"packages/dep"}},
		"in a package":          {"node_modules/glob/dist/package.json", own, nil},
		"no name":               {"node_modules/glob/package.json", `{"type": "commonjs"}`, nil},
		"two alike":             {"node_modules/same/package.json", `{"name": "same"}`, []string{"packages/a", "packages/b"}},
		"no package":            {"gen/package.json", own, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			top, _, _ := strings.Cut(c.file, "/")
			write(t, filepath.Join(dir, c.file), strings.ReplaceAll(c.text, "TREE", sandbox.TreePath(dir)))
			for at, text := range map[string]string{"dep": own, "type": `{"type": "commonjs"}`, "a": `{"name": "same"}`, "b": `{"name": "same"}`} {
				write(t, filepath.Join(dir, "packages", at, "package.json"), text)
			}
			e, _, err := newStore(t, t.TempDir()).Make(t.Context(), recipe("x"), unasked, take(dir, top))
			require.NoError(t, err)
			require.Equal(t, c.want, e.Copies)
			require.Len(t, e.Notes, len(c.want))
		})
	}
}
