package team

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/hub"
)

// newCreds makes divisi server creds.
func newCreds(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "creds",
		Short: "List, revoke or rotate members of this machine's server",
		Long: `List who may use the server of this state directory (divisi server start): workers, people, viewers, and the
tokens that can still be used. Who is revoked is disconnected at once, and admitted no more.`,
		Example: "  divisi server creds list\n  divisi server creds revoke build7",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.listCreds(c.Context()) },
	}
	var webSocket bool
	rotate := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Make a token that gives a member another key",
		Long: `Print a token that gives the member NAME another key, for divisi server join or divisi server worker --join on its
machine; it lives ten minutes, and ends the one before. When it is used, the key before ends, and its
connections are cut. A worker that is started with it waits for the one whose key it has replaced.`,
		Example: "  divisi server creds rotate build7 | ssh build7 divisi server worker --join -",
		RunE: func(c *cobra.Command, args []string) error {
			token, err := hub.Rotate(g.Log.WithContext(c.Context()), g.StateDir, args[0], webSocket)
			if err != nil {
				return err
			}
			return g.Print(cli.Say("%s\n", token), map[string]string{"token": token})
		},
	}
	rotate.Flags().BoolVar(&webSocket, "websocket", false, "the member connects by WebSocket, and the proxy of HTTPS_PROXY")
	c.AddCommand(rotate, newCredsTemplate(g), &cobra.Command{
		Use:   "list",
		Short: "List members, and tokens that can still be used",
		Long: "List the members of the server of this state directory with their open connections, and the tokens that can\n" +
			"still be used.",
		Example: "  divisi server creds list --output json",
		RunE:    func(c *cobra.Command, _ []string) error { return g.listCreds(c.Context()) },
	}, &cobra.Command{
		Use:   "revoke NAME",
		Short: "Disconnect a member and admit it no more, or end a token",
		Long: `Disconnect the member NAME, and admit its key no more. What a worker was at goes on elsewhere. NAME may
be a token of the list too: then it admits no more members, and those that it has admitted stay.`,
		Example: "  divisi server creds revoke build7",
		RunE: func(c *cobra.Command, args []string) error {
			if err := hub.Revoke(g.Log.WithContext(c.Context()), g.StateDir, args[0]); err != nil {
				return err
			}
			return g.Print(cli.Say("%s is admitted no more\n", args[0]), map[string]string{"revoked": args[0]})
		},
	})
	return c
}

func (g *Globals) listCreds(ctx context.Context) error {
	all, expiry, err := hub.Credentials(g.Log.WithContext(ctx), g.StateDir)
	if err != nil {
		return err
	}
	if expiry != "" {
		g.Notice(expiry)
	}
	if len(all) == 0 {
		return g.Print(cli.Say("%s", g.Calls("Nothing has joined. Make a token with: divisi server token\n")))
	}
	rows := [][]string{{"name", "role", "tags", "connections", "joined", "uses", "ends"}}
	for _, k := range all {
		role := k.Role
		if k.Raw {
			role += ", raw"
		}
		row := []string{k.Name, role, strings.Join(k.Tags, " "), fmt.Sprint(k.Connections), when(k.Joined), "", ""}
		if k.Uses > 0 {
			row[3], row[5], row[6] = "", fmt.Sprint(k.Uses), when(k.Ends)
		}
		rows = append(rows, row)
	}
	return g.Print(cli.Say("%s", display.Table(rows)), cli.Anys(all)...)
}

// when is a time as lists show it; empty for none.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// newJoinKey makes divisi server joinkey.
func newJoinKey(g *Globals) *cobra.Command {
	o := hub.TokenOptions{Role: "worker"}
	c := &cobra.Command{
		Use:   "joinkey",
		Short: "Make a token that many machines join with",
		Long: `A key for machines that come and go, such as those of CI: each of them joins with it as a worker of its
own, as long as it lives and has uses left. divisi server creds list shows what is left of it, and divisi server creds
revoke ends it.`,
		Example: "  divisi server joinkey create --uses 50 --ttl 24h --tag ci > key",
		Args:    cobra.NoArgs,
	}
	var life string
	create := &cobra.Command{
		Use:   "create",
		Short: "Print a token for many workers",
		Long: `Print a token with which --uses workers join the server of this state directory within --ttl. Each has
the tags of --tag, whatever it says of itself.`,
		Example: "  divisi server joinkey create --uses 50 --ttl 24h --tag ci > key",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Life, err = cli.ParseAge("--ttl", life); err != nil {
				return err
			}
			if o.Uses < 1 || o.Life <= 0 {
				return usage.Errorf("--uses and --ttl must be more than 0")
			}
			token, err := hub.NewToken(g.Log.WithContext(c.Context()), g.StateDir, o)
			if err != nil {
				return err
			}
			return g.Print(cli.Say("%s\n", token), map[string]string{"token": token})
		},
	}
	f := create.Flags()
	f.IntVar(&o.Uses, "uses", 50, "number of workers that may join with it")
	f.StringVar(&life, "ttl", "24h", "time in which it can be used, at most 30d")
	f.StringSliceVar(&o.Tags, "tag", nil, "each worker has this tag (repeatable)")
	f.BoolVar(&o.WebSocket, "websocket", false, "the workers connect by WebSocket, and the proxy of HTTPS_PROXY")
	c.AddCommand(create)
	return c
}
