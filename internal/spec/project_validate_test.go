package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Model)
		want   string // empty: nothing is wrong
	}{
		{"as it is", func(*Model) {}, ""},
		{"a key by name", func(m *Model) { m.KeyEnv = "ROUTER_KEY" }, ""},
		{"https", func(m *Model) { m.BaseURL = "https://router.test/api/v1/" }, ""},
		{"the standard address", func(m *Model) { m.BaseURL = "" }, ""},
		{"minimal", func(m *Model) { m.Thinking, m.Tier = "MINIMAL", TierPriority }, ""},
		{"stand-ins", func(m *Model) { m.Fallback = []string{"cheap", "gemini-3.8-flash", "gemini-3.7-flash", "big"} }, ""},
		{"name", func(m *Model) { m.Name = "" }, "models.local.name: the model has no name"},
		{
			"provider", func(m *Model) { m.Provider = "opnai" },
			`models.local.provider: provider "opnai" is not one of gemini, openai (did you mean "openai"?)`,
		},
		{"no scheme", func(m *Model) { m.BaseURL = "localhost:11434/v1" }, "models.local.base_url: the url is not of the form"},
		{"scheme", func(m *Model) { m.BaseURL = "ftp://a/v1" }, "models.local.base_url: the url is not of the form"},
		{"password", func(m *Model) { m.BaseURL = "http://me:hunter2@a/v1" }, "models.local.base_url: the url holds a user name"},
		{"query", func(m *Model) { m.BaseURL = "http://a/v1?k=hunter2" }, "models.local.base_url: the url has a query"},
		{"the key itself", func(m *Model) { m.KeyEnv = "sk-hunter2" }, "models.local.key_env: this is not a variable's name"},
		{
			"gemini elsewhere", func(m *Model) { m.Provider, m.KeyEnv = ProviderGemini, "K" },
			"models.local.base_url: base_url belongs to provider openai; Gemini's address and key are in the environment: " +
				"GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY\nmodels.local.key_env: key_env belongs to provider openai",
		},
		{"thinking", func(m *Model) { m.Thinking = "low" }, `models.local.thinking: thinking "low" is not one of MINIMAL, LOW, MEDIUM, HIGH`},
		{"tier", func(m *Model) { m.Tier = "cheap" }, `models.local.tier: tier "cheap" is not one of standard, priority`},
		{"removed tier", func(m *Model) { m.Tier = "flex" }, `models.local.tier: tier "flex" was removed: use standard or priority`},
		{
			"unknown stand-in", func(m *Model) { m.Fallback = []string{"chaep"} },
			`models.local.fallback[0]: there is no model "chaep"; there are big, cheap, local, ` +
				`llama-70b, gemini-3.5-flash-lite, qwen3:30b (did you mean "cheap"?)`,
		},
		{"itself", func(m *Model) { m.Fallback = []string{"local"} }, `models.local.fallback[0]: model "local" is tried already`},
		{"stronger", func(m *Model) { m.Stronger = "big" }, ""},
		{"no such alias", func(m *Model) { m.Stronger = "bigg" }, `models.local.stronger: there is no model alias "bigg"; there are big, cheap, local`},
		{"a model that is no alias", func(m *Model) { m.Stronger = "llama-70b" }, `models.local.stronger: there is no model alias "llama-70b"`},
		{"stronger than itself", func(m *Model) { m.Stronger = "local" }, `models.local.stronger: alias "local" is its own stronger model`},
		{"stronger in a circle", func(m *Model) { m.Stronger = "cheap" }, "models.cheap.stronger: the stronger models make a circle: cheap, local, cheap\n" +
			"models.local.stronger: the stronger models make a circle: local, cheap, local"},
		{"output", func(m *Model) { m.MaxOutput = 1 << 31 }, "models.local.max_output: 2147483648 is more than any model writes"},
		{"twice", func(m *Model) { m.Fallback = []string{"big", "big"} }, `models.local.fallback[1]: model "big" is tried already`},
		{
			"two places", func(m *Model) { m.Name = "llama-70b" },
			`models.local.name: model "llama-70b" is served elsewhere for the alias big`,
		},
		{"one place twice", func(m *Model) {
			m.Name, m.BaseURL, m.KeyEnv, m.Fallback = "llama-70b", "http://big.test/v1", "BIG_KEY", []string{"cheap"}
		}, ""},
	} {
		local := Model{Provider: ProviderOpenAI, Name: "qwen3:30b", BaseURL: "http://127.0.0.1:11434/v1", Fallback: []string{"big"}}
		c.change(&local)
		p := Project{Models: map[string]Model{
			"big":   {Provider: ProviderOpenAI, Name: "llama-70b", BaseURL: "http://big.test/v1", KeyEnv: "BIG_KEY"},
			"cheap": {Provider: ProviderGemini, Name: "gemini-3.5-flash-lite"},
			"local": local,
		}}
		if strings.HasSuffix(c.name, "in a circle") {
			cheap := p.Models["cheap"]
			cheap.Stronger = "local"
			p.Models["cheap"] = cheap
		}
		got := said(p.Validate())
		if c.name == "provider" {
			p.Models = map[string]Model{"embedding": {Name: "e"}}
			require.Contains(t, said(p.Validate()), `models.embedding: model "embedding" was removed: remove the alias`)
		}
		if c.want == "" {
			require.Empty(t, got, c.name)
			continue
		}
		require.Contains(t, got, c.want, c.name)
		require.NotContains(t, got, "hunter2", c.name)
	}
}

func TestBoundsOfDelegationAreFromOneOn(t *testing.T) {
	t.Parallel()
	require.Empty(t, Delegation{}.WithDefaults().Validate())
	require.Empty(t, Delegation{Depth: 1, FanOut: 1}.Validate())
	require.Equal(t, "delegation.depth: depth is from 1 on; leave `delegate` out of a role's tools to have none\n"+
		"delegation.fan_out: fan_out is from 1 on; leave `delegate` out of a role's tools to have none",
		said(Delegation{}.Validate()))
	require.Equal(t, "delegation.fan_out: -2 is below 1", said((&Project{Delegation: Delegation{FanOut: -2}}).Validate()))
}

func TestLoopbackOfAProjectIsForItsSetup(t *testing.T) {
	t.Parallel()
	p := Project{Loopback: true}
	require.Contains(t, said(p.Validate()), "loopback: loopback is for setup alone")
	p.Setup.Command = []string{"make", "deps"}
	require.Empty(t, p.Validate())
}

// A co-author goes into the trailers of commits: no other line may come of it.
func TestCoAuthorIsANameAndAnAddress(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		"Gemini 3.8 <gemini@example.com>": true, "Zoë <z@x.y>": true, "gemini@example.com": false, "G <localhost>": false,
		"G <g@x.y>\nDivisi-Unverified: no": false, "G\n <g@x.y>": false, "G <g@x.y> <h@x.y>": false, "<g@x.y>": false,
	} {
		p := Project{CoAuthor: text}
		require.Equal(t, right, !strings.Contains(said(p.Validate()), "co_author"), text)
	}
}
