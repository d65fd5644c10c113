package spec

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Gate is a command that decides pass or fail.
type Gate struct {
	Name    string   `json:"name" yaml:"name"`
	Command []string `json:"command" yaml:"command"`
	// Format is go-test-json, junit, tap or text (error lines); empty means guessed from the command.
	Format  string   `json:"format,omitempty" yaml:"format,omitempty"`
	Timeout Duration `json:"timeout,omitzero" yaml:"timeout,omitempty"`
}

// The providers of models.
const (
	ProviderGemini = "gemini"
	ProviderOpenAI = "openai" // any service with OpenAI's Chat Completions
)

// The service tiers.
const (
	TierStandard = "standard"
	TierPriority = "priority"
)

// Delegation bounds what agents ask of other agents. Zero means the default.
type Delegation struct {
	// Depth is how many agents may stand above an agent that was asked for by another; default 3.
	Depth int `json:"depth,omitempty" yaml:"depth,omitempty"`
	// FanOut is how many tasks one agent may have asked for that have not ended; default 8.
	FanOut int `json:"fan_out,omitempty" yaml:"fan_out,omitempty"`
}

// The defaults of Delegation.
const (
	DefaultDepth  = 3
	DefaultFanOut = 8
)

// Validate returns every fault of bounds that have been filled in: a zero that is still there was written.
func (d Delegation) Validate() []Problem {
	v := &problems{}
	for _, bound := range []struct {
		name  string
		value int
	}{{"depth", d.Depth}, {"fan_out", d.FanOut}} {
		if bound.value < 1 {
			v.addf("delegation."+bound.name, "", "%s is from 1 on; leave `%s` out of a role's tools to have none",
				bound.name, ToolDelegate)
		}
	}
	return v.list
}

// WithDefaults returns the bounds with every zero filled in.
func (d Delegation) WithDefaults() Delegation {
	if d.Depth == 0 {
		d.Depth = DefaultDepth
	}
	if d.FanOut == 0 {
		d.FanOut = DefaultFanOut
	}
	return d
}

// Model is one alias of the project file.
type Model struct {
	Provider string `json:"provider,omitempty" yaml:"provider,omitempty"`
	Name     string `json:"name" yaml:"name"`
	// Window is the input limit in tokens; MaxOutput the output limit of one call.
	Window    int `json:"window,omitempty" yaml:"window,omitempty"`
	MaxOutput int `json:"max_output,omitempty" yaml:"max_output,omitempty"`
	// Thinking is MINIMAL, LOW, MEDIUM or HIGH; empty leaves it to the model.
	Thinking string `json:"thinking,omitempty" yaml:"thinking,omitempty"`
	// BaseURL is the address of an OpenAI-compatible service, up to and with /v1; KeyEnv names the variable with its key, where
	// it wants one.
	BaseURL string `json:"base_url,omitempty" yaml:"base_url,omitempty"`
	KeyEnv  string `json:"key_env,omitempty" yaml:"key_env,omitempty"`
	// FirstByte and Silence are how long a call may wait for its first byte, and for each later one; 0 leaves it to the model.
	FirstByte Duration `json:"first_byte,omitzero" yaml:"first_byte,omitempty"`
	Silence   Duration `json:"silence,omitzero" yaml:"silence,omitempty"`
	// Fallback are the models that stand in, in their order, while this one is overloaded: aliases or names.
	Fallback []string `json:"fallback,omitempty" yaml:"fallback,omitempty"`
	// Tier is standard or priority; empty leaves it to the service.
	Tier string `json:"tier,omitempty" yaml:"tier,omitempty"`
	// PriceIn and PriceOut are USD per million tokens.
	PriceIn  float64 `json:"price_in,omitempty" yaml:"price_in,omitempty"`
	PriceOut float64 `json:"price_out,omitempty" yaml:"price_out,omitempty"`
}

