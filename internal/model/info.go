package model

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
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
	// Thinking lists the levels that the model takes; empty means not known.
	Thinking []string `yaml:"thinking"`
	// MinCache is the smallest prefix, in tokens, that the service caches, by itself or in an explicit cache; 0 means that
	// nothing is known of caching. ExplicitCache says that caches can be made by name.
	MinCache      int  `yaml:"min_cache"`
	ExplicitCache bool `yaml:"explicit_cache"`
	// Prices are sorted by date.
	Prices []Price `yaml:"prices"`
}

// Price is USD per million tokens from a date on. Out holds for answer and thoughts alike.
type Price struct {
	From   time.Time `yaml:"from"`
	In     float64   `yaml:"in"`
	Out    float64   `yaml:"out"`
	Cached float64   `yaml:"cached"`
	// Storage is for an hour of an explicit cache; 0 means not known.
	Storage float64 `yaml:"storage"`
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

// PriceAt is the price on a day; false when none is known for it.
func (i Info) PriceAt(day time.Time) (Price, bool) {
	for _, p := range slices.Backward(i.Prices) {
		if !day.Before(p.From) {
			return p, true
		}
	}
	return Price{}, false
}
