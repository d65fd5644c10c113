package model

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"divisi/internal/spec"
)

// DefaultModel serves roles that name no model.
const DefaultModel = "gemini-3.8-flash"

// geminiMinCache is the smallest cached prefix of the Gemini 3 family, for names that the table does not have yet.
const geminiMinCache = 4096

//go:embed models.yaml
var modelsYAML []byte

// Info is what is known of a model. It is dated data, not truth: a user's own figures win.
type Info struct {
	Name string `yaml:"-"`
	// Known is false for a model that is not in the table, whose figures are defaults.
	Known bool `yaml:"-"`
	// Window is the input limit in tokens, MaxOutput the output limit of one call.
	Window    int `yaml:"window"`
	MaxOutput int `yaml:"max_output"`
	// Thinking lists the levels that the model takes, lowest first; empty means not known.
	Thinking []string `yaml:"thinking"`
	// Tiers are the service tiers that the model can be called in, with what they cost against standard; nil means not known.
	Tiers map[string]float64 `yaml:"tiers"`
	// JSONWithTools says that an answer in JSON can be asked for beside tools. It is false where nothing is known.
	JSONWithTools bool `yaml:"json_with_tools"`
	// MinCache is the smallest prefix, in tokens, that the service caches; 0 means that nothing is known of caching.
	MinCache int `yaml:"min_cache"`
	// Prices are sorted by date.
	Prices []Price `yaml:"prices"`
}

// Price is USD per million tokens from a date on. Out is the price of answer and thoughts alike.
type Price struct {
	From   time.Time `yaml:"from"`
	In     float64   `yaml:"in"`
	Out    float64   `yaml:"out"`
	Cached float64   `yaml:"cached"`
	// Long replaces the price of calls whose prompt has more than Above tokens; nil means that there is one price.
	Long *LongPrice `yaml:"long"`
}

// LongPrice is what a call with a long prompt costs.
type LongPrice struct {
	Above  int     `yaml:"above"`
	In     float64 `yaml:"in"`
	Out    float64 `yaml:"out"`
	Cached float64 `yaml:"cached"`
}

// For is the price of one call with a prompt of so many tokens. What the table does not say of cached input stays as it is.
func (p Price) For(prompt int) Price {
	if l := p.Long; l != nil && prompt > l.Above {
		p.In, p.Out, p.Cached = l.In, l.Out, cmp.Or(l.Cached, p.Cached)
	}
	return p
}

// Cost is what calls cost, in dollars.
func (p Price) Cost(u spec.Usage) float64 {
	p = p.For(u.Prompt / max(1, u.Calls))
	return (float64(u.Prompt-u.Cached)*p.In + float64(u.Cached)*p.Cached + float64(u.Output+u.Thoughts)*p.Out) / 1e6
}

// PriceOf is what a model, by its name or its alias, costs on a day: the project's own figures, else the built-in table's. Cached
// input whose price is not known costs what input costs; where the project names its own price of input, it keeps the table's
// discount.
func PriceOf(project *spec.Project, alias string, day time.Time) (Price, bool) {
	p, known := Lookup(project.ModelName(alias)).PriceAt(day)
	if p.Cached == 0 {
		p.Cached = p.In
	}
	own := project.Model(alias)
	if own.PriceIn <= 0 || own.PriceOut <= 0 {
		return p, known
	}
	cached := own.PriceIn
	if known {
		cached *= p.Cached / p.In
	}
	return Price{In: own.PriceIn, Out: own.PriceOut, Cached: cached}, true
}

type table struct {
	AsOf   time.Time       `yaml:"as_of"`
	Models map[string]Info `yaml:"models"`
}

// models is the built-in table. It is part of the program: a fault in it is a programmer's mistake.
var models = sync.OnceValue(func() table {
	var t table
	if err := yaml.UnmarshalWithOptions(modelsYAML, &t, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("model: models.yaml: %v", err))
	}
	return t
})

// Lookup returns what is known of a model; for an unknown one careful defaults, larger when the name is a Gemini's.
func Lookup(name string) Info {
	short := strings.TrimPrefix(name, "models/")
	if info, ok := models().Models[short]; ok {
		info.Name, info.Known = name, true
		return info
	}
	if strings.HasPrefix(short, "gemini-") {
		return Info{Name: name, Window: 1 << 20, MaxOutput: 1 << 16, MinCache: geminiMinCache}
	}
	return Info{Name: name, Window: 1 << 17, MaxOutput: 1 << 13}
}

// Thinks says whether the model takes a thinking level. What is not known is left to the server.
func (i Info) Thinks(level string) bool {
	return len(i.Thinking) == 0 || slices.Contains(i.Thinking, level)
}

// levels are the thinking levels, lowest first.
var levels = []string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}

// nearest is the level of those that the model takes that comes closest to one, the higher of two; empty when its levels are
// not known.
func (i Info) nearest(level string) string {
	at, best, far := slices.Index(levels, level), "", len(levels)
	for _, l := range i.Thinking {
		if d := slices.Index(levels, l) - at; max(d, -d) <= far {
			best, far = l, max(d, -d)
		}
	}
	return best
}

// Serves says whether the model can be called in a tier. What is not known is left to the service.
func (i Info) Serves(tier string) bool {
	_, ok := i.Tiers[tier]
	return ok || tier == "" || i.Tiers == nil
}

// Factor is what a tier costs against standard; 1 where nothing is known.
func (i Info) Factor(tier string) float64 {
	if f, ok := i.Tiers[tier]; ok {
		return f
	}
	return 1
}

// usable is how many tokens a request may have, as spec.UsableWindow reckons it.
func (i Info) usable() int {
	return spec.UsableWindow(spec.Model{Window: i.Window, MaxOutput: i.MaxOutput})
}

// PriceAt is the price on a day; false when none is known for it.
func (i Info) PriceAt(day time.Time) (Price, bool) {
	for _, p := range slices.Backward(i.Prices) {
		if !day.Before(p.From) {
			return p, true
		}
	}
	return Price{}, false
}
