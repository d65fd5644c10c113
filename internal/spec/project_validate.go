package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secret   = regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL`)
	gateName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// SecretName reports whether an environment variable's name looks like that of a secret.
func SecretName(name string) bool { return secret.MatchString(name) }

// Validate returns every fault of the project file.
func (p *Project) Validate() []Problem {
	v := &problems{}
	v.argv("setup", p.Setup)
	for i := range p.Gates {
		p.gateProblems(v, i)
	}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[alias]
		m.problems(v, "models."+alias)
	}
	v.limits("limits", p.Limits)
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
	v.atLeast("parallel", p.Parallel, 0)
	v.atLeast("budget", p.Budget, 0)
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
	v.oneOf(at+".format", "format", gate.Format, "go-test-json", "junit", "tap", "text")
	if gate.Timeout < 0 {
		v.addf(at+".timeout", "", "%s is negative", gate.Timeout)
	}
}

func (m *Model) problems(v *problems, at string) {
	if m.Name == "" {
		v.addf(at+".name", "", "the model has no name")
	}
	v.atLeast(at+".window", m.Window, 0)
	v.atLeast(at+".max_output", m.MaxOutput, 0)
	v.oneOf(at+".thinking", "thinking", m.Thinking, "LOW", "MEDIUM", "HIGH")
	if !(m.PriceIn >= 0) {
		v.addf(at+".price_in", "", "the price is not a number of at least 0")
	}
	if !(m.PriceOut >= 0) {
		v.addf(at+".price_out", "", "the price is not a number of at least 0")
	}
}
