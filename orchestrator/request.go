package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
)

// Act does something to the run for the person whose account this process has, and returns what becomes of it. A run that no
// process carries out keeps it for Resume. What cannot be done is a mistake of the caller, and changes nothing. TryAgain reads
// the files of the run again before a retry; Publish and Resume are functions.
func (r *Run) Act(ctx context.Context, a act.Args) (act.Outcome, error) {
	switch a := a.(type) {
	case act.Give:
		return r.give(ctx, a)
	case act.Drop:
		return r.drop(ctx, a)
	}
	text, err := r.ask(ctx, a)
	return act.Outcome{Text: text, Begins: r.notRunning && a.Act() == act.Retry{}.Act()}, err
}

// NotRunning reports that no process carries the run out, so that what was asked waits for Resume.
func (r *Run) NotRunning() bool { return r.notRunning }

// ask has the conductor of the run do something. Where no process carries the run out, this one is its conductor for a moment.
func (r *Run) ask(ctx context.Context, a act.Args) (string, error) {
	q, err := act.NewRequest(a, cmp.Or(r.by, account()))
	q.From = r.from
	switch {
	case err != nil:
		return "", err
	case r.notRunning && r.host != nil:
		return askHost(ctx, r.host, call.ConductorAct, r.id, q)
	case r.notRunning && r.served != nil:
		return r.served.put(ctx, r, q)
	}
	return put(ctx, r, q)
}

// put puts a request to the process that holds the run, or does what it asks.
func put(ctx context.Context, r *Run, q act.Request) (string, error) {
	if !r.notRunning {
		return r.askHolder(ctx, q)
	}
	outcome, st, err := do(ctx, r, q)
	var no *request.RefusedError
	if errors.As(err, &no) && no.Over {
		return "", over(st, no.Reason)
	}
	return asMistake(outcome, err)
}

// do makes this process the conductor of a run that no process carries out, for one request. It returns the state of the run
// too.
func do(ctx context.Context, r *Run, q act.Request) (string, *run.State, error) {
	who := act.Local
	if q.From != "" {
		who = act.Owner
	}
	a, err := q.Read(who)
	if err != nil {
		return "", nil, err
	}
	if act.Find(q.Act).On&^act.Running == 0 {
		return "", nil, usage.Errorf("run %s is not running: there is nothing to %s", r.id, q.Act)
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	var mirror *git.Repo
	if d, answers := a.(act.Decide); answers && d.Alike {
		g, err := git.New(ctx)
		if err != nil {
			return "", nil, err
		}
		if mirror, err = g.OpenMirror(filepath.Join(r.dir.Run(r.id), "repo.git")); err != nil {
			return "", nil, err
		}
	}
	c, err := conductorOf(ctx, r, mirror, nil)
	if err != nil {
		return "", nil, err
	}
	outcome, err := c.Do(ctx, a, q.By)
	return outcome, c.State(), err
}

// over is the error of a request that meets the end of a run, with what can be done about it.
func over(st *run.State, why string) error {
	ways := waysOf(view.Next(st))
	values := make([]any, len(ways))
	for i, w := range ways {
		values[i] = w
	}
	return usage.With(usage.Errorf("%s", why), usage.Over, values...)
}

func conductorOf(
	ctx context.Context, r *Run, mirror *git.Repo, publish func(ctx context.Context, commit, base, had string) (string, error),
) (*conductor.Conductor, error) {
	b, err := r.writable(ctx)
	if err != nil {
		return nil, err
	}
	m, err := store.ReadMeta(r.dir.Run(r.id))
	if err != nil {
		return nil, err
	}
	c, err := conductor.New(ctx, conductor.Config{
		Ordered: m.Order != "",
		Run:     r.id, Bus: b, Clock: now, NewID: newID, Log: r.dir.Log, Mirror: mirror, Publish: publish, Tree: r.trees,
	})
	if err != nil {
		return nil, err
	}
	return c, r.dir.Check(c.State(), r.id)
}

// askHolder asks the process that holds the run. One that does not listen has come to the run's end, or begins just now.
func (r *Run) askHolder(ctx context.Context, q act.Request) (string, error) {
	outcome, err := asMistake(conductor.Ask(ctx, r.bus, r.id, q))
	if !errors.Is(err, bus.ErrNoListener) {
		return outcome, err
	}
	st, ferr := eventlog.Fold(ctx, r.bus, r.id)
	switch {
	case ferr != nil:
		return "", errors.Join(err, ferr)
	case st.Status.Ended():
		return "", usage.Errorf("run %s is over: %s\n"+
			"Its process is just ending: to change it, try again in a moment", r.id, st.Status)
	}
	return "", usage.Errorf("run %s is not accepting requests yet: try again in a moment", r.id)
}

// asMistake makes what cannot be done a mistake of the caller.
func asMistake[T any](v T, err error) (T, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return v, usage.Errorf("%s", no.Reason)
	}
	return v, err
}
