package environment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
