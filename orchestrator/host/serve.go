package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// Calls is all that a host can be asked.
var Calls = call.TableOf(
	call.On(call.HostList, (*Host).listed), call.On(call.HostHave, (*Host).has), call.On(call.HostSummary, (*Host).summary),
	call.On(call.HostLook, (*Host).look), call.On(call.HostLog, (*Host).log), call.On(call.HostCommit, (*Host).pack),
	call.On(call.HostBase, (*Host).base), call.On(call.HostDecisions, reads(decisions)), call.On(call.HostDiff, reads(diff)),
	call.On(call.HostContext, reads(shownContext)),
	call.On(call.HostStart, kept(audit.Submitted, (*Host).accept, nil)),
	call.On(call.HostResume, kept(audit.Resumed, (*Host).resume, func(h *Host, in *call.In, q *call.Resumption, e *audit.Entry) {
		e.By = h.resumer(in, q)
	})),
	call.On(call.HostRemove, kept(audit.Removed, (*Host).removes, nil)),
	call.On(call.HostFetched, kept(audit.Published, (*Host).fetched, func(_ *Host, _ *call.In, commit *string, e *audit.Entry) {
		e.Detail = *commit
	})),
	call.On(call.HostQuarantine, kept(audit.Isolated, (*Host).isolate,
		func(_ *Host, _ *call.In, q *call.Quarantine, e *audit.Entry) {
			e.Name, e.Detail = q.Worker, "since "+q.Since.UTC().Format(time.RFC3339)
		})),
	call.On(call.ConductorAct, kept(audit.Asked, (*Host).acts, func(_ *Host, _ *call.In, q *act.Request, e *audit.Entry) {
		e.Verb, e.Task = q.Act, q.Task()
	})),
)

// answerer answers what another process asks. Nothing that is asked ends the host.
func (h *Host) answerer() *call.Answerer[*Host] {
	return &call.Answerer[*Host]{
		Table: Calls, As: h, Bus: h.bus, Log: h.Dir.Log, Pace: &h.pace, Held: h.lease.Held, May: h.may,
		Viewed: func(subject, from string) bool { return subject == client.ViewSubject(from) },
		Refused: func(in *call.In, err error) {
			h.Dir.Log.Info().Err(err).Str("call", in.Name).Str("run", in.Run).Msg("a call was refused")
			if !in.Checked && call.ClassOf(err) != call.Again { // else it is kept as what it asks for
				h.Misasked(in.Run, h.by(in), in.Name, err)
			}
		},
	}
}

// may refuses a call where who only reads may not make it.
func (h *Host) may(_ context.Context, may call.Who, in *call.In) error {
	if in.Viewed && may != call.Viewer && may != call.LogViewer || !in.Viewed && in.Subject != client.SubjectOf(may, in.From) {
		return call.Refusedf("%.80q is no call of those who only read", in.Name)
	}
	return nil
}

// by is the member that asks; bus.Local where the server does not vouch for its name.
func (h *Host) by(in *call.In) string { return h.names().by(in.Subject) }

// resumer is the person who resumes a run: for a visitor of its page the server itself asks.
func (h *Host) resumer(in *call.In, q *call.Resumption) string {
	if by := h.by(in); by != bus.Local {
		return by
	}
	return h.names().visitor(q.For)
}

