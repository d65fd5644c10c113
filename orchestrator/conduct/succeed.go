package conduct

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/release"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
)

// Succession is a run that goes on from what another one has landed, on another base: with its roles, its settings and its gates.
type Succession struct {
	// Spec is that of the other run, with the patches that the tasks of Plan begin with; Packs are the objects of these, by their
	// names.
	Spec  run.Spec
	Plan  spec.Plan
	Packs map[string][]byte
	// Notices are for the person.
	Notices []string
}

// prepareNext is prepare for a run that goes on from another one. Its files asked for trust when that one began.
func prepareNext(ctx context.Context, o *Options) (*Half, error) {
	h, err := newHalf(ctx, &o.Machine)
	if err == nil {
		err = h.inspect(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	base, err := toBegin(h).base(ctx, o)
	if err != nil {
		return nil, err
	}
	was := o.Next.Spec
	h.Spec = run.Spec{
		Program: release.Version(), Repo: h.Checkout.Top, Base: base, Branch: h.Checkout.Branch,
		Author: run.Author(h.Checkout.Author), Submodules: h.Checkout.Submodules, Project: was.Project, Roles: was.Roles,
		Parallel: was.Parallel, Budget: o.Budget, AutoApprove: true, Created: depot.Now(), OnDoubt: o.onDoubt(o.Review),
		AllowUnverified: o.AllowUnverified, AllowUnread: o.AllowUnread, Review: o.Review, Detected: was.Detected,
		Moves: was.Moves, Reverts: was.Reverts, Carried: was.Carried,
	}
	h.Spec.Habits = h.Dir.Habits(&h.Spec.Project, h.Checkout.Top)
	h.name(h.Spec.Created)
	if err := h.findCaches(false); err != nil {
		return nil, err
	}
	text, err := configs.FormatPlan(o.Next.Plan)
	if err == nil {
		err = h.readPlan(&File{Name: "plan.yaml", Data: []byte(text)}, nil)
	}
	if err != nil {
		return nil, err
	}
	h.Notices = append(h.Notices, o.Next.Notices...)
	return h, errors.Join(h.workers().check(ctx), needs.Servers(&h.Spec))
}

// moves are the run that is moved onto a base, and that; both are empty for other runs.
func (o *Options) moves(base string) (id, onto string) {
	if o.Next == nil || o.Next.Spec.Moves == "" {
		return "", ""
	}
	return o.Next.Spec.Moves, base
}

// keepCarried stores the packs of patches that another run has landed, before the log names them.
func (h *Half) keepCarried(ctx context.Context, o *Options) error {
	if o.Next == nil {
		return nil
	}
	for name, pack := range o.Next.Packs {
		if err := h.Bus.Put(ctx, name, pack); err != nil && !errors.Is(err, bus.ErrExists) {
			return fmt.Errorf("store the pack %s of another run: %w", name, err)
		}
	}
	return nil
}
