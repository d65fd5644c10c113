package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// submit has the host on the server of --on conduct a run, and follows it to its end, or leaves it there.
func (g *Globals) submit(ctx context.Context, o Flags) error {
	r, err := orchestrator.Submit(g.Log.WithContext(ctx), o.Options, g.At)
	if err != nil {
		return err
	}
	id := r.ID()
	if !o.detach {
		return errors.Join(g.followOn(ctx, r, o.Repo), r.Close())
	}
	if o.Plan == nil && !o.AutoApprove && g.Interactive() {
		err = g.approveOn(ctx, r)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	said := fmt.Sprintf("run %s is with the host at %s; follow it with: divisi watch %[1]s\n", id, g.At)
	return g.Print(cli.Say("%s", g.Calls(said)),
		map[string]string{"run": id, "url": g.At.String()})
}

// approveOn waits for the plan of a master, and asks about it.
func (g *Globals) approveOn(ctx context.Context, r *orchestrator.Run) error {
	g.Notice("waiting for the plan of the master; Ctrl-C leaves the run with the host")
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
			return g.Walk(ctx, r.ID())
		}
	}
	return nil
}

// followOn shows a run of a server until it has ended, and puts its branch into the repository.
func (g *Globals) followOn(ctx context.Context, r *orchestrator.Run, repo string) error {
	view := g.NewConsole()
	view.Known(r.Resumed(), g.Calls("divisi watch "+r.ID()))
	defer g.Attend(view)()
	err := errors.Join(console.Follow(r.Events(ctx), view), view.Close())
	if errors.Is(err, context.Canceled) {
		return cli.End(cli.CodeStopped, g.Calls("run "+r.ID()+" continues; follow it with: divisi watch "+r.ID()))
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
	s, err := g.Runs().Summary(g.Log.WithContext(ctx), r.ID())
	if err != nil {
		return err
	}
	end.Report = s.Report
	if err := g.PrintEnd(r.ID(), &end); err != nil {
		return err
	}
	return ending(r.ID(), end.State)
}

// fetch puts the branch of a run that has ended into the repository.
func (g *Globals) fetch(ctx context.Context, id, repo string) (end orchestrator.Result, err error) {
	r, err := g.Attach(ctx, id)
	if err != nil {
		return end, err
	}
	end, err = g.PublishOn(ctx, r, repo)
	return end, errors.Join(err, r.Close())
}

// PublishOn puts the branch of a run of a server into a repository.
func (g *Globals) PublishOn(ctx context.Context, r *orchestrator.Run, repo string) (orchestrator.Result, error) {
	end, err := orchestrator.PublishTo(ctx, r, repo)
	for _, n := range end.Notices {
		g.Notice(n)
	}
	return end, err
}

// fitsHost refuses the flags that change only a run of this process, where the host of a server has the run.
func (g *Globals) fitsHost(o *resumeOptions) error {
	if g.At.URL != "" && (o.Record+o.Replay+o.dashboard+o.OnDoubt != "" || o.AutoApprove || o.sandbox != cli.SandboxAuto) {
		return usage.Errorf("the host at %s resumes the run, as it was submitted: "+
			"leave --record, --replay, --dashboard, --on-doubt, --yes and --sandbox out", g.At)
	}
	return nil
}

// resumeOn has the host continue a run, and follows it.
func (g *Globals) resumeOn(ctx context.Context, id string, o resumeOptions) error {
	o.Run = id
	r, err := orchestrator.ResumeOn(g.Log.WithContext(ctx), g.At, o.ResumeOptions)
	if err != nil {
		return err
	}
	return errors.Join(g.followOn(ctx, r, cmp.Or(o.Repo, ".")), r.Close())
}
