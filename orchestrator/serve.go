package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"divisi/orchestrator/fault"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/mirrors"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// answer answers what another process asks. Nothing that is asked ends the host.
func (h *Host) answer(ctx context.Context, m bus.Message) ([]byte, error) {
	if err := h.lease.Held(); err != nil {
		return nil, err // another host answers
	}
	var q hostCall
	a, err := h.asks(ctx, m, &q)
	if errors.Is(err, errNotBegun) {
		return nil, err
	}
	if err != nil {
		h.dir.Log.Info().Err(err).Str("verb", q.Verb).Str("run", q.Run).Msg("a call was refused")
		a = hostAnswer{
			Error: err.Error(), Usage: fault.IsUsage(err) || errors.Is(err, wire.ErrSeal),
			Lacks: errors.Is(err, errLacks) || errors.Is(err, errNoContent),
		}
	}
	return a.encode(ctx, h.bus, q.viewed)
}

// refuse answers a call that was not done, and is to be asked again where there was no place for it.
func (h *Host) refuse(why error) ([]byte, error) {
	return spec.JSON(&hostAnswer{Error: why.Error(), Again: errors.As(why, new(*conductor.AgainError))})
}

// asks does what another process asks, once all of the call has been checked. q is what the call is read into.
func (h *Host) asks(ctx context.Context, m bus.Message, q *hostCall) (a hostAnswer, err error) {
	if err = wire.Decode(m.Data, q); err != nil {
		return a, usage.Errorf("the host cannot read what is asked: %v", err)
	}
	who := bus.Caller(m.Subject)
	q.viewed = m.Subject == viewSubject(who)
	if v := hostVerbs[q.Verb]; q.viewed && !v.views || !q.viewed && m.Subject != subjectOf(q.Verb, who) {
		return a, usage.Errorf("%.80q is no call of those who only read", q.Verb)
	}
	if err = spec.Bounds(q); err != nil {
		return a, usage.Errorf("the host is asked for what cannot be: %v", err)
	}
	by := h.caller(m.Subject)
	if by == bus.Local && h.o.members != nil {
		by = cmp.Or(q.For, by)
	}
	if q.Request != nil && by != bus.Local {
		q.Request.By, q.Request.From = wire.Vouched(by, q.Request.By), by // and not who the request says
	}
	if q.Verb == verbQuarantine {
		a.Isolated, err = h.isolate(ctx, by, q)
	} else {
		a, err = h.do(ctx, q, by)
	}
	if !errors.Is(err, errNotBegun) {
		h.wasAsked(by, q, err)
	}
	return a, err
}

// caller is the member that asks; bus.Local where the server does not vouch for its name.
func (h *Host) caller(subject string) string {
	if h.o.members == nil {
		return bus.Local
	}
	return bus.Caller(subject)
}

func (h *Host) do(ctx context.Context, q *hostCall, by string) (a hostAnswer, err error) {
	a.Run = q.Run
	switch q.Verb {
	case verbList:
		if a.Runs = h.list(); q.Stands {
			a.Stands = make(map[string]standing, len(a.Runs))
			for _, id := range a.Runs {
				a.Stands[id] = standOf(h.dir, id)
			}
		}
		return a, nil
	case verbHave:
		return h.has(ctx, q, by)
	}
	if !bus.ValidToken(q.Run) {
		return a, usage.Errorf("%.80q is no run's id", q.Run)
	}
	if q.Verb == verbStart {
		return a, h.accept(ctx, q.Run, q.Order, by)
	}
	m, err := h.submitted(q.Run)
	if err != nil {
		return a, err
	}
	switch q.Verb {
	case verbLog:
		a.Log, err = h.page(ctx, q.Run, q.From)
		return a, err
	case verbSummary:
		summary := local(h.dir.Path).Summary
		if q.viewed {
			summary = h.viewed
		}
		s, err := summary(ctx, q.Run)
		a.Summary = &s
		return a, err
	case verbLook:
		a.Active, a.Fetched, a.Order = h.active(q.Run), m.Fetched, m.Order
		return a, nil
	case verbResume:
		return a, h.resume(ctx, q, m, by)
	case verbCommit:
		p, err := h.pack(ctx, q)
		a.Object, a.Size = p.name, p.size
		return a, err
	case verbBase:
		p, err := h.base(ctx, q, m)
		a.Object, a.Size = p.name, p.size
		return a, err
	case verbRemove:
		r, err := h.remove(ctx, q.Run, q.Unfetched)
		a.Removed = &r
		return a, err
	case verbFetched:
		return a, h.fetched(q, m)
	}
	return h.read(ctx, q)
}

