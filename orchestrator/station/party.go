package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fit"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// party is who works for a run: the process that conducts it, or a worker of many runs.
type party interface {
	borrower
	counted
	caller
	// sign gives the worker its name, its key, the roles that it serves, and what it reads.
	sign(cfg *worker.Config) error
	// hide keeps what is of this process alone from commands. What a command needs below it the command is given.
	hide() error
	// events is the log as the worker reads it for an attempt; nil for none.
	events(a *wire.Assignment) worker.Log
}

// borrower has what the conducting half has.
type borrower interface {
	// base opens the mirror of the run's base commit at a directory.
	base(ctx context.Context, dir string) (*git.Repo, error)
	// bring gets the environment that the conducting half lends. beside has what trees have beside the commits; nil for this
	// machine.
	bring(ctx context.Context) error
	beside() checkout.Source
}

// counted is one that the conducting half may have to count on.
type counted interface {
	// equips finds the roles of the setup that it can serve, enlist has the conductor count on it.
	equips() error
	enlist(ctx context.Context) error
	// unready is why a run cannot be worked for.
	unready(ctx context.Context, err error) error
}

// caller calls models: for a plan, within a budget and the limits of services.
type caller interface {
	plan() *spec.Plan
	budget() *model.Budget
	// common is what all processes share that call models from its state directory.
	common() depot.Common
	keepTo(rate *model.RateLimit)
}

// party chooses by what the work was begun with.
func (w *Work) party() party {
	if w.Shared {
		return own{w}
	}
	return apart{w, w.engaged}
}

// own is the process that conducts the run, with the same state directory.
type own struct{ *Work }

func (w own) base(_ context.Context, dir string) (*git.Repo, error) { return w.Git.OpenMirror(dir) }

func (own) bring(context.Context) error { return nil }

func (own) beside() checkout.Source { return nil }

func (own) equips() error { return nil }

func (own) enlist(context.Context) error { return nil }

func (own) unready(_ context.Context, err error) error { return err }

func (w own) plan() *spec.Plan { return w.Setup.Plan }

func (w own) budget() *model.Budget {
	if w.Setup.Budget.IsZero() {
		return nil
	}
	return model.NewBudget(w.Setup.Budget, w.Setup.Spent, model.PricesOf(&w.Setup.Project))
}

func (w own) common() depot.Common { return depot.CommonIn(w.Dir.Path) }

func (own) keepTo(*model.RateLimit) {}

func (w own) sign(cfg *worker.Config) (err error) {
	cfg.Roles = slices.Collect(maps.Keys(w.Setup.Roles))
	if cfg.Owner, err = fit.OwnGrants(); err != nil {
		return err
	}
	if cfg.Key, err = depot.ReadKey(w.Key); err != nil {
		return fmt.Errorf("take the key that signs receipts of run %s: %w", w.Run, err)
	}
	return nil
}

func (w own) hide() error {
	common, err := w.common().Dir()
	if err == nil {
		err = sandbox.Hide(common)
	}
	return errors.Join(err, sandbox.Hide(w.Dir.Runs()))
}

func (w own) events(*wire.Assignment) worker.Log { return w.Bus }

// apart is a worker of many runs.
type apart struct {
	*Work
	*workerRun
}

// base makes the mirror again from what this machine keeps of the repository, and from a pack with what is not there.
func (w apart) base(ctx context.Context, dir string) (*git.Repo, error) {
	if err := w.Trash.Put(dir); err != nil {
		return nil, fmt.Errorf("remove the mirror of an earlier worker: %w", err)
	}
	r, leave, err := w.Take(ctx, w.Git, w.Notice, w.remotes[w.Setup.Name], w.Setup, dir, w.commits, w.past)
	if err != nil {
		return nil, err
	}
	w.brought.clear()
	w.Later(func() { leave(w.brought.list()) })
	return r, nil
}

func (w apart) bring(ctx context.Context) error {
	if w.Setup.Lends == "" {
		return nil
	}
	id := w.Setup.Environment
	from := func(ctx context.Context, take func(context.Context, io.Reader) error) error {
		p, err := asked{w.Work}.sealed(ctx, call.Lacking{Environment: id}, errors.New("the conductor does not lend it"))
		if err != nil {
			return err
		}
		return p.Read(ctx, wire.SealedEnvironment, w.Bus.Cache(), take)
	}
	return w.Receive(ctx, id, w.Setup.Content, w.Notice, from)
}

func (w apart) beside() checkout.Source {
	if !sandbox.ShowsLayers() {
		w.Notice(depot.NoLayers)
	}
	return asked{w.Work}
}

func (w apart) equips() error { return w.workerRun.equips(w.Work, w.Setup) }

func (w apart) enlist(ctx context.Context) error { return w.workerRun.enlist(ctx, w.Work) }

// unready tells that what cannot be prepared on this machine may be on others, and here later.
func (w apart) unready(ctx context.Context, err error) error {
	if w.Setup == nil || ctx.Err() != nil || errors.As(err, new(*unfitError)) {
		return err
	}
	if f := machine.Of(err, w.Dir.Path); f != nil {
		w.worker.broke(f)
	}
	why, lacks := "its needs for the run: "+err.Error(), map[string][]string{}
	for role := range w.Setup.Roles {
		if w.Setup.Wants(role) {
			lacks[role] = []string{why}
		}
	}
	return &unfitError{lacks: lacks, why: "this worker lacks " + why}
}

func (w apart) plan() *spec.Plan { return planOf(w.serves...) }

func (w apart) budget() *model.Budget { return w.allowance.of(w.Setup) }

func (w apart) common() depot.Common { return depot.CommonIn(filepath.Dir(w.Dir.Path)) }

func (w apart) sign(cfg *worker.Config) error {
	by := w.worker
	cfg.Name, cfg.Key, cfg.Places, cfg.Roles = by.o.Name, by.key, by.places, w.serves
	cfg.Owner, cfg.Accept = fit.Grants(by.policy), w.accepts
	cfg.Broke, cfg.Lacks, cfg.Events, cfg.Outdated = by.broke, by.lacking, w.events, w.outdated
	cfg.Foreign = func(ctx context.Context, f wire.Foreign) (wire.Part, error) { return w.foreign(ctx, w.Work, f) }
	cfg.Fetch, cfg.AckWait = w.Fetch, wire.PresentFor // silent for so long it is not there, and neither is what it has
	return nil
}

// hide hides the whole directory: it has the login, and the key that signs.
func (w apart) hide() error { return sandbox.Hide(filepath.Dir(w.Dir.Path)) }

func (w apart) events(a *wire.Assignment) worker.Log {
	if a == nil {
		return Reading{W: w.Work}
	}
	return Reading{w.Work, a.Task.ID, a.Attempt}
}
