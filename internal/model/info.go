package model

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"math"
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

// Info describes a model. It is dated data, not truth: a user's own figures win.
type Info struct {
	Name string `yaml:"-"`
	// Known is false for a model that is not in the table, whose figures are defaults.
	Known bool `yaml:"-"`
	// Window is the input limit in tokens, MaxOutput the output limit of one call.
	Window    int `yaml:"window"`
	MaxOutput int `yaml:"max_output"`
	// Thinking lists the levels that the model takes, lowest first; empty means not known.
	Thinking []string `yaml:"thinking"`
	// Tiers are the service tiers that the model can be called in, with their price in percent of standard; nil means not known.
	Tiers map[string]int `yaml:"tiers"`
	// JSONWithTools reports that an answer in JSON can be asked for beside tools. It is false where nothing is known.
	JSONWithTools bool `yaml:"json_with_tools"`
	// MinCache is the smallest prefix, in tokens, that the service caches; 0 means that nothing is known of caching.
	MinCache int `yaml:"min_cache"`
	// Prices are sorted by date.
	Prices []Price `yaml:"prices"`
}

// Price is one row of the table: what a token costs from a date on. Out is the price of answer and thoughts alike.
type Price struct {
	From   time.Time `yaml:"from"`
	In     Rate      `yaml:"in"`
	Out    Rate      `yaml:"out"`
	Cached Rate      `yaml:"cached"`
	// Long replaces the price of calls whose prompt has more than Above tokens; nil means that there is one price.
	Long *LongPrice `yaml:"long"`
	// tiers are its model's.
	tiers map[string]int
}

// LongPrice is the price of a call with a long prompt.
type LongPrice struct {
	Above  int  `yaml:"above"`
	In     Rate `yaml:"in"`
	Out    Rate `yaml:"out"`
	Cached Rate `yaml:"cached"`
}

// Rate is the price of one token. Files have it in dollars for a million tokens.
type Rate spec.Money

// mostRate bounds a rate in files.
const mostRate = 1e6

func rateOf(perMillion float64) Rate {
	return Rate(math.Round(min(perMillion, mostRate) * float64(spec.Dollar) / 1e6))
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (r *Rate) UnmarshalYAML(read func(any) error) error {
	var perMillion float64
	err := read(&perMillion)
	*r = rateOf(perMillion)
	return err
}

// For is the price of one call with a prompt of so many tokens. What the table does not say of cached input stays as it is.
func (p Price) For(prompt int) Price {
	if l := p.Long; l != nil && prompt > l.Above {
		p.In, p.Out, p.Cached = l.In, l.Out, cmp.Or(l.Cached, p.Cached)
	}
	return p
}

// Cost is the price of calls in a service tier.
func (p Price) Cost(u spec.Usage, tier string) spec.Money {
	p = p.For(u.Prompt / max(1, u.Calls))
	cost := p.In.of(u.Prompt - u.Cached).Plus(p.Cached.of(u.Cached)).Plus(p.Out.of(u.Output + u.Thoughts))
	if percent, known := p.tiers[tier]; known {
		cost = Rate(cost).of(percent) / 100
	}
	return cost
}

// of returns the price of that many tokens, at most spec.MaxMoney.
func (r Rate) of(n int) spec.Money {
	if n <= 0 || r <= 0 {
		return 0
	}
	if Rate(n) > Rate(spec.MaxMoney)/r {
		return spec.MaxMoney
	}
	return spec.Money(r) * spec.Money(n)
}

// RowOf is the id of the price, on a day, of the first of some models that has one, each by its name or its alias: MODEL@FROM of
// the built-in table, with ALIAS= before it where the project has figures of its own. It is empty where none has a price.
func RowOf(project *spec.Project, day time.Time, aliases ...string) string {
	for _, alias := range aliases {
		row := strings.TrimPrefix(project.ModelName(alias), "models/")
		if p, known := Lookup(row).PriceAt(day); known {
			row += "@" + p.From.Format(time.DateOnly)
		} else {
			row = ""
		}
		if own := project.Model(alias); own.PriceIn > 0 && own.PriceOut > 0 {
			return cmp.Or(alias, "default") + "=" + row
		} else if row != "" {
			return row
		}
	}
	return ""
}

// PriceOf is the price that an id of RowOf stands for. Cached input whose price is not known costs what input costs; where the
// project names its own price of input, it keeps the table's discount.
func PriceOf(project *spec.Project, row string) (Price, bool) {
	at := strings.LastIndexByte(row, '=')
	name, from, _ := strings.Cut(row[at+1:], "@")
	var p Price
	day, err := time.Parse(time.DateOnly, from)
	known := err == nil
	if info := Lookup(name); known {
		p, known = info.PriceAt(day)
		p.Cached, p.tiers = cmp.Or(p.Cached, p.In), info.Tiers
	}
	if at < 0 {
		return p, known
	}
	own := project.Model(row[:at])
	cached, in := rateOf(own.PriceIn), rateOf(own.PriceIn)
	if known {
		cached = in * p.Cached / p.In
	}
	return Price{In: in, Out: rateOf(own.PriceOut), Cached: cached, tiers: p.tiers}, in > 0
}

// TableID names the content of the built-in table: what was computed with another one may be wrong.
func TableID() string { return fmt.Sprintf("%x", sha256.Sum256(modelsYAML))[:12] }

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

// Thinks reports whether the model takes a thinking level. What is not known is left to the server.
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

// Serves reports whether the model can be called in a tier. What is not known is left to the service.
func (i Info) Serves(tier string) bool {
	_, ok := i.Tiers[tier]
	return ok || tier == "" || i.Tiers == nil
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
