package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/text"
	"divisi/orchestrator"
)

const day = 24 * time.Hour

// remover removes runs, and directories that demos and killed processes left.
type remover struct {
	*globals
	olderThan                   string
	leftovers, local, unfetched bool
}

func newRunsRm(g *globals) *cobra.Command {
	r := remover{globals: g}
	c := &cobra.Command{
		Use:   "rm [RUN...]",
		Short: "Remove runs that are not active: here, and on their NATS server",
		Long: `Remove the directory of each run, and on an external NATS server its events, objects and queues. A run
that is active is refused; one that is removed cannot be resumed, shown or published any more. Your
repository is not touched: a branch that was published stays. With --on the server's host removes the
run; one whose branch is in no repository yet needs --unfetched.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi runs rm 1f2e\n  divisi runs rm --older-than 30d --leftovers",
		RunE:    func(c *cobra.Command, args []string) error { return r.remove(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&r.olderThan, "older-than", "", "also remove inactive runs that began longer ago, such as 30d or 12h")
	f.BoolVar(&r.leftovers, "leftovers", false, "also what demos, dry runs and killed processes left more than a day ago")
	f.BoolVar(&r.local, "local", false, "remove only the local files, and leave the run on its NATS server")
	f.BoolVar(&r.unfetched, "unfetched", false, "with --on: also a run whose branch is in no repository yet")
	return c
}

func (r *remover) remove(ctx context.Context, args []string) error {
	what, err := r.chosen(ctx, args)
	if err != nil {
		return err
	}
	if r.on != "" {
		return r.removeOn(ctx, what)
	}
	if r.unfetched {
		return usagef("--unfetched is for the runs of a server, which --on names")
	}
	freed := uint64(0)
	for removed, err := range orchestrator.Remove(r.log.WithContext(ctx), r.stateDir, what) {
		if err != nil {
			return err
		}
		freed += removed.Bytes + removed.ServerBytes
		if err := r.printRemoved(&removed); err != nil {
			return err
		}
	}
	return r.print(say("freed %s\n", doctor.Bytes(freed)))
}

// removeOn has the host of a server remove runs.
func (r *remover) removeOn(ctx context.Context, what orchestrator.Removal) error {
	if what.Leftovers || what.Local || !what.Before.IsZero() {
		return usagef("on a server runs are removed by their names alone, and by the server after what its --keep says")
	}
	for _, id := range what.Runs {
		removed, err := orchestrator.RemoveOn(r.log.WithContext(ctx), r.at, id, r.unfetched)
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
		return what, usagef("name the runs to remove, or give --older-than or --leftovers; see: divisi runs")
	}
	what.Leftovers, what.Local = r.leftovers, r.local
	for _, name := range args {
		run, err := r.findRun(ctx, []string{name})
		if err != nil {
			return what, err
		}
		what.Runs = append(what.Runs, run)
	}
	if r.olderThan != "" {
		age, err := parseAge("--older-than", r.olderThan)
		if err != nil {
			return what, err
		}
		what.Before = now().Add(-age)
	}
	return what, nil
}

// parseAge reads the time of a flag, such as 30d, or one that Go knows.
func parseAge(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * day, nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, usagef("%s %q is not a time such as 30d or 12h", flag, text)
	}
	return age, nil
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
	return r.print(say("%s\n", words), map[string]any{"removed": v.What, "bytes": v.Bytes, "server_bytes": v.ServerBytes})
}
