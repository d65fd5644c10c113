package rebase

import (
	"context"
	"slices"

	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/client"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Began is the run that has begun to move the source onto its base, and goes on; "" for none. One that is over or active is an
// error.
func (s *Source) Began(ctx context.Context) (string, error) {
	ids, err := s.dir.IDs()
	if err != nil {
		return "", err
	}
	for _, id := range ids { // the newest first
		m, err := store.ReadMeta(s.dir.Run(id))
		if err != nil || m.Moves != s.State.Spec.Run || m.Onto != s.Base {
			continue // it may be any run, also one that is damaged
		}
		switch r, err := client.Local(s.dir.Path).Summary(ctx, id); {
		case err != nil: // killed before it began
		case slices.Contains([]string{string(run.Done), string(run.Parked)}, r.State):
			return "", usage.Errorf("run %s has moved run %s onto %.12s already", id, s.State.Spec.Run, s.Base)
		case r.State != string(run.Cancelled):
			return id, nil
		}
	}
	return "", nil
}

// Moved reports whether a run has landed something, and the branch that it began on is at another commit than the run began with.
func Moved(ctx context.Context, r *client.Run) (bool, error) {
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.ID())
	if err != nil || st.Head == st.Spec.Base || st.Spec.Branch == "" {
		return false, err
	}
	g, err := git.New(ctx)
	if err != nil {
		return false, err
	}
	c, err := r.Dir.Inspect(ctx, g, st.Spec.Repo)
	if err != nil {
		return false, err
	}
	at, err := g.Resolve(ctx, c, "refs/heads/"+st.Spec.Branch)
	return at != st.Spec.Base, err
}
