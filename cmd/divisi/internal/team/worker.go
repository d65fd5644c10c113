package team

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/station"
)

// newWorker makes divisi server worker.
func newWorker(g *Globals) *cobra.Command {
	var o station.WorkerOptions
	var toolchain, remotes []string
	var with workerServer
	c := &cobra.Command{
		Use:   "worker",
		Short: "Work for the runs of a server, on this machine",
		Long: `Take tasks and gates of the runs of a server that have their workers elsewhere, until it is stopped.
The worker has work trees, caches and copies of repositories of its own below --state-dir, and calls
models with the keys in its own environment. It needs git, and what the gates of the repositories need.

The first SIGTERM or Ctrl-C takes nothing more, lets agents end their turn (at most --grace) and hands
back what is left; the second ends at once.`,
		Example: "  divisi server worker --join - < token\n" +
			"  divisi server worker --on build.example.com --tag big --idle-exit 10m",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Toolchain, err = pairs("--toolchain", toolchain); err == nil {
				o.Remotes, err = pairs("--remote", remotes)
			}
			if err != nil {
				return err
			}
			if err := g.workOn(c.Context(), &o, with); err != nil {
				return err
			}
			return g.work(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&with.nats, "nats", "", "the NATS server or cluster at this URL")
	f.StringVar(&with.creds, "creds", "", "file of NATS credentials for --nats")
	f.StringVar(&with.join, "join", "", "join the server of the token in this file, or - for standard input; then --on names it")
	f.StringVar(&o.Name, "name", "", "its name; with --creds that of its user (default the machine's, with a part of its key)")
	f.IntVar(&o.Agents, "agents", 0, "agents at once (default 16)")
	f.IntVar(&o.Gates, "gates", 0, "runs of gates at once (default one for every 4 cores)")
	f.StringSliceVar(&o.Tags, "tag", nil, "take the tasks of roles with this tag too (repeatable)")
	f.StringSliceVar(&toolchain, "toolchain", nil, "where this worker runs, e.g. image=sha256:… (repeatable)")
	f.StringSliceVar(&remotes, "remote", nil, "REPOSITORY=URL: fetch its commits from there, as your git does (repeatable)")
	f.StringVar(&o.Policy, "policy", "", "this machine's policy for runs (default worker.yaml of --state-dir)")
	f.BoolVar(&o.Once, "once", false, "end after the first run that it has worked for")
	f.DurationVar(&o.IdleExit, "idle-exit", 0, "end after this time without a run, e.g. 10m")
	f.DurationVar(&o.Grace, "grace", time.Minute, "time for agents to end their turn when the worker is stopped")
	f.StringVar(&o.Record, "record", "", "keep every exchange with a model in this directory")
	f.StringVar(&o.Replay, "replay", "", "answer from this recording instead of a model's service: no key, no network")
	return c
}

// pairs reads NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" || value == "" {
			return nil, usage.Errorf("%s %q: must be NAME=VALUE", flag, p)
		}
		m[name] = value
	}
	return m, nil
}

// workerServer is how a worker is told its server.
type workerServer struct{ nats, creds, join string }

// workOn finds the server of a worker.
func (g *Globals) workOn(ctx context.Context, o *station.WorkerOptions, with workerServer) (err error) {
	named := 0
	for _, by := range []string{g.On, with.nats, with.join} {
		if by != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return usage.Errorf("name one server: with --join for a token, --on for one that was joined, or --nats for its URL")
	case with.creds != "" && with.nats == "":
		return usage.Errorf("--creds is for the server of --nats")
	case g.On != "":
		o.Server = g.At
	case with.nats != "":
		o.Server, err = cli.ExternalServer(with.nats, with.creds)
	default:
		o.StateDir = g.StateDir
		if err := station.CanWork(ctx, *o); err != nil { // else the token would be used up
			return err
		}
		var replaces bool
		if _, o.Server, replaces, err = g.join(ctx, with.join, "", o.Name, true); replaces {
			o.Succeeds = o.Grace + succession // the worker with the key before ends now
		}
	}
	return err
}

// succession is how long a worker waits, beyond the grace, for the one whose key it has replaced.
const succession = 20 * time.Second

// work serves runs until it is stopped: the end of ctx drains the worker.
func (g *Globals) work(ctx context.Context, o station.WorkerOptions) error {
	o.StateDir, o.Notice = g.StateDir, g.Notice
	inner := g.Log.WithContext(context.WithoutCancel(ctx))
	w, err := station.NewWorker(inner, o)
	if err != nil {
		return err
	}
	defer w.Close()
	defer context.AfterFunc(ctx, w.Drain)()
	g.Notice("worker " + w.Name() + " serves the runs of " + w.Server())
	return w.Run(inner)
}
