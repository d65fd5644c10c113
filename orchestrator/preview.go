package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"divisi/internal/spec"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/detect"
)

// preview expands the plan in a temporary directory.
func (h *holder) preview(ctx context.Context, o *Options) (_ json.RawMessage, err error) {
	if h.path, err = os.MkdirTemp("", "divisi-dry-run-"); err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.path)) }()
	h.caches = filepath.Join(h.path, "caches")
	data, err := h.tryPlan(ctx)
	if err != nil {
		return nil, err
	}
	if len(h.spec.Project.Gates) == 0 && !o.AllowUnverified {
		h.notice("note: " + noGates + "; a run needs a gate, or --allow-unverified")
	}
	data.By = run.ByFile
	return spec.JSON(data)
}

// tryPlan expands a plan file before the run exists, so that its faults are found at once, on the gates that the run will have.
func (h *holder) tryPlan(ctx context.Context) (data run.PlanData, err error) {
	h.mirror, err = h.git.CreateMirror(ctx, filepath.Join(h.path, "repo.git"), h.checkout, h.spec.Base)
	if err != nil {
		return data, err
	}
	if err := h.checkSetup(ctx); err != nil {
		return data, err
	}
	if len(h.spec.Project.Gates) == 0 {
		found, err := detect.At(ctx, h.mirror, h.spec.Base, detect.Options{Has: detect.Installed})
		if err != nil {
			return data, err
		}
		h.spec.Project.Gates = found.Gates
	}
	if h.spec.Plan == nil {
		return data, nil
	}
	st := run.NewState()
	st.Spec = h.spec
	data, problems, err := plan.Prepare(ctx, *h.spec.Plan, st, h.tree(h.spec.Base))
	if err == nil {
		err = h.positions.Error(problems)
	}
	return data, err
}