// reads answers with what needs the log and the repository of a run.
func reads[Q, A any](
	do func(context.Context, *client.Run, *call.In, *Q) (A, error),
) func(*Host, context.Context, *call.In, *Q) (A, error) {
	return func(h *Host, ctx context.Context, in *call.In, q *Q) (a A, err error) {
		if _, err := h.submitted(in.Run); err != nil {
			return a, err
		}
		r, err := client.Attach(ctx, h.Dir, in.Run)
		if err != nil {
			return a, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		if in.Viewed {
			h.conceal(r)
		}
		return do(ctx, r, in, q)
	}
}

func decisions(ctx context.Context, r *client.Run, _ *call.In, _ *call.None) (client.Decisions, error) {
	return r.Decisions(ctx)
}

func diff(ctx context.Context, r *client.Run, in *call.In, q *call.Diff) (json.RawMessage, error) {
	return r.Diff(ctx, in.At.Task, in.At.Attempt, q.Stat)
}

func shownContext(ctx context.Context, r *client.Run, in *call.In, v *client.ContextView) ([]byte, error) {
	return r.Context(ctx, in.At.Task, in.At.Attempt, *v)
}

// acts puts a request to a run that is not conducted, and makes the patches of one to drop tasks of any run.
func (h *Host) acts(ctx context.Context, in *call.In, q *act.Request) (act.Outcome, error) {
	if by := h.by(in); by != bus.Local {
		q.By, q.From = wire.Vouched(by, q.By), by // and not who the request says
	}
	return reads(func(ctx context.Context, r *client.Run, _ *call.In, q *act.Request) (act.Outcome, error) {
		if a, err := q.Read(act.Owner); q.Act == (act.Drop{}).Act() && err == nil {
			r.By, r.From = q.By, q.From
			return r.Act(ctx, a)
		}
		return r.At.Put(ctx, *q)
	})(h, ctx, in, q)
}

func (h *Host) listed(_ context.Context, _ *call.In, q *call.Listing) (call.Listed, error) {
	l := call.Listed{Runs: h.List()}
	if q.Stands {
		l.Stands = make(map[string]call.Standing, len(l.Runs))
		for _, id := range l.Runs {
			l.Stands[id] = client.StandOf(h.Dir, id)
		}
	}
	return l, nil
}

func (h *Host) summary(ctx context.Context, in *call.In, _ *call.None) (client.Summary, error) {
	if _, err := h.submitted(in.Run); err != nil {
		return client.Summary{}, err
	}
	if in.Viewed {
		return h.viewed(ctx, in.Run)
	}
	return client.Place(h.Dir.Path).Summary(ctx, in.Run)
}

func (h *Host) look(_ context.Context, in *call.In, _ *call.None) (call.Looked, error) {
	m, err := h.submitted(in.Run)
	return call.Looked{Active: h.Active(in.Run), Fetched: m.Fetched, Order: m.Order}, err
}

func (h *Host) log(ctx context.Context, in *call.In, q *call.From) ([]call.Shown, error) {
	if _, err := h.submitted(in.Run); err != nil {
		return nil, err
	}
	return h.page(ctx, in.Run, q.From)
}

func (h *Host) removes(ctx context.Context, in *call.In, unfetched *bool) (client.Removed, error) {
	if _, err := h.submitted(in.Run); err != nil {
		return client.Removed{}, err
	}
	return h.remove(ctx, in.Run, *unfetched)
}

// List lists the runs that were submitted, the newest first.
func (h *Host) List() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := slices.Sorted(maps.Keys(h.noted))
	slices.Reverse(ids)
	return ids
}

// submitted returns the description of a run that was submitted here.
func (h *Host) submitted(id string) (store.Meta, error) {
	if !bus.ValidToken(id) {
		return store.Meta{}, usage.Errorf("%.80q is no run's id", id)
	}
	m, err := store.ReadMeta(h.Dir.Run(id))
	if err != nil || m.Order == "" {
		return m, usage.Errorf("there is no run %q on %s", id, h.bus.URL())
	}
	return m, nil
}

func (h *Host) resume(ctx context.Context, in *call.In, q *call.Resumption) (none call.None, err error) {
	m, err := h.submitted(in.Run)
	if err != nil {
		return none, err
	}
	mine, taken := h.place(in.Run)
	if taken {
		return none, usage.With(usage.Errorf("run %s is active", in.Run), usage.Active, in.Run)
	}
	if q.Warrant != nil { // who resumes it answers for it from now on
		m.Warrant = q.Warrant
		err := h.vouched(ctx, in.Run, m.Order, h.resumer(in, q), q.Warrant)
		if err == nil {
			err = m.Write(h.Dir.Run(in.Run))
		}
		if err != nil {
			return none, h.settle(ctx, mine, err)
		}
	}
	return none, h.begin(ctx, mine, false, conduct.ResumeOptions{
		Budget: q.Budget, AllowUnverified: q.AllowUnverified, AllowUnread: q.AllowUnread,
	})
}

// fetched notes that a person has published a commit.
func (h *Host) fetched(_ context.Context, in *call.In, commit *string) (none call.None, err error) {
	m, err := h.submitted(in.Run)
	if err != nil {
		return none, err
	}
	if !wire.IsCommit(*commit) {
		return none, usage.Errorf("%.80q is no commit", *commit)
	}
	m.Fetched = *commit
	if err := m.Write(h.Dir.Run(in.Run)); err != nil {
		return none, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.noted[in.Run]; ok {
		k.Fetched = *commit
		h.noted[in.Run] = k
	}
	return none, nil
}
