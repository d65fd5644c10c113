package conduct

import (
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
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Publish puts what has landed in a run that was stopped or cancelled into the repository, as its branch; or in one whose log is
// damaged, cannot be written, or has another format. Open it first.
func Publish(ctx context.Context, r *client.Run) (client.Result, error) {
	if client.HostOf(r) != nil {
		return client.Result{}, usage.Errorf("run %s was submitted: name the repository that its branch is published into",
			r.Name)
	}
	rest, ok := r.At.(*client.Rest)
	if !ok {
		return client.Result{}, usage.With(
			usage.Errorf("run %s is active: it publishes landed commits at its end", r.Name), usage.Running, r.Name)
	}
	rest.Asking.Lock()
	defer rest.Asking.Unlock()
	b := rest.Newest().Bus
	st, err := r.Dir.Fold(ctx, b, r.Name)
	code, _ := usage.CodeOf(err)
	mirrored := code == usage.Events || errors.As(err, new(*store.FormatError))
	if mirrored {
		st, err = landed(ctx, r, err)
	}
	if err != nil {
		return client.Result{}, err
	}
	h := &Half{Place: depot.Place{Dir: r.Dir, Log: r.Dir.Log}, Path: r.Dir.Run(r.Name), Spec: st.Spec, Bus: rest.Taken}
	missing, err := h.openLanded(ctx, b, st, mirrored)
	if err != nil {
		return client.Result{}, err
	}
	ref, err := h.publishLanded(ctx, rest, st, missing)
	if err != nil {
		return client.Result{}, err
	}
	st.Ref = ref
	result := client.ResultOf(st)
	if result.Missing = missing; mirrored {
		client.Mirrored(&result, st)
	}
	return result, h.compare(ctx, &result)
}

// landed lists landings known by the mirror alone: the log cannot be read, for a reason.
func landed(ctx context.Context, r *client.Run, reason error) (*run.State, error) {
	st, err := r.Dir.Landed(ctx, r.Name, "")
	if errors.Is(err, git.ErrMirror) {
		err = usage.With(fmt.Errorf("nothing of run %s can be published: %w\n%w", r.Name, reason, err), usage.Began, r.Name)
	}
	return st, err
}

// publishLanded notes in the log where the branch is, so that it moves with the run, where the log can still be appended to; not
// of a part of what landed.
func (h *Half) publishLanded(ctx context.Context, r *client.Rest, st *run.State, missing string) (string, error) {
	if !st.Damaged && missing == "" {
		c, err := r.Conductor(ctx, nil, h.from().publish)
		if err == nil {
			return client.AsMistake(c.PublishLanded(ctx))
		}
		if !errors.Is(err, bus.ErrDamaged) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return "", err
		}
	}
	switch {
	case st.Head == st.Spec.Base && missing != "":
		return "", usage.With(
			usage.Errorf("nothing that landed in run %s can be published: %s", st.Spec.Run, missing), usage.Began, st.Spec.Run)
	case st.Head == st.Spec.Base:
		return "", usage.Errorf("nothing has landed in run %s", st.Spec.Run)
	}
	return h.from().publish(ctx, st.Head, st.Spec.Base, st.Published)
}

// PublishTo puts what has landed in a run that was submitted, and has ended, into a repository that has the commit that the run
// started from, as Publish does.
func PublishTo(ctx context.Context, r *client.Run, repo string) (_ client.Result, err error) {
	host := client.HostOf(r)
	if host == nil {
		return client.Result{}, usage.Errorf("run %s is on this machine, and knows its repository", r.Name)
	}
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.Name)
	switch {
	case err != nil:
		return client.Result{}, err
	case !st.Status.Ended():
		return client.Result{}, usage.Errorf("run %s is active: publish landed commits when it has ended", r.Name)
	case st.Head == st.Spec.Base:
		return client.Result{}, usage.Errorf("nothing has landed in run %s", r.Name)
	}
	var notices []string
	h := &Half{Place: depot.Place{Dir: r.Dir, Log: r.Dir.Log}, Spec: st.Spec}
	h.Notice = func(text, _ string) { notices = append(notices, text) }
	tmp, err := os.MkdirTemp("", "divisi-publish-")
	if err != nil {
		return client.Result{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := h.fetchLanded(ctx, host, repo, filepath.Join(tmp, "repo.git"), st); err != nil {
		return client.Result{}, err
	}
	defer h.Mirror.Close()
	seen, err := client.AskHost(ctx, host, call.HostLook, r.Name, call.None{})
	if err != nil {
		return client.Result{}, err
	}
	st.Spec.Repo = h.Checkout.Top
	if st.Ref, err = h.from().publish(ctx, st.Head, st.Spec.Base, seen.Fetched); err != nil {
		return client.Result{}, err
	}
	if _, err := client.AskHost(ctx, host, call.HostFetched, r.Name, st.Head); err != nil {
		return client.Result{}, fmt.Errorf("%s is in %s; the host was not told: %w", st.Ref, st.Spec.Repo, err)
	}
	result := client.ResultOf(st)
	result.Notices = notices
	return result, h.compare(ctx, &result)
}

// fetchLanded opens a repository, and makes a mirror at a directory that has what has landed.
func (h *Half) fetchLanded(ctx context.Context, host *client.Host, repo, dir string, st *run.State) (err error) {
	if h.Git, err = git.New(ctx); err != nil {
		return err
	}
	if h.Checkout, err = h.origin(ctx, repo); err != nil {
		if code, _ := usage.CodeOf(err); code == usage.Moved {
			err = usage.With(usage.Errorf("%v", err), usage.Elsewhere, st.Spec.Run)
		}
		return err
	}
	if err := h.Checkout.Writable(); err != nil {
		return err
	}
	p, err := client.AskHost(ctx, host, call.HostCommit, st.Spec.Run, call.Landed{Commit: st.Head, Have: st.Spec.Base})
	if err != nil {
		return err
	}
	if h.Mirror, err = h.Git.CreateMirror(ctx, dir, h.Checkout, st.Spec.Base); err != nil {
		return err
	}
	if err = depot.SealedPack(p).Copy(ctx, host.Bus.Cache(), h.Mirror.ImportFrom); err != nil {
		h.Mirror.Close()
	}
	return err
}
