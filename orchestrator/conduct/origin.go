package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"divisi/contextscope/memory"
	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/shard"
	"divisi/subagents/wire"
)

// origin is where a run comes from: a checkout of this machine, or the order of another one.
type origin interface {
	// publish puts a commit where the person finds it, and returns its ref.
	publish(ctx context.Context, commit, base, had string) (string, error)
	// remember opens the memory of the repository.
	remember(ctx context.Context)
	lending
	bounds
}

// lending is what workers of the run are told.
type lending interface {
	// environment is the one that the run lends to them; "" for none.
	environment() string
	// caches names what they keep of the repository on other machines.
	caches(ctx context.Context) string
}

// bounds are those of the commands of a run, and of its faults.
type bounds interface {
	// mandate has the commands that the person who began the run has signed.
	mandate() [][]string
	// runs refuses a command of a shard rule.
	runs(command []string) error
	// guard conducts the run beside others of this process.
	guard(do func() error) error
}

// from chooses by what the run was begun with.
func (h *Half) from() origin {
	if h.Ordered {
		return byOrder{h}
	}
	return fromCheckout{h}
}

type fromCheckout struct{ *Half }

// publish puts a commit of the run into the user's repository, as its one new branch. A branch that is no longer where an
// earlier end of the run left it is a person's now: the run's is then the first free one of divisi/<run>-2, -3 and so on.
func (h fromCheckout) publish(ctx context.Context, commit, base, had string) (string, error) {
	for n := 1; ; n++ {
		ref := run.IntegrationRef(h.Spec.Run)
		if n > 1 {
			ref = fmt.Sprintf("%s-%d", ref, n)
		}
		if err := h.Git.Publish(ctx, h.Checkout, h.Mirror, ref, commit, base, had); !errors.Is(err, git.ErrStale) {
			return ref, err
		}
		h.notice(fmt.Sprintf("note: the branch %s was moved or is checked out, and stays as it is",
			strings.TrimPrefix(ref, "refs/heads/")))
	}
}

// remember opens the memory of the repository; a run continues without it. Notes that cannot be read are named, and the others
// serve.
func (h fromCheckout) remember(ctx context.Context) {
	m, problems, err := memory.Open(ctx, memory.Options{
		Repo: h.Spec.Repo, Home: memory.Home(h.Dir.Path, h.Spec.Repo), Clock: depot.Now,
	})
	if err != nil {
		h.Log.Warn().Err(err).Msg("the run has no memory")
		return
	}
	for i := range problems {
		h.Log.Warn().Msg(problems[i].String())
	}
	h.notes = m
}

func (fromCheckout) environment() string { return "" }

// caches does not tell where the checkout is on this machine.
func (h fromCheckout) caches(ctx context.Context) string {
	return depot.CachesOf(nil, h.roots(ctx), h.Spec.Base, wire.RepositoryName(h.Spec.Repo))
}

func (h fromCheckout) mandate() [][]string { return wire.Commands(h.Spec.Plan, h.Spec.Roles) }

func (fromCheckout) runs([]string) error { return nil }

func (fromCheckout) guard(do func() error) error { return do() }

type byOrder struct{ *Half }

// publish keeps the branch in the run's mirror until a person publishes it.
func (h byOrder) publish(ctx context.Context, commit, _, _ string) (string, error) {
	ref := run.IntegrationRef(h.Spec.Run)
	at, err := h.Mirror.Ref(ctx, ref)
	switch {
	case err != nil && !errors.Is(err, git.ErrNotFound):
		return "", err
	case at == commit:
		return ref, nil
	}
	return ref, h.Mirror.UpdateRef(ctx, ref, commit, at)
}

func (byOrder) remember(context.Context) {}

func (h byOrder) environment() string { return h.Spec.Environment }

func (h byOrder) caches(context.Context) string { return filepath.Base(h.Caches) }

func (h byOrder) mandate() [][]string { return h.commands }

func (h byOrder) runs(command []string) error {
	if h.RunsCommands {
		return nil
	}
	return shard.NoCommands(command)
}

// guard makes an error of a panic.
func (h byOrder) guard(do func() error) error { return call.Guarded("conduct run "+h.Spec.Run, do) }
