// Package needs compares the needs of a run with its environment, before the run begins: the services of its models and their
// keys, the variables of tool servers and roles, programs. It takes the specification of a run, and returns errors, notices and
// the client of the models. It never calls a model, and starts no program but version managers, and those of gates to ask for
// their version.
package needs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"divisi/internal/model"
	"divisi/internal/model/chat"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/subagents/agent"
)

// Place is where a model is served, and which variable has the key for it.
type Place struct{ BaseURL, KeyEnv string }

// need is a model that the run's agents may call (an alias or a name), and its purpose.
type need struct{ model, why string }

// Connect connects to the services of the run's models, and to no other; end closes the connections.
func Connect(ctx context.Context, s *run.Spec) (base model.Model, end func(), err error) {
	project := &s.Project
	for _, name := range modelRoles(s) {
		role := s.Roles[name]
		for at, m := range append([]string{role.Model}, project.Stronger(role.Model)...) {
			if at > 0 {
				role.UseModel(m)
			}
			if err := agent.CheckRole(project, &role); err != nil {
				return nil, nil, usage.Errorf("%v", err)
			}
		}
	}
	routes, services := map[string]model.Model{}, map[Place]*chat.Client{}
	var geminis []need
	for _, n := range needed(s) {
		settings := project.Model(n.model)
		if settings.Provider != spec.ProviderOpenAI {
			geminis = append(geminis, n)
			continue
		}
		at := Place{settings.BaseURL, settings.KeyEnv}
		if services[at] == nil {
			if services[at], err = at.Connect(project.Patience); err != nil {
				return nil, nil, usage.Errorf("the model %s, for %s: %v", n.named(project), n.why, err)
			}
		}
		routes[project.ModelName(n.model)] = services[at]
	}
	if len(geminis) == 0 {
		return model.NewRouter(routes, nil), func() {}, nil
	}
	gemini, err := model.NewGemini(ctx, model.Options{Patience: project.Patience})
	switch {
	case err == nil && len(routes) == 0:
		return gemini, gemini.Close, nil
	case err == nil:
		return model.NewRouter(routes, gemini), gemini.Close, nil
	case len(routes) > 0:
		n := geminis[0]
		return nil, nil, fmt.Errorf("the model %s, for %s, is Gemini's: name one of yours for it in models of "+
			".divisi/divisi.yaml, or give a key: %w", n.named(project), n.why, err)
	default:
		return nil, nil, err
	}
}

// named is the model's name, with its alias where it has one.
func (n need) named(p *spec.Project) string {
	if name := p.ModelName(n.model); name != n.model {
		return fmt.Sprintf("%s (alias %s)", name, n.model)
	}
	return n.model
}

// Connect makes the client of a service of chat completions. A key goes to no other address than the one that it stands beside;
// that it may go there was decided when the repository was trusted.
func (p Place) Connect(patience func(string) (first, silence time.Duration)) (*chat.Client, error) {
	if p.BaseURL == "" {
		p.KeyEnv = cmp.Or(p.KeyEnv, chat.DefaultKeyEnv)
	}
	key := ""
	if p.KeyEnv != "" {
		if key = os.Getenv(p.KeyEnv); key == "" {
			return nil, fmt.Errorf("there is no key: set %s, or set base_url (where the model is served) and key_env "+
				"(the variable with its key) in models of .divisi/divisi.yaml", p.KeyEnv)
		}
	}
	return chat.New(chat.Options{BaseURL: p.BaseURL, Key: key, KeyEnv: p.KeyEnv, Patience: patience})
}

// needed are the models that a run can come to call: its roles' own, those that are in for them, and those that write
// snapshots and summaries and judge progress for them.
func needed(s *run.Spec) []need {
	var list []need
	add := func(name, why string) {
		if !slices.ContainsFunc(list, func(n need) bool { return n.model == name }) {
			list = append(list, need{name, why})
		}
	}
	p := &s.Project
	for _, name := range modelRoles(s) {
		role := s.Roles[name]
		add(cmp.Or(role.Model, "default"), "role "+name)
		for _, m := range p.Stronger(role.Model) {
			add(m, "role "+name+" after the same failure twice")
			for _, f := range p.Model(m).Fallback {
				add(f, "role "+name+" while its stronger model is overloaded")
			}
		}
		fallback := role.Fallback
		if len(fallback) == 0 {
			fallback = p.Model(role.Model).Fallback
		}
		for _, f := range fallback {
			add(f, "role "+name+" while its own is overloaded")
		}
		snapshots, summaries := role.Context.WithDefaults().Compaction.Model, p.Summaries.WithDefaults().Model
		add(snapshots, "snapshots of role "+name)
		add(spec.ModelCheap, "summaries and for judging progress")
		add(summaries, "summaries")
		for _, m := range []string{snapshots, spec.ModelCheap, summaries} {
			for _, f := range p.Model(m).Fallback {
				add(f, "snapshots and summaries while their own is overloaded")
			}
		}
		if p.ModelName(role.Model) == p.ModelName(spec.ModelCheap) {
			add(spec.ModelStrong, "second opinions on progress")
		}
	}
	return list
}

// Model reports whether the run can come to a model call at all.
func Model(s *run.Spec) bool { return len(modelRoles(s)) > 0 }

// modelRoles are the roles with a model that the run can come to, in order: all where a master plans, else those of the plan's
// tasks, those that judge them, and those that these may ask.
func modelRoles(s *run.Spec) []string { return rolesOf(s, true) }

// rolesOf are modelRoles; open also counts every role, where one that asks does not name its delegates.
func rolesOf(s *run.Spec, open bool) []string {
	reached := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		role, known := s.Roles[name]
		if !known || reached[name] {
			return
		}
		reached[name] = true
		if !asks(&role) {
			return
		}
		for other := range s.Roles {
			if len(role.Delegates) == 0 && open || slices.Contains(role.Delegates, other) {
				reach(other)
			}
		}
	}
	if s.Plan == nil {
		for name := range s.Roles {
			reach(name)
		}
	} else {
		for i := range s.Plan.Tasks {
			t := &s.Plan.Tasks[i]
			reach(t.Role)
			reach(t.Judge(s.Roles[t.Role], s.Roles, len(t.Constraints)+len(s.Plan.Constraints) > 0))
		}
	}
	var names []string
	for name := range reached {
		if role := s.Roles[name]; role.Runs(spec.ExecutorModel) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
