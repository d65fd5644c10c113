package cli

import (
	"context"
	"errors"
	"strings"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
)

// Act does something to the run that args name, as FindRun does, and prints what becomes of it.
func (g *Globals) Act(ctx context.Context, a act.Args, args ...string) error {
	run, held, err := g.Do(ctx, a, args...)
	if err != nil || len(held) == 0 {
		return err
	}
	show := g.NewConsole()
	return errors.Join(g.Held(ctx, show, run, held), show.Close())
}

// Do is Act, but for what the run holds back: it returns the ids of that.
func (g *Globals) Do(ctx context.Context, a act.Args, args ...string) (run string, held []string, err error) {
	r, err := g.Open(ctx, args)
	if err != nil {
		return "", nil, err
	}
	if g.ByHand() {
		a = act.ByHand(a)
	}
	out, err := r.Act(ctx, a)
	if err = errors.Join(err, r.Close()); err != nil {
		return r.ID(), nil, err
	}
	return r.ID(), out.Held, g.Said(r.ID(), out.Text+next(r, a))
}

// Held asks a person what becomes of what a run holds back, as long as it does. One that is done does not stop the others.
func (g *Globals) Held(ctx context.Context, show *console.Console, run string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	does, err := g.AskHeld(ctx, show)
	if err != nil || does == "" {
		return err
	}
	for _, id := range ids {
		_, _, failed := g.Do(ctx, HeldAct(does, id), run)
		err = errors.Join(err, failed)
	}
	return err
}

// AskHeld asks a person, as long as a run holds something back, whether it is to be done now, or is taken back.
func (g *Globals) AskHeld(ctx context.Context, show *console.Console) (does string, err error) {
	return show.Held(ctx, g.In, act.HoldBack)
}

// HeldAct is the act that a person chose for what is held back.
func HeldAct(does, id string) act.Args {
	if does == console.Undo {
		return act.TakeBack{Decision: id}
	}
	return act.Apply{Decision: id}
}

// next is how a person goes on after an act: with what undoes it where that is one word, else with the run.
func next(r *orchestrator.Run, a act.Args) string {
	way := act.Find("resume")
	if undo := act.Find(act.Find(a.Act()).Undo); undo != nil && undo.Alone() {
		way = undo
	} else if !r.NotRunning() {
		return ""
	}
	return "; " + strings.ToLower(way.Label) + " with: " + act.InTerminal(way) + " " + r.ID()
}

// Open connects to the run that args name, as FindRun does.
func (g *Globals) Open(ctx context.Context, args []string) (*orchestrator.Run, error) {
	id, err := g.FindRun(ctx, args)
	if err != nil {
		return nil, err
	}
	return g.Attach(ctx, id)
}

// Attach connects to a run.
func (g *Globals) Attach(ctx context.Context, run string) (*orchestrator.Run, error) {
	return g.Runs().Open(g.Log.WithContext(ctx), run)
}

// Said prints what becomes of a request.
func (g *Globals) Said(run, outcome string) error {
	return g.Print(Say("%s: %s\n", run, display.Sanitize(g.Calls(outcome))), map[string]string{"run": run, "outcome": outcome})
}
