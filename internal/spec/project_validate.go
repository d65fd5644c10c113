package spec

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secret   = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL`)
	gateName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// SecretName reports whether an environment variable's name looks like that of a secret.
func SecretName(name string) bool { return secret.MatchString(name) }

// Validate returns every fault of the project file, but for those of Delegation, which has its own: its zero means the default
// everywhere but in a file.
func (p *Project) Validate() []Problem {
	v := &problems{}
	v.argv("setup", p.Setup)
	if p.Loopback && len(p.Setup) == 0 {
		v.addf("loopback", "", "loopback is for setup alone, and there is none: a role has a field of its own")
	}
	for i := range p.Gates {
		p.gateProblems(v, i)
	}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[alias]
		m.problems(v, "models."+alias)
		p.fallbackProblems(v, alias)
		p.placeProblems(v, alias)
	}
	for i, glob := range p.Protected {
		path := fmt.Sprintf("protected[%d]", i)
		if problem := pathProblem(glob); problem != "" {
			v.addf(path, "", "%q: %s", glob, problem)
		} else if !doublestar.ValidatePattern(glob) {
			v.addf(path, "", "%q: the glob is malformed", glob)
		}
	}
	for i, name := range p.Env {
		if !envName.MatchString(name) {
			v.addf(fmt.Sprintf("env[%d]", i), "", "%q is not a variable's name; values are taken from the environment", name)
		} else if SecretName(name) {
			v.addf(fmt.Sprintf("env[%d]", i), "", "%s looks like a secret, and commands never see secrets", name)
		}
	}
	p.serverProblems(v)
	v.values("", reflect.ValueOf(*p))
	return v.list
}

func (p *Project) gateProblems(v *problems, i int) {
	gate, at := &p.Gates[i], fmt.Sprintf("gates[%d]", i)
	if !gateName.MatchString(gate.Name) {
		v.addf(at+".name", plainID(gate.Name), "gate name %q: a name is 1 to 64 letters, digits, dots, - and _", gate.Name)
	}
	for j := range i {
		if p.Gates[j].Name == gate.Name {
			v.addf(at+".name", "", "gate name %q is taken by gates[%d]", gate.Name, j)
			break
		}
	}
	if len(gate.Command) == 0 {
		v.addf(at+".command", "", "gate %q has no command", gate.Name)
	}
	v.argv(at+".command", gate.Command)
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
			v.addf(at+".base_url", "", "the url has a query: want the address up to and with /v1")
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
			v.addf(at+"."+f.name, "", "%s belongs to provider %s; Gemini's address and key stand in the environment: "+
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
