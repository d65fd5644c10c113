package runs

import (
	"context"
	"fmt"
	"strings"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/configs"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/needs"
)

// Twin tries setup and gates in the sandbox, then outside of it as the user would, and returns what differs. trusted allows that
// without a question.
func (g *Globals) Twin(ctx context.Context, repo string, trusted bool) ([]doctor.Finding, error) {
	o := Flags{Options: orchestrator.Options{Repo: repo, Trial: true, AllowUnverified: true}, sandbox: cli.SandboxAuto}
	var d doctor.Options
	d.Store.Path, d.Store.Log = g.StateDir, g.Log
	d.Top = cli.Top(repo)
	found, err := d.Settings(ctx)
	if err != nil {
		return nil, err
	}
	project := found.Project
	file, gates, err := d.Commands(ctx, repo, &project)
	switch {
	case err != nil:
		return nil, err
	case len(gates) == 0:
		return nil, usage.Errorf("no gate is configured or was detected in %s: there is nothing to compare; see docs/project.md",
			display.Sanitize(d.Top))
	case file != "":
		o.Project, o.Proposed = &orchestrator.File{Name: projectPlace, Data: []byte(file)}, true
		if project, err = configs.ParseProject(projectPlace, file); err != nil {
			return nil, err
		}
	}
	project.Gates, o.Trust = gates, func(context.Context, []string) (bool, error) { return true, nil }
	project.Gates = project.AllGates()
	agreed := needs.Unconfined(&project, false)
	if !trusted {
		if _, err := g.agreeTwin(ctx, &o, "doctor --twin", agreed); err != nil {
			return nil, err
		}
	}
	id, err := g.tryConfined(ctx, &o)
	if err != nil {
		return nil, err
	}
	return d.Twin(ctx, id, agreed, func(what string) { g.Aside(display.Sanitize("in your shell: " + what)) })
}

// agreeTwin asks whether commands may run outside the sandbox, for a command of this program, unless a person has agreed to the
// same.
func (g *Globals) agreeTwin(ctx context.Context, o *Flags, command string, commands []string) (bool, error) {
	about, err := needs.TwinTrustOf(g.Log.WithContext(ctx), g.StateDir, o.Repo, commands)
	if err != nil || about.Trusted {
		return err == nil, err
	}
	t := &Trust{Trust: about}
	list := "To compare them with your shell, these commands run outside the sandbox, as you, with your files, variables and\n" +
		"network, in a clone of " + display.Sanitize(t.Repo) + " that is removed afterwards:\n  " +
		strings.Join(t.Requests, "\n  ") + "\n"
	if !g.Interactive() {
		return false, usage.Errorf("%sNothing of it was run. Read the list, then allow it, this time: %s %s%s --trust-repo",
			list, g.Command(), command, o.inRepo())
	}
	return true, t.askIn(ctx, g, list+"Allow this?", "nothing of "+display.Sanitize(t.Repo)+" was run")
}

// tryConfined runs setup and gates once in the sandbox, as a run would for its baseline.
func (g *Globals) tryConfined(ctx context.Context, o *Flags) (id string, err error) {
	trust := o.Trust
	v, err := g.prepare(ctx, o)
	if err != nil {
		return "", err
	}
	o.Approve, o.Decide, o.Trust, v.quiet = nil, nil, trust, true
	if o.Base, err = doctor.Head(ctx, g.StateDir, o.Repo); err != nil {
		return "", err
	}
	r, err := orchestrator.Start(g.Log.WithContext(ctx), o.Options)
	if err != nil {
		return "", err
	}
	if !g.JSON() {
		defer g.tellTrial(ctx, r)()
	}
	if _, err = r.Wait(ctx); cli.IsCode(err, usage.Preflight) { // the comparison tells
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return r.ID(), nil
}
