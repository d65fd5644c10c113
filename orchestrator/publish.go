package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Publish puts what has landed in a run that was stopped or cancelled into the repository, as its branch; or in one whose log is
// damaged, cannot be written, or has another format. Open it first.
func Publish(ctx context.Context, r *Run) (Result, error) {
	if r.host != nil {
		return Result{}, usage.Errorf("run %s was submitted: name the repository that its branch is published into", r.id)
	}
	if !r.notRunning {
		return Result{}, usage.With(
			usage.Errorf("run %s is active: it publishes what landed at its end", r.id), usage.Running, r.id)
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	b := cmp.Or(r.taken, r.bus)
	st, err := r.dir.Fold(ctx, b, r.id)
	code, _ := usage.CodeOf(err)
	mirrored := code == usage.Events || errors.As(err, new(*store.FormatError))
	if mirrored {
		st, err = landed(ctx, r, err)
	}
	if err != nil {
		return Result{}, err
	}
	h := &conduct{place: place{dir: r.dir, log: r.dir.Log}, path: r.dir.Run(r.id), spec: st.Spec, bus: r.taken}
	missing, err := h.openLanded(ctx, b, st, mirrored)
	if err != nil {
		return Result{}, err
	}
	ref, err := h.publishLanded(ctx, r, st, missing)
	if err != nil {
		return Result{}, err
	}
	st.Ref = ref
	result := resultOf(st)
	if result.Missing = missing; mirrored {
		result.Unverified = proof.UnverifiedIn(st)
	}
	return result, h.compare(ctx, &result)
}

// landed is what landed by the mirror alone: the log cannot be read, for a reason.
func landed(ctx context.Context, r *Run, reason error) (*run.State, error) {
	st, err := r.dir.Landed(ctx, r.id, "")
	if errors.Is(err, git.ErrMirror) {
		err = usage.With(fmt.Errorf("nothing of run %s can be published: %w\n%w", r.id, reason, err), usage.Began, r.id)
	}
	return st, err
}

// publishLanded notes in the log where the branch is, so that it moves with the run, where the log can still be appended to; not of a
// part of what landed.
func (h *conduct) publishLanded(ctx context.Context, r *Run, st *run.State, missing string) (string, error) {
	if !st.Damaged && missing == "" {
		c, err := conductorOf(ctx, r, nil, h.publish)
		if err == nil {
			return asMistake(c.PublishLanded(ctx))
		}
		if !errors.Is(err, bus.ErrDamaged) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return "", err
		}
	}
	switch {
	case st.Head == st.Spec.Base && missing != "":
		return "", usage.With(
			usage.Errorf("nothing that landed in run %s can be published: %s", r.id, missing), usage.Began, r.id)
	case st.Head == st.Spec.Base:
		return "", usage.Errorf("nothing has landed in run %s", r.id)
	}
	return h.publish(ctx, st.Head, st.Spec.Base, st.Published)
}

// PublishTo puts what has landed in a run that was submitted, and has ended, into a repository that has the commit that the run
// started from, as Publish does.
func PublishTo(ctx context.Context, r *Run, repo string) (_ Result, err error) {
	if r.host == nil {
		return Result{}, usage.Errorf("run %s is on this machine, and knows its repository", r.id)
	}
	st, err := r.dir.Fold(ctx, r.bus, r.id)
	switch {
	case err != nil:
		return Result{}, err
	case !st.Status.Ended():
		return Result{}, usage.Errorf("run %s is active: publish what landed when it has ended", r.id)
	case st.Head == st.Spec.Base:
		return Result{}, usage.Errorf("nothing has landed in run %s", r.id)
	}
	var notices []string
	h := &conduct{place: place{dir: r.dir, log: r.dir.Log}, spec: st.Spec}
	h.Notice = func(text, _ string) { notices = append(notices, text) }
	tmp, err := os.MkdirTemp("", "divisi-publish-")
	if err != nil {
		return Result{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := h.fetchLanded(ctx, r, repo, filepath.Join(tmp, "repo.git"), st); err != nil {
		return Result{}, err
	}
	defer h.mirror.Close()
	seen, err := askHost(ctx, r.host, call.HostLook, r.id, call.None{})
	if err != nil {
		return Result{}, err
	}
	st.Spec.Repo = h.checkout.Top
	if st.Ref, err = h.publish(ctx, st.Head, st.Spec.Base, seen.Fetched); err != nil {
		return Result{}, err
	}
	if _, err := askHost(ctx, r.host, call.HostFetched, r.id, st.Head); err != nil {
		return Result{}, fmt.Errorf("%s is in %s; the host was not told: %w", st.Ref, st.Spec.Repo, err)
	}
	result := resultOf(st)
	result.Notices = notices
	return result, h.compare(ctx, &result)
}

// fetchLanded opens a repository, and makes a mirror at a directory that has what has landed.
func (h *conduct) fetchLanded(ctx context.Context, r *Run, repo, dir string, st *run.State) (err error) {
	if h.git, err = git.New(ctx); err != nil {
		return err
	}
	if h.checkout, err = h.origin(ctx, repo); err != nil {
		if code, _ := usage.CodeOf(err); code == usage.Moved {
			err = usage.With(usage.Errorf("%v", err), usage.Elsewhere, r.id)
		}
		return err
	}
	if err := h.checkout.Writable(); err != nil {
		return err
	}
	p, err := askHost(ctx, r.host, call.HostCommit, r.id, call.Landed{Commit: st.Head, Have: st.Spec.Base})
	if err != nil {
		return err
	}
	if h.mirror, err = h.git.CreateMirror(ctx, dir, h.checkout, st.Spec.Base); err != nil {
		return err
	}
	if err = sealedPack(p).copy(ctx, r.host.bus.Cache(), h.mirror.ImportFrom); err != nil {
		h.mirror.Close()
	}
	return err
}
