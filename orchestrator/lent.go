package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// asked is the conducting half of a run as a source.
type asked struct{ w *work }

// Module implements checkout.Source.
func (a asked) Module(ctx context.Context, m checkout.Module, dir string) (*git.Repo, error) {
	ask := func(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
		p, err := a.sealed(ctx, call.Lacking{Module: m.Place(), Commit: commit, Have: have}, git.ErrNoModule)
		if err != nil {
			return err
		}
		return p.copy(ctx, a.w.bus.Cache(), take)
	}
	return a.w.module(ctx, a.w.git, a.w.notice, a.w.setup.Caches, m, dir, ask)
}

// Object implements checkout.Source.
func (a asked) Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error {
	if err := lendable(0, []spec.Pointer{p}); err != nil {
		return err
	}
	if _, err := a.sealed(ctx, call.Lacking{Content: &p}, fs.ErrNotExist); err != nil {
		return err
	}
	return content(p).read(ctx, wire.SealedContent, a.w.bus.Cache(), take)
}

// sealed asks for an object; none is an error.
func (a asked) sealed(ctx context.Context, l call.Lacking, none error) (sealedPack, error) {
	got, err := asks(ctx, a.w, call.ConductorPack, l)
	if err == nil && got.Object == "" {
		err = none
	}
	return sealedPack(got), err
}

// takeBeside takes what the conducting half lends. Where it lends it, this machine has it, or cannot work.
func (w *work) takeBeside(ctx context.Context) (*checkout.Content, error) {
	if w.setup.Beside == "" {
		return nil, nil
	}
	var from checkout.Source
	if !w.shared {
		from = asked{w}
		if !sandbox.ShowsLayers() {
			w.notice(noLayers)
		}
	}
	c, err := w.besides(w.git).Take(ctx, from, w.mirror, w.setup.Base)
	if err == nil && c.Digest() != w.setup.Beside {
		err = fmt.Errorf("the trees of run %s have other submodules, or files of Git LFS, than its conductor and %s have "+
			"together", w.run, w.caches)
	}
	if err != nil {
		return nil, fmt.Errorf("get the submodules and files of Git LFS of run %s: %w", w.run, err)
	}
	return c, nil
}

// past implements mirrors.Source for the history of the run.
func (w *work) past(ctx context.Context, _ string, have []string, take func(context.Context, io.Reader) error) error {
	p, err := asked{w}.sealed(ctx, call.Lacking{Past: true, Have: have}, errors.New("the conductor does not lend it"))
	if err != nil {
		return err
	}
	return p.copy(ctx, w.bus.Cache(), take)
}

// takeLent gets the environment that the conducting half lends.
func (w *work) takeLent(ctx context.Context) error {
	if w.shared || w.setup.Lends == "" {
		return nil
	}
	id := w.setup.Environment
	from := func(ctx context.Context, take func(context.Context, io.Reader) error) error {
		p, err := asked{w}.sealed(ctx, call.Lacking{Environment: id}, errors.New("the conductor does not lend it"))
		if err != nil {
			return err
		}
		return p.read(ctx, wire.SealedEnvironment, w.bus.Cache(), take)
	}
	return w.receive(ctx, id, w.setup.Content, w.notice, from)
}
