package orchestrator

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/orchestrator/mirrors"
)

// source has packs of commits.
type source = mirrors.Source

// collected makes a mirror of a commit from what this machine keeps under a name, and from packs.
func (p *place) collected(
	ctx context.Context, g *git.Git, notice func(string), caches string, m mirrors.Mirror, from source,
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
		p.log.Warn().Err(err).Msg("the mirrors of repositories may take more than they should")
	}
	return r, nil
}

// receiveBase makes the mirror of the base commit of an order at a directory.
func (p *place) receiveBase(
	ctx context.Context, g *git.Git, notice func(string), o *order, dir string, from source,
) (*git.Repo, error) {
	m := mirrors.Mirror{Dir: dir, Commit: o.Spec.Base, Exclude: o.Exclude}
	r, err := p.collected(ctx, g, notice, o.caches(), m, from)
	if err != nil {
		return nil, fmt.Errorf("get the base commit of run %s: %w", o.Spec.Run, err)
	}
	return r, keepRefs(r, o.Refs)
}

// receivePast has that mirror keep the history that comes with the order.
func (p *place) receivePast(
	ctx context.Context, g *git.Git, notice func(string), o *order, m *git.Repo, from source,
) error {
	s, err := p.collections(g, notice)
	if err != nil {
		return err
	}
	return keepPast(ctx, s, o.caches(), m, &o.Past.Past, from)
}
