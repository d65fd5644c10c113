package environment_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/subagents/environment"
)

func TestDerivedPlacesAreNeitherDependenciesNorCaches(t *testing.T) {
	t.Parallel()
	e := environment.Environment{Manifest: environment.Manifest{
		Places: []string{"node_modules", "packages/a/dist", "vendor/bundle", "x.egg-info", ".pytest_cache", "generated"},
		Files:  []string{"src/parser.js", "tsconfig.tsbuildinfo"},
	}}
	require.Equal(t, []string{"generated", "packages/a/dist", "src/parser.js"}, e.Derived(nil))
	require.Equal(t, []string{"packages/a/dist", "src/parser.js"}, e.Derived([]string{"packages/*/dist/", "src/**"}))
	require.Empty(t, e.Derived([]string{}))
}

// Tests that import a package from a copy that setup installed would prove the base commit's code, whatever a patch does.
func TestCopiesOfTheTreesOwnPackagesAreDerived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url  string
		want []string
	}{
		"copied":    {`{"url": "file://TREE", "dir_info": {}}`, []string{".venv"}},
		"editable":  {`{"url": "file://TREE", "dir_info": {"editable": true}}`, nil},
		"elsewhere": {`{"url": "file:///home/conda/feedstock", "dir_info": {}}`, nil},
		"archive":   {`{"url": "https://example.test/x.whl", "archive_info": {}}`, nil},
		"broken":    {`{"url"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, ".venv/lib/site-packages/own-1.0.dist-info/direct_url.json"),
				strings.ReplaceAll(c.url, "TREE", sandbox.TreePath(dir)))
			s := newStore(t, t.TempDir())
			e, _, err := s.Make(t.Context(), recipe("pip"), unasked, take(dir, ".venv"))
			require.NoError(t, err)
			require.Equal(t, c.want, e.Derived(nil))
			require.Empty(t, e.Derived([]string{}))
			require.Len(t, e.Notes, len(c.want))
		})
	}
}
