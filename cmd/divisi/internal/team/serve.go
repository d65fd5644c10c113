package team

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/hub"
)

// serveCommand are the flags of server start, and of what its operator does beside it.
type serveCommand struct {
	*Globals

	o           hub.ServeOptions
	nats, creds string
	sandbox     string
	token       hub.TokenOptions
	link        hub.TokenOptions // to the page
	keep        string
}

// NewServer makes divisi server.
func NewServer(g *Globals) *cobra.Command {
	s := &serveCommand{Globals: g}
	c := &cobra.Command{
		Use:     "server",
		Short:   "Run a server for many machines, work for one, or join one",
		Long:    "Run a server for many machines, work for one, join one, and manage its members. See docs/machines.md.",
		Example: "  divisi server start\n  divisi server join - < token",
		RunE:    cli.NeedsCommand,
	}
	c.AddCommand(s.start(), newWorker(g), newWorkers(g), s.tokens(), newJoin(g), newJoinKey(g), s.links(), newCreds(g),
		newAudit(g), s.backup(), s.restore())
	return c
}

func (s *serveCommand) start() *cobra.Command {
	c := &cobra.Command{
		Use:   "start",
		Short: "Serve runs of many repositories: a server, a conductor and a worker",
		Long: `Run a server that workers and people of other machines join, with TLS and a login for each, until it is
stopped. It conducts the runs that are submitted with divisi run --on, goes on with them when it is
started again, and works itself (--agents 0 for not). With --nats it uses a NATS server or cluster that is
there already; a second one there stands by, and takes the runs over when the first is gone.
See docs/machines.md.`,
		Example: "  divisi server start\n  divisi server start --listen 0.0.0.0:4222 --host build.example.com --agents 0",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.serve(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&s.o.Listen, "listen", "127.0.0.1:4222", "address that members connect to")
	f.StringVar(&s.o.WebSocket, "websocket", "", "address that members behind a proxy connect to, by WebSocket over "+
		"TLS, e.g. 0.0.0.0:443")
	f.StringSliceVar(&s.o.Hosts, "host", nil, "name or address under which members reach it (repeatable; default the machine's)")
	f.StringVar(&s.nats, "nats", "", "conduct runs on the NATS server or cluster at this URL, in place of an own one")
	f.StringVar(&s.creds, "creds", "", "file of NATS credentials for --nats")
	f.IntVar(&s.o.Agents, "agents", 4, "agents at once of the server's own worker; 0 for none")
	f.IntVar(&s.o.Gates, "gates", 0, "runs of gates at once of it (default one for every 4 cores)")
	f.StringVar(&s.o.Page, "page", "", "address of the page of its runs, by TLS, e.g. 0.0.0.0:8443 (see server link)")
	f.StringVar(&s.o.Metrics, "metrics", "", "loopback address where Prometheus or others read metrics, e.g. 127.0.0.1:9100")
	f.StringVar(&s.keep, "keep", "14d", "age at which runs with a published branch are removed; 0d keeps all")
	f.StringVar(&s.sandbox, "sandbox", cli.SandboxAuto, "auto, or strict: conduct only where commands can be fully confined")
	return c
}

func (s *serveCommand) links() *cobra.Command {
	c := &cobra.Command{
		Use:   "link",
		Short: "Make a link with which a person opens the page of the server",
		Long: `Print an address of the page of divisi server start --page. It opens one browser within ten minutes, which then
stays signed in for twelve hours: a person decides and acts there under the name, a viewer looks. divisi server creds
revoke NAME ends it. The page shows the server's own certificate, which browsers ask about once.`,
		Example: "  divisi server link --name ana\n  divisi server link --name guests --role viewer",
		RunE: func(c *cobra.Command, _ []string) error {
			link, err := hub.NewLink(s.Log.WithContext(c.Context()), s.StateDir, s.link)
			if err != nil {
				return err
			}
			return s.Print(cli.Say("%s\n", link), map[string]string{"link": link})
		},
	}
	c.Flags().StringVar(&s.link.Role, "role", "person", "person or viewer")
	c.Flags().StringVar(&s.link.Name, "name", "", "name of the person, for decisions and the audit")
	c.Flags().BoolVar(&s.link.Raw, "raw", false, "also show the viewer the output of commands, gates and tools")
	return c
}

func (s *serveCommand) tokens() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make a token with which a worker or a person joins",
		Long: `Print a token for the server of this state directory. It lives ten minutes and admits one member: a
worker (takes tasks), a person (starts runs, decides, reads) or a viewer (reads). A viewer is not shown
what commands, gates and tools printed, but with a token that was made with --raw.`,
		Example: "  divisi server token --role worker | ssh build7 divisi server worker --join -\n" +
			"  divisi server token --role viewer --raw > token",
		RunE: func(c *cobra.Command, _ []string) error {
			token, err := hub.NewToken(s.Log.WithContext(c.Context()), s.StateDir, s.token)
			if err != nil {
				return err
			}
			return s.Print(cli.Say("%s\n", token), map[string]string{"token": token})
		},
	}
	c.Flags().StringVar(&s.token.Role, "role", "worker", "worker, person or viewer")
	c.Flags().StringVar(&s.token.Name, "name", "", "the name that the member has to join under")
	c.Flags().BoolVar(&s.token.Raw, "raw", false, "also show the viewer the output of commands, gates and tools")
	c.Flags().BoolVar(&s.token.WebSocket, "websocket", false, "the member connects by WebSocket, and the proxy of HTTPS_PROXY")
	return c
}

