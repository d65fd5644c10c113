package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
)

// Send sends a message to the agent of a task, or to the master where no task is named, and returns what becomes of it. A run
// that no process carries out gets it when it is resumed.
func (r *Run) Send(ctx context.Context, task, text string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbSend, Task: task, Text: text})
}

// Accept lets the held patch of a task's attempt go on, 0 for the newest. Send rejects it, with the reason for the next attempt.
func (r *Run) Accept(ctx context.Context, task string, attempt int) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbAccept, Task: task, Attempt: attempt})
}

// Pause stops the run once its agents have finished their turns.
func (r *Run) Pause(ctx context.Context) (string, error) {
	if r.notRunning {
		return "", usage.Errorf("run %s is not running: there is nothing to pause", r.id)
	}
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbPause})
}

// StopLine lets nothing be dispatched and nothing land until StartLine. The process goes on, and so does what is at work.
func (r *Run) StopLine(ctx context.Context, reason string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbStopLine, Text: reason})
}

// StartLine lets work be dispatched and land again.
func (r *Run) StartLine(ctx context.Context) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbStartLine})
}

// Cancel ends the run, or one task of it, for good.
func (r *Run) Cancel(ctx context.Context, task, reason string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbCancel, Task: task, Text: reason})
}

// Skip gives tasks up as not needed: what waits for them goes on as if they were done.
func (r *Run) Skip(ctx context.Context, tasks []string, reason string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbSkip, Tasks: tasks, Text: reason})
}

// AddGate adds a gate to a run that has not ended: it runs on the base commit, then on all that lands. Patches that are held for
// files that no gate reads are tested with it.
func (r *Run) AddGate(ctx context.Context, name string, command []string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbGate, Gate: &spec.Gate{Name: name, Command: command}})
}

// NotRunning reports that no process carries the run out, so that what was asked waits for Resume.
func (r *Run) NotRunning() bool { return r.notRunning }

// ask puts a request to the conductor of the run. Where no process carries it out, this one is its conductor for a moment.
func (r *Run) ask(ctx context.Context, q conductor.Request) (string, error) {
	q.By, q.From = cmp.Or(r.by, account()), cmp.Or(q.From, r.from)
	return r.put(ctx, q)
}

func (r *Run) put(ctx context.Context, q conductor.Request) (string, error) {
	switch {
	case !r.notRunning:
		return r.askHolder(ctx, q)
	case r.host != nil:
		a, err := r.host.ask(ctx, hostCall{Verb: verbRequest, Run: r.id, Request: &q})
		return a.Text, err
	case r.served != nil:
		return r.served.put(ctx, r, q)
	}
	return r.putHere(ctx, q)
}

// putHere makes this process the conductor of a run that no process carries out, for one request.
func (r *Run) putHere(ctx context.Context, q conductor.Request) (string, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	var mirror *git.Repo
	if q.Answer != nil && q.Answer.Alike {
		g, err := git.New(ctx)
		if err != nil {
			return "", err
		}
		if mirror, err = g.OpenMirror(filepath.Join(r.dir.Run(r.id), "repo.git")); err != nil {
			return "", err
		}
	}
	c, err := r.conductor(ctx, mirror, nil)
	if err != nil {
		return "", err
	}
	outcome, err := c.Do(ctx, q)
	var no *request.RefusedError
	if errors.As(err, &no) && no.Over {
		return "", over(c.State(), no.Reason)
	}
	return asMistake(outcome, err)
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

func (r *Run) conductor(
	ctx context.Context, mirror *git.Repo, publish func(ctx context.Context, commit, base, had string) (string, error),
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
func (r *Run) askHolder(ctx context.Context, q conductor.Request) (string, error) {
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
func asMistake(text string, err error) (string, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return "", usage.Errorf("%s", no.Reason)
	}
	return text, err
}