// list lists the runs that were submitted, the newest first.
func (h *Host) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := slices.Sorted(maps.Keys(h.noted))
	slices.Reverse(ids)
	return ids
}

// submitted returns the description of a run that was submitted here.
func (h *Host) submitted(id string) (store.Meta, error) {
	m, err := store.ReadMeta(h.dir.Run(id))
	if err != nil || m.Order == "" {
		return m, usage.Errorf("there is no run %q on %s", id, h.bus.URL())
	}
	return m, nil
}

func (h *Host) resume(ctx context.Context, q *hostCall, m store.Meta, by string) error {
	mine, taken := h.place(q.Run)
	if taken {
		return usage.With(usage.Errorf("run %s is active", q.Run), usage.Active, q.Run)
	}
	if q.Warrant != nil { // who resumes it answers for it from now on
		m.Warrant = q.Warrant
		err := h.vouched(ctx, q.Run, m.Order, by, q.Warrant)
		if err == nil {
			err = m.Write(h.dir.Run(q.Run))
		}
		if err != nil {
			return h.settle(ctx, mine, err)
		}
	}
	return h.begin(ctx, mine, false, ResumeOptions{
		Budget: q.Budget, AllowUnverified: q.AllowUnverified, AllowUnread: q.AllowUnread,
	})
}

// maxOffered bounds the commits that a host says it has: what it keeps beyond them may go before the run is submitted.
const maxOffered = git.MaxKept / 2

// has tells what the host has of a repository, for an order to come.
func (h *Host) has(ctx context.Context, q *hostCall, by string) (a hostAnswer, err error) {
	caches, err := h.submits(q, by)
	if err != nil {
		return a, err
	}
	if a.Commits, err = h.have(ctx, q, moduleCaches(caches, q.Module)); err == nil {
		a.Contents, err = h.contents(q, caches)
		a.Environment = h.hasEnvironment(q, caches)
	}
	return a, err
}

// have lists commits that the host has in a collection, for a pack of another one.
func (h *Host) have(ctx context.Context, q *hostCall, collection string) ([]string, error) {
	if q.Past != "" {
		if !bus.ValidToken(q.Past) {
			return nil, usage.Errorf("%.80q is no cut of a history", q.Past)
		}
		return (&mirrors.Store{Dir: h.dir.Mirrors()}).Tips(mirrors.PastName(collection, q.Past))
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := (&mirrors.Store{Git: g, Dir: h.dir.Mirrors()}).Kept(ctx, collection, q.Commit)
	return kept[:min(len(kept), maxOffered)], err
}

// contents lists those of Git LFS that the host has for a repository.
func (h *Host) contents(q *hostCall, caches string) (has []spec.Pointer, err error) {
	from := h.besides(caches)
	for _, p := range q.Contents {
		if !isContent(p.OID) {
			return nil, usage.Errorf("%.80q is no content of Git LFS", p.OID)
		}
		f, err := from.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, err
		}
		has = append(has, p)
	}
	return has, nil
}

// besides has what trees of a repository have beside the files that git stores; it is only read.
func (h *Host) besides(caches string) *checkout.Store {
	return checkout.NewStore(nil, filepath.Join(h.dir.Caches(), caches), nil, now)
}

// pack makes a pack of what has landed, for a repository that has another commit.
func (h *Host) pack(ctx context.Context, q *hostCall) (p sealedPack, err error) {
	mirror, err := h.landed(ctx, q.Run, q.Commit)
	if err != nil && h.restored(ctx, q.Run) { // the host before had its branch alone
		mirror, err = h.landed(ctx, q.Run, q.Commit)
	}
	if err != nil {
		return p, err
	}
	defer mirror.Close()
	return putPack(ctx, h.bus.Cache(), h.dir.Run(q.Run), q.Commit, func(w io.Writer) error {
		return mirror.PackTo(ctx, w, q.Commit, q.Have)
	})
}

