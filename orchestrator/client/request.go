package client

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
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/shard"
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
	return act.Outcome{Text: text, Begins: r.AtRest && a.Act() == act.Retry{}.Act()}, err
}

// NotRunning reports that no process carries the run out, so that what was asked waits for Resume.
func (r *Run) NotRunning() bool { return r.AtRest }

// ask has the conductor of the run do something. Where no process carries the run out, this one is its conductor for a moment.
func (r *Run) ask(ctx context.Context, a act.Args) (string, error) {
	q, err := act.NewRequest(a, cmp.Or(r.By, depot.Account()))
	q.From = r.From
	switch {
	case err != nil:
		return "", err
	case r.AtRest && r.Host != nil:
		return AskHost(ctx, r.Host, call.ConductorAct, r.Name, q)
	case r.AtRest && r.Served != nil:
		return r.Served.Put(ctx, r, q)
	}
	return Put(ctx, r, q)
}

// Put puts a request to the process that holds the run, or does what it asks.
func Put(ctx context.Context, r *Run, q act.Request) (string, error) {
	if !r.AtRest {
		return r.askHolder(ctx, q)
	}
	outcome, st, err := Do(ctx, r, q)
	var no *request.RefusedError
	if errors.As(err, &no) && no.Over {
		return "", Over(st, no.Reason)
	}
	return AsMistake(outcome, err)
}

// Do makes this process the conductor of a run that no process carries out, for one request. It returns the state of the run
// too.
func Do(ctx context.Context, r *Run, q act.Request) (string, *run.State, error) {
	who := act.Local
	if q.From != "" {
		who = act.Owner
	}
	a, err := q.Read(who)
	if err != nil {
		return "", nil, err
	}
	if act.Find(q.Act).On&^act.Running == 0 {
		return "", nil, usage.Errorf("run %s is not running: there is nothing to %s", r.Name, q.Act)
	}
	r.Asking.Lock()
	defer r.Asking.Unlock()
	mirror, err := r.mirrorFor(ctx, a)
	if err != nil {
		return "", nil, err
	}
	if mirror != nil {
		defer mirror.Close()
	}
	c, err := ConductorOf(ctx, r, mirror, nil)
	if err != nil {
		return "", nil, err
	}
	outcome, err := c.Do(ctx, a, q.By)
	return outcome, c.State(), err
}

// mirrorFor opens the repository of the run where an act reads patches or files of it; nil for another act.
func (r *Run) mirrorFor(ctx context.Context, a act.Args) (*git.Repo, error) {
	d, _ := a.(act.Decide)
	again, _ := a.(act.Retry)
	reads := r.Trees == nil && (again.Forgotten || again.Changed.Plan != nil)
	if !d.Alike && !reads {
		return nil, nil
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	mirror, err := g.OpenMirror(filepath.Join(r.Dir.Run(r.Name), "repo.git"))
	if err == nil && reads { // no half that conducts is here to run commands
		r.Trees = func(commit, _ string) plan.Tree {
			return shard.Tree(mirror, commit, func(_ context.Context, _ string, command []string) ([]byte, error) {
				return nil, shard.NoCommands(command)
			})
		}
	}
	return mirror, err
}

// Over is the error of a request that meets the end of a run, with what can be done about it.
func Over(st *run.State, why string) error {
	ways := view.Next(st)
	values := make([]any, len(ways))
	for i, w := range ways {
		values[i] = w
	}
	return usage.With(usage.Errorf("%s", why), usage.Over, values...)
}

// ConductorOf conducts a run that no process carries out, for one request: it takes the log of the run.
func ConductorOf(
	ctx context.Context, r *Run, mirror *git.Repo, publish func(ctx context.Context, commit, base, had string) (string, error),
) (*conductor.Conductor, error) {
	b, err := r.writable(ctx)
	if err != nil {
		return nil, err
	}
	m, err := store.ReadMeta(r.Dir.Run(r.Name))
	if err != nil {
		return nil, err
	}
	c, err := conductor.New(ctx, conductor.Config{
		Run: r.Name, Bus: b, Clock: depot.Now, NewID: depot.NewID, Log: r.Dir.Log, Ordered: m.Order != "",
		Mirror: mirror, Publish: publish, Tree: r.Trees,
	})
	if err != nil {
		return nil, err
	}
	return c, r.Dir.Check(c.State(), r.Name)
}

// askHolder asks the process that holds the run. One that does not listen has come to the run's end, or begins just now.
func (r *Run) askHolder(ctx context.Context, q act.Request) (string, error) {
	outcome, err := AsMistake(conductor.Ask(ctx, r.Bus, r.Name, q))
	if !errors.Is(err, bus.ErrNoListener) {
		return outcome, err
	}
	st, ferr := eventlog.Fold(ctx, r.Bus, r.Name)
	switch {
	case ferr != nil:
		return "", errors.Join(err, ferr)
	case st.Status.Ended():
		return "", usage.Errorf("run %s is over: %s\n"+
			"Its process is just ending: to change it, try again in a moment", r.Name, st.Status)
	}
	return "", usage.Errorf("run %s is not accepting requests yet: try again in a moment", r.Name)
}

// AsMistake makes what cannot be done a mistake of the caller.
func AsMistake[T any](v T, err error) (T, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return v, usage.Errorf("%s", no.Reason)
	}
	return v, err
}
