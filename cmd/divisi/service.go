package main

import (
	"context"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator"
	"divisi/subagents/prefix"
)

// service is the model's service, as the run's agents use it. The zero value is none.
type service struct {
	model    model.Model
	prefixes *prefix.Keeper
	gemini   *model.Gemini
}

// close deletes the caches that are left, then ends the connections.
func (s service) close() {
	s.prefixes.Close()
	if s.gemini != nil {
		s.gemini.Close()
	}
}

// service connects to the model's service, when a role of the run needs one.
func (h *holder) service(
	ctx context.Context, st *orchestrator.State, newBudget *int, hold *model.Hold,
) (service, error) {
	if !needsModel(h.spec) {
		return service{}, nil
	}
	base, gemini, err := h.providers(ctx)
	if err != nil {
		return service{}, err
	}
	prefixes := prefix.NewKeeper(prefix.Options{Cacher: gemini, Log: h.g.log})
	limit := h.spec.Budget
	if st.Spec.Run != "" {
		limit = st.Budget // a resumed run's, which may have been raised before
	}
	if newBudget != nil {
		limit = *newBudget
	}
	policy := model.Policy{
		Hold:           hold,
		OnRetry:        func(n model.RetryNote) { h.g.log.Info().Any("retry", n).Msg("a model call is tried again") },
		OnCacheRefused: func(name string, _ *model.Error) { prefixes.Drop(name) },
	}
	if limit > 0 {
		policy.Budget = model.NewBudget(limit, st.Usage.Total())
	}
	return service{model.New(base, policy), prefixes, gemini}, nil
}

// needsModel reports whether a run can come to a model call at all.
func needsModel(s orchestrator.RunSpec) bool {
	if s.Plan == nil {
		return true
	}
	for _, t := range s.Plan.Tasks {
		verify := t.Verify
		if verify == "" {
			verify = spec.RoleTester
		}
		if s.Roles[t.Role].Executor == spec.ExecutorModel || s.Roles[verify].Executor == spec.ExecutorModel {
			return true
		}
	}
	return false
}
