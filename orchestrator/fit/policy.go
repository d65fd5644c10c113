package fit

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"

	"divisi/internal/egress"
	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// denial is a request of a run that the owner of a machine does not permit, with the field of the policy that would.
type denial struct{ what, field string }

// String is the denial as one that the machine lacks.
func (d denial) String() string {
	return fmt.Sprintf("its owner's permission for %s (%s in worker.yaml)", d.what, d.field)
}

// Unsigned lists why the person of a run is none that the policy names; nil where there is nothing against the run.
func Unsigned(p *spec.Policy, s *wire.Setup) []string {
	w := s.Warrant
	switch {
	case s.Lends != "" && len(p.People) == 0 && p.Environments != spec.EnvironmentsAny:
		return []string{denial{"an environment from the checkout of a person whom it does not name", "people"}.String()}
	case w == nil && len(p.People) > 0:
		return []string{denial{"a run that no person has signed", "people"}.String()}
	case w == nil:
		return nil
	case len(p.People) > 0 && p.People[w.Person] != w.Key:
		return []string{denial{fmt.Sprintf("the runs of %.64s with the key %.56s", w.Person, w.Key), "people"}.String()}
	}
	if err := w.Verify(s.Mandate()); err != nil {
		return []string{"a signature: " + err.Error()}
	}
	return nil
}

// Denied lists what a role of a run asks for that the policy of the machine's owner does not permit; nil where there is none.
func Denied(p *spec.Policy, repository string, project *spec.Project, r *spec.Role) (lacks []string) {
	if p == nil {
		return nil
	}
	for _, d := range slices.Concat(whose(p, repository, r), networks(p, project, r), variables(p, project, r)) {
		if lack := d.String(); !slices.Contains(lacks, lack) {
			lacks = append(lacks, lack)
		}
	}
	return lacks
}

// whose are the denials of a repository or a role as a whole.
func whose(p *spec.Policy, repository string, r *spec.Role) (denied []denial) {
	named := func(glob string) bool { ok, _ := path.Match(glob, repository); return ok }
	if len(p.Repositories) > 0 && !slices.ContainsFunc(p.Repositories, named) {
		denied = append(denied, denial{fmt.Sprintf("the repository %.80q", repository), "repositories"})
	}
	if len(p.Roles) > 0 && !slices.Contains(p.Roles, r.Name) {
		denied = append(denied, denial{"the role " + r.Name, "roles"})
	}
	if gates := r.Name == spec.RoleTester; p.Only == spec.OnlyGates && !gates || p.Only == spec.OnlyGenerators && gates {
		denied = append(denied, denial{"the tasks of role " + r.Name, "only"})
	}
	return denied
}

func networks(p *spec.Policy, project *spec.Project, r *spec.Role) (denied []denial) {
	ask := func(what string, allowed bool) {
		if !allowed {
			denied = append(denied, denial{what, "network"})
		}
	}
	reach := reachOf(p)
	ask("a setup, which has the network", len(project.Setup.Command) == 0 || len(reach) > 0)
	ask("the network", !r.Network || len(reach) > 0)
	ask("the addresses of this machine", !r.Loopback && !project.Loopback || slices.Contains(reach, egress.Localhost))
	servers := project.Servers(r)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		ask(fmt.Sprintf("the tool server %s at %.80s", name, s.URL), s.URL == "" || reach.Names(hostOf(s.URL)))
	}
	for _, alias := range modelsOf(project, r) {
		m := project.Models[alias]
		ask(fmt.Sprintf("the model %s at %.80s", alias, m.BaseURL), m.BaseURL == "" || reach.Names(hostOf(m.BaseURL)))
	}
	return denied
}

