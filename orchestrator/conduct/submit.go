package conduct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// Submit begins a run that the host on a server conducts. All that Start reads and checks is read and checked on this machine,
// and nothing is sent before Trust agrees; the variables and keys that roles need are those of the workers. Run.Decide decides
// about plans too: Approve and Decide are not called. After Submit this process is not needed.
func Submit(ctx context.Context, o Options, at depot.Server) (*client.Run, error) {
	switch {
	case at.URL == "":
		return nil, usage.Errorf("name the URL of the server that conducts the run")
	case o.NATS != "" || o.WritePlan != nil:
		return nil, usage.Errorf("a run that is submitted has neither NATS nor WritePlan: its host conducts it")
	case o.Twin != nil:
		return nil, usage.Errorf("twin compares with your own shell, and the host of a run that is submitted has another one: " +
			"start the run here, or compare once its branch is here")
	}
	o.Elsewhere, o.Approve, o.Decide = true, Waits, nil
	h, err := prepare(ctx, &o, toBegin)
	if err != nil {
		return nil, err
	}
	if err := h.hand(ctx, &o, at); err != nil {
		return nil, err
	}
	return client.On(at).Open(ctx, h.Spec.Run)
}

// hand makes the order of a run, and has the host on a server begin it.
func (h *Half) hand(ctx context.Context, o *Options, at depot.Server) error {
	takes := !h.Spec.Project.Environment.IsZero()
	switch {
	case takes && !o.SendEnvironment:
		return usage.With(usage.Errorf("the environment of .divisi/divisi.yaml comes from this checkout, which another "+
			"machine does not have: write a setup that makes it, start the run here, or have it sent"), usage.Snapshot)
	case !takes && o.SendEnvironment:
		return usage.Wrong("send-environment: .divisi/divisi.yaml takes no environment from the checkout")
	}
	var err error
	if h.Path, err = os.MkdirTemp("", "divisi-submit-"); err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(h.Path); err != nil {
			h.Log.Warn().Err(err).Msg("a temporary directory was left")
		}
	}()
	defer h.Release()
	r, err := h.order(ctx, o)
	if h.Mirror != nil {
		defer h.Mirror.Close()
	}
	if err != nil {
		return err
	}
	if r.Warrant, err = r.Sign(at); err != nil {
		return err
	}
	return h.submit(ctx, r, at)
}

// order makes the order of a run, without its pack.
func (h *Half) order(ctx context.Context, o *Options) (*depot.Order, error) {
	r, caches := &depot.Order{Roots: h.roots(ctx), Exclude: h.exclude, Strict: o.Strict}, h.Caches
	h.Caches = filepath.Join(h.Path, "caches")
	_, err := h.tryPlan(ctx, o)
	if err = errors.Join(err, h.gated(o)); err != nil {
		return nil, err
	}
	if err = h.checkPrograms(ctx, o); err != nil {
		return nil, err
	}
	if r.Refs, err = h.Mirror.Refs(); err != nil {
		return nil, err
	}
	if err := h.takeAlong(ctx, r, caches); err != nil {
		return nil, err
	}
	h.Spec.Outputs = ""
	r.Spec, r.Notices = h.Spec, append(h.Notices, h.forgets(ctx)...)
	return r, nil
}

// takeAlong takes what trees have of the checkout beside the files that git stores, to be sent, into caches that are held until
// release.
func (h *Half) takeAlong(ctx context.Context, r *depot.Order, caches string) error {
	h.Caches = caches
	release, err := h.Keep(h.notice)
	if err != nil {
		return err
	}
	h.Later(release)
	if err := h.takeCheckout(ctx); err != nil {
		return err
	}
	for _, m := range h.Beside.Modules() {
		r.Modules = append(r.Modules, depot.ModuleSent{Place: m.Place(), Commit: m.Commit})
	}
	r.Contents = h.Beside.Pointers()
	past, err := h.FarPast()
	if err != nil {
		return err
	}
	if past != nil {
		r.Past = &depot.PastSent{Past: *past}
	}
	return h.takeSnapshot(r)
}

