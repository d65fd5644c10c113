package inspect

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// remover removes runs, and directories that demos and killed processes left.
type remover struct {
	*Globals
	olderThan                   string
	leftovers, local, unfetched bool
	yes, dryRun                 bool
}

func newRunsRm(g *Globals) *cobra.Command {
	r := remover{Globals: g}
	c := &cobra.Command{
		Use:   "rm [RUN...]",
		Short: "Remove runs that are not active: here, and on their NATS server",
		Long: `Remove the directory of each run, and on an external NATS server its events, objects and queues. A run
that is active is refused; one that is removed cannot be resumed, shown or published any more. Your
repository is not touched: a branch that was published stays. On a terminal it lists what goes, and asks;
--yes does not ask, and neither does a command without a terminal, such as one of a script. --dry-run lists
what would go, and removes nothing. With --on the server's host removes the run; one whose branch is in no
repository yet needs --unfetched.`,
		Example: "  divisi runs rm 1f2e\n  divisi runs rm --older-than 30d --leftovers --dry-run",
		RunE:    func(c *cobra.Command, args []string) error { return r.remove(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&r.olderThan, "older-than", "", "also remove inactive runs that began longer ago, such as 30d or 12h")
	f.BoolVar(&r.leftovers, "leftovers", false, "also leftovers of demos, dry runs and killed processes, older than a day")
	f.BoolVar(&r.local, "local", false, "remove only the local files, and leave the run on its NATS server")
	f.BoolVar(&r.unfetched, "unfetched", false, "with --on: also a run whose branch is in no repository yet")
	f.BoolVar(&r.yes, "yes", false, "remove without asking")
	f.BoolVar(&r.dryRun, "dry-run", false, "list what would be removed, with sizes, and remove nothing")
	return c
}

func (r *remover) remove(ctx context.Context, args []string) error {
	what, err := r.chosen(ctx, args)
	if err != nil {
		return err
	}
	switch {
	case r.On == "" && r.unfetched:
		return usage.Errorf("--unfetched is for the runs of a server, which --on names")
	case r.On != "" && (what.Leftovers || what.Local || !what.Before.IsZero()):
		return usage.Errorf("on a server runs are removed by their names alone, and by the server after what its --keep says")
	}
	asks := r.Interactive() && !r.yes
	if r.dryRun || asks {
		n, err := r.preview(ctx, what)
		if err != nil || r.dryRun || n == 0 {
			return err
		}
		if err := r.Confirm(ctx, r.Out, "Remove for good?", "nothing was removed"); err != nil {
			return err
		}
	}
	if r.On != "" {
		return r.removeOn(ctx, what)
	}
	freed := uint64(0)
	for removed, err := range orchestrator.Remove(r.Log.WithContext(ctx), r.StateDir, what) {
		if err != nil {
			return err
		}
		freed += removed.Bytes + removed.ServerBytes
		if err := r.printRemoved(&removed); err != nil {
			return err
		}
	}
	return r.Print(cli.Say("freed %s\n", doctor.Bytes(freed)))
}

// preview lists what would be removed, and counts it.
func (r *remover) preview(ctx context.Context, what orchestrator.Removal) (n int, err error) {
	total := uint64(0)
	for removed, err := range r.previewed(ctx, what) {
		if err != nil {
			return n, err
		}
		words := "would remove " + removed.What
		if r.On == "" {
			words += ": " + doctor.Bytes(removed.Bytes)
		}
		if removed.OnServer {
			words += ", and its data on its NATS server"
		}
		n, total = n+1, total+removed.Bytes
		line := map[string]any{"would_remove": removed.What, "bytes": removed.Bytes, "on_server": removed.OnServer}
		if err := r.Print(cli.Say("%s\n", words), line); err != nil {
			return n, err
		}
	}
	switch {
	case n == 0:
		return n, r.Print(cli.Say("nothing to remove\n"))
	case r.On != "":
		return n, nil
	}
	return n, r.Print(cli.Say("would free %s\n", doctor.Bytes(total)))
}

// previewed yields what would be removed here, or on the server of --on.
func (r *remover) previewed(ctx context.Context, what orchestrator.Removal) iter.Seq2[orchestrator.Removed, error] {
	if r.On == "" {
		what.Preview = true
		return orchestrator.Remove(r.Log.WithContext(ctx), r.StateDir, what)
	}
	return func(yield func(orchestrator.Removed, error) bool) {
		for _, id := range what.Runs {
			if !yield(orchestrator.Removed{What: id, OnServer: true}, nil) {
				return
			}
		}
	}
}

// removeOn has the host of a server remove runs.
func (r *remover) removeOn(ctx context.Context, what orchestrator.Removal) error {
	for _, id := range what.Runs {
		removed, err := orchestrator.RemoveOn(r.Log.WithContext(ctx), r.At, id, r.unfetched)
		if err != nil {
			return err
		}
		if err := r.printRemoved(&removed); err != nil {
			return err
		}
	}
	return nil
}

// chosen resolves the runs that are named or old enough. No name means none: it is most likely a variable that is not set.
func (r *remover) chosen(ctx context.Context, args []string) (what orchestrator.Removal, err error) {
	if len(args) == 0 && r.olderThan == "" && !r.leftovers {
		return what, usage.Errorf("name the runs to remove, or give --older-than or --leftovers; see: divisi runs")
	}
	what.Leftovers, what.Local = r.leftovers, r.local
	for _, name := range args {
		run, err := r.FindRun(ctx, []string{name})
		if err != nil {
			return what, err
		}
		what.Runs = append(what.Runs, run)
	}
	if r.olderThan != "" {
		age, err := cli.ParseAge("--older-than", r.olderThan)
		if err != nil {
			return what, err
		}
		what.Before = cli.Now().Add(-age)
	}
	return what, nil
}

// printRemoved prints what was removed, its size here and on its server, and the branches that stay.
func (r *remover) printRemoved(v *orchestrator.Removed) error {
	words := fmt.Sprintf("removed %s: %s", v.What, doctor.Bytes(v.Bytes))
	if v.ServerBytes > 0 {
		words += ", and " + doctor.Bytes(v.ServerBytes) + " on its NATS server"
	}
	if len(v.Branches) > 0 {
		words += fmt.Sprintf("\nits published branch stays; delete it with: git -C %s branch -D %s",
			text.Shell(v.Repo), strings.Join(v.Branches, " "))
	}
	return r.Print(cli.Say("%s\n", words), map[string]any{"removed": v.What, "bytes": v.Bytes, "server_bytes": v.ServerBytes})
}
