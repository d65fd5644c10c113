package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// atServer is an annotation of commands that can be about the runs of a server.
const atServer = "server"

// onServer are other commands that can be about the runs of a server.
var onServer = []string{
	"run", "runs", "show", "watch", "decide", "publish", "send", "accept", "line", "cancel", "log", "diff",
	"context", "resume", "retry", "drop", "gate", "worker", "workers", "mcp",
}

// findOn finds the server of --on for a command.
func (g *globals) findOn(c *cobra.Command) (err error) {
	if g.on == "" {
		return nil
	}
	top := c
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if !slices.Contains(onServer, top.Name()) && top.Annotations[atServer] == "" {
		return usagef("%s works on this machine: leave --on out", c.CommandPath())
	}
	g.at, err = orchestrator.FindServer(g.stateDir, g.on)
	return err
}

// submit has the host on the server of --on conduct a run, and follows it to its end, or leaves it there.
func (g *globals) submit(ctx context.Context, o runOptions) error {
	r, err := orchestrator.Submit(g.log.WithContext(ctx), o.Options, g.at)
	if err != nil {
		return err
	}
	id := r.ID()
	if !o.detach {
		return errors.Join(g.followOn(ctx, r, o.Repo), r.Close())
	}
	if o.Plan == nil && !o.AutoApprove && g.interactive() {
		err = g.approveOn(ctx, r)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	said := fmt.Sprintf("run %s is with the host at %s; follow it with: divisi watch %[1]s\n", id, g.at)
	return g.print(say("%s", g.calls(said)),
		map[string]string{"run": id, "url": g.at.String()})
}

// approveOn waits for the plan of a master, and asks about it.
func (g *globals) approveOn(ctx context.Context, r *orchestrator.Run) error {
	g.notice("waiting for the plan of the master; Ctrl-C leaves the run with the host")
	for line, err := range r.Events(ctx) {
		if err != nil {
			return err
		}
		var e struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read an event of run %s: %w", r.ID(), err)
		}
		if e.Kind != "plan" {
			continue
		}
		open, err := r.Decisions(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(open, func(d orchestrator.Decision) bool { return d.Kind == "plan" }) {
			return g.walk(ctx, r.ID())
		}
	}
	return nil
}

// followOn shows a run of a server until it has ended, and puts its branch into the repository.
func (g *globals) followOn(ctx context.Context, r *orchestrator.Run, repo string) error {
	view := g.newConsole()
	view.Known(r.Resumed(), g.calls("divisi watch "+r.ID()))
	defer g.attend(view)()
	err := errors.Join(console.Follow(r.Events(ctx), view), view.Close())
	if errors.Is(err, context.Canceled) {
		return &endError{codeStopped, g.calls("run " + r.ID() + " continues; follow it with: divisi watch " + r.ID())}
	}
	if err != nil {
		return err
	}
	end, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	if end.Head != end.Base && end.Ref != "" {
		put, err := g.fetch(ctx, r.ID(), repo)
		if err != nil {
			return err
		}
		end.Repo, end.Ref, end.Changes, end.Next = put.Repo, put.Ref, put.Changes, put.Next
	}
	s, err := g.runs().Summary(g.log.WithContext(ctx), r.ID())
	if err != nil {
		return err
	}
	end.Report = s.Report
	if err := g.printEnd(r.ID(), &end); err != nil {
		return err
	}
	return ending(r.ID(), end.State)
}

// fetch puts the branch of a run that has ended into the repository.
func (g *globals) fetch(ctx context.Context, id, repo string) (end orchestrator.Result, err error) {
	r, err := g.attach(ctx, id)
	if err != nil {
		return end, err
	}
	end, err = g.publishOn(ctx, r, repo)
	return end, errors.Join(err, r.Close())
}

// publishOn puts the branch of a run of a server into a repository.
func (g *globals) publishOn(ctx context.Context, r *orchestrator.Run, repo string) (orchestrator.Result, error) {
	end, err := orchestrator.PublishTo(ctx, r, repo)
	for _, n := range end.Notices {
		g.notice(n)
	}
	return end, err
}

// fitsHost refuses the flags that change only a run of this process, where the host of a server has the run.
func (g *globals) fitsHost(o *resumeOptions) error {
	if g.at.URL != "" && (o.Record+o.Replay+o.dashboard+o.OnDoubt != "" || o.AutoApprove || o.sandbox != sandboxAuto) {
		return usagef("the host at %s resumes the run, as it was submitted: "+
			"leave --record, --replay, --dashboard, --on-doubt, --yes and --sandbox out", g.at)
	}
	return nil
}

// resumeOn has the host continue a run, and follows it.
func (g *globals) resumeOn(ctx context.Context, id string, o resumeOptions) error {
	o.Run = id
	r, err := orchestrator.ResumeOn(g.log.WithContext(ctx), g.at, o.ResumeOptions)
	if err != nil {
		return err
	}
	return errors.Join(g.followOn(ctx, r, cmp.Or(o.Repo, ".")), r.Close())
}

// nameOn is how --on is given in a command that is printed.
func (g *globals) nameOn() string {
	if g.on == "" {
		return ""
	}
	return " --on " + strings.TrimSpace(text.Shell(g.on))
}
