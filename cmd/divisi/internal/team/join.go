package team

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/depot"
)

// newJoin makes divisi server join.
func newJoin(g *Globals) *cobra.Command {
	var as, me string
	c := &cobra.Command{
		Use:   "join FILE",
		Short: "Join a server with a token, for --on",
		Long: `Exchange a token, which divisi server token prints, for a login that this machine keeps. The key of the
login is made here and never sent. FILE is a file with the token, or - for standard input. Other
commands then reach the server with --on NAME.`,
		Example: "  divisi server join - < token\n  divisi run \"Move from log to slog\" --on build.example.com --detach",
		RunE: func(c *cobra.Command, args []string) error {
			name, at, _, err := g.join(c.Context(), args[0], as, me, false)
			if err != nil {
				return err
			}
			return g.Print(cli.Say("joined %s; name it with --on %s\n", at.URL, name),
				map[string]string{"url": at.URL, "name": name})
		},
	}
	c.Flags().StringVar(&as, "as", "", "name of the server for --on (default its host)")
	c.Flags().StringVar(&me, "name", "", "name of the member (default account and machine)")
	return c
}

// maxToken bounds a token, in bytes.
const maxToken = 4096

// join reads a token and joins its server. replaces reports that the member had another key before.
func (g *Globals) join(
	ctx context.Context, file, as, me string, worker bool,
) (name string, at orchestrator.Server, replaces bool, err error) {
	in, err := g.OpenInput(file)
	if err != nil {
		return "", at, false, err
	}
	defer in.Close() // read only
	data, err := io.ReadAll(io.LimitReader(in, maxToken))
	if err != nil {
		return "", at, false, err
	}
	token := strings.TrimSpace(string(data))
	role, replaces, err := depot.TokenRole(token)
	switch {
	case err != nil:
		return "", at, false, err
	case worker && role != "worker":
		return "", at, false, usage.Errorf("the token is for a %s: use it with divisi server join", role)
	case !worker && role == "worker":
		defer func() {
			if err == nil {
				g.Notice(g.Calls("the token was for a worker: start it with: divisi server worker --on " + name))
			}
		}()
	}
	if worker {
		if name, at, err = depot.Joined(g.StateDir, token); err != nil {
			return "", at, false, err
		}
		if name != "" {
			g.Notice("this machine has joined the server of the token already, and the token was not used: to join it as " +
				"another worker, remove its login, " + at.Login)
			return name, at, false, nil
		}
	}
	name, at, err = depot.Join(g.Log.WithContext(ctx), g.StateDir, token, as, me)
	return name, at, replaces, err
}
