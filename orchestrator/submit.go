package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/subagents/wire"
)

// Submit begins a run that the host on a server conducts. All that Start reads and checks is read and checked on this machine,
// and nothing is sent before Trust agrees; the variables and keys that roles need are those of the workers. Run.Decide decides
// about plans too: Approve and Decide are not called. After Submit this process is not needed.
func Submit(ctx context.Context, o Options, at Server) (*Run, error) {
	switch {
	case at.URL == "":
		return nil, usage.Errorf("name the URL of the server whose host conducts the run")
	case o.NATS != "" || o.WritePlan != nil:
		return nil, usage.Errorf("a run that is submitted has neither NATS nor WritePlan: its host conducts it")
	}
	o.Elsewhere, o.Approve, o.Decide = true, waits, nil
	h, err := prepare(ctx, &o, false)
	if err != nil {
		return nil, err
	}
	if err := h.hand(ctx, &o, at); err != nil {
		return nil, err
	}
	return On(at).Open(ctx, h.spec.Run)
}

// hand makes the order of a run, and has the host on a server begin it.
func (h *conduct) hand(ctx context.Context, o *Options, at Server) error {
	takes := !h.spec.Project.Environment.IsZero()
	switch {
	case takes && !o.SendEnvironment:
		return usage.With(usage.Errorf("the environment of .divisi/divisi.yaml is taken from this checkout, which another "+
			"machine does not have: write a setup that makes it, start the run here, or have what it takes sent"), usage.Snapshot)
	case !takes && o.SendEnvironment:
		return usage.Wrong("send-environment: .divisi/divisi.yaml takes no environment from the checkout")
	}
	var err error
	if h.path, err = os.MkdirTemp("", "divisi-submit-"); err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(h.path); err != nil {
			h.log.Warn().Err(err).Msg("a temporary directory was left")
		}
	}()
	defer h.release()
	r, err := h.order(ctx, o)
	if h.mirror != nil {
		defer h.mirror.Close()
	}
	if err != nil {
		return err
	}
	if r.Warrant, err = r.sign(at); err != nil {
		return err
	}
	return h.submit(ctx, r, at)
}

// order makes the order of a run, without its pack.
func (h *conduct) order(ctx context.Context, o *Options) (*order, error) {
	r, caches := &order{Roots: h.roots(ctx), Exclude: h.exclude, Strict: o.Strict}, h.caches
	h.caches = filepath.Join(h.path, "caches")
	_, err := h.tryPlan(ctx, o)
	if err = errors.Join(err, h.gated(o)); err != nil {
		return nil, err
	}
	if err = h.checkPrograms(ctx, o); err != nil {
		return nil, err
	}
	if r.Refs, err = h.mirror.Refs(); err != nil {
		return nil, err
	}
	if err := h.takeAlong(ctx, r, caches); err != nil {
		return nil, err
	}
	h.spec.Outputs = ""
	r.Spec, r.Notices = h.spec, append(h.notices, h.forgets(ctx)...)
	return r, nil
}

// takeAlong takes what trees have of the checkout beside the files that git stores, to be sent, into caches that are held until
// release.
func (h *conduct) takeAlong(ctx context.Context, r *order, caches string) error {
	h.caches = caches
	release, err := h.keep(h.notice)
	if err != nil {
		return err
	}
	h.later(release)
	if err := h.takeCheckout(ctx); err != nil {
		return err
	}
	for _, m := range h.beside.Modules() {
		r.Modules = append(r.Modules, moduleSent{Place: m.Place(), Commit: m.Commit})
	}
	r.Contents = h.beside.Pointers()
	past, err := h.farPast()
	if err != nil {
		return err
	}
	if past != nil {
		r.Past = &pastSent{Past: *past}
	}
	return h.takeSnapshot(r)
}

// forgets says that agents elsewhere do not see the notes of the repository.
func (h *conduct) forgets(ctx context.Context) []string {
	m, _, err := memory.Open(ctx, memory.Options{Repo: h.spec.Repo, Clock: now})
	if err != nil {
		return nil
	}
	notes, err := m.List(ctx)
	if err != nil || len(notes) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the run has no memory: the %d notes of the repository stay where it was submitted", len(notes))}
}

