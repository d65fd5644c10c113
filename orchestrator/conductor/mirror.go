package conductor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/internal/git"
	"divisi/orchestrator/run"
)

// landingIdent signs what the landing queue commits.
var landingIdent = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// merger lets the landing queue work on the mirror.
type merger struct{ draft *git.Draft }

// Merge implements landing.Merger.
func (m merger) Merge(ctx context.Context, ours, theirs string) (tree string, conflicts []string, message string, err error) {
	r, err := m.draft.MergeTree(ctx, ours, theirs)
	if err != nil {
		return "", nil, "", err
	}
	if r.Clean() {
		return r.Tree, nil, "", nil
	}
	words := make([]string, 0, len(r.Conflicts))
	for _, c := range r.Conflicts {
		words = append(words, strings.TrimSpace(c.Message))
	}
	paths := r.Paths
	if len(paths) == 0 {
		paths = []string{r.Conflicts[0].Path}
	}
	return "", paths, strings.Join(words, "\n"), nil
}

// Commit implements landing.Merger.
func (m merger) Commit(_ context.Context, tree, parent, message string, at time.Time) (string, error) {
	return m.draft.CommitTree(tree, []string{parent}, message, landingIdent, landingIdent, at)
}

// syncHead puts the mirror's integration branch where the log reports that it is. It keeps the commits reachable.
func (c *Conductor) syncHead(ctx context.Context) error {
	ref := run.IntegrationRef(c.cfg.Run)
	if c.synced != "" && c.cfg.Mirror.UpdateRef(ctx, ref, c.st.Head, c.synced) == nil {
		c.synced = c.st.Head
		return nil
	}
	at, err := c.cfg.Mirror.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	if at != c.st.Head {
		if err := c.cfg.Mirror.UpdateRef(ctx, ref, c.st.Head, at); err != nil {
			return err
		}
	}
	c.synced = c.st.Head
	return nil
}

// pack packs the mirror beside the run, where that pays. Without it the run continues all the same.
func (c *Conductor) pack(ctx context.Context) {
	if !c.packing.CompareAndSwap(false, true) {
		return
	}
	c.askers.Go(func() {
		defer c.packing.Store(false)
		n, err := c.cfg.Mirror.PackLoose(ctx)
		c.cfg.Log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
	})
}
