package spec

import (
	"fmt"
	"maps"
	"slices"
)

// Service is a program that the gates need beside them, such as a database. It runs confined and without network, and meets the
// gates of one try on their loopback.
type Service struct {
	Name    string            `json:"name" jsonschema:"Name of the service, unique."`
	Command []string          `json:"command" jsonschema:"Program and arguments. It runs until the gates have ended."`
	Prepare []string          `json:"prepare,omitempty" jsonschema:"Command that runs once. Every try begins with a copy of the home that it leaves."`
	Ready   []string          `json:"ready" jsonschema:"Command that exits with 0 once the service can be used; it is run until then."`
	Env     map[string]string `json:"env,omitempty" jsonschema:"Variables for the gates and for the service's own commands, with their values."`
}

// serviceProblems faults services that could not be started.
func (p *Project) serviceProblems(v *problems) {
	of := map[string]string{}
	for i, s := range p.Services {
		at := fmt.Sprintf("services[%d]", i)
		if !gateName.MatchString(s.Name) {
			v.addf(at+".name", plainID(s.Name), "service name %q: a name is 1 to 64 letters, digits, dots, - and _", s.Name)
		}
		if j := slices.IndexFunc(p.Services[:i], func(o Service) bool { return o.Name == s.Name }); j >= 0 {
			v.addf(at+".name", "", "service name %q is taken by services[%d]", s.Name, j)
		}
		for _, c := range []struct {
			field  string
			argv   []string
			needed bool
		}{{"command", s.Command, true}, {"prepare", s.Prepare, false}, {"ready", s.Ready, true}} {
			if c.needed && len(c.argv) == 0 {
				v.addf(at+"."+c.field, "", "service %q has no %s", s.Name, c.field)
			}
			v.argv(at+"."+c.field, c.argv)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			s.envProblem(v, at+".env."+name, name, of)
		}
	}
}

// envProblem faults one variable. of has the service of each name so far: two services must not disagree about one.
func (s *Service) envProblem(v *problems, at, name string, of map[string]string) {
	other, taken := of[name]
	of[name] = s.Name
	switch {
	case !envName.MatchString(name):
		v.addf(at, "", "%q is not a variable's name", name)
	case SecretName(name):
		v.addf(at, "", "%s looks like a secret, and commands never see secrets", name)
	case taken:
		v.addf(at, "", "%s is set by service %q already", name, other)
	}
	v.text(at, s.Env[name])
}
