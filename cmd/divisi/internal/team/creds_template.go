package team

import (
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/accounts"
	"divisi/cmd/divisi/internal/cli"
)

func newCredsTemplate(g *Globals) *cobra.Command {
	var t accounts.Template
	c := &cobra.Command{
		Use:   "template",
		Short: "Print accounts and permissions for a NATS server or cluster that is there already",
		Long: `Print what the operator of a NATS server or cluster sets up for divisi server start --nats: an account for each
space, and in it a user for the host, which may do everything there, and one for each worker, person and
viewer, with what it may publish and hear. The name of a user is part of its permissions. --worker,
--person and --viewer name users (repeatable), each with its public key if you have it: build7=UABC…;
without any of them w1, p1 and v1 show how. Nothing is asked of a server.

The format conf is a block of the configuration of a NATS server, nsc a script of commands of the tool nsc.
See docs/bus.md, "Members of a cluster", for what an account does not deny.` +
			cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi server creds template --worker build7=UABC… --person ada > accounts.conf\n" +
			"  divisi server creds template --space red --space blue --format nsc",
		RunE: func(*cobra.Command, []string) error {
			if len(t.Workers)+len(t.Persons)+len(t.Viewers) == 0 {
				t.Workers, t.Persons, t.Viewers = []string{"w1"}, []string{"p1"}, []string{"v1"}
			}
			text, err := t.Text()
			if err != nil {
				return err
			}
			return g.Print(cli.Say("%s", text), map[string]string{"format": t.Format, "text": text})
		},
	}
	f := c.Flags()
	f.StringSliceVar(&t.Spaces, "space", []string{"divisi"}, "name of an account (repeatable)")
	f.StringVar(&t.Format, "format", accounts.Conf, "conf, or nsc")
	f.StringVar(&t.HostKey, "host-key", "", "public key of the host")
	f.StringSliceVar(&t.Workers, "worker", nil, "name of a worker, or NAME=KEY")
	f.StringSliceVar(&t.Persons, "person", nil, "name of a person, or NAME=KEY")
	f.StringSliceVar(&t.Viewers, "viewer", nil, "name of a viewer, or NAME=KEY")
	return c
}
