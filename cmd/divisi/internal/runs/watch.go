package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// NewWatch makes divisi watch.
func NewWatch(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run from another terminal, or replay a finished one",
		Long: `Follow a run's log from its first event on, from another process. A finished run is replayed.
Without RUN, the newest run. On a terminal keys decide, open the tasks, pause and resume: ? shows them,
and q leaves the run as it is. SIGUSR1 prints a summary of the run.` +
			cli.Codes(cli.CodeOK, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi watch\n  divisi watch --notify 'notify-send divisi \"$DIVISI_TEXT\"'\n" +
			"  divisi watch 1f2e --output json | jq .kind",
		RunE: func(c *cobra.Command, args []string) error { return g.watch(c.Context(), args) },
	}
	g.NoticeFlags(c)
	return c
}

func (g *Globals) watch(ctx context.Context, args []string) error {
	r, err := g.Open(ctx, args)
	if err != nil {
		return err
	}
	view := g.NewConsole()
	defer g.Attend(view)()
	keyed := g.keyed()
	if !keyed || r.NotRunning() { // most of those have ended, and need no key
		err = console.Follow(r.Events(ctx), view)
	}
	err = errors.Join(err, r.Close())
	if keyed && err == nil && !view.Over() {
		err = g.board(ctx, r.ID(), view)
	}
	err = errors.Join(err, view.Close())
	if errors.Is(err, context.Canceled) {
		return cli.End(cli.CodeStopped, g.Calls("run "+r.ID()+" is no longer followed: its process continues"))
	}
	if code, _ := orchestrator.CodeOf(err); err != nil && code != usage.NoOwner { // the owner may just have ended in order
		return err
	}
	s, err := g.Runs().Summary(g.Log.WithContext(ctx), r.ID())
	if code, _ := orchestrator.CodeOf(err); code == usage.Server {
		return cli.End(cli.CodeStopped, g.Calls("the server has just ended: run "+r.ID()+
			" continues when it is started again; follow it then with: divisi watch "+r.ID()))
	}
	if err != nil {
		return err
	}
	return g.Abandoned(r.ID(), s)
}