func (s *serveCommand) serve(ctx context.Context) error {
	if s.sandbox != cli.SandboxAuto && s.sandbox != cli.SandboxStrict {
		return usage.Errorf("invalid --sandbox %q: must be %s or %s", s.sandbox, cli.SandboxAuto, cli.SandboxStrict)
	}
	if s.creds != "" && s.nats == "" {
		return usage.Errorf("--creds is for the server of --nats")
	}
	if s.o.WebSocket != "" && s.nats != "" {
		return usage.Errorf("--websocket is for an own server: the one of --nats listens where its operator says")
	}
	at, err := cli.ExternalServer(s.nats, s.creds)
	if err == nil {
		s.o.Keep, err = cli.ParseAge("--keep", s.keep)
	}
	if err != nil {
		return err
	}
	s.o.At, s.o.StateDir, s.o.Strict, s.o.Notice = at, s.StateDir, s.sandbox == cli.SandboxStrict, s.Notice
	var failed error
	s.o.Ready = func(at hub.Serving) { failed = s.ready(at) }
	if err := hub.Serve(s.Log.WithContext(ctx), s.o); err != nil {
		return err
	}
	return failed
}

// ready reports how to join.
func (s *serveCommand) ready(at hub.Serving) error {
	return s.Print(func(b *strings.Builder) error {
		fmt.Fprintf(b, "serving at %s\n", at.URL)
		if at.WebSocket != "" {
			fmt.Fprintf(b, "and by WebSocket at %s, for members with a token of:  %s server token --websocket\n", at.WebSocket,
				s.Command())
		}
		if at.Page != "" {
			fmt.Fprintf(b, "the page is at %s; a person opens it with a link of:  %s server link --name NAME\n",
				at.Page, s.Command())
		}
		if at.Metrics != "" {
			fmt.Fprintf(b, "metrics are at %s\n", at.Metrics)
		}
		if s.nats == "" {
			fmt.Fprintf(b, "a worker joins with:  %s server token | ssh MACHINE divisi server worker --join -\n", s.Command())
			fmt.Fprintf(b, "a person joins with:  %s server token --role person | ssh MACHINE divisi server join -\n",
				s.Command())
		}
		return nil
	}, at)
}
