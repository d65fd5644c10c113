package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/wire"
)

func TestPersonIsAlwaysAnIdentity(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ada":                     "user:ada",
		"":                        "user",
		`DOMAIN\ada l`:            "user:DOMAIN-ada-l",
		"a\x1b[31m\nb":            "user:a--31m-b",
		"\xff:/*.>":               "user:------",
		strings.Repeat("x", 5000): "user:" + strings.Repeat("x", 64),
	} {
		require.Equal(t, want, wire.Person(name))
		require.True(t, wire.IsPerson(want))
		require.Equal(t, "user", wire.Speaker(want), "no model is told the name")
	}
}

func TestIsPersonRefusesWhatIsNoIdentity(t *testing.T) {
	t.Parallel()
	for _, author := range []string{
		"", "user:", "policy", "conductor", "one/1", "master/2", "user:one/1", "user:a b", "user:\x1b[31m", "User:ada",
		"user:a:b", "user:" + strings.Repeat("x", 65),
	} {
		require.False(t, wire.IsPerson(author), author)
		require.Equal(t, author, wire.Speaker(author))
	}
}

func TestAPersonWhoActsThroughAClientIsStillThatPerson(t *testing.T) {
	t.Parallel()
	for client, want := range map[string]string{
		"claude-code":             "user:ada--mcp-claude-code",
		"":                        "user:ada--mcp-user",
		"Visual \x1b[31mStudio\n": "user:ada--mcp-Visual---31mStudio-",
		"eve--mcp-x":              "user:ada--mcp-eve--mcp-x",
		strings.Repeat("c", 500):  "user:ada--mcp-" + strings.Repeat("c", 64-len("ada--mcp-")),
	} {
		author := wire.Person(wire.Through("ada", client))
		require.Equal(t, want, author)
		require.True(t, wire.IsPerson(author))
		require.True(t, wire.ByProgram(author))
	}
	long := strings.Repeat("x", 64)
	for _, author := range []string{wire.Person(wire.Through(long, "vim")), wire.Vouched(long, "user:eve--mcp-vim")} {
		require.True(t, wire.IsPerson(author))
		require.True(t, wire.ByProgram(author), "a long name does not hide the program: %s", author)
	}
	for _, author := range []string{"user", "user:ada", "policy", "a--mcp-b/1"} {
		require.False(t, wire.ByProgram(author), author)
	}
	require.Equal(t, "user:ada", wire.Vouched("ada", "user:eve"), "an author says who it is, the server knows")
	require.Equal(t, "user:ada", wire.Vouched("ada", ""))
	require.Equal(t, "user:ada--mcp-vim", wire.Vouched("ada", "user:eve--mcp-vim"), "which program it is, the author says")
	require.Equal(t, "user:ada--mcp-v-m--31m", wire.Vouched("ada", "user:eve--mcp-v m\x1b[31m"))
}
