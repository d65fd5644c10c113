package team

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/host"
)

func (w *workersCommand) quarantine() *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:   "quarantine WORKER --since TIME",
		Short: "Stop a worker that may lie, and prove again its changes",
		Long: `Stop a worker that may lie, and prove again the changes that it alone has proven.
The server admits it no more, what it has at work goes on elsewhere, and the limits of model services that it
told other workers hold no more. In each run of the host, what it has
signed since TIME proves nothing. What has landed with its proof alone is proven again by the final gates, on
another worker, before the run ends. A run that had ended is stopped: divisi resume proves it again.`,
		Example: "  divisi server workers quarantine build-7 --since 2h --on build.example.com\n" +
			"  divisi server workers quarantine build-7 --since 2026-11-28T09:30:00Z --on build.example.com",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return w.isolate(c.Context(), args[0], since) },
	}
	c.Flags().StringVar(&since, "since", "", "start of the doubt: an age, such as 2h or 30d, or a time (RFC 3339)")
	return c
}

// isolate puts a worker into quarantine, and prints what follows in each run.
func (w *workersCommand) isolate(ctx context.Context, worker, since string) error {
	if err := w.server(); err != nil {
		return err
	}
	at, err := parseSince("--since", since)
	if err != nil {
		return err
	}
	a, err := host.Quarantine(w.Log.WithContext(ctx), w.At, worker, at)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("worker %s is in quarantine since %s\n", worker, at.Local().Format(time.DateTime))
	if !a.Revoked {
		text += "The server admits no member of that name. On a NATS cluster revoke its credentials with the operator's tools.\n"
	}
	if len(a.Runs) == 0 {
		text += "It has proven nothing in a run of the host since then.\n"
	}
	var failed error
	for _, r := range a.Runs {
		if r.Error != "" {
			failed = fmt.Errorf("worker %s is not in quarantine in all runs: repeat the command", worker)
			r.Text = "failed: " + r.Error
		}
		text += fmt.Sprintf("run %s: %s\n", r.Run, display.Sanitize(r.Text))
	}
	if err := w.Print(cli.Say("%s", text), a); err != nil {
		return err
	}
	return failed
}

// parseSince reads a time, or how long ago it was.
func parseSince(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, usage.Errorf("%s is missing: since when, such as %s 2h", flag, flag)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	age, err := cli.ParseAge(flag, text)
	if err != nil {
		return time.Time{}, err
	}
	return cli.Now().Add(-age), nil
}
