package conduct

import (
	"context"
	"errors"
	"fmt"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// planName names a plan of the master as a file.
const planName = "plan.yaml"

// approver asks a person about a plan; it is nil where no person can be asked.
func (h *Half) approver() func(context.Context, conductor.Proposal) (conductor.Answer, error) {
	switch {
	case h.writePlan != nil:
		return h.handOut
	case h.AutoApprove:
		return func(context.Context, conductor.Proposal) (conductor.Answer, error) {
			return conductor.Answer{Yes: true}, nil
		}
	case h.Approve == nil:
		return nil
	}
	return (&asker{run: h.Spec.Run, dir: h.Path, ask: h.Approve}).approve
}

// handOut gives the plan that waits to Options.WritePlan.
func (h *Half) handOut(ctx context.Context, _ conductor.Proposal) (conductor.Answer, error) {
	st, err := eventlog.Fold(ctx, h.Bus, h.Spec.Run)
	if err != nil {
		return conductor.Answer{}, err
	}
	text, err := configs.FormatPlan(plan.File(&st.Agenda, st.Works, st.Plans.ToApprove()))
	if err != nil {
		return conductor.Answer{}, err
	}
	reason, err := h.writePlan(ctx, File{Name: planName, Data: []byte(text)})
	return conductor.Answer{Stop: reason}, err
}

// asker asks a person about plans. It keeps the plan file that the person edited last, for errors in it.
type asker struct {
	run, dir  string
	ask       func(context.Context, Approval) (Answer, error)
	file      File
	positions *configs.Positions
}

func (a *asker) approve(ctx context.Context, p conductor.Proposal) (conductor.Answer, error) {
	data, err := spec.JSON(p.Plan)
	text, terr := configs.FormatPlan(p.Source)
	if err = errors.Join(err, terr); err != nil {
		return conductor.Answer{}, fmt.Errorf("show the plan: %w", err)
	}
	q := Approval{Run: a.run, Dir: a.dir, Plan: data, File: File{Name: planName, Data: []byte(text)}}
	if p.Refused {
		q.File, q.Refused = a.file, a.positions.Error(p.Problems)
	}
	said, err := a.ask(ctx, q)
	if err != nil || said.Plan == nil {
		return conductor.Answer{Yes: said.Yes, Comment: said.Comment}, err
	}
	edited, positions, err := configs.ParsePlan(said.Plan.Name, string(said.Plan.Data))
	a.file, a.positions = *said.Plan, positions
	return conductor.Answer{Edited: &edited, Faulty: err != nil}, nil
}

// decider asks a person about what only a person can decide; it is nil where no person can be asked.
func (h *Half) decider() func(context.Context, run.Decision) (act.Decide, error) {
	if h.Decide == nil {
		return nil
	}
	return func(ctx context.Context, d run.Decision) (act.Decide, error) {
		st, err := eventlog.Fold(ctx, h.Bus, h.Spec.Run)
		if err != nil {
			return act.Decide{}, err
		}
		d.Run = st.Spec.Run
		if err := client.Complete(ctx, h.Dir, h.Bus, st, &d); err != nil {
			return act.Decide{}, err
		}
		c, err := h.Decide(ctx, d)
		c.Decision, c.Attempt = d.ID, d.Attempt
		return c, err
	}
}
