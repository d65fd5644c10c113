package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
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
