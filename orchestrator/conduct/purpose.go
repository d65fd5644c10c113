package conduct

import (
	"context"
	"errors"

	"divisi/internal/spec"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/needs"
)

// purpose is what the parts of a run are read for: to begin it, or to show it. What is only shown refuses nothing that a person
// can change until it begins.
type purpose interface {
	// base chooses the base commit.
	base(ctx context.Context, o *Options) (string, error)
	// settle decides by what came of asking for trust.
	settle(asked error, p *spec.Project) error
	// check refuses a run for what it needs and is not there.
	check(ctx context.Context) error
}

func toBegin(h *Half) purpose { return beginning{h} }

func toShow(h *Half) purpose { return showing{h} }

type beginning struct{ *Half }

func (h beginning) base(ctx context.Context, o *Options) (string, error) {
	if err := h.startable(ctx, o); err != nil {
		return "", err
	}
	if _, err := h.Dir.Decisions(h.Checkout); err != nil {
		return "", err
	}
	return h.Half.base(ctx, o)
}

func (beginning) settle(asked error, _ *spec.Project) error { return asked }

func (h beginning) check(ctx context.Context) error { return h.workers().check(ctx) }

type showing struct{ *Half }

// settle keeps the variables that the repository wants away from the commands of shard rules.
func (showing) settle(asked error, p *spec.Project) error {
	if errors.Is(asked, fault.ErrNotTrusted) {
		p.Env = nil
		return nil
	}
	return asked
}

func (h showing) check(context.Context) error { return needs.Servers(&h.Spec) }
