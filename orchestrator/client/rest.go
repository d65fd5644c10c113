package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"sync"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/shard"
	"divisi/orchestrator/store"
)

// Rest is a run that no process executes. This one is its conductor for a request.
type Rest struct {
	attached

	// Trees reads commits for what a plan file has gained.
	Trees func(commit, environment string) plan.Tree
	// Free is an error where another host may conduct the run by now; Asked learns what the run was asked.
	Free  func() error
	Asked func(q *act.Request, err error)
	// Asking is held by the conductor of the moment. It guards Taken: the log, once it was taken to append to it; nil before.
	Asking sync.Mutex
	Taken  *bus.Bus
}

// Log implements reader: once this process has taken it, it is not as its files were before.
func (r *Rest) Log() eventlog.Log {
	r.Asking.Lock()
	defer r.Asking.Unlock()
	return r.Newest()
}

// Newest is Log while Asking is held.
func (r *Rest) Newest() eventlog.Log {
	return eventlog.Log{Bus: cmp.Or(r.Taken, r.log.Bus), Run: r.log.Run}
}

// Tail implements reader.
func (r *Rest) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Batch, error] {
	return r.Log().Read(ctx, from)
}

func (r *Rest) events(ctx context.Context) iter.Seq2[eventlog.Batch, error] { return r.Tail(ctx, 0) }

// NotRunning implements asker.
func (*Rest) NotRunning() bool { return true }

// Put implements asker.
func (r *Rest) Put(ctx context.Context, q act.Request) (out act.Outcome, err error) {
	var st *run.State
	if err = r.Free(); err == nil {
		out, st, err = r.Do(ctx, q)
	}
	var no *request.RefusedError
	if errors.As(err, &no) && no.Over {
		err = Over(st, no.Reason)
	}
	out, err = AsMistake(out, err)
	r.Asked(&q, err)
	return out, err
}

// Do makes this process the conductor of the run for one request. It returns the state of the run too.
func (r *Rest) Do(ctx context.Context, q act.Request) (out act.Outcome, st *run.State, err error) {
	who := act.Local
	if q.From != "" {
		who = act.Owner
	}
	a, err := q.Read(who)
	if err != nil {
		return out, nil, err
	}
	if act.Find(q.Act).On&^act.Running == 0 {
		return out, nil, usage.Errorf("run %s is not running: there is nothing to %s", r.log.Run, q.Act)
	}
	r.Asking.Lock()
	defer r.Asking.Unlock()
	mirror, err := r.mirrorFor(ctx, a)
	if err != nil {
		return out, nil, err
	}
	if mirror != nil {
		defer mirror.Close()
	}
	c, err := r.Conductor(ctx, mirror, nil)
	if err != nil {
		return out, nil, err
	}
	out, err = c.Do(ctx, a, q.By)
	return out, c.State(), err
}

// mirrorFor opens the repository of the run where an act reads patches or files of it; nil for another act.
func (r *Rest) mirrorFor(ctx context.Context, a act.Args) (*git.Repo, error) {
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
	mirror, err := g.OpenMirror(filepath.Join(r.dir.Run(r.log.Run), "repo.git"))
	if err == nil && reads { // no half that conducts is here to run commands
		r.Trees = func(commit, _ string) plan.Tree {
			return shard.Tree(mirror, commit, func(_ context.Context, _ string, command []string) ([]byte, error) {
				return nil, shard.NoCommands(command)
			})
		}
	}
	return mirror, err
}

// Conductor conducts the run for one request: it takes the log of the run. Asking is held then.
func (r *Rest) Conductor(
	ctx context.Context, mirror *git.Repo, publish func(ctx context.Context, commit, base, had string) (string, error),
) (*conductor.Conductor, error) {
	b, err := r.held(ctx)
	if err != nil {
		return nil, err
	}
	m, err := store.ReadMeta(r.dir.Run(r.log.Run))
	if err != nil {
		return nil, err
	}
	c, err := conductor.New(ctx, conductor.Config{
		Run: r.log.Run, Bus: b, Clock: depot.Now, NewID: depot.NewID, Log: r.dir.Log, Ordered: m.Order != "",
		Mirror: mirror, Publish: publish, Tree: r.Trees,
	})
	if err != nil {
		return nil, err
	}
	return c, r.dir.Check(c.State(), r.log.Run)
}

func (r *Rest) take(ctx context.Context) (*bus.Bus, error) {
	r.Asking.Lock()
	defer r.Asking.Unlock()
	return r.held(ctx)
}

// held is the log, taken. Asking is held.
func (r *Rest) held(ctx context.Context) (*bus.Bus, error) {
	if r.Taken != nil {
		return r.Taken, nil
	}
	if err := r.Free(); err != nil {
		return nil, err
	}
	m, err := store.ReadMeta(r.dir.Run(r.log.Run))
	if err != nil {
		return nil, err
	}
	r.Taken, err = r.dir.Hold(ctx, r.log.Run, m.Server())
	return r.Taken, err
}

func (r *Rest) release() {
	r.attached.release()
	r.Asking.Lock()
	defer r.Asking.Unlock()
	if r.Taken != nil {
		r.dir.Close(r.Taken)
	}
}
