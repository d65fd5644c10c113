package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/wire"
)

// noteFar says what fails on other machines, where anything is before the base.
func (h *conduct) noteFar(ctx context.Context) error {
	base, err := h.mirror.Commit(ctx, h.spec.Base)
	if err != nil || len(base.Parents) == 0 {
		return err
	}
	text := "on other machines gates and agents have the commits and tags of the history without its old files: git " +
		"describe and git log work, git log -p, git log -- PATH and git blame end with an error"
	if h.spec.Project.History == spec.HistoryFull {
		text += "; history: " + spec.HistoryFull + " counts on the machine of the checkout alone"
	}
	h.notices = append(h.notices, text)
	return nil
}

// pastDir has, in the directory of a run, the history that came from another machine.
const pastDir = "past.git"

// farPast is the history that trees on other machines have; nil for none.
func (h *conduct) farPast() (*wire.Past, error) {
	p, err := h.mirror.Past()
	if err != nil || !h.Elsewhere || p.Commits == "" {
		return nil, err
	}
	return &wire.Past{Tags: p.Tags, Shallow: p.Shallow}, nil
}

// packPast puts what a worker lacks of that into the cache of the bus, which has what leads to some tips.
func (h *conduct) packPast(ctx context.Context, have []string) (p sealedPack, err error) {
	if len(have) > git.MaxTips {
		return p, fmt.Errorf("pack the history: %d tips are more than %d", len(have), git.MaxTips)
	}
	// Workers that begin together ask for it together.
	sent, err, _ := h.sends.Do(strings.Join(append(have, pastDir), " "), func() (any, error) {
		return putPast(ctx, h.bus.Cache(), h.path, h.mirror, have)
	})
	p, _ = sent.(sealedPack)
	return p, err
}

// putPast puts the history of a mirror into a cache, for a machine that has what leads to some tips.
func putPast(ctx context.Context, to bus.Cache, dir string, m *git.Repo, have []string) (sealedPack, error) {
	p, err := m.Past()
	if err == nil && p.Commits == "" {
		err = usage.Errorf("the run has no history to lend")
	}
	if err != nil {
		return sealedPack{}, err
	}
	return putPack(ctx, to, dir, m.Base(), func(w io.Writer) error { return m.PackPast(ctx, w, p, have) })
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
		Commits: filepath.Join(filepath.Dir(m.Dir()), pastDir, "objects"), Tags: past.Tags, Shallow: past.Shallow,
	}
	if err := s.Past(ctx, caches, m.Base(), p, from); err != nil {
		return fmt.Errorf("get the history of commit %s: %w", m.Base(), err)
	}
	return m.KeepPast(p)
}

// past implements mirrors.Source for the history of the run.
func (w *work) past(ctx context.Context, _ string, have []string, take func(context.Context, io.Reader) error) error {
	p, err := asked{w}.sealed(ctx, lacking{Past: true, Have: have}, errors.New("the conductor does not lend it"))
	if err != nil {
		return err
	}
	return p.copy(ctx, w.bus.Cache(), take)
}
