package conductor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// Baselines keeps what the gates found on base commits, by a key of all that decides it.
type Baselines interface {
	World(parts ...any) string
	Key(world string, p spec.Project, environment string) (string, error)
	Kept(key string) (*run.KeptBaseline, error)
	KeepTests(
		ctx context.Context, objects *bus.Bus, key string, k *run.KeptBaseline, receipts map[string]spec.Receipt,
	) error
}

// keptBaseline returns the baseline that an earlier run of the same files, gates and environment left; nil where there is none.
// One that cannot be read costs no more than another run of the gates.
func (c *patches) keptBaseline(ctx context.Context) *run.KeptBaseline {
	if c.cfg.Baselines == nil {
		return nil
	}
	var kept *run.KeptBaseline
	key, err := c.baselineKey(ctx)
	if err == nil {
		kept, err = c.cfg.Baselines.Kept(key)
	}
	if err == nil && !c.holds(kept) {
		return nil
	}
	if err == nil {
		for name, data := range kept.Tests {
			err = errors.Join(err, c.cfg.Bus.Put(ctx, name, data))
		}
	}
	if err == nil {
		return kept
	}
	c.cfg.Log.Warn().Err(err).Msg("the gates run on the base commit again")
	return nil
}

// keepBaseline keeps the baseline for later runs, or adds to it which failures are flaky. One that cannot be written costs them a
// run of the gates.
func (c *patches) keepBaseline(ctx context.Context) {
	if c.cfg.Baselines == nil {
		return
	}
	key, err := c.baselineKey(ctx)
	if err == nil && c.st.Proofs.Flaky != nil {
		var kept *run.KeptBaseline
		if kept, err = c.cfg.Baselines.Kept(key); err == nil && c.holds(kept) {
			kept.Flaky = c.st.Proofs.Flaky
			err = c.cfg.Baselines.KeepTests(ctx, c.cfg.Bus, key, kept, c.st.Proofs.Baseline)
		}
	} else if err == nil {
		kept := &run.KeptBaseline{Run: c.cfg.Run, Commit: c.st.Spec.Base, Made: c.cfg.Clock()}
		for _, name := range slices.Sorted(maps.Keys(c.st.Proofs.Baseline)) {
			r := c.st.Proofs.Baseline[name]
			r.Output = "" // it is in the store of this run
			kept.Receipts = append(kept.Receipts, r)
		}
		err = c.cfg.Baselines.KeepTests(ctx, c.cfg.Bus, key, kept, c.st.Proofs.Baseline)
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Msg("a later run of this commit runs its gates again")
	}
}

// holds reports whether a baseline is of the base commit, or of one that its gates could not tell from it.
func (c *patches) holds(kept *run.KeptBaseline) bool {
	return kept != nil && (kept.Commit == c.st.Spec.Base || !slices.ContainsFunc(kept.Receipts, func(r spec.Receipt) bool {
		u := r.UnreadOf(spec.OwnDir)
		return u == nil || u.Grade != spec.GradeUnread
	}))
}

// baselineKey has the files of the base commit, of Divisi's own regular ones alone whether there are any, and what trees have of
// refs and tags.
func (c *patches) baselineKey(ctx context.Context) (string, error) {
	files, err := c.cfg.Mirror.Files(ctx, c.st.Spec.Base)
	if err != nil {
		return "", err
	}
	own, others := false, files[:0]
	for _, f := range files {
		if strings.HasPrefix(f.Path, spec.OwnDir+"/") && (f.Mode == git.ModeFile || f.Mode == git.ModeExec) {
			own = true
		} else {
			others = append(others, f)
		}
	}
	refs, err := c.cfg.Mirror.Refs()
	if err != nil {
		return "", err
	}
	past, err := c.cfg.Mirror.Past()
	if err != nil {
		return "", err
	}
	return c.cfg.Baselines.Key(c.cfg.Baselines.World(others, own, refs, past), c.st.Spec.Project, c.st.Environment())
}

// inspect looks up which tests of the base commit did not run, reads the patches that may explain it, and executes what follows.
func (c *Conductor) inspect(ctx context.Context, a proof.Inspect) error {
	found, err := evidence.Inspect(ctx, c.cfg.Mirror, c.cfg.Bus, c.st, a)
	if err != nil {
		return err
	}
	return c.execute(ctx, a.Then(found))
}

// weigh reads patches and the tests that fail, and executes what follows.
func (c *Conductor) weigh(ctx context.Context, a rank.Weigh) error {
	e, err := evidence.Weigh(ctx, c.cfg.Mirror, a)
	if err != nil {
		return err
	}
	return c.execute(ctx, a.Then(e))
}

// compare looks up the tests that passed on the base commit in two environments, and executes what follows from what differs.
func (c *Conductor) compare(ctx context.Context, a proof.Compare) error {
	var d proof.Difference
	for _, r := range a.Receipts {
		differs, err := evidence.Compare(ctx, c.cfg.Bus, c.st.Proofs.Baseline[r.Gate], r)
		switch {
		case err == nil:
			d = d.And(differs)
		case ctx.Err() != nil, errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrBroken):
			return fmt.Errorf("compare the base commit in environment %.12s: %w", r.Environment, err)
		default: // what a worker has left is no reason to end the run
			d.Lost = append(d.Lost, r.Gate+": its tests cannot be compared: "+text.Short(text.OneLine(err.Error()), maxUnable))
		}
	}
	return c.execute(ctx, a.Then(d))
}
