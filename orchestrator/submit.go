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
	if err := h.hand(ctx, &o, at); err != nil {
		return nil, err
	}
	return On(at).Open(ctx, h.spec.Run)
}

// hand makes the order of a run, and has the host on a server begin it.
func (h *conduct) hand(ctx context.Context, o *Options, at Server) error {
	if !h.spec.Project.Environment.IsZero() {
		return usage.Errorf("the environment of .divisi/divisi.yaml is taken from this checkout, which another " +
			"machine does not have: write a setup that makes it, or start the run here")
	}
	var err error
	if h.path, err = os.MkdirTemp("", "divisi-submit-"); err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(h.path); err != nil {
			h.log.Warn().Err(err).Msg("a temporary directory was left")
		}
	}()
	r, err := h.order(ctx, o)
	if h.mirror != nil {
		defer h.mirror.Close()
	}
	if err != nil {
		return err
	}
	return h.submit(ctx, r, at)
}

// order makes the order of a run, without its pack.
func (h *conduct) order(ctx context.Context, o *Options) (*order, error) {
	r := &order{Caches: h.sharedCaches(o.Sample), Exclude: h.exclude, Strict: o.Strict}
	h.caches = filepath.Join(h.path, "caches")
	_, err := h.tryPlan(ctx, o)
	if err = errors.Join(err, h.gated(o)); err != nil {
		return nil, err
	}
	if err := h.whole(ctx); err != nil {
		return nil, err
	}
	h.spec.Outputs = ""
	r.Spec, r.Notices = h.spec, append(h.notices, h.forgets(ctx)...)
	return r, nil
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

// submit sends an order without the commits that the host has, and the whole of it where the host has not.
func (h *conduct) submit(ctx context.Context, r *order, at Server) error {
	m, err := at.reach(ctx)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	a, err := m.ask(ctx, hostCall{Verb: verbHave, Caches: r.Caches, Commit: r.Spec.Base})
	if err != nil {
		return err
	}
	if h.bus, err = at.open(ctx, r.Spec.Run); err != nil {
		return err
	}
	defer (&client{h.bus}).close(ctx)
	lacks, err := h.send(ctx, m, r, a.Commits)
	if lacks {
		_, err = h.send(ctx, m, r, nil)
	}
	return err
}

// send uploads an order with a pack for a host that has the commits in have, and has it begin the run. What the host refuses it
// removes from the server again; lacks reports that it does not have those commits.
func (h *conduct) send(ctx context.Context, m *client, r *order, have []string) (lacks bool, err error) {
	p, err := h.pack(ctx, r.Spec.Base, have)
	if err != nil {
		return false, err
	}
	r.Pack, r.Size, r.Have = p.name, p.size, have
	name, data, err := r.seal()
	if err == nil {
		err = h.bus.Put(ctx, name, data)
	}
	if err != nil {
		return false, err
	}
	a, err := m.insist(ctx, hostCall{Verb: verbStart, Run: r.Spec.Run, Order: name})
	if err != nil && a.Error == "" {
		err = fmt.Errorf("run %s: whether the host has begun it is not known; list its runs: %w", r.Spec.Run, err)
	}
	return a.Lacks, err
}
