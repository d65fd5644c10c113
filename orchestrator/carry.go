package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// carry conducts a run that was submitted: it begins the run where the log has no events, else it goes on. The order stands for
// the checkout. The bus is open.
func (h *conduct) carry(ctx context.Context, o *ResumeOptions, m store.Meta) (*Run, error) {
	if o.Repo != "" {
		return nil, usage.Errorf("run %s was submitted: it has no repository on this machine", o.Run)
	}
	st, err := eventlog.Fold(ctx, h.bus, o.Run)
	if err != nil {
		return nil, err
	}
	r, err := unsealOrder(ctx, h.bus, o.Run, m.Order)
	if err != nil {
		return nil, err
	}
	if err := h.obey(r, st, o); err != nil {
		return nil, err
	}
	h.warrant, h.commands = cmp.Or(m.Warrant, r.Warrant), r.mandate().Commands
	if h.admits != nil {
		if err := h.admits(h.warrant); err != nil {
			return nil, err
		}
	}
	if err := h.bring(ctx, r); err != nil {
		return nil, err
	}
	if err := errors.Join(h.checkSetup(ctx), h.borrow(ctx, r)); err != nil {
		return nil, err
	}
	return h.launch(ctx, st)
}

// bring gets the run's mirror, with all that its log refers to. The caches are held from then on.
func (h *conduct) bring(ctx context.Context, r *order) error {
	release, err := h.keep(h.notice)
	if err != nil {
		return err
	}
	h.later(release)
	if h.mirror, err = h.received(ctx, r); err != nil {
		return err
	}
	h.later(h.mirror.Close) // also where launch is not reached
	return conductor.Restore(ctx, h.bus, r.Spec.Run, h.mirror)
}

// obey takes what a run is to do from its log, and from the order where the log has no events.
func (h *conduct) obey(r *order, st *run.State, o *ResumeOptions) error {
	h.ordered, h.exclude = true, r.Exclude
	if h.Strict = h.Strict || r.Strict; h.Strict {
		if err := sandbox.Probe().Strict(); err != nil {
			return err
		}
	}
	h.find(r.caches())
	if len(st.Unread) == 0 && st.Spec.Run == "" {
		h.resumes, h.spec, h.notices = false, r.Spec, append(h.notices, r.Notices...)
		h.spec.Outputs = filepath.Join(h.path, outputsDir)
	} else {
		if err := errors.Join(h.dir.Check(st, o.Run), resumable(st, o)); err != nil {
			return err
		}
		h.spec = st.Spec
		h.spec.Plan = revised(st)
	}
	h.AutoApprove = o.AutoApprove || h.spec.AutoApprove
	return nil
}

// received opens the mirror of the run, or makes it from what this machine keeps of the repository and the pack of the order.
func (h *conduct) received(ctx context.Context, r *order) (*git.Repo, error) {
	dir := filepath.Join(h.path, "repo.git")
	m, err := h.git.OpenMirror(dir)
	if errors.Is(err, fs.ErrNotExist) {
		from := h.source(&r.packSent, r.Spec.Run, call.Base{Commit: r.Spec.Base})
		m, err = h.receiveBase(ctx, h.git, h.notice, r, dir, from)
	}
	if err == nil && r.Past != nil {
		ask := call.Base{Commit: r.Spec.Base, Past: r.Past.git().Cut()}
		err = h.receivePast(ctx, h.git, h.notice, r, m, h.source(&r.Past.packSent, r.Spec.Run, ask))
	}
	return m, err
}

// errLacks reports that a pack is of no use here.
var errLacks = &call.Error{Class: call.Lacks, Text: "the host no longer has the commits that the pack builds on: submit again"}

// source is a pack of an order. It is on the server for a day; a host that stands by can ask the other one then.
func (h *conduct) source(p *packSent, run string, ask call.Base) source {
	return func(ctx context.Context, _ string, have []string, take func(context.Context, io.Reader) error) error {
		var err error = errLacks
		if !slices.ContainsFunc(p.Have, func(id string) bool { return !slices.Contains(have, id) }) {
			err = sealedPack{p.Pack, p.Size}.copy(ctx, h.bus.Cache(), take)
		}
		gone := expired(err)
		switch {
		case (gone || errors.Is(err, errLacks)) && h.lender != nil:
			return h.lent(ctx, run, ask, wire.SealedCommits, take)
		case gone:
			return usage.Errorf("the server no longer has the files of run %s, which it keeps for a day: submit again", run)
		}
		return err
	}
}

// expired reports whether the cache no longer has an object, or not all of it: it removes pieces one by one.
func expired(err error) bool { return errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrBroken) }

// lent has take read what the host that conducts the run has.
func (h *conduct) lent(
	ctx context.Context, run string, ask call.Base, kind string, take func(context.Context, io.Reader) error,
) error {
	p, err := askHost(ctx, h.lender, call.HostBase, run, ask)
	if err != nil {
		return err
	}
	return sealedPack(p).read(ctx, kind, h.lender.bus.Cache(), take)
}

// ordered is what comes with an order, as a source.
type ordered struct {
	h *conduct
	r *order
}

// borrow keeps what came with the base commit, and what this host has of it, for the workers.
func (h *conduct) borrow(ctx context.Context, r *order) error {
	if err := h.lend(ctx, ordered{h, r}); err != nil {
		return err
	}
	return h.keepSnapshot(ctx, r)
}

// Module implements checkout.Source.
func (o ordered) Module(ctx context.Context, m checkout.Module, dir string) (*git.Repo, error) {
	place := m.Place()
	i := slices.IndexFunc(o.r.Modules, func(s moduleSent) bool { return s.Place == place && s.Commit == m.Commit })
	if i < 0 {
		return nil, git.ErrNoModule
	}
	ask := call.Base{Commit: m.Commit, Module: place}
	return o.h.module(ctx, o.h.git, o.h.notice, o.r.caches(), m, dir, o.h.source(&o.r.Modules[i].packSent, o.r.Spec.Run, ask))
}

// errNoContent reports that what trees have beside their commits is to be sent.
var errNoContent = &call.Error{
	Class: call.Lacks, Text: "neither the host nor the server has all that trees have beside their commits: submit again",
}

// Object implements checkout.Source.
func (o ordered) Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error {
	if !slices.Contains(o.r.Contents, p) {
		return fs.ErrNotExist
	}
	err := content(p).read(ctx, wire.SealedContent, o.h.bus.Cache(), take)
	switch {
	case !expired(err):
		return err
	case o.h.lender != nil:
		return o.h.lent(ctx, o.r.Spec.Run, call.Base{Content: &p}, wire.SealedContent, take)
	}
	return errNoContent
}

// keepBranch is publish of a run that was submitted: the branch stays in the run's mirror until a person publishes it.
func (h *conduct) keepBranch(ctx context.Context, commit string) (string, error) {
	ref := run.IntegrationRef(h.spec.Run)
	at, err := h.mirror.Ref(ctx, ref)
	switch {
	case err != nil && !errors.Is(err, git.ErrNotFound):
		return "", err
	case at == commit:
		return ref, nil
	}
	return ref, h.mirror.UpdateRef(ctx, ref, commit, at)
}

// guard makes an error of a panic where other runs are conducted in this process.
func (h *conduct) guard(do func() error) error {
	if !h.ordered {
		return do()
	}
	return call.Guarded("conduct run "+h.spec.Run, do)
}
