package spec

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
)

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

// Model is one alias of the project file. Zero durations and an empty Thinking or Tier leave the choice to the service.
type Model struct {
	Provider  string   `json:"provider,omitempty" enum:"gemini,openai" jsonschema:"Who serves the model; default gemini."`
	Name      string   `json:"name" jsonschema:"The model's name at its provider."`
	Window    int      `json:"window,omitempty" jsonschema:"Input limit in tokens."`
	MaxOutput int      `json:"max_output,omitempty" jsonschema:"Output limit of one call, in tokens."`
	Thinking  string   `json:"thinking,omitempty" enum:"MINIMAL,LOW,MEDIUM,HIGH" jsonschema:"How much it thinks; default left to the model."`
	BaseURL   string   `json:"base_url,omitempty" jsonschema:"Address of an OpenAI-compatible service, up to and with /v1."`
	KeyEnv    string   `json:"key_env,omitempty" jsonschema:"Variable with the service's key, where it needs one."`
	FirstByte Duration `json:"first_byte,omitzero" jsonschema:"Longest wait for an answer's first byte, e.g. 90s; default 1m, longer for models that think for long."`
	Silence   Duration `json:"silence,omitzero" jsonschema:"Longest silence in the middle of an answer; default 1m."`
	Fallback  []string `json:"fallback,omitempty" jsonschema:"Fallback models, in this order, while this one is overloaded: aliases or names."`
	Stronger  string   `json:"stronger,omitempty" jsonschema:"Alias of the model that takes over a task after the same failure twice."`
	Tier      string   `json:"tier,omitempty" enum:"standard,priority" jsonschema:"Service tier; default left to the service."`
	PriceIn   float64  `json:"price_in,omitempty" minimum:"0" jsonschema:"USD per million tokens of input."`
	PriceOut  float64  `json:"price_out,omitempty" minimum:"0" jsonschema:"USD per million tokens of output."`
}

// Project is <repo>/.divisi/divisi.yaml with every default filled in.
type Project struct {
	Setup       Setup       `json:"setup,omitzero" jsonschema:"A command that runs once, before the baseline; or command and key."`
	Environment Environment `json:"environment,omitzero" jsonschema:"Ignored paths of your own checkout that every tree gets in place of a setup: the word checkout, or a list."`
	// Toolchain lists requirements for workers elsewhere.
	Toolchain   map[string]string `json:"toolchain,omitempty" jsonschema:"What workers elsewhere must have: versions by program, e.g. {go: 1.26, node: 20.11}, or what they were started inside of, e.g. {image: sha256:...}."`
	Pins        string            `json:"pins,omitempty" enum:"shell,require" jsonschema:"Where a file such as .nvmrc or go.mod names a version that this machine lacks. require: refuse to start. shell: use the programs of the shell. Default: ask on a terminal, else report it."`
	Regenerate  []string          `json:"regenerate,omitempty" jsonschema:"A command without network that makes derived files again in each tested tree, before its gates."`
	Derived     []string          `json:"derived,omitzero" jsonschema:"Globs of ignored paths that are made from tracked files; default guessed from what setup leaves."`
	Loopback    bool              `json:"loopback,omitempty" jsonschema:"Lets setup reach this machine's own addresses through the proxy too."`
	History     string            `json:"history,omitempty" enum:"full" jsonschema:"full: the trees of agents have the files of the whole history, as those of gates do; default its commits alone."`
	Gates       []Gate            `json:"gates,omitempty" jsonschema:"The commands that decide pass or fail, in their order; default detected."`
	CI          CI                `json:"ci,omitzero" jsonschema:"Commands of continuous integration and what becomes of them here."`
	Services    []Service         `json:"services,omitempty" jsonschema:"Programs that the gates need beside them, such as a database: confined, without network, restarted for each try."`
	Models      map[string]Model  `json:"models,omitempty" jsonschema:"Names for models; the alias default serves roles that name none."`
	ModelOutage Duration          `json:"model_outage,omitzero" jsonschema:"How long agents wait for a model's service that is away; default 10m."`
	QuotaWait   Duration          `json:"quota_wait,omitzero" jsonschema:"How long attempts wait for a quota that is used up, at most; default 6h. 1s stops the run at once."`
	Limits      Limits            `json:"limits,omitzero" jsonschema:"Limits of one attempt where neither task nor role says."`
	Protected   []string          `json:"protected,omitempty" jsonschema:"Globs that no task changes unless it names them."`
	Env         []string          `json:"env,omitempty" jsonschema:"Names of variables that commands may see."`

	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty" jsonschema:"Tool servers that roles can name."`

	ToolOutput map[string]ToolOutput `json:"tool_output,omitempty" jsonschema:"What becomes of large output, by tool; a role's own wins. Default: summaries for run_command and search."`
	Summaries  Summaries             `json:"summaries,omitzero" jsonschema:"How large output is summarised."`

	Delegation Delegation `json:"delegation,omitzero" jsonschema:"Bounds of what agents ask of other agents."`
	// Prove, Commits, CoAuthor and GatePermits rule the landing queue.
	Prove       string `json:"prove,omitempty" enum:"batch,each" jsonschema:"batch (default): gates run on many patches merged together. each: on one patch at a time; the command line wins."`
	Commits     string `json:"commits,omitempty" enum:"set,each" jsonschema:"set (default): a change set lands as one commit. each: as one for each patch of its tasks."`
	CoAuthor    string `json:"co_author,omitempty" jsonschema:"Who commits with an agent's patch name as co-author, e.g. Gemini <gemini@example.com>; default none."`
	GatePermits int    `json:"gate_permits,omitempty" minimum:"0" jsonschema:"Trees that are tested at once; default one for every 4 cores, at least 1."`

	Parallel int    `json:"parallel,omitempty" jsonschema:"Attempts at once; the command line wins."`
	Budget   Budget `json:"budget,omitzero" jsonschema:"What the run may use: tokens, such as 2000000, or dollars, such as 5usd; the command line wins. Default none."`
	// BudgetDay bounds all runs of a machine whose settings have it.
	BudgetDay Budget `json:"budget_day,omitzero" jsonschema:"What all runs of this machine that have the field may use on a day together: tokens or dollars, as in budget. Default none."`
}

