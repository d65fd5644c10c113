package runs

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
)

// NewRetry makes divisi retry.
func NewRetry(g *Globals) *cobra.Command {
	var o resumeOptions
	var with retryFlags
	c := &cobra.Command{
		Use:   "retry RUN[/TASK] [TASK...]",
		Short: "Try parked tasks again, also of a run that has ended",
		Long: `Retry parked or cancelled tasks: the named ones, those of a named template, or all parked ones. TASK
alone is one of the newest run. Tasks that were parked only because of them are opened too. Their
attempts count from 1 again and learn what was tried before. Roles, settings and the run's plan file
are read again. The run continues from the newest commit of its branch, in this process, unless another
one is running it. The branch divisi/<run> moves forward if it is where Divisi left it, else a new one
is made: divisi/<run>-2.` +
			cli.CodesOfRuns(),
		Example: "  divisi retry 1f2e\n  divisi retry 1f2e rewrite-003 api",
		RunE:    func(c *cobra.Command, args []string) error { return g.retry(c.Context(), args, o, with) },
	}
	f := c.Flags()
	f.StringVar(&with.brief, "brief", "", "the brief of these tasks from now on")
	f.StringVar(&with.briefFile, "brief-file", "", "a file with their brief")
	f.StringVar(&with.role, "role", "", "their role from now on: its name, or a role file (*.md)")
	f.StringVar(&with.model, "model", "", "their model from now on: an alias or a name")
	f.BoolVar(&with.forgotten, "forgotten", false, "only add a task for files that the gates fail in and no task may change")
	f.BoolVar(&with.trust, "trust-repo", false, "allow the requests of the repository's changed files; see divisi trust --help")
	o.flags(c)
	GroupFlags(c)
	g.NoticeFlags(c)
	return c
}

// retryFlags are the changes that a retry makes to its tasks.
type retryFlags struct {
	brief, briefFile, role, model string
	trust, forgotten              bool
}

// options reads the files that are named.
func (f *retryFlags) options() (o orchestrator.Retry, err error) {
	o.Retry = act.Retry{Brief: f.brief, Role: f.role, Model: f.model, Forgotten: f.forgotten}
	if f.briefFile != "" {
		read, err := configs.Read(f.briefFile)
		if err != nil {
			return o, err
		}
		if o.Brief = strings.TrimSpace(read[0].Text); o.Brief == "" || f.brief != "" {
			return o, usage.Errorf("give the brief once, and not empty: --brief TEXT, or --brief-file FILE")
		}
	}
	if strings.HasSuffix(f.role, ".md") {
		read, err := configs.Read(f.role)
		if err != nil {
			return o, err
		}
		o.Role, o.RoleFile = "", &orchestrator.File{Name: read[0].Name, Data: []byte(read[0].Text)}
	}
	return o, nil
}

// retry opens tasks again, and continues the run where no other process carries it out.
func (g *Globals) retry(ctx context.Context, args []string, o resumeOptions, with retryFlags) error {
	if err := g.fitsHost(&o); err != nil {
		return err
	}
	id, tasks, err := g.FindTasks(ctx, args)
	if err != nil {
		return err
	}
	again, err := with.options()
	if err != nil {
		return err
	}
	again.Tasks, again.Repo, again.Resume = tasks, o.Repo, o.ResumeOptions
	again.Trust = func(ctx context.Context, repo string, requests []string) (bool, error) {
		return g.trusted(ctx, &Flags{Options: orchestrator.Options{Repo: repo}, trust: with.trust}, requests)
	}
	attached, err := g.Attach(ctx, id)
	if err != nil {
		return err
	}
	done, err := orchestrator.TryAgain(ctx, attached, again)
	if err = errors.Join(err, attached.Close()); err != nil {
		return err
	}
	err = g.Said(id, strings.Join(append([]string{done.Text}, done.Changed...), "; "))
	for _, n := range done.Notes {
		g.Notice("note: " + n)
	}
	switch {
	case err != nil:
		return err
	case done.Begins:
		return g.resume(ctx, []string{id}, o)
	case g.Notify != "":
		g.Notice(g.Calls("another process has the run, and --notify does nothing here: use divisi watch --notify"))
	}
	return nil
}