// forgets reports that agents elsewhere do not see the notes of the repository.
func (h *Half) forgets(ctx context.Context) []string {
	m, _, err := memory.Open(ctx, memory.Options{Repo: h.Spec.Repo, Clock: depot.Now})
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
func (h *Half) submit(ctx context.Context, r *depot.Order, at depot.Server) error {
	m, err := client.Reach(ctx, at)
	if err != nil {
		return err
	}
	defer m.Close(ctx)
	have, err := h.lacking(ctx, m, r)
	if err != nil {
		return err
	}
	if h.Bus, err = at.Open(ctx, r.Spec.Run); err != nil {
		return err
	}
	defer (&client.Host{Bus: h.Bus}).Close(ctx)
	lacks, err := h.send(ctx, m, r, have)
	if lacks {
		_, err = h.send(ctx, m, r, had{})
	}
	return err
}

// had lists the parts of a repository that a host has already: commits, tips of the history, commits of each submodule by its
// place, contents of Git LFS.
type had struct {
	commits  []string
	tips     []string
	modules  map[string][]string
	contents []spec.Pointer
	// environment reports that it has the environment.
	environment bool
}

// lacking asks the host what it has, so that only what it lacks is sent.
func (h *Half) lacking(ctx context.Context, m *client.Host, r *depot.Order) (had, error) {
	q := call.Having{
		Commit: r.Spec.Base, Base: r.Spec.Base, Name: wire.RepositoryName(r.Spec.Repo), Roots: r.Roots,
		Warrant: r.Warrant, Contents: r.Contents, Environment: r.Environment,
	}
	a, err := client.AskHost(ctx, m, call.HostHave, "", q)
	q.Contents, q.Environment = nil, nil
	have := had{a.Commits, nil, map[string][]string{}, a.Contents, a.Environment}
	if r.Past != nil && err == nil {
		q.Past = r.Past.Git().Cut()
		a, err = client.AskHost(ctx, m, call.HostHave, "", q)
		q.Past, have.tips = "", a.Commits
	}
	for i := range r.Modules {
		s := &r.Modules[i]
		if err == nil {
			q.Module, q.Commit = s.Place, s.Commit
			a, err = client.AskHost(ctx, m, call.HostHave, "", q)
		}
		have.modules[s.Place] = a.Commits
	}
	return have, err
}

// send uploads an order with what a host lacks, and has it begin the run. What the host refuses it removes from the server again;
// lacks reports that it does not have what it should have.
func (h *Half) send(ctx context.Context, m *client.Host, r *depot.Order, have had) (lacks bool, err error) {
	if err := h.upload(ctx, r, have); err != nil {
		return false, err
	}
	name, data, err := r.Seal()
	if err == nil {
		err = h.Bus.Put(ctx, name, data)
	}
	if err != nil {
		return false, err
	}
	line := m.Line()
	line.Insists = true
	_, err = call.Ask(ctx, line, call.HostStart, call.Head{Run: r.Spec.Run}, name)
	if err != nil && !errors.As(err, new(*call.Error)) {
		err = fmt.Errorf("run %s: whether the host has begun it is not known; list its runs: %w", r.Spec.Run, err)
	}
	return call.ClassOf(err) == call.Lacks, err
}

// upload puts what a host lacks into the cache, and the names of it into the order.
func (h *Half) upload(ctx context.Context, r *depot.Order, have had) error {
	p, err := h.Pack(ctx, r.Spec.Base, have.commits)
	if err != nil {
		return err
	}
	r.PackSent = depot.PackSent{Pack: p.Object, Size: p.Size, Have: have.commits}
	if r.Past != nil {
		if p, err = depot.PutPast(ctx, h.Bus.Cache(), h.Path, h.Mirror, have.tips); err != nil {
			return err
		}
		r.Past.PackSent = depot.PackSent{Pack: p.Object, Size: p.Size, Have: have.tips}
	}
	for i := range r.Modules {
		s := &r.Modules[i]
		if p, err = h.packModule(ctx, s.Place, s.Commit, have.modules[s.Place]); err != nil {
			return err
		}
		s.PackSent = depot.PackSent{Pack: p.Object, Size: p.Size, Have: have.modules[s.Place]}
	}
	for _, p := range r.Contents {
		if slices.Contains(have.contents, p) {
			continue
		}
		if _, err := depot.PutContent(ctx, h.Bus.Cache(), h.Besides(h.Git), p); err != nil {
			return err
		}
	}
	if r.Environment == nil || have.environment {
		return nil
	}
	return h.sendSnapshot(ctx, r.Environment)
}

// roots are the commits with which the history of the base begins. A history that cannot be read begins with the base.
func (h *Half) roots(ctx context.Context) []string {
	roots, err := h.Git.Roots(ctx, h.Checkout, h.Spec.Base)
	if err != nil {
		h.notice(fmt.Sprintf("note: other machines keep nothing of this repository for commits to come: %v", err))
		return nil
	}
	return roots[:min(len(roots), depot.MaxRoots)]
}

// Waits is the person of a run that is submitted: each answer comes by a request.
func Waits(ctx context.Context, _ Approval) (Answer, error) {
	<-ctx.Done()
	return Answer{}, context.Cause(ctx)
}

// ResumeOn has the host on a server continue a run that was stopped. Of the options Budget, AllowUnverified and AllowUnread
// count.
func ResumeOn(ctx context.Context, at depot.Server, o ResumeOptions) (*client.Run, error) {
	id := o.Run
	w, err := vouch(ctx, at, id)
	if err != nil {
		return nil, err
	}
	before, err := endOfLog(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if _, err := client.AskOn(ctx, at, call.HostResume, id, call.Resumption{
		Budget: o.Budget, AllowUnverified: o.AllowUnverified, AllowUnread: o.AllowUnread, Warrant: w,
	}); err != nil {
		return nil, err
	}
	r, err := client.On(at).Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r.Since = before
	return r, nil
}

// endOfLog is the position of the newest event of a run; 0 for none.
func endOfLog(ctx context.Context, at depot.Server, id string) (uint64, error) {
	if !bus.ValidToken(id) {
		return 0, usage.Errorf("%q is no run's id", id)
	}
	b, err := at.Open(ctx, id)
	if err != nil {
		return 0, err
	}
	defer (&client.Host{Bus: b}).Close(ctx)
	m, err := b.Last(ctx, bus.RunFilter(id))
	if err != nil || m == nil {
		return 0, err
	}
	return m.Pos, nil
}

// vouch has the person who logs in to a server sign a run as it was submitted; nil for who has no login of a person.
func vouch(ctx context.Context, at depot.Server, id string) (*wire.Warrant, error) {
	if person, err := at.Person(); err != nil || !person {
		return nil, err
	}
	a, err := client.AskOn(ctx, at, call.HostLook, id, call.None{})
	if err != nil {
		return nil, err
	}
	b, err := at.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer (&client.Host{Bus: b}).Close(ctx)
	o, err := depot.UnsealOrder(ctx, b, id, a.Order)
	if err != nil {
		return nil, err
	}
	return o.Sign(at)
}
