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
	// Names are further names of the model at its service, such as the one with the day of its snapshot.
	Names []string `yaml:"names"`
	// MinCache is the smallest prefix, in tokens, that the service caches; 0 means that nothing is known of caching.
	MinCache int `yaml:"min_cache"`
	// Prices are sorted by date.
	Prices []Price `yaml:"prices"`
}

// Price is one row of the table: what a token costs from a date on, until the end of another if it has one. Source is the page of
// the service that says so.
type Price struct {
	From   time.Time `yaml:"from"`
	Until  time.Time `yaml:"until"`
	Source string    `yaml:"source"`
	Rates  `yaml:",inline"`
	// Long replaces the price of calls whose prompt has more than Above tokens; nil means that there is one price.
	Long *LongPrice `yaml:"long"`
	// tiers are its model's.
	tiers map[string]int
}

// LongPrice is the price of a call with a long prompt.
type LongPrice struct {
	Above int `yaml:"above"`
	Rates `yaml:",inline"`
}

// Rates are what tokens cost by type. Out is that of answer and thoughts alike; Written is that of input that the service keeps
// for minutes, WrittenHour of what it keeps for an hour.
type Rates struct {
	In          Rate `yaml:"in"`
	Out         Rate `yaml:"out"`
	Cached      Rate `yaml:"cached"`
	Written     Rate `yaml:"written"`
	WrittenHour Rate `yaml:"written_hour"`
}

// whole has the price of input where none is known of cached or written input.
func (r Rates) whole() Rates {
	r.Cached, r.Written = cmp.Or(r.Cached, r.In), cmp.Or(r.Written, r.In)
	r.WrittenHour = cmp.Or(r.WrittenHour, r.Written)
	return r
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

// For are the rates of one call with a prompt of so many tokens.
func (p Price) For(prompt int) Rates {
	if l := p.Long; l != nil && prompt > l.Above {
		return l.whole()
	}
	return p.whole()
}

// Cost is the price of calls in a service tier.
func (p Price) Cost(u spec.Usage, tier string) spec.Money {
	r := p.For(u.Prompt / max(1, u.Calls))
	return p.inTier(r.In.of(u.Prompt-u.Cached-u.Written).Plus(r.Cached.of(u.Cached)).Plus(r.Written.of(u.Written-u.WrittenHour)).
		Plus(r.WrittenHour.of(u.WrittenHour)).Plus(r.Out.of(u.Output+u.Thoughts)), tier)
}

// Most is the most that one call in a service tier costs with at most so many tokens: however much of its prompt is written.
func (p Price) Most(prompt, output int, tier string) spec.Money {
	r := p.For(prompt)
	return p.inTier(max(r.In, r.Cached, r.Written, r.WrittenHour).of(prompt).Plus(r.Out.of(output)), tier)
}

func (p Price) inTier(cost spec.Money, tier string) spec.Money {
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
		row := tableName(project.ModelName(alias))
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

// PriceOf is the price that an id of RowOf stands for. Where the project names its own price of input, cached and written input
// keep their relation to it.
func PriceOf(project *spec.Project, row string) (Price, bool) {
	at := strings.LastIndexByte(row, '=')
	name, from, _ := strings.Cut(row[at+1:], "@")
	var p Price
	day, err := time.Parse(time.DateOnly, from)
	known := err == nil
	if info := Lookup(name); known {
		p, known = info.PriceAt(day)
		p.tiers = info.Tiers
	}
	if at < 0 {
		return p, known
	}
	own := project.Model(row[:at])
	rates := Rates{In: rateOf(own.PriceIn), Out: rateOf(own.PriceOut)}
	if r := p.whole(); known {
		of := func(rate Rate) Rate { return rates.In * rate / r.In }
		rates.Cached, rates.Written, rates.WrittenHour = of(r.Cached), of(r.Written), of(r.WrittenHour)
	}
	return Price{Rates: rates, tiers: p.tiers}, rates.In > 0
}

// TableID names the content of the built-in table: what was computed with another one may be wrong.
func TableID() string { return fmt.Sprintf("%x", sha256.Sum256(modelsYAML))[:12] }

type table struct {
	AsOf    time.Time         `yaml:"as_of"`
	Sources map[string]string `yaml:"sources"`
	Models  map[string]Info   `yaml:"models"`
	// names has the model of each further name.
	names map[string]string
}

// models is the built-in table. It is part of the program: a fault in it is a programmer's mistake.
var models = sync.OnceValue(func() table {
	var t table
	if err := yaml.UnmarshalWithOptions(modelsYAML, &t, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("model: models.yaml: %v", err))
	}
	t.names = map[string]string{}
	for model, info := range t.Models {
		for _, name := range info.Names {
			t.names[name] = model
		}
	}
	return t
})

// tableName is the name that a model has in the table. Names that the table does not list are none of its models': a snapshot of
// another day, or a name that only begins alike, can have another price. Claude Code marks a model's long window with [1m].
func tableName(name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "models/"), "[1m]")
	return cmp.Or(models().names[name], name)
}

// Lookup returns what is known of a model; for an unknown one careful defaults, larger when the name is a Gemini's.
func Lookup(name string) Info {
	short := tableName(name)
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
		switch {
		case day.Before(p.From):
		case !p.Until.IsZero() && !day.Before(p.Until.AddDate(0, 0, 1)):
			return Price{}, false
		default:
			return p, true
		}
	}
	return Price{}, false
}
