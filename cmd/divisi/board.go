package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/board"
)

// keyed reports whether a person can be shown a board: this process reads a terminal, and writes one.
func (g *globals) keyed() bool { return g.interactive() && isTerminal(g.out) && foreground(g.in) }

// controls are a run as a board shows it and acts on it, by what the commands of the same names do.
type controls struct {
	*globals

	run string
}

// board follows a run with keys.
func (g *globals) board(ctx context.Context, run string, view *console.Console) error {
	return board.Run(ctx, board.Options{
		In: g.in, Out: g.out, Console: view, Controller: &controls{g, run},
		Follow: func(ctx context.Context) error {
			return g.onRun(ctx, run, func(r *orchestrator.Run) error { return console.Follow(r.Events(ctx), view) })
		},
	})
}

// with opens the run for one thing. What a person reads of an error is its line.
func (d *controls) with(ctx context.Context, do func(*orchestrator.Run) error) error {
	err := d.onRun(ctx, d.run, do)
	if err == nil {
		return nil
	}
	return errors.New(d.calls(errorLine(err)))
}

// Decisions implements board.Controller.
func (d *controls) Decisions(ctx context.Context) (out []board.Open, err error) {
	err = d.with(ctx, func(r *orchestrator.Run) error {
		open, err := r.Decisions(ctx)
		for _, alike := range groups(open) {
			out = append(out, d.shown(alike))
		}
		return err
	})
	return out, err
}

// shown holds the common data of decisions that are alike, taken from the first of them.
func (d *controls) shown(alike []orchestrator.Decision) board.Open {
	out := board.Open{Asked: d.asked(alike[0], noteOn(alike)), All: alike}
	if len(out.Patches) == 1 {
		out.About = out.Patches[0].Task
	}
	return out
}

// Text implements board.Controller.
func (d *controls) Text(ctx context.Context, what, task string) (string, error) {
	var b strings.Builder
	err := d.with(ctx, func(r *orchestrator.Run) error {
		b.Reset()
		switch what {
		case board.TextPatch:
			data, err := r.Diff(ctx, task, 0, false)
			if err != nil {
				return err
			}
			return d.diffText(&b, data)
		case board.TextReport:
			report, err := r.Report(ctx)
			if err != nil {
				return err
			}
			data, err := taskIn(d.run, report, task)
			if err != nil {
				return err
			}
			return console.TaskReport(&b, data)
		}
		data, err := r.Log(ctx, task, 0)
		if err != nil {
			return err
		}
		return console.AttemptLog(&b, data)
	})
	return b.String(), err
}

// Do implements board.Controller.
func (d *controls) Do(ctx context.Context, a board.Act) (out string, err error) {
	if a.Verb == board.VerbResume {
		return d.resume(ctx)
	}
	err = d.with(ctx, func(r *orchestrator.Run) (err error) {
		switch a.Verb {
		case board.VerbAnswer:
			out, err = each(ctx, r, a.Asked, func(q orchestrator.Decision) act.Args {
				return act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: a.Option, Text: a.Text, Task: a.Task}
			})
		case board.VerbTakeBack:
			out, err = each(ctx, r, a.Asked, func(q orchestrator.Decision) act.Args { return act.TakeBack{Decision: q.ID} })
		case board.VerbTake:
			out, err = d.take(ctx, r, a)
		case board.VerbCancel:
			out, err = done(r.Act(ctx, act.Cancel{Task: a.Task, Reason: a.Text}))
		case board.VerbSkip:
			out, err = done(r.Act(ctx, act.Skip{Tasks: []string{a.Task}, Reason: a.Text}))
		case board.VerbPause:
			out, err = done(r.Act(ctx, act.Pause{}))
		default:
			err = fmt.Errorf("unknown verb %q", a.Verb)
		}
		return err
	})
	return out, err
}

func done(out act.Outcome, err error) (string, error) { return out.Text, err }

// each does something to decisions. One that refuses it does not stop the others.
func each(
	ctx context.Context, r *orchestrator.Run, asked []orchestrator.Decision, do func(orchestrator.Decision) act.Args,
) (string, error) {
	var said []string
	var refused error
	for _, q := range asked {
		outcome, err := done(r.Act(ctx, do(q)))
		var mistake *usage.Error
		switch {
		case err == nil:
			said = append(said, outcome)
		case errors.As(err, &mistake):
			refused = errors.Join(refused, err)
		default:
			return "", err
		}
	}
	if len(said) == 0 {
		return "", refused
	}
	if refused != nil {
		said = append(said, "not taken: "+errorLine(refused))
	}
	return strings.Join(said, "; "), nil
}

// take checks the newest attempt of a task out into a directory.
func (d *controls) take(ctx context.Context, r *orchestrator.Run, a board.Act) (string, error) {
	data, err := r.Take(ctx, a.Task, 0, a.Text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = d.takenText(&b, data)
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", "; "), err
}

// resume has the run continue: the host of its server does it, or a process of its own that outlives this one.
func (d *controls) resume(ctx context.Context) (string, error) {
	if d.at.URL == "" {
		return "the run goes on", d.begin(ctx, d.run)
	}
	r, err := orchestrator.ResumeOn(ctx, d.at, orchestrator.ResumeOptions{Run: d.run})
	if err == nil {
		err = r.Close()
	}
	return "the run goes on", err
}
