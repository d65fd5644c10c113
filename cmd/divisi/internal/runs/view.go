package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// view shows a run that this process executes.
type view struct {
	*Globals
	console func() *console.Console
	draft   draft
	quiet   bool               // who follows reports how it ended
	page    *orchestrator.Page // nil for none
	made    []string           // by a demo, for its run
	// asking is held while a person is asked: one question at a time.
	asking sync.Mutex
}

// machine completes what a run needs of this process: the state directory, a person's answers, and what that person reads.
func (g *Globals) machine(h *orchestrator.Machine, sandbox string) (*view, error) {
	v := &view{Globals: g, console: sync.OnceValue(g.NewConsole)}
	h.StateDir, h.Strict = g.StateDir, sandbox == cli.SandboxStrict
	if !h.Strict && sandbox != cli.SandboxAuto {
		return nil, usage.Errorf("invalid --sandbox %q: must be %s or %s", sandbox, cli.SandboxAuto, cli.SandboxStrict)
	}
	h.Notice = func(text, code string) {
		fmt.Fprintln(&g.Notes, g.Calls(strings.TrimSuffix(text+"\n  "+cli.Coded[code], "\n  ")))
	}
	switch {
	case g.Interactive():
		h.Approve, h.Decide = v.approve, v.decide
		if g.ByHand() {
			h.AskHeld = v.held
		}
	case g.Wait:
		h.Approve = answeredElsewhere
	}
	return v, nil
}

// waitFlag is that of the commands that conduct a run in the background.
func (g *Globals) waitFlag(c *cobra.Command) {
	c.Flags().BoolVar(&g.Wait, "wait", false,
		"without a terminal: wait for answers by divisi decide or on the dashboard, where the run would stop")
}

// answeredElsewhere leaves a plan to divisi decide, or to the page.
func answeredElsewhere(ctx context.Context, _ orchestrator.Approval) (orchestrator.Answer, error) {
	<-ctx.Done()
	return orchestrator.Answer{}, ctx.Err()
}

// approve asks on the terminal. What a person edited and the run has not taken stays in its file, which is named.
func (v *view) approve(ctx context.Context, q orchestrator.Approval) (orchestrator.Answer, error) {
	ask := console.Question{Plan: q.Plan, Refused: q.Refused}
	if q.Refused == nil {
		v.draft = draft{dir: q.Dir}
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	var edited *orchestrator.File
	ask.Edit = func() (err error) {
		edited, err = v.edit(ctx, q.File)
		return err
	}
	said, err := v.console().Approve(ctx, v.In, ask)
	if err != nil || said.Edited {
		return orchestrator.Answer{Plan: edited}, err
	}
	if v.draft.changed {
		fmt.Fprintf(v.Out, "Your edit is saved in %s\n", v.draft.name)
	}
	return orchestrator.Answer{Yes: said.Yes, Comment: said.Comment}, nil
}

// decide asks on the terminal what only a person can decide. A process in the background asks nothing: to read would stop it.
func (v *view) decide(ctx context.Context, d orchestrator.Decision) (orchestrator.Choice, error) {
	if !cli.Foreground(v.In) {
		return orchestrator.Choice{}, nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	return v.Choose(ctx, v.console(), d, "later: divisi decide "+d.Run)
}

// held asks what becomes of the answer before, as long as the run holds it back.
func (v *view) held(ctx context.Context, _ string) (undo, now bool, err error) {
	v.asking.Lock()
	defer v.asking.Unlock()
	does, err := v.AskHeld(ctx, v.console())
	return does == console.Undo, does == console.Now, err
}

// viewGrace is how long the output may take to show the last events of a run that has ended.
const viewGrace = time.Second

// follow shows a run until it has ended, and turns its end into an exit code.
func (v *view) follow(ctx context.Context, r *orchestrator.Run) error {
	defer keepPipes()()
	if v.page != nil {
		v.page.Begin(r.ID())
		v.Aside("dashboard: " + v.page.URL())
	}
	show := v.console()
	show.Known(r.Resumed(), v.Calls("divisi watch "+r.ID()))
	defer v.Attend(show)()
	if show.Live() && cli.IsTerminal(v.Err) {
		before := v.LogTo.Set(zerolog.ConsoleWriter{Out: show, TimeFormat: "15:04:05", NoColor: true})
		defer v.LogTo.Set(before)
		defer v.Notes.Set(v.Notes.Set(show))
	}
	life := ctx
	ctx = context.WithoutCancel(ctx) // which ends the run, and is told by its log
	shown := make(chan error, 1)
	go func() { shown <- errors.Join(console.Follow(r.Events(ctx), show), show.Close()) }()
	result, err := r.Wait(ctx)
	late := time.NewTimer(viewGrace)
	defer late.Stop()
	select {
	case verr := <-shown:
		if errors.Is(verr, orchestrator.ErrClosed) { // the output is slower than the run: its report has the end
			v.Log.Info().Err(verr).Msg("the output does not show every event")
			verr = nil
		}
		if verr == nil && !v.quiet {
			verr = errors.Join(v.PrintEnd(r.ID(), &result), v.printMade(r.ID()))
		}
		if cli.PipeClosed(verr) {
			v.Log.Info().Err(verr).Msg("the output was closed before its end")
		} else if err == nil {
			err = verr
		}
	case <-late.C: // the terminal stands still
	}
	if err != nil {
		return err
	}
	v.stay(life)
	return ending(r.ID(), result.State)
}

// ending turns the end of a run into an exit code.
func ending(id, state string) error {
	switch state {
	case "done":
		return nil
	case "parked":
		return cli.End(cli.CodeParked, "")
	case "stopped", "cancelled":
		return cli.End(cli.CodeStopped, "")
	default:
		return fmt.Errorf("run %s was left as %s", id, state)
	}
}

// keepPipes makes a closed output an error of writing: a run that is piped into head continues to its end.
func keepPipes() (stop func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