// CI reports what a person has decided about commands that CI runs and no gate does.
type CI struct {
	// Skip is not nil where the file was proposed with a list of them.
	Skip []string `json:"skip,omitzero" jsonschema:"Commands of CI that become no gates, as the proposed file names them. A run reports others that could be gates."`
}

// RegenerateGate is the name of the gate that Project.Regenerate is.
const RegenerateGate = "regenerate"

// MutantsGate is the name of the gate that proves tests of code that exists: see package mutant.
const MutantsGate = "mutants"

// WeakerGate is the name of the gate that tries whether tests which a patch changes still notice what they noticed.
const WeakerGate = "weaker"

// AllGates returns the gates with the one that makes derived files again, which comes first: its failure is the patch's, and what
// it leaves in ignored paths the others see.
func (p *Project) AllGates() []Gate {
	if len(p.Regenerate) == 0 || slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Name == RegenerateGate }) {
		return p.Gates
	}
	return slices.Insert(slices.Clone(p.Gates), 0, Gate{Name: RegenerateGate, Command: p.Regenerate})
}

// derivedProblems faults what is regenerated.
func (p *Project) derivedProblems(v *problems) {
	v.argv("regenerate", p.Regenerate)
	for i, g := range p.Gates {
		if g.Name == RegenerateGate && len(p.Regenerate) > 0 && !slices.Equal(g.Command, p.Regenerate) {
			v.addf(fmt.Sprintf("gates[%d].name", i), "",
				"%s is the name of the gate that the field regenerate is", RegenerateGate)
		}
		if g.Name == MutantsGate || g.Name == WeakerGate {
			v.addf(fmt.Sprintf("gates[%d].name", i), "", "%s is the name of a gate that tries tests", g.Name)
		}
	}
	for i, glob := range p.Derived {
		if problem, instead := globProblem(strings.TrimSuffix(glob, "/")); problem != "" {
			v.addf(fmt.Sprintf("derived[%d]", i), instead, "%q: %s", glob, problem)
		}
	}
}

