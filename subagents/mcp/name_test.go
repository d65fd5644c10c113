package mcp

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	names := toolNames("db", []string{"query", "list tables", "a.b", "a/b", "a_b", "ünï", "", long, long + "y", strings.Repeat("z", 57)})
	require.Equal(t, map[string]string{
		"query": "mcp_db_query", "list tables": "mcp_db_list_tables", "a_b": "mcp_db_a_b", "ünï": "mcp_db__n_",
		"a.b": "mcp_db_a_b_" + names["a.b"][11:], "a/b": "mcp_db_a_b_" + names["a/b"][11:],
		long: "mcp_db_" + long[:48] + names[long][55:], long + "y": "mcp_db_" + long[:48] + names[long+"y"][55:],
		strings.Repeat("z", 57): "mcp_db_" + strings.Repeat("z", 57),
	}, names)
	// The hash of another tool's name as a name.
	stolen := strings.TrimPrefix(names["a.b"], "mcp_db_")
	require.Equal(t, map[string]string{"a_b": "mcp_db_a_b", stolen: names["a.b"]}, toolNames("db", []string{"a.b", "a_b", stolen}))
}

func FuzzToolNames(f *testing.F) {
	f.Add("a/b\x00a_b\x00a.b")
	f.Add(strings.Repeat("n", 100) + "\x00" + strings.Repeat("n", 101))
	f.Add("\xff\xfe\x00\u202e")
	shape := regexp.MustCompile(`^mcp_server-of-24-characters_[a-zA-Z0-9_-]+$`)
	f.Fuzz(func(t *testing.T, joined string) {
		tools := strings.Split(joined, "\x00")
		names := toolNames("server-of-24-characters", tools)
		seen := map[string]string{}
		for own, name := range names {
			require.Regexp(t, shape, name)
			require.LessOrEqual(t, len(name), maxName)
			require.Empty(t, seen[name], "%q and %q", own, seen[name])
			seen[name] = own
		}
		slices.Reverse(tools)
		require.Equal(t, names, toolNames("server-of-24-characters", tools))
	})
}
