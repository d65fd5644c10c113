package cli

import (
	"context"
	"errors"
	"strings"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console/display"
)

// Act does something to the run that args name, as FindRun does, and prints what becomes of it.
func (g *Globals) Act(ctx context.Context, a act.Args, args ...string) error {
	r, err := g.Open(ctx, args)
	if err != nil {
		return err
	}
	out, err := r.Act(ctx, a)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return g.Said(r.ID(), out.Text+next(r, a))
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
