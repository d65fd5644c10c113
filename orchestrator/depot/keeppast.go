package depot

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/wire"
)

// PastDir has, in the directory of a run, the history that came from another machine.
const PastDir = "past.git"

// PutPast puts the history of a mirror into a cache, for a machine that has what leads to some tips.
func PutPast(ctx context.Context, to bus.Cache, dir string, m *git.Repo, have []string) (SealedPack, error) {
	p, err := m.Past()
	if err == nil && p.Commits == "" {
		err = usage.Errorf("the run has no history to lend")
	}
	if err != nil {
		return SealedPack{}, err
	}
	return PutPack(ctx, to, dir, m.Base(), func(w io.Writer) error { return m.PackPast(ctx, w, p, have) })
}

// keepPast has a mirror keep the history that comes from another machine, unless it has it. caches names the repository.
func keepPast(
	ctx context.Context, s *mirrors.Store, caches string, m *git.Repo, past *wire.Past, from mirrors.Source,
) error {
	kept, err := m.Past()
	if err != nil || past == nil || kept.Commits != "" {
		return err
	}
	p := git.Past{
		Commits: filepath.Join(filepath.Dir(m.Dir()), PastDir, "objects"), Tags: past.Tags, Shallow: past.Shallow,
	}
	if err := s.Past(ctx, caches, m.Base(), p, from); err != nil {
		return fmt.Errorf("get the history of commit %s: %w", m.Base(), err)
	}
	return m.KeepPast(p)
}