// The words of Project.Prove.
const (
	ProveBatch = "batch"
	ProveEach  = "each"
)

// CommitsEach is the word of Project.Commits for a commit for each patch.
const CommitsEach = "each"

// ModelName resolves a role's model, an alias or a name, to the model's name; empty means the alias "default".
func (p *Project) ModelName(model string) string {
	model = cmp.Or(model, "default")
	if m, ok := p.Models[model]; ok && m.Name != "" {
		return m.Name
	}
	return model
}

// Outage is how long a call continues asking a service that is away.
func (p *Project) Outage() time.Duration { return cmp.Or(p.ModelOutage.Std(), 10*time.Minute) }

// Quota is how long attempts wait for a quota that is used up.
func (p *Project) Quota() time.Duration { return cmp.Or(p.QuotaWait.Std(), 6*time.Hour) }

// Patience is how long a call of a model, by its name, may wait for its first byte and for each later one; 0 leaves it to the
// model. Of several aliases the longest times count.
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
	model = cmp.Or(model, "default")
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
// tool server that is not defined. Paths are those of Role.Validate.
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

var (
	envName  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	coAuthor = lazyregexp.New(`^[^<>\pC]{1,100} <[^<>\s\pC]{1,100}@[^<>\s\pC]{1,100}>$`)
	secret   = lazyregexp.New(`(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL`)
	gateName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// SecretName reports whether an environment variable's name looks like that of a secret.
func SecretName(name string) bool { return secret.MatchString(name) }

// RepositoryVars are the variables with which git tells what it starts, a hook for one, where its repository is. In another tree
// they have git work on that repository all the same.
var RepositoryVars = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR
	GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH GIT_SHALLOW_FILE GIT_GRAFT_FILE
	GIT_REPLACE_REF_BASE GIT_NAMESPACE GIT_PREFIX GIT_INTERNAL_SUPER_PREFIX GIT_CEILING_DIRECTORIES
	GIT_DISCOVERY_ACROSS_FILESYSTEM`)

const namesRepository = "%s names the repository of the shell that starts Divisi, and commands work in a tree of their own: " +
	"take it out"

// The values of Pins.
const (
	PinsShell   = "shell"
	PinsRequire = "require"
)

// HistoryFull has trees of agents have the files of the whole history.
const HistoryFull = "full"

// Validate returns every fault of the project file, but for those of Delegation, which has its own: its zero means the default
// everywhere but in a file.
func (p *Project) Validate() []Problem {
	v := &problems{}
	p.Setup.problems(v)
	p.derivedProblems(v)
	p.Environment.problems(v)
	if !p.Environment.IsZero() && len(p.Setup.Command) > 0 {
		v.addf("environment", "", "setup makes the environment already: keep one of setup and environment")
	}
	if p.Loopback && len(p.Setup.Command) == 0 {
		v.addf("loopback", "", "loopback is for setup alone, and there is none: a role has a field of its own")
	}
	for i := range p.Gates {
		p.gateProblems(v, i)
	}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[alias]
		m.problems(v, "models."+alias)
		p.fallbackProblems(v, alias)
		p.strongerProblems(v, alias)
		p.placeProblems(v, alias)
	}
	if p.CoAuthor != "" && !coAuthor.MatchString(p.CoAuthor) {
		v.addf("co_author", "", "%q must be a name and an address: NAME <name@example.com>", p.CoAuthor)
	}
	for i, glob := range p.Protected {
		v.glob(fmt.Sprintf("protected[%d]", i), glob)
	}
	for i, name := range p.Env {
		if at := fmt.Sprintf("env[%d]", i); !envName.MatchString(name) {
			v.addf(at, "", "%q is not a variable's name; values are taken from the environment", name)
		} else if SecretName(name) {
			v.addf(at, "", "%s looks like a secret, and commands never see secrets", name)
		} else if slices.Contains(RepositoryVars, name) {
			v.addf(at, "", namesRepository, name)
		}
	}
	p.serverProblems(v)
	p.serviceProblems(v)
	for _, name := range slices.Sorted(maps.Keys(p.ToolOutput)) {
		if !strings.HasPrefix(name, MCPPrefix) {
			v.known("tool_output."+name, "tool", name, append(Tools(), AnyTool))
		}
	}
	outputProblems(v, p.ToolOutput)
	p.Summaries.problems(v)
	v.values("", reflect.ValueOf(*p))
	return v.list
}

func (m *Model) problems(v *problems, at string) {
	if m.Name == "" {
		v.addf(at+".name", "", "the model has no name")
	}
	if m.MaxOutput > math.MaxInt32 {
		v.addf(at+".max_output", "", "%d is more than any model writes", m.MaxOutput)
	}
	m.serviceProblems(v, at)
}

// serviceProblems faults where a model is served. Values are not shown: a key may stand where a name should.
func (m *Model) serviceProblems(v *problems, at string) {
	if m.BaseURL != "" {
		if fault := addressFault(m.BaseURL); fault != "" {
			v.addf(at+".base_url", "", "%s", fault)
		} else if strings.Contains(m.BaseURL, "?") {
			v.addf(at+".base_url", "", "the url has a query: it must end with /v1")
		}
	}
	if m.KeyEnv != "" && !envName.MatchString(m.KeyEnv) {
		v.addf(at+".key_env", "", "this is not a variable's name; the key is taken from the environment")
	}
	if m.Provider == ProviderOpenAI {
		return
	}
	for _, f := range []struct{ name, value string }{{"base_url", m.BaseURL}, {"key_env", m.KeyEnv}} {
		if f.value != "" {
			v.addf(at+"."+f.name, "", "%s belongs to provider %s; Gemini's address and key are in the environment: "+
				"GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY", f.name, ProviderOpenAI)
		}
	}
}

// fallbackProblems faults fallback models that are not known. A model of Gemini's needs no alias.
func (p *Project) fallbackProblems(v *problems, alias string) {
	own := p.Models[alias]
	names := slices.Sorted(maps.Keys(p.Models))
	for _, other := range slices.Sorted(maps.Keys(p.Models)) {
		names = append(names, p.Models[other].Name)
	}
	for i, name := range own.Fallback {
		path := fmt.Sprintf("models.%s.fallback[%d]", alias, i)
		switch {
		case p.ModelName(name) == own.Name || slices.Index(own.Fallback, name) != i:
			v.addf(path, "", "model %q is tried already", name)
		case !strings.HasPrefix(name, "gemini-"):
			v.known(path, "model", name, names)
		}
	}
}

// strongerProblems faults a stronger model that is no alias, or that leads back to this one.
func (p *Project) strongerProblems(v *problems, alias string) {
	own, path := p.Models[alias].Stronger, "models."+alias+".stronger"
	if own == "" {
		return
	}
	if own == alias {
		v.addf(path, "", "alias %q is its own stronger model", alias)
		return
	}
	v.known(path, "model alias", own, slices.Sorted(maps.Keys(p.Models)))
	way := p.Stronger(alias)
	if last := way[len(way)-1]; p.Models[last].Stronger == alias {
		circle := append([]string{alias}, append(way, alias)...)
		v.addf(path, "", "the stronger models make a circle: %s", strings.Join(circle, ", "))
	}
}

// Stronger lists the aliases of the models that are stronger than a role's model, an alias or a name, the weakest first.
func (p *Project) Stronger(model string) (way []string) {
	for next := p.Model(model).Stronger; next != "" && next != cmp.Or(model, "default") && !slices.Contains(way, next); {
		way, next = append(way, next), p.Models[next].Stronger
	}
	return way
}

// placeProblems faults aliases that mean nothing any more, and two aliases that give one model two services: a request
// says the model's name alone.
func (p *Project) placeProblems(v *problems, alias string) {
	own := p.Models[alias]
	if gone := Removed("model", alias); gone != "" {
		v.addf("models."+alias, "", "%s", gone)
	}
	for _, other := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[other]
		if other == alias {
			return // each pair is told once, at the later one
		}
		if m.Name == own.Name && (m.Provider != own.Provider || m.BaseURL != own.BaseURL || m.KeyEnv != own.KeyEnv) {
			v.addf("models."+alias+".name", "", "model %q is served elsewhere for the alias %s: provider, base_url and key_env "+
				"of one model are the same", own.Name, other)
			return
		}
	}
}
