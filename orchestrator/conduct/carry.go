package conduct

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
	"divisi/orchestrator/client"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// carry conducts a run that was submitted: it begins the run where the log has no events, else it continues. The order stands for
// the checkout. The bus is open.
func (h *Half) carry(ctx context.Context, o *ResumeOptions, m store.Meta) (*client.Run, error) {
	if o.Repo != "" {
		return nil, usage.Errorf("run %s was submitted: it has no repository on this machine", o.Run)
	}
	st, err := eventlog.Fold(ctx, h.Bus, o.Run)
	if err != nil {
		return nil, err
	}
	r, err := depot.UnsealOrder(ctx, h.Bus, o.Run, m.Order)
	if err != nil {
		return nil, err
	}
	if err := h.instruct(r, st, o); err != nil {
		return nil, err
	}
	h.warrant, h.commands = cmp.Or(m.Warrant, r.Warrant), r.Mandate().Commands
	if h.Admits != nil {
		if err := h.Admits(h.warrant); err != nil {
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
func (h *Half) bring(ctx context.Context, r *depot.Order) error {
	release, err := h.Keep(h.notice)
	if err != nil {
		return err
	}
	h.Later(release)
	if h.Mirror, err = h.received(ctx, r); err != nil {
		return err
	}
	h.Later(h.Mirror.Close) // also where launch is not reached
	return conductor.Restore(ctx, h.Bus, r.Spec.Run, h.Mirror)
}

// instruct sets the half up by the log of the run, or by the order while the log is empty.
func (h *Half) instruct(r *depot.Order, st *run.State, o *ResumeOptions) error {
	h.Ordered, h.exclude = true, r.Exclude
	if h.Strict = h.Strict || r.Strict; h.Strict {
		if err := sandbox.Probe().Strict(); err != nil {
			return err
		}
	}
	h.Find(r.Caches())
	if len(st.Unread) == 0 && st.Spec.Run == "" {
		h.Spec, h.Notices = r.Spec, append(h.Notices, r.Notices...)
		h.Spec.Outputs = filepath.Join(h.Path, depot.OutputsDir)
	} else {
		if err := errors.Join(h.Dir.Check(st, o.Run), resumable(st, o)); err != nil {
			return err
		}
		h.Spec = st.Spec
		h.Spec.Plan = revised(st)
	}
	h.AutoApprove = o.AutoApprove || h.Spec.AutoApprove
	return nil
}

// received opens the mirror of the run, or makes it from what this machine keeps of the repository and the pack of the order.
func (h *Half) received(ctx context.Context, r *depot.Order) (*git.Repo, error) {
	dir := filepath.Join(h.Path, "repo.git")
	m, err := h.Git.OpenMirror(dir)
	if errors.Is(err, fs.ErrNotExist) {
		from := h.source(&r.PackSent, r.Spec.Run, call.Base{Commit: r.Spec.Base})
		m, err = h.ReceiveBase(ctx, h.Git, h.notice, r, dir, from)
	}
	if err == nil && r.Past != nil {
		ask := call.Base{Commit: r.Spec.Base, Past: r.Past.Git().Cut()}
		err = h.ReceivePast(ctx, h.Git, h.notice, r, m, h.source(&r.Past.PackSent, r.Spec.Run, ask))
	}
	return m, err
}

// errLacks reports that a pack is of no use here.
var errLacks = &call.Error{Class: call.Lacks, Text: "the host no longer has the commits that the pack builds on: submit again"}

// source is a pack of an order. It is on the server for a day; a host that stands by can ask the other one then.
func (h *Half) source(p *depot.PackSent, run string, ask call.Base) depot.Source {
	return func(ctx context.Context, _ string, have []string, take func(context.Context, io.Reader) error) error {
		var err error = errLacks
		if !slices.ContainsFunc(p.Have, func(id string) bool { return !slices.Contains(have, id) }) {
			err = depot.SealedPack{Object: p.Pack, Size: p.Size}.Copy(ctx, h.Bus.Cache(), take)
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
func (h *Half) lent(
	ctx context.Context, run string, ask call.Base, kind string, take func(context.Context, io.Reader) error,
) error {
	p, err := client.AskHost(ctx, h.lender, call.HostBase, run, ask)
	if err != nil {
		return err
	}
	return depot.SealedPack(p).Read(ctx, kind, h.lender.Bus.Cache(), take)
}

// ordered comes with an order, as a source.
type ordered struct {
	h *Half
	r *depot.Order
}

// borrow keeps what came with the base commit, and what this host has of it, for the workers.
func (h *Half) borrow(ctx context.Context, r *depot.Order) error {
	if err := h.Lend(ctx, ordered{h, r}); err != nil {
		return err
	}
	return h.keepSnapshot(ctx, r)
}

// Module implements checkout.Source.
func (o ordered) Module(ctx context.Context, m checkout.Module, dir string) (*git.Repo, error) {
	place := m.Place()
	i := slices.IndexFunc(o.r.Modules, func(s depot.ModuleSent) bool { return s.Place == place && s.Commit == m.Commit })
	if i < 0 {
		return nil, git.ErrNoModule
	}
	ask := call.Base{Commit: m.Commit, Module: place}
	return o.h.Module(ctx, o.h.Git, o.h.notice, o.r.Caches(), m, dir, o.h.source(&o.r.Modules[i].PackSent, o.r.Spec.Run, ask))
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
	err := depot.Content(p).Read(ctx, wire.SealedContent, o.h.Bus.Cache(), take)
	switch {
	case !expired(err):
		return err
	case o.h.lender != nil:
		return o.h.lent(ctx, o.r.Spec.Run, call.Base{Content: &p}, wire.SealedContent, take)
	}
	return errNoContent
}

// Stand brings the base commit of a submitted run to a machine that does not conduct it; for one that has ended its branch too.
func Stand(ctx context.Context, o *ResumeOptions, peer *client.Host, ended bool) error {
	h, err := newHalf(ctx, &o.Machine)
	if err != nil {
		return err
	}
	defer h.Release()
	h.Path, h.lender = h.Dir.Run(o.Run), peer
	m, err := store.ReadMeta(h.Path)
	if err != nil {
		return err
	}
	if h.Bus, err = h.Dir.Hold(ctx, o.Run, m.Server()); err != nil {
		return err
	}
	h.Later(func() { h.Dir.Close(h.Bus) })
	r, err := depot.UnsealOrder(ctx, h.Bus, o.Run, m.Order)
	if err != nil {
		return err
	}
	h.Ordered, h.exclude, h.Spec = true, r.Exclude, r.Spec
	h.Find(r.Caches())
	if err := h.bring(ctx, r); err != nil {
		return err
	}
	if !ended {
		return h.borrow(ctx, r)
	}
	st, err := eventlog.Fold(ctx, h.Bus, o.Run)
	if err == nil && st.Head != st.Spec.Base {
		_, err = h.from().publish(ctx, st.Head, "", "")
	}
	if err != nil || st.Status != run.Stopped {
		return err
	}
	return h.borrow(ctx, r) // a person may continue with it
}
