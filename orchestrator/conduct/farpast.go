package conduct

import (
	"context"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// noteFar reports what fails on other machines, where anything is before the base.
func (h *Half) noteFar(ctx context.Context) error {
	base, err := h.Mirror.Commit(ctx, h.Spec.Base)
	if err != nil || len(base.Parents) == 0 {
		return err
	}
	text := "on other machines gates and agents have the commits and tags of the history without its old files: git " +
		"describe and git log work, git log -p, git log -- PATH and git blame end with an error"
	if h.Spec.Project.History == spec.HistoryFull {
		text += "; history: " + spec.HistoryFull + " counts on the machine of the checkout alone"
	}
	h.Notices = append(h.Notices, text)
	return nil
}

// FarPast is the history that trees on other machines have; nil for none.
func (h *Half) FarPast() (*wire.Past, error) {
	p, err := h.Mirror.Past()
	if err != nil || p.Commits == "" {
		return nil, err
	}
	return &wire.Past{Tags: p.Tags, Shallow: p.Shallow}, nil
}

// PackPast puts what a worker lacks of that into the cache of the bus, which has what leads to some tips.
func (h *Half) PackPast(ctx context.Context, have []string) (p depot.SealedPack, err error) {
	if len(have) > git.MaxTips {
		return p, fmt.Errorf("pack the history: %d tips are more than %d", len(have), git.MaxTips)
	}
	// Workers that begin together ask for it together.
	sent, err, _ := h.sends.Do(strings.Join(append(have, depot.PastDir), " "), func() (any, error) {
		return depot.PutPast(ctx, h.Bus.Cache(), h.Path, h.Mirror, have)
	})
	p, _ = sent.(depot.SealedPack)
	return p, err
}