func variables(p *spec.Policy, project *spec.Project, r *spec.Role) (denied []denial) {
	secret := func(name string) {
		if name != "" && !slices.Contains(p.Secrets, name) {
			denied = append(denied, denial{"the secret " + name, "secrets"})
		}
	}
	plain := func(names, allowed []string) {
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				denied = append(denied, denial{"the variable " + name, "variables"})
			}
		}
	}
	plain(project.Env, p.Variables)
	for _, name := range r.Secrets {
		secret(name)
	}
	servers := project.Servers(r)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		plain(s.Env, slices.Concat(p.Variables, p.Secrets))
		for _, name := range slices.Sorted(maps.Values(s.Headers)) {
			secret(name)
		}
	}
	for _, alias := range modelsOf(project, r) {
		secret(project.Models[alias].KeyEnv)
	}
	return denied
}

// modelsOf are the aliases that a role can come to call: its own, with what takes over, and the one that summarises.
func modelsOf(project *spec.Project, r *spec.Role) []string {
	if !r.Runs(spec.ExecutorModel) {
		return nil
	}
	next := append([]string{cmp.Or(r.Model, "default"), cmp.Or(project.Summaries.Model, "cheap")}, r.Fallback...)
	called := map[string]bool{}
	for len(next) > 0 {
		alias := next[0]
		m, known := project.Models[alias]
		if next = next[1:]; known && !called[alias] {
			called[alias] = true
			next = append(append(next, m.Fallback...), m.Stronger)
		}
	}
	return slices.Sorted(maps.Keys(called))
}

func reachOf(p *spec.Policy) egress.Reach { return append(egress.Reach{}, p.Network...) }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Beyond lists what an assignment asks for that its run has not: a person has signed the run, and not this.
func Beyond(s *wire.Setup, a *wire.Assignment) (more []string) {
	project := a.Project
	if project.Setup.Command = s.Project.Setup.Command; len(a.Setup) > 0 {
		project.Setup.Command = a.Setup
	}
	more = powers(s, a)
	run := requests(&s.Project, s.Roles)
	for _, ask := range requests(&project, map[string]spec.Role{a.Role.Name: a.Role}) {
		if !slices.Contains(run, ask) {
			more = append(more, ask)
		}
	}
	return more
}

// powers lists what commands an assignment has that its run has not, of a role with the network or secrets: which commands it has
// decides what becomes of them.
func powers(s *wire.Setup, a *wire.Assignment) (more []string) {
	r, signed := &a.Role, s.Roles[a.Role.Name]
	if !wire.Powerful(r) {
		return nil
	}
	own := func(command []string) bool {
		return len(command) == 0 || slices.Equal(command, signed.Command) ||
			slices.ContainsFunc(s.Commands, func(c []string) bool { return slices.Equal(c, command) })
	}
	for _, command := range [][]string{r.Command, a.Task.Command} {
		if !own(command) {
			more = append(more, fmt.Sprintf("role %s, with what its commands are given, runs %.200q", r.Name, command))
		}
	}
	for _, tool := range r.Tools {
		if !slices.Contains(signed.Tools, tool) {
			more = append(more, fmt.Sprintf("role %s, with what its commands are given, has the tool %s", r.Name, tool))
		}
	}
	gates := slices.Concat(s.Project.Gates, gate.Uncached(s.Project.Gates))
	for _, g := range a.Project.Gates {
		if !slices.ContainsFunc(gates, func(own spec.Gate) bool { return spec.JSONText(own) == spec.JSONText(g) }) {
			more = append(more, fmt.Sprintf("gate %s, with the network, runs %.200q", g.Name, g.Command))
		}
	}
	return more
}

// requests lists what roles ask for beyond confined commands without network. Which gates run is no matter of it.
func requests(p *spec.Project, roles map[string]spec.Role) []string {
	project := *p
	project.Gates = nil
	list := trust.Requests(&project, roles)
	for name, r := range roles {
		for _, secret := range r.Secrets {
			list = append(list, fmt.Sprintf("role %s has the secret %s", name, secret))
		}
	}
	return list
}
