package conduct

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/client"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
)

// openLanded opens the repository and the mirror for what has landed. Of what the mirror does not have any more missing names the
// tasks, and the state ends before it.
func (h *Half) openLanded(ctx context.Context, b *bus.Bus, st *run.State, mirrored bool) (missing string, err error) {
	m, err := store.ReadMeta(h.Path)
	if err == nil {
		h.Git, err = git.New(ctx)
	}
	switch {
	case err != nil:
		return "", err
	case mirrored:
		return "", h.openRepositories(ctx, "", m)
	}
	if err := h.openCheckout(ctx, "", m); err != nil {
		return "", err
	}
	lost, err := h.soundMirror(ctx, b, st)
	if err == nil && st.Damaged {
		err = h.findHead(ctx, st)
	}
	if lost == nil || err != nil {
		return "", err
	}
	h.Log.Warn().Err(lost).Msg("not all that landed can be found")
	return h.wholeHead(ctx, st)
}

// compare adds what the branch of a result changes.
func (h *Half) compare(ctx context.Context, r *client.Result) error {
	if r.Ref == "" {
		return nil
	}
	changes, err := h.Mirror.Changed(ctx, r.Base, r.Head)
	for _, c := range changes {
		r.Changes = append(r.Changes, client.Change{Path: c.Path, Added: c.Added, Deleted: c.Deleted})
	}
	return err
}

// findHead finds the newest commit that has landed where the log may have lost its landing: that of the mirror's branch, which
// moves after the log.
func (h *Half) findHead(ctx context.Context, st *run.State) error {
	at, err := h.Mirror.Ref(ctx, run.IntegrationRef(st.Spec.Run))
	if errors.Is(err, git.ErrNotFound) {
		return nil
	}
	if err == nil {
		var ahead []git.Landed
		if ahead, err = h.Mirror.Log(ctx, st.Head, at, ".", 1); len(ahead) > 0 {
			st.Head = at
		}
	}
	if err != nil {
		return fmt.Errorf("find the landed commits of run %s: %w", st.Spec.Run, err)
	}
	return nil
}

// result is how the run has ended, once it is released.
func (h *Half) result(ctx context.Context) (client.Result, error) {
	st := *h.end
	st.Spec.Repo = h.Spec.Repo // where it is now
	result := client.ResultOf(&st)
	result.Notices = h.recording()
	result.Propose(h.proposed)
	var err error
	if result.Report, err = spec.JSON(view.Of(&st)); err == nil {
		err = h.compare(context.WithoutCancel(ctx), &result)
	}
	if why := needs.Unprovable(h.failed, &h.end.Agenda, &h.end.Proofs); why != nil {
		return result, why
	}
	return result, errors.Join(h.failed, err)
}

// unconfined lists the commands that the user agrees to run outside the sandbox at the end.
func (h *Half) unconfined(ctx context.Context, ask func(context.Context, []string) (bool, error)) ([]string, error) {
	if h.Spec.Twin = ask != nil; !h.Spec.Twin {
		return nil, nil
	}
	commands := needs.Unconfined(&h.Spec.Project, true)
	return commands, h.trust(ctx, ask, commands)
}

// twin prepares the comparison of the head with the user's own shell.
func (h *Half) twin(st *run.State) func(context.Context) (*run.Twin, error) {
	m, err := store.ReadMeta(h.Path)
	if err != nil {
		return func(context.Context) (*run.Twin, error) { return nil, err }
	}
	at := *st
	at.Spec.Repo = h.Spec.Repo // where it is now
	return h.ProveTwin(&at, h.Dir.Path, h.Mirror.Dir(), m.Twin, func(what string) { h.notice("in your shell: " + what) })
}