// Project is <repo>/.divisi/divisi.yaml with every default filled in.
type Project struct {
	// Setup runs once before the baseline; what it writes to $DIVISI_TOOLS every later command can read.
	Setup []string `json:"setup,omitempty" yaml:"setup,omitempty"`
	// Loopback lets Setup reach this machine's own addresses too.
	Loopback bool   `json:"loopback,omitempty" yaml:"loopback,omitempty"`
	Gates    []Gate `json:"gates,omitempty" yaml:"gates,omitempty"`
	// Models maps aliases; the alias "default" serves roles that name none.
	Models map[string]Model `json:"models,omitempty" yaml:"models,omitempty"`
	// ModelOutage is how long a call goes on asking a service that is away; 0 means ten minutes.
	ModelOutage Duration `json:"model_outage,omitzero" yaml:"model_outage,omitempty"`
	// Limits are the defaults of every role.
	Limits Limits `json:"limits,omitzero" yaml:"limits,omitempty"`
	// Protected are globs that generators may not touch unless a task's files name them.
	Protected []string `json:"protected,omitempty" yaml:"protected,omitempty"`
	// Env names variables that commands may see beside the built-in allow-list.
	Env []string `json:"env,omitempty" yaml:"env,omitempty"`
	// MCPServers are tool servers that roles can name.
	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty" yaml:"mcp_servers,omitempty"`
	// Delegation bounds what agents ask of other agents.
	Delegation Delegation `json:"delegation,omitzero" yaml:"delegation,omitempty"`
	// Parallel is the default of --parallel.
	Parallel int `json:"parallel,omitempty" yaml:"parallel,omitempty"`
	// Budget is the default of --budget, in tokens; 0 means none.
	Budget int `json:"budget,omitempty" yaml:"budget,omitempty"`
}

// ModelName resolves a role's model, an alias or a name, to the model's name; empty means the alias "default".
func (p *Project) ModelName(model string) string {
	if model == "" {
		model = "default"
	}
	if m, ok := p.Models[model]; ok && m.Name != "" {
		return m.Name
	}
	return model
}

// Outage is how long a call goes on asking a service that is away.
func (p *Project) Outage() time.Duration { return cmp.Or(p.ModelOutage.Std(), 10*time.Minute) }

// Patience is how long a call of a model, by its name, may wait for its first byte and for each later one; 0 leaves it to the
// model. Of several aliases the most patient counts.
func (p *Project) Patience(name string) (first, silence time.Duration) {
	for _, m := range p.Models {
		if m.Name == name {
			first, silence = max(first, m.FirstByte.Std()), max(silence, m.Silence.Std())
		}
	}
	return first, silence
}

// Model returns the settings of a role's model, an alias or a name; the zero value for a name that no alias has.
func (p *Project) Model(model string) Model {
	if model == "" {
		model = "default"
	}
	if m, ok := p.Models[model]; ok {
		return m
	}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		if p.Models[alias].Name == model {
			return p.Models[alias]
		}
	}
	return Model{}
}

// UsableWindow is how many tokens a request may have: the model's window less a reserve for its answer, of max_output tokens
// but at most a quarter of the window. 0 means that the window is not known, and nothing is bounded.
func UsableWindow(m Model) int {
	reserve := m.Window / 4
	if m.MaxOutput > 0 {
		reserve = min(reserve, m.MaxOutput)
	}
	return m.Window - reserve
}

// RoleProblems returns why no task could fit a role here: its instruction alone fills the window of its model, or it names a
// tool server that nobody defines. Paths are those of Role.Validate.
func (p *Project) RoleProblems(role *Role) []Problem {
	v := &problems{}
	p.undefinedServers(v, role)
	window := UsableWindow(p.Model(role.Model))
	if !role.Runs(ExecutorModel) || window == 0 {
		return v.list
	}
	if tokens := (len(role.Instruction) + 3) / 4; tokens >= window {
		v.addf("instruction", "", "the instruction of role %s has about %d tokens, and its model %s takes %d: "+
			"shorten it, or give the role a model with a larger window", role.Name, tokens, p.ModelName(role.Model), window)
	}
	return v.list
}
