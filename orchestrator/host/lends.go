package host

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// pack makes a pack of what has landed, for a repository that has another commit.
func (h *Host) pack(ctx context.Context, in *call.In, q *call.Landed) (none call.Pack, err error) {
	if _, err := h.submitted(in.Run); err != nil {
		return none, err
	}
	mirror, err := h.landed(ctx, in.Run, q.Commit)
	if err != nil && h.restored(ctx, in.Run) { // the host before had its branch alone
		mirror, err = h.landed(ctx, in.Run, q.Commit)
	}
	if err != nil {
		return none, err
	}
	defer mirror.Close()
	p, err := depot.PutPack(ctx, h.bus.Cache(), h.Dir.Run(in.Run), q.Commit, func(w io.Writer) error {
		return mirror.PackTo(ctx, w, q.Commit, q.Have)
	})
	return call.Pack(p), err
}

// landed opens the mirror of a run whose branch is at a commit.
func (h *Host) landed(ctx context.Context, id, commit string) (*git.Repo, error) {
	mirror, err := h.mirror(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := landedAt(ctx, mirror, id, commit); err != nil {
		mirror.Close()
		return nil, err
	}
	return mirror, nil
}

// restored reports whether the branch of a run that is not active was brought here, from the log and its objects.
func (h *Host) restored(ctx context.Context, id string) bool {
	mine, taken := h.place(id)
	if taken {
		return false
	}
	mine.err = usage.Errorf("the branch of run %s is being restored: try again", id)
	defer func() {
		h.drop(ctx, mine)
		close(mine.begun)
	}()
	err := h.bring(ctx, Known{Run: id, Order: h.orderOf(id), Ended: true})
	if err != nil {
		h.Dir.Log.Warn().Err(err).Str("run", id).Msg("the branch of the run was not restored")
	}
	return err == nil
}

// base makes a pack of the base commit of a run, or of what comes with it, for a host that stands by.
func (h *Host) base(ctx context.Context, in *call.In, q *call.Base) (call.Pack, error) {
	m, err := h.submitted(in.Run)
	if err != nil {
		return call.Pack{}, err
	}
	lend := h.lendsBase
	if q.Module != "" || q.Content != nil || q.Environment != nil {
		lend = h.lends
	}
	p, err := lend(ctx, in.Run, q, m)
	return call.Pack(p), err
}

func (h *Host) lendsBase(ctx context.Context, id string, q *call.Base, _ store.Meta) (p depot.SealedPack, err error) {
	mirror, err := h.mirror(ctx, id)
	if err != nil {
		return p, err
	}
	defer mirror.Close()
	if mirror.Base() != q.Commit {
		return p, usage.Errorf("commit %.64q is not the base of run %s", q.Commit, id)
	}
	if q.Past != "" {
		return depot.PutPast(ctx, h.bus.Cache(), h.Dir.Run(id), mirror, nil)
	}
	return depot.PutPack(ctx, h.bus.Cache(), h.Dir.Run(id), q.Commit, func(w io.Writer) error {
		return mirror.PackBase(ctx, w, mirror.Objects())
	})
}

// lends is base of a submodule, or of what Git LFS keeps.
func (h *Host) lends(ctx context.Context, id string, q *call.Base, m store.Meta) (p depot.SealedPack, err error) {
	o, err := h.ordered(ctx, id, m.Order)
	if err != nil {
		return p, err
	}
	switch caches := o.Caches(); {
	case q.Environment != nil:
		return h.lendsEnvironment(ctx, id, q.Environment.ID, caches)
	case q.Content == nil && wire.IsCommit(q.Commit):
		g, err := git.New(ctx)
		if err != nil {
			return p, err
		}
		return depot.PutModule(ctx, g, h.bus.Cache(), h.Dir.Run(id), q.Commit, "", nil)
	case q.Content != nil && depot.IsContent(q.Content.OID):
		p, err = depot.PutContent(ctx, h.bus.Cache(), h.besides(caches), *q.Content)
	}
	if err == nil && p.Object == "" {
		err = usage.Errorf("the host does not have the requested part of run %s", id)
	}
	return p, err
}

func (h *Host) mirror(ctx context.Context, id string) (*git.Repo, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	return g.OpenMirror(filepath.Join(h.Dir.Run(id), "repo.git"))
}

// landedAt refuses a commit that is not the newest one of the run.
func landedAt(ctx context.Context, mirror *git.Repo, id, commit string) error {
	at, err := mirror.Ref(ctx, run.IntegrationRef(id))
	if errors.Is(err, git.ErrNotFound) || err == nil && at != commit {
		return usage.Errorf("commit %.64q has not landed in run %s", commit, id)
	}
	return err
}
