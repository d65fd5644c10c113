package team

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/text"
	"divisi/orchestrator/hub"
)

func (s *serveCommand) backup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the server into a directory, also while it serves",
		Long: `Copy what the server of this state directory has acknowledged into DIR, which must be new or empty: log, objects,
leases, members, certificate and key, the audit log, and the repositories of its runs. The server may
serve meanwhile. Who can read DIR can be the server. See docs/operate.md.`,
		Example: "  divisi server backup /backup/divisi-$(date +%F)",
		RunE: func(c *cobra.Command, args []string) error {
			saved, err := hub.Backup(s.Log.WithContext(c.Context()), s.StateDir, args[0])
			if err != nil {
				return err
			}
			return s.Print(cli.Say("%s is a backup of the server: %s\n", args[0], savedLine(saved)), saved)
		},
	}
}

func (s *serveCommand) restore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR",
		Short: "Put a backup in place of a server that is gone",
		Long: `Put the backup DIR into this state directory, which must be new or empty, after each of its files was found
to be whole. Then start divisi server start with the same --listen and --host: members come back by themselves. The
log goes on far behind the backup, so that nothing which an old worker still does can be taken for a part of
it. What happened after the backup is lost. See docs/operate.md.`,
		Example: "  divisi server restore /backup/divisi-2026-11-28 --state-dir /var/lib/divisi",
		RunE: func(c *cobra.Command, args []string) error {
			saved, err := hub.Restore(s.Log.WithContext(c.Context()), args[0], s.StateDir)
			if err != nil {
				return err
			}
			return s.Print(func(b *strings.Builder) error {
				at := saved.Time.Local().Format(time.DateTime)
				fmt.Fprintf(b, "%s has the server of %s: %s\n", s.StateDir, at, savedLine(saved))
				fmt.Fprintf(b, "Start it, at the address and with the hosts that it had:  %s server start\n", s.Command())
				return nil
			}, saved)
		},
	}
}

// savedLine counts what a backup has.
func savedLine(s hub.Saved) string {
	return fmt.Sprintf("%s, %s, %s, %d MiB", text.Count(s.Runs, "run"), text.Count(s.Events, "message"),
		text.Count(s.Objects, "object"), s.Bytes>>20)
}
