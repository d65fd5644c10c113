package environment_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/environment"
)

func TestDerivedPlacesAreNeitherDependenciesNorCaches(t *testing.T) {
	t.Parallel()
	e := environment.Environment{Manifest: environment.Manifest{
		Places: []string{"node_modules", "packages/a/dist", "vendor/bundle", "x.egg-info", "a1_coverage.pth", ".pytest_cache", "generated"},
		Files:  []string{"src/parser.js", "tsconfig.tsbuildinfo"},
	}}
	require.Equal(t, []string{"generated", "packages/a/dist", "src/parser.js"}, e.Derived(nil))
	require.Equal(t, []string{"packages/a/dist", "src/parser.js"}, e.Derived([]string{"packages/*/dist/", "src/**"}))
	require.Empty(t, e.Derived([]string{}))
}

// Tests that import a package from a copy that setup installed would prove the base commit's code, whatever a patch does.

// A build removes what it has made before it makes it again. A layer cannot be removed.
func TestASmallDirectoryThatABuildMakesIsCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"dist/deep/a.js", "node_modules/b/index.js"} {
		write(t, filepath.Join(dir, name), "x")
	}
	for i := range 1001 {
		write(t, filepath.Join(dir, "site", strconv.Itoa(i)), "x")
	}
	e, _, err := newStore(t, t.TempDir()).Make(t.Context(), recipe("npm", "ci"), unasked, take(dir, "dist", "node_modules", "site"))
	require.NoError(t, err)
	require.Equal(t, []string{"dist"}, e.Files)
	require.Equal(t, []string{"node_modules", "site"}, e.Places)
	require.Equal(t, []string{"dist", "site"}, e.Derived(nil))
}
