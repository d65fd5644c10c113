package main

import (
	"context"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/agent"
)

// service is the model's service, as the run's agents use it. The zero value is none.
type service struct {
	model  model.Model
	gemini *model.Gemini
}

// close ends the connections.
func (s service) close() {
	if s.gemini != nil {
		s.gemini.Close()
	}
}

// service connects to the model's service, when a role of the run needs one, or to a recording of it. A replay has no budget
// and no retries: what they led to was recorded.
func (h *holder) service(
	ctx context.Context, st *run.State, newBudget *int, hold *model.Hold,
) (service, error) {
	recorder, err := h.recorder()
	if err != nil {
		return service{}, err
	}
	if r := h.tape.replay; r != nil {
		return service{model: r}, nil
	}
	if !needsModel(h.spec) {
		return service{}, nil
	}
	s, err := h.connect(ctx, h.limit(st, newBudget), hold)
	if err != nil || recorder == nil {
		return s, err
	}
	s.model = recorder.Model(s.model)
	return s, nil
}

// limit is the budget of the run, in tokens, and what of it is spent.
func (h *holder) limit(st *run.State, newBudget *int) *model.Budget {
	limit := h.spec.Budget
	if st.Spec.Run != "" {
		limit = st.Budget // a resumed run's, which may have been raised before
	}
	if newBudget != nil {
		limit = *newBudget
	}
	if limit <= 0 {
		return nil
	}
	return model.NewBudget(limit, st.Usage.Total())
}

// connect connects to the services of the run's models.
func (h *holder) connect(ctx context.Context, budget *model.Budget, hold *model.Hold) (service, error) {
	for _, name := range modelRoles(h.spec) {
		role := h.spec.Roles[name]
		if err := agent.CheckRole(&h.spec.Project, &role); err != nil {
			return service{}, usagef("%v", err)
		}
	}
	base, gemini, err := h.providers(ctx)
	if err != nil {
		return service{}, err
	}
	return service{gemini: gemini, model: model.New(base, model.Policy{
		Hold: hold, Budget: budget, Outage: h.spec.Project.Outage(),
	})}, nil
}

// needsModel reports whether a run can come to a model call at all.
func needsModel(s run.Spec) bool {
	if s.Plan == nil {
		return true
	}
	for _, t := range s.Plan.Tasks {
		verify := t.Verify
		if verify == "" {
			verify = spec.RoleTester
		}
		for _, name := range []string{t.Role, verify} {
			if role := s.Roles[name]; role.Runs(spec.ExecutorModel) {
				return true
			}
		}
	}
	return false
}
