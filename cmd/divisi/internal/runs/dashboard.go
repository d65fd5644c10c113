package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// NewDashboard makes divisi dashboard.
func NewDashboard(g *Globals) *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "dashboard [RUN]",
		Short: "Open a web page of all runs: decide, follow and repair them",
		Long: `Serve a page of all runs of this machine, or of the server of --on, live and ended, until Ctrl-C. It lists
what needs you first; there you answer decisions, and pause, resume, retry or cancel runs and tasks as
the commands do. With RUN it begins with that run. Only this machine reaches it: from elsewhere use
ssh -L. See docs/dashboard.md.`,
		Example: "  divisi dashboard\n  divisi dashboard 1f2e --addr 8080",
		RunE:    func(c *cobra.Command, args []string) error { return g.dashboard(c.Context(), addr, args) },
	}
	c.Flags().StringVar(&addr, "addr", "0", "loopback address or port of the page; 0 for a free port")
	return c
}

func (g *Globals) dashboard(ctx context.Context, addr string, args []string) error {
	run := ""
	if len(args) > 0 {
		var err error
		if run, err = g.FindRun(ctx, args); err != nil {
			return err
		}
	}
	page, err := g.newPage(ctx, addr)
	if err != nil {
		return err
	}
	if err := page.Start(g.Log.WithContext(ctx)); err != nil {
		return err
	}
	defer page.Stop()
	page.Begin(run)
	if err := g.Print(cli.Say("dashboard: %s\n", page.URL()), map[string]string{"dashboard": page.URL()}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (g *Globals) newPage(ctx context.Context, addr string) (*orchestrator.Page, error) {
	return orchestrator.NewPage(g.Log.WithContext(ctx), orchestrator.PageOptions{
		Addr: addr, Runs: g.Runs(), Begin: g.Begin, Trust: g.Agreed, Called: g.Command(),
	})
}

// serve begins to serve the page, where the run has one.
func (v *view) serve(ctx context.Context, addr string) error {
	if addr == "" {
		return nil
	}
	page, err := v.newPage(ctx, addr)
	if err == nil {
		err = page.Start(context.WithoutCancel(v.Log.WithContext(ctx)))
	}
	if err == nil {
		v.page = page
	}
	return err
}

// close ends the page.
func (v *view) close() {
	if v.page != nil {
		v.page.Stop()
	}
}

// stay keeps the page of a run that has ended until the last browser has closed it, or ctx ends.
func (v *view) stay(ctx context.Context) {
	if v.page == nil || ctx.Err() != nil || !v.page.Shown() {
		return
	}
	v.Aside("the dashboard stays until you close it in the browser, or press Ctrl-C")
	v.page.Closed(ctx)
}

const (
	// BeginTime bounds how long a process may take to continue a run.
	BeginTime = 30 * time.Second
	// maxResumeLogs is how many logs of processes that resumed a run stay.
	maxResumeLogs = 5
)

// Begin starts a process that resumes a run and that outlives this one. It returns when the run goes on: the first event that the
// process prints tells so. Its questions are answered by divisi decide, or on the page.
func (g *Globals) Begin(ctx context.Context, run string) (err error) {
	if err := g.idle(ctx, run); err != nil {
		return err
	}
	log, err := resumeLog(filepath.Join(g.StateDir, "runs", run), time.Now())
	if err != nil {
		return fmt.Errorf("resume run %s: %w", run, err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	why, err := g.Outlive(ctx, log, BeginTime, "resume", run, "--wait")
	switch {
	case why != "":
		return usage.Errorf("run %s was not resumed: %s", run, why)
	case errors.Is(err, cli.ErrLate):
		return fmt.Errorf("run %s does not continue after %s: see %s", run, BeginTime, log.Name())
	case err != nil:
		return fmt.Errorf("resume run %s: %w", run, err)
	}
	return nil
}

// idle refuses a run that a process has.
func (g *Globals) idle(ctx context.Context, run string) error {
	r, err := orchestrator.Local(g.StateDir).Open(ctx, run)
	if err != nil {
		return err
	}
	if !r.NotRunning() {
		err = usage.With(usage.Errorf("run %s is active already", run), usage.Active, run)
	}
	return errors.Join(err, r.Close())
}

// resumeLog makes the log of one process that resumes a run, and removes all but the newest ones.
func resumeLog(dir string, at time.Time) (*os.File, error) {
	have, err := filepath.Glob(filepath.Join(dir, "resume-*.log")) // sorted: the oldest first
	if err != nil {
		return nil, err
	}
	for _, old := range have[:max(0, len(have)-maxResumeLogs+1)] {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	name := "resume-" + at.UTC().Format("20060102-150405.000000000") + ".log"
	return os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
}
