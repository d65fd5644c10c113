package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// view shows a run that this process executes.
type view struct {
	*globals
	console func() *console.Console
	draft   draft
	quiet   bool               // who follows reports how it ended
	page    *orchestrator.Page // nil for none
	made    []string           // by a demo, for its run
	// asking is held while a person is asked: one question at a time.
	asking sync.Mutex
}

// machine completes what a run needs of this process: the state directory, a person's answers, and what that person reads.
func (g *globals) machine(h *orchestrator.Machine, sandbox string) (*view, error) {
	v := &view{globals: g, console: sync.OnceValue(g.newConsole)}
	h.StateDir, h.Strict = g.stateDir, sandbox == sandboxStrict
	if !h.Strict && sandbox != sandboxAuto {
		return nil, usagef("invalid --sandbox %q: must be %s or %s", sandbox, sandboxAuto, sandboxStrict)
	}
	h.Notice = func(text, code string) {
		fmt.Fprintln(&g.notes, g.calls(strings.TrimSuffix(text+"\n  "+coded[code], "\n  ")))
	}
	switch {
	case g.interactive():
		h.Approve, h.Decide = v.approve, v.decide
	case g.wait:
		h.Approve = answeredElsewhere
	}
	return v, nil
}

// waitFlag is that of the commands that conduct a run in the background.
func (g *globals) waitFlag(c *cobra.Command) {
	c.Flags().BoolVar(&g.wait, "wait", false,
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
	return answer(ctx, func() (orchestrator.Answer, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		var edited *orchestrator.File
		ask.Edit = func() (err error) {
			edited, err = v.edit(ctx, q.File)
			return err
		}
		said, err := v.console().Approve(v.in, ask)
		if err != nil || said.Edited {
			return orchestrator.Answer{Plan: edited}, err
		}
		if v.draft.changed {
			fmt.Fprintf(v.out, "Your edit is saved in %s\n", v.draft.name)
		}
		return orchestrator.Answer{Yes: said.Yes, Comment: said.Comment}, nil
	})
}

// decide asks on the terminal what only a person can decide. A process in the background asks nothing: to read would stop it.
func (v *view) decide(ctx context.Context, d orchestrator.Decision) (orchestrator.Choice, error) {
	if !foreground(v.in) {
		return orchestrator.Choice{}, nil
	}
	return answer(ctx, func() (orchestrator.Choice, error) {
		v.asking.Lock()
		defer v.asking.Unlock()
		return v.choose(v.console(), d, "later: divisi decide "+d.Run)
	})
}

// always is accept, for all that is alike.
const always = "always"

// choose shows a decision on a terminal and reads the answer.
func (g *globals) choose(c *console.Console, d orchestrator.Decision, note string) (orchestrator.Choice, error) {
	q := g.asked(d, note)
	if !console.Whole(q.Patches...) {
		task := "TASK"
		if len(q.Patches) == 1 {
			task = q.Patches[0].Task
		}
		q.Note = strings.TrimPrefix(fmt.Sprintf("%s; some lines are not shown, and your answer is for them too: "+
			"see the whole patch with: divisi diff %s/%s", q.Note, d.Run, task), "; ")
	}
	if d.Alike != "" {
		q.Options = append(slices.Clone(q.Options), orchestrator.Option{
			Name: always, Does: "accepts it, and each other one that is alike, now or later",
		})
	}
	choice, err := c.Decide(g.in, q)
	if choice.Alike = choice.Option == always; choice.Alike {
		choice.Option = "accept"
	}
	return choice, err
}

// asked is a decision as a terminal shows it.
func (g *globals) asked(d orchestrator.Decision, note string) console.Asked {
	q := console.Asked{Decision: d, Note: note}
	q.Patches = slices.Clone(d.Patches)
	for i := range q.Patches {
		p := &q.Patches[i]
		if p.Diff = g.patchText(p.Diff); p.Fault != "" {
			p.Diff = "It cannot be shown: " + console.Sanitize(p.Fault)
		}
	}
	if len(d.Patches) == 1 {
		of := d.Run + "/" + d.Patches[0].Task
		q.Elsewhere = []console.Elsewhere{
			{Name: "take", Does: "fix the patch by hand", Command: "divisi take " + of + " DIR"},
			{Name: "cancel", Does: "end the task for good", Command: "divisi cancel " + of},
		}
	}
	return q
}

// viewGrace is how long the output may take to show the last events of a run that has ended.
const viewGrace = time.Second

// follow shows a run until it has ended, and turns its end into an exit code.
func (v *view) follow(ctx context.Context, r *orchestrator.Run) error {
	defer keepPipes()()
	if v.page != nil {
		v.page.Begin(r.ID())
		v.printer().aside("dashboard: " + v.page.URL())
	}
	show := v.console()
	show.Known(r.Resumed(), v.calls("divisi watch "+r.ID()))
	defer v.attend(show)()
	if show.Live() && isTerminal(v.err) {
		before := v.logTo.set(zerolog.ConsoleWriter{Out: show, TimeFormat: "15:04:05", NoColor: true})
		defer v.logTo.set(before)
		defer v.notes.set(v.notes.set(show))
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
			v.log.Info().Err(verr).Msg("the output does not show every event")
			verr = nil
		}
		if verr == nil && !v.quiet {
			verr = errors.Join(v.printEnd(r.ID(), &result), v.printMade(r.ID()))
		}
		if pipeClosed(verr) {
			v.log.Info().Err(verr).Msg("the output was closed before its end")
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
		return &endError{codeParked, ""}
	case "stopped", "cancelled":
		return &endError{codeStopped, ""}
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
