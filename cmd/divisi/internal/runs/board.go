package runs

import (
	"context"
	"errors"
	"strings"

	"divisi/cmd/divisi/internal/acts"
	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/inspect"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/board"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/door"
)

// keyed reports whether a person can be shown a board: this process reads a terminal, and writes one.
func (g *Globals) keyed() bool {
	return g.ByHand() && cli.Foreground(g.In)
}

// Controls are a run as a board shows it and acts on it, by what the commands of the same names do.
type Controls struct {
	*Globals

	Run string
}

// board follows a run with keys.
func (g *Globals) board(ctx context.Context, run string, view *console.Console) error {
	return board.Run(ctx, board.Options{
		In: g.In, Out: g.Out, Console: view, Controller: &Controls{g, run},
		Follow: func(ctx context.Context) error {
			return g.OnRun(ctx, run, func(r *orchestrator.Run) error { return console.Follow(r.Events(ctx), view) })
		},
	})
}

// with opens the run for one thing. What a person reads of an error is its line.
func (d *Controls) with(ctx context.Context, do func(*orchestrator.Run) error) error {
	err := d.OnRun(ctx, d.Run, do)
	if err == nil {
		return nil
	}
	return errors.New(d.Calls(inspect.ErrorLine(err)))
}

// Decisions implements board.Controller.
func (d *Controls) Decisions(ctx context.Context) (out []board.Open, err error) {
	err = d.with(ctx, func(r *orchestrator.Run) error {
		open, err := r.Decisions(ctx)
		for _, alike := range acts.Groups(open) {
			out = append(out, d.shown(alike))
		}
		return err
	})
	return out, err
}

// shown holds the common data of decisions that are alike, taken from the first of them.
func (d *Controls) shown(alike []orchestrator.Decision) board.Open {
	out := board.Open{Asked: d.Asked(alike[0], acts.NoteOn(alike)), All: alike}
	if len(out.Patches) == 1 {
		out.About = out.Patches[0].Task
	}
	return out
}

// Text implements board.Controller.
func (d *Controls) Text(ctx context.Context, what, task string) (string, error) {
	var b strings.Builder
	err := d.with(ctx, func(r *orchestrator.Run) error {
		b.Reset()
		switch what {
		case board.TextPatch:
			data, err := r.Diff(ctx, task, 0, false)
			if err != nil {
				return err
			}
			return d.DiffText(&b, data)
		case board.TextReport:
			report, err := r.Report(ctx)
			if err != nil {
				return err
			}
			data, err := inspect.TaskIn(d.Run, report, task)
			if err != nil {
				return err
			}
			return reports.Task(&b, data, 0)
		}
		data, err := r.Log(ctx, task, 0)
		if err != nil {
			return err
		}
		return reports.Attempt(&b, data)
	})
	return b.String(), err
}

// Do implements board.Controller.
func (d *Controls) Do(ctx context.Context, acts []act.Args) (out act.Outcome, began bool, err error) {
	var said []string
	var refused error
	runs := door.NewRuns(d.Runs(), d.Begin, d.Agreed)
	for _, a := range acts {
		done, err := runs.Act(ctx, d.Run, strings.TrimPrefix(depot.Account(), "user:"), a)
		var mistake *usage.Error
		switch {
		case err == nil:
			said, began = append(said, done.Outcome), began || done.Started
			out.Held = append(out.Held, done.Held...)
		case errors.As(err, &mistake):
			refused = errors.Join(refused, err)
		default:
			out.Text = strings.Join(said, "; ")
			return out, began, errors.New(d.Calls(inspect.ErrorLine(err)))
		}
	}
	if len(said) == 0 {
		return out, began, errors.New(d.Calls(inspect.ErrorLine(refused)))
	}
	if refused != nil {
		said = append(said, "not taken: "+d.Calls(inspect.ErrorLine(refused)))
	}
	out.Text = strings.Join(said, "; ")
	return out, began, nil
}

// Take implements board.Controller.
func (d *Controls) Take(ctx context.Context, task, dir string) (string, error) {
	var b strings.Builder
	err := d.with(ctx, func(r *orchestrator.Run) error {
		data, err := r.Take(ctx, task, 0, dir)
		if err != nil {
			return err
		}
		return d.TakenText(&b, data)
	})
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", "; "), err
}
