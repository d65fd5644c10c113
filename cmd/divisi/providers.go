package main

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
	"divisi/orchestrator/run"
)

// place is where a model is served, and which variable has the key for it.
type place struct{ baseURL, keyEnv string }

// need is a model that the run's agents may call, an alias or a name, and what for.
type need struct{ model, why string }

// providers connects to the services of the run's models, and to no other. gemini is the one whose connections are to
// be closed; nil where no model of the run is Gemini's.
func (h *holder) providers(ctx context.Context) (base model.Model, gemini *model.Gemini, err error) {
	project := &h.spec.Project
	routes, services := map[string]model.Model{}, map[place]*chat.Client{}
	var geminis []need
	for _, n := range needs(h.spec) {
		settings := project.Model(n.model)
		if settings.Provider != spec.ProviderOpenAI {
			geminis = append(geminis, n)
			continue
		}
		at := place{settings.BaseURL, settings.KeyEnv}
		if services[at] == nil {
			if services[at], err = at.connect(project.Patience); err != nil {
				return nil, nil, usagef("the model %s, for %s: %v", n.named(project), n.why, err)
			}
		}
		routes[project.ModelName(n.model)] = services[at]
	}
	if len(geminis) == 0 {
		return model.NewRouter(routes, nil), nil, nil
	}
	gemini, err = model.NewGemini(ctx, model.Options{Patience: project.Patience})
	switch {
	case err == nil && len(routes) == 0:
		return gemini, gemini, nil
	case err == nil:
		return model.NewRouter(routes, gemini), gemini, nil
	case len(routes) > 0: // somebody who has set up another service
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

// connect makes the client of a service of chat completions. A key goes to no other address than the one that it stands beside;
// that it may go there was decided when the repository was trusted.
func (p place) connect(patience func(string) (first, silence time.Duration)) (*chat.Client, error) {
	if p.baseURL == "" {
		p.keyEnv = cmp.Or(p.keyEnv, chat.DefaultKeyEnv)
	}
	key := ""
	if p.keyEnv != "" {
		if key = os.Getenv(p.keyEnv); key == "" {
			return nil, fmt.Errorf("there is no key: set %s, or say in models of .divisi/divisi.yaml where the model is served "+
				"(base_url) and which variable has the key (key_env)", p.keyEnv)
		}
	}
	return chat.New(chat.Options{BaseURL: p.baseURL, Key: key, KeyEnv: p.keyEnv, Patience: patience})
}

// needs are the models that a run can come to call: its roles' own, those that stand in for them, and those that write
// snapshots and summaries and judge progress for them.
func needs(s run.Spec) []need {
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
		fallback := role.Fallback
		if len(fallback) == 0 {
			fallback = p.Model(role.Model).Fallback
		}
		for _, f := range fallback {
			add(f, "role "+name+" while its own is overloaded")
		}
		snapshots := role.Context.WithDefaults().Compaction.Model
		add(snapshots, "snapshots of role "+name)
		add(spec.ModelCheap, "summaries and for judging progress")
		for _, f := range slices.Concat(p.Model(snapshots).Fallback, p.Model(spec.ModelCheap).Fallback) {
			add(f, "snapshots and summaries while their own is overloaded")
		}
		if p.ModelName(role.Model) == p.ModelName(spec.ModelCheap) {
			add(spec.ModelStrong, "second opinions on progress")
		}
	}
	return list
}

// modelRoles are the roles with a model that the run can come to, in order: all where a master plans, else those of the plan's
// tasks, those that judge them, and those that these may ask.
func modelRoles(s run.Spec) []string { return rolesOf(s, true) }

// rolesOf are modelRoles; open counts also those that may be asked by a role which names nobody whom it asks.
func rolesOf(s run.Spec, open bool) []string {
	reached := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		role, known := s.Roles[name]
		if !known || reached[name] {
			return
		}
		reached[name] = true
		if !slices.Contains(role.Tools, spec.ToolDelegate) && !slices.Contains(role.Tools, spec.ToolTransfer) {
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
			reach(s.Plan.Tasks[i].Role)
			reach(cmp.Or(s.Plan.Tasks[i].Verify, spec.RoleTester))
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