// submit sends an order without the commits that the host has, and the whole of it where the host has not.
func (h *conduct) submit(ctx context.Context, r *order, at Server) error {
	m, err := reach(ctx, at)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	have, err := h.lacking(ctx, m, r)
	if err != nil {
		return err
	}
	if h.bus, err = at.open(ctx, r.Spec.Run); err != nil {
		return err
	}
	defer (&client{bus: h.bus}).close(ctx)
	lacks, err := h.send(ctx, m, r, have)
	if lacks {
		_, err = h.send(ctx, m, r, had{})
	}
	return err
}

// had is what a host has of a repository already: commits, tips of the history, commits of each submodule by its place, contents
// of Git LFS.
type had struct {
	commits  []string
	tips     []string
	modules  map[string][]string
	contents []spec.Pointer
	// environment reports that it has the environment.
	environment bool
}

// lacking asks the host what it has, so that only what it lacks is sent.
func (h *conduct) lacking(ctx context.Context, m *client, r *order) (had, error) {
	q := call.Having{
		Commit: r.Spec.Base, Base: r.Spec.Base, Name: wire.RepositoryName(r.Spec.Repo), Roots: r.Roots,
		Warrant: r.Warrant, Contents: r.Contents, Environment: r.Environment,
	}
	a, err := askHost(ctx, m, call.HostHave, "", q)
	q.Contents, q.Environment = nil, nil
	have := had{a.Commits, nil, map[string][]string{}, a.Contents, a.Environment}
	if r.Past != nil && err == nil {
		q.Past = r.Past.git().Cut()
		a, err = askHost(ctx, m, call.HostHave, "", q)
		q.Past, have.tips = "", a.Commits
	}
	for i := range r.Modules {
		s := &r.Modules[i]
		if err == nil {
			q.Module, q.Commit = s.Place, s.Commit
			a, err = askHost(ctx, m, call.HostHave, "", q)
		}
		have.modules[s.Place] = a.Commits
	}
	return have, err
}

// send uploads an order with what a host lacks, and has it begin the run. What the host refuses it removes from the server again;
// lacks reports that it does not have what it should have.
func (h *conduct) send(ctx context.Context, m *client, r *order, have had) (lacks bool, err error) {
	if err := h.upload(ctx, r, have); err != nil {
		return false, err
	}
	name, data, err := r.seal()
	if err == nil {
		err = h.bus.Put(ctx, name, data)
	}
	if err != nil {
		return false, err
	}
	line := m.line()
	line.Insists = true
	_, err = call.Ask(ctx, line, call.HostStart, call.Head{Run: r.Spec.Run}, name)
	if err != nil && !errors.As(err, new(*call.Error)) {
		err = fmt.Errorf("run %s: whether the host has begun it is not known; list its runs: %w", r.Spec.Run, err)
	}
	return call.ClassOf(err) == call.Lacks, err
}

// upload puts what a host lacks into the cache, and the names of it into the order.
func (h *conduct) upload(ctx context.Context, r *order, have had) error {
	p, err := h.pack(ctx, r.Spec.Base, have.commits)
	if err != nil {
		return err
	}
	r.packSent = packSent{p.Object, p.Size, have.commits}
	if r.Past != nil {
		if p, err = putPast(ctx, h.bus.Cache(), h.path, h.mirror, have.tips); err != nil {
			return err
		}
		r.Past.packSent = packSent{p.Object, p.Size, have.tips}
	}
	for i := range r.Modules {
		s := &r.Modules[i]
		if p, err = h.packModule(ctx, s.Place, s.Commit, have.modules[s.Place]); err != nil {
			return err
		}
		s.packSent = packSent{p.Object, p.Size, have.modules[s.Place]}
	}
	for _, p := range r.Contents {
		if slices.Contains(have.contents, p) {
			continue
		}
		if _, err := putContent(ctx, h.bus.Cache(), h.besides(h.git), p); err != nil {
			return err
		}
	}
	if r.Environment == nil || have.environment {
		return nil
	}
	return h.sendSnapshot(ctx, r.Environment)
}

// roots are the commits with which the history of the base begins. A history that cannot be read begins with the base.
func (h *conduct) roots(ctx context.Context) []string {
	roots, err := h.git.Roots(ctx, h.checkout, h.spec.Base)
	if err != nil {
		h.notice(fmt.Sprintf("note: other machines keep nothing of this repository for commits to come: %v", err))
		return nil
	}
	return roots[:min(len(roots), maxRoots)]
}

// waits is the person of a run that is submitted: each answer comes by a request.
func waits(ctx context.Context, _ Approval) (Answer, error) {
	<-ctx.Done()
	return Answer{}, context.Cause(ctx)
}