// landed opens the mirror of a run whose branch is at a commit.
func (h *Host) landed(ctx context.Context, id, commit string) (*git.Repo, error) {
	mirror, err := h.mirror(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := landedAt(ctx, mirror, id, commit); err != nil {
		mirror.Close()
		return nil, err
	}
	return mirror, nil
}

// restored reports whether the branch of a run that is not active was brought here, from the log and its objects.
func (h *Host) restored(ctx context.Context, id string) bool {
	mine, taken := h.place(id)
	if taken {
		return false
	}
	mine.err = usage.Errorf("the branch of run %s is being restored: try again", id)
	defer func() {
		h.drop(ctx, mine)
		close(mine.begun)
	}()
	err := h.bring(ctx, known{Run: id, Order: h.orderOf(id), Ended: true})
	if err != nil {
		h.dir.Log.Warn().Err(err).Str("run", id).Msg("the branch of the run was not restored")
	}
	return err == nil
}

// base makes a pack of the base commit of a run, or of what comes with it, for a host that stands by.
func (h *Host) base(ctx context.Context, q *hostCall, m store.Meta) (p sealedPack, err error) {
	if q.Module != "" || q.Content != nil || q.Environment != nil {
		return h.lends(ctx, q, m)
	}
	mirror, err := h.mirror(ctx, q.Run)
	if err != nil {
		return p, err
	}
	defer mirror.Close()
	if mirror.Base() != q.Commit {
		return p, usage.Errorf("commit %.64q is not the base of run %s", q.Commit, q.Run)
	}
	if q.Past != "" {
		return putPast(ctx, h.bus.Cache(), h.dir.Run(q.Run), mirror, nil)
	}
	return putPack(ctx, h.bus.Cache(), h.dir.Run(q.Run), q.Commit, func(w io.Writer) error {
		return mirror.PackBase(ctx, w, mirror.Objects())
	})
}

// lends is base of a submodule, or of what Git LFS keeps.
func (h *Host) lends(ctx context.Context, q *hostCall, m store.Meta) (p sealedPack, err error) {
	o, err := h.ordered(ctx, q.Run, m.Order)
	if err != nil {
		return p, err
	}
	switch caches := o.caches(); {
	case q.Environment != nil:
		return h.lendsEnvironment(ctx, q, caches)
	case q.Content == nil && wire.IsCommit(q.Commit):
		g, err := git.New(ctx)
		if err != nil {
			return p, err
		}
		return putModule(ctx, g, h.bus.Cache(), h.dir.Run(q.Run), q.Commit, "", nil)
	case q.Content != nil && isContent(q.Content.OID):
		p, err = putContent(ctx, h.bus.Cache(), h.besides(caches), *q.Content)
	}
	if err == nil && p.name == "" {
		err = usage.Errorf("the host does not have what is asked of run %s", q.Run)
	}
	return p, err
}

func (h *Host) mirror(ctx context.Context, id string) (*git.Repo, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	return g.OpenMirror(filepath.Join(h.dir.Run(id), "repo.git"))
}

// landedAt refuses a commit that is not the newest one of the run.
func landedAt(ctx context.Context, mirror *git.Repo, id, commit string) error {
	at, err := mirror.Ref(ctx, run.IntegrationRef(id))
	if errors.Is(err, git.ErrNotFound) || err == nil && at != commit {
		return usage.Errorf("commit %.64q is not what has landed in run %s", commit, id)
	}
	return err
}

// fetched notes that a person has published a commit.
func (h *Host) fetched(q *hostCall, m store.Meta) error {
	if !wire.IsCommit(q.Commit) {
		return usage.Errorf("%.80q is no commit", q.Commit)
	}
	m.Fetched = q.Commit
	if err := m.Write(h.dir.Run(q.Run)); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.noted[q.Run]; ok {
		k.Fetched = q.Commit
		h.noted[q.Run] = k
	}
	return nil
}

// read answers what needs the log and the repository of a run, and puts requests to one that is not conducted.
func (h *Host) read(ctx context.Context, q *hostCall) (a hostAnswer, err error) {
	r, err := attach(ctx, h.dir, q.Run)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if q.viewed {
		h.conceal(r)
	}
	switch q.Verb {
	case verbDiff:
		a.Data, err = r.Diff(ctx, q.Task, q.Attempt, q.Stat)
	case verbContext:
		if q.View == nil {
			return a, usage.Errorf("the call names no view")
		}
		a.Data, err = r.Context(ctx, q.Task, q.Attempt, *q.View)
	case verbDecisions:
		a.Decisions, err = r.Decisions(ctx)
	case verbRequest:
		if q.Request == nil {
			return a, usage.Errorf("the call has no request")
		}
		a.Text, err = r.put(ctx, *q.Request)
	default:
		err = usage.Errorf("the host does not know what %.80q is", q.Verb)
	}
	return a, err
}
