package text

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named matches a path in a text: between backticks, with a slash, or a file of the folder that was named last.
var named = regexp.MustCompile("`((?:cmd|configs|bus|contextscope|subagents|orchestrator|internal|docs)/[A-Za-z0-9_./*-]+|[a-z_]+\\.go)`")

// The pages that lead a reader to files name only files and folders that exist.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"docs/architecture.md": 25, "CONTRIBUTING.md": 20} {
		data, err := os.ReadFile(path.Join("../..", page))
		require.NoError(t, err)
		found, folder := 0, ""
		for _, m := range named.FindAllStringSubmatch(string(data), -1) {
			name := m[1]
			if !strings.Contains(name, "/") {
				name = path.Join(folder, name)
			}
			require.NotEmpty(t, glob(t, name), "%s names %s, which does not exist", page, m[1])
			if folder = name; path.Ext(name) != "" {
				folder = path.Dir(name)
			}
			found++
		}
		require.GreaterOrEqual(t, found, least, page)
	}
}

// glob lists the files that a path from the root names; its last part can be a pattern.
func glob(t *testing.T, name string) []string {
	t.Helper()
	out, err := os.ReadDir(path.Join("../..", path.Dir(name)))
	require.NoError(t, err, name)
	var found []string
	for _, e := range out {
		if ok, err := path.Match(path.Base(name), e.Name()); err == nil && ok {
			found = append(found, e.Name())
		}
	}
	return found
}
