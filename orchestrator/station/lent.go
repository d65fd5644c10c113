package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// asked is the conducting half of a run as a source.
type asked struct{ w *Work }

// Module implements checkout.Source.
func (a asked) Module(ctx context.Context, m checkout.Module, dir string) (*git.Repo, error) {
	ask := func(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
		p, err := a.sealed(ctx, call.Lacking{Module: m.Place(), Commit: commit, Have: have}, git.ErrNoModule)
		if err != nil {
			return err
		}
		return p.Copy(ctx, a.w.Bus.Cache(), take)
	}
	return a.w.Module(ctx, a.w.Git, a.w.Notice, a.w.Setup.Caches, m, dir, ask)
}

// Object implements checkout.Source.
func (a asked) Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error {
	if err := depot.Lendable(0, []spec.Pointer{p}); err != nil {
		return err
	}
	if _, err := a.sealed(ctx, call.Lacking{Content: &p}, fs.ErrNotExist); err != nil {
		return err
	}
	return depot.Content(p).Read(ctx, wire.SealedContent, a.w.Bus.Cache(), take)
}

// sealed asks for an object; none is an error.
func (a asked) sealed(ctx context.Context, l call.Lacking, none error) (depot.SealedPack, error) {
	got, err := Asks(ctx, a.w, call.ConductorPack, l)
	if err == nil && got.Object == "" {
		err = none
	}
	return depot.SealedPack(got), err
}

// TakeBeside takes what the conducting half lends. Where it lends it, this machine has it, or cannot work.
func (w *Work) TakeBeside(ctx context.Context) (*checkout.Content, error) {
	if w.Setup.Beside == "" {
		return nil, nil
	}
	c, err := w.Besides(w.Git).Take(ctx, w.party().beside(), w.Mirror, w.Setup.Base)
	if err == nil && c.Digest() != w.Setup.Beside {
		err = fmt.Errorf("the trees of run %s have other submodules, or files of Git LFS, than its conductor and %s have "+
			"together", w.Run, w.Caches)
	}
	if err != nil {
		return nil, fmt.Errorf("get the submodules and files of Git LFS of run %s: %w", w.Run, err)
	}
	return c, nil
}

// past implements mirrors.Source for the history of the run.
func (w *Work) past(ctx context.Context, _ string, have []string, take func(context.Context, io.Reader) error) error {
	p, err := asked{w}.sealed(ctx, call.Lacking{Past: true, Have: have}, errors.New("the conductor does not lend it"))
	if err != nil {
		return err
	}
	return p.Copy(ctx, w.Bus.Cache(), take)
}
