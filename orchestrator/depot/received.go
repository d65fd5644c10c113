package depot

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/orchestrator/mirrors"
)

// Source has packs of commits.
type Source = mirrors.Source

// collected makes a mirror of a commit from what this machine keeps under a name, and from packs.
func (p *Place) collected(
	ctx context.Context, g *git.Git, notice func(string), caches string, m mirrors.Mirror, from Source,
) (*git.Repo, error) {
	s, err := p.collections(g, notice)
	if err != nil {
		return nil, err
	}
	held, r, err := s.Open(ctx, caches, m, from)
	if err != nil {
		return nil, err
	}
	if err := held.Close(); err != nil { // the mirror does not need it any more
		p.Log.Warn().Err(err).Msg("the mirrors of repositories may take more than they should")
	}
	return r, nil
}

// ReceiveBase makes the mirror of the base commit of an order at a directory.
func (p *Place) ReceiveBase(
	ctx context.Context, g *git.Git, notice func(string), o *Order, dir string, from Source,
) (*git.Repo, error) {
	m := mirrors.Mirror{Dir: dir, Commit: o.Spec.Base, Exclude: o.Exclude}
	r, err := p.collected(ctx, g, notice, o.Caches(), m, from)
	if err != nil {
		return nil, fmt.Errorf("get the base commit of run %s: %w", o.Spec.Run, err)
	}
	return r, keepRefs(r, o.Refs)
}

// ReceivePast has that mirror keep the history that comes with the order.
func (p *Place) ReceivePast(
	ctx context.Context, g *git.Git, notice func(string), o *Order, m *git.Repo, from Source,
) error {
	s, err := p.collections(g, notice)
	if err != nil {
		return err
	}
	return keepPast(ctx, s, o.Caches(), m, &o.Past.Past, from)
}
