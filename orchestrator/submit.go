package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"divisi/contextscope/memory"
	"divisi/internal/usage"
	"divisi/subagents/wire"
)

// Submit begins a run that the host on a server conducts. All that Start reads and checks is read and checked on this machine,
// and nothing is sent before Trust agrees; the variables and keys that roles need are those of the workers. Run.Decide decides
// about plans too: Approve and Decide are not called. After Submit this process is not needed.
func Submit(ctx context.Context, o Options, at Server) (*Run, error) {
	switch {
	case at.URL == "":
		return nil, usage.Errorf("name the URL of the server whose host conducts the run")
	case o.NATS != "" || o.Dashboard != "" || o.WritePlan != nil:
		return nil, usage.Errorf("a run that is submitted has neither NATS, Dashboard nor WritePlan: its host conducts it")
	}
	o.Elsewhere, o.Approve, o.Decide = true, waits, nil
	h, err := prepare(ctx, &o, false)
	if err != nil {
		return nil, err
	}
	r, pack, err := h.order(ctx, &o)
	if err != nil {
		return nil, err
	}
	if err := at.submit(ctx, r, pack); err != nil {
		return nil, err
	}
	return On(at).Open(ctx, r.Spec.Run)
}

// order makes the order of a run, and the pack of its base commit.
func (h *conduct) order(ctx context.Context, o *Options) (_ *order, pack []byte, err error) {
	if !h.spec.Project.Environment.IsZero() {
		return nil, nil, usage.Errorf("the environment of .divisi/divisi.yaml is taken from this checkout, which another " +
			"machine does not have: write a setup that makes it, or start the run here")
	}
	r := &order{Caches: h.sharedCaches(o.Sample), Exclude: h.exclude, Strict: o.Strict}
	if h.path, err = os.MkdirTemp("", "divisi-submit-"); err != nil {
		return nil, nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.path)) }()
	h.caches = filepath.Join(h.path, "caches")
	if _, err = h.tryPlan(ctx, o); h.mirror != nil {
		defer h.mirror.Close()
	}
	if err = errors.Join(err, h.gated(o)); err != nil {
		return nil, nil, err
	}
	if err := h.whole(ctx); err != nil {
		return nil, nil, err
	}
	if pack, err = h.mirror.Pack(ctx, h.spec.Base, ""); err != nil {
		return nil, nil, err
	}
	h.spec.Outputs = ""
	r.Spec, r.Pack, r.Notices = h.spec, wire.Name(wire.SealedCommits, pack), append(h.notices, h.forgets(ctx)...)
	return r, pack, nil
}

// sharedCaches names the caches of the repository for machines that have those of many.
func (h *conduct) sharedCaches(sample bool) string {
	name := filepath.Base(h.caches)
	if sample {
		return name
	}
	machine, _ := os.Hostname() // without one, repositories at the same place share caches
	digest := sha256.Sum256([]byte(machine + "\x00" + account() + "\x00" + name))
	return hex.EncodeToString(digest[:8])
}

// whole refuses a base commit that trees need more for than git stores.
func (h *conduct) whole(ctx context.Context) error {
	links, err := h.mirror.Links(ctx, h.spec.Base)
	if err != nil {
		return err
	}
	files, err := h.mirror.LFSFiles(ctx, h.spec.Base)
	if err != nil {
		return err
	}
	if len(links)+len(files) > 0 {
		return usage.Errorf("the repository has %d submodules and %d files of Git LFS, which are in this checkout and do not "+
			"travel with a commit: start the run here", len(links), len(files))
	}
	return nil
}

// forgets says that agents elsewhere do not see the notes of the repository.
func (h *conduct) forgets(ctx context.Context) []string {
	m, _, err := memory.Open(ctx, memory.Options{Repo: h.spec.Repo, Clock: now})
	if err != nil {
		return nil
	}
	notes, err := m.List(ctx)
	if err != nil || len(notes) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the run has no memory: the %d notes of the repository stay where it was submitted", len(notes))}
}

// submit uploads an order and has the host begin its run. What the host refuses it removes from the server again.
func (s Server) submit(ctx context.Context, r *order, pack []byte) error {
	name, data, err := r.seal()
	if err != nil {
		return err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	if _, err := m.ask(ctx, hostCall{Verb: verbHello}); err != nil {
		return err
	}
	if err := s.upload(ctx, r.Spec.Run, map[string][]byte{r.Pack: pack, name: data}); err != nil {
		return err
	}
	if a, err := m.insist(ctx, hostCall{Verb: verbStart, Run: r.Spec.Run, Order: name}); err != nil {
		if a.Error == "" {
			err = fmt.Errorf("run %s: whether the host has begun it is not known; list its runs: %w", r.Spec.Run, err)
		}
		return err
	}
	return nil
}

// upload stores objects of a run.
func (s Server) upload(ctx context.Context, id string, objects map[string][]byte) error {
	b, err := s.open(ctx, id)
	if err != nil {
		return err
	}
	defer (&client{b}).close(ctx)
	for name, data := range objects {
		if err := b.Put(ctx, name, data); err != nil {
			return err
		}
	}
	return nil
}
