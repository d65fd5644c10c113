// Package runs has the commands that begin, continue and follow a run: what they ask a person, the live view, the terminal board
// and the page.
package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/acts"
	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/needs"
)

// Flags are the flags of run, demo and resume.
type Flags struct {
	orchestrator.Options
	plan, sandbox string
	project       string
	dashboard     string
	roles         []string
	dryRun, trust bool
	// detach leaves a run with the host on the server of --on.
	detach bool
	creds  string
	// Landed is called for a run that has ended with everything proven.
	Landed func(ctx context.Context, run string) error
	// followBase moves what has landed onto what the branch has gained meanwhile.
	followBase bool
	// twin compares at the end with the user's own shell.
	twin bool
}

// NewRun makes divisi run.
func NewRun(g *Globals) *cobra.Command {
	var o Flags
	c := &cobra.Command{
		Use:   `run "GOAL" | run --plan FILE`,
		Short: "Run a refactor, planned by a master agent or by a plan file",
		Long: `Run a refactor on a repository. With "GOAL", a master agent reads the code and plans, and the plan is
shown for approval: y runs it, e opens it in your editor, a sentence goes back to the master, which
plans anew, and n stops the run. With --plan FILE, the plan is yours; divisi plan writes one. Either
way tasks run in parallel in work trees of their own, gates prove them, and they land on one new
branch, divisi/<run>.

A model role needs GEMINI_API_KEY (or GOOGLE_API_KEY), or a service of your own (docs/model.md);
--agent needs that program and its key; plans of command roles need none.` +
			cli.CodesOfRuns(),
		Example: `  divisi run --plan refactor.yaml --dry-run
  divisi run --plan refactor.yaml --parallel 8 --dashboard 127.0.0.1:8080
  divisi run "Move every package from log to slog" --budget 2000000
  divisi run "Move every package from log to slog" --agent claude`,
		Args: oneGoal,
		RunE: func(c *cobra.Command, args []string) error {
			o.Goal = strings.TrimSpace(strings.Join(args, " "))
			return g.Start(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.plan, "plan", "", "a plan file (YAML); see docs/plan.md")
	f.StringVar(&o.Prove, "prove", "", "batch: run gates on many patches together (default); each: on one patch at a time")
	f.BoolVar(&o.AutoApprove, "yes", false, "approve the plan, and the fetch for a partial clone, without prompting")
	f.BoolVar(&o.Review, "review", false, "hold each patch until you accept it: divisi accept, or divisi send to reject it")
	f.BoolVar(&o.detach, "detach", false, "with --on: leave the run with the host, and come back")
	f.BoolVar(&o.SendEnvironment, "send-environment", false, "with --on: upload the checkout's environment to the host")
	f.Var((*percent)(&o.Reprove), "reprove", "with workers elsewhere: the share of proven batches that another worker "+
		"proves again, chosen at random, such as 5%")
	f.BoolVar(&o.twin, "twin", false, "at the end, run setup and gates once more in your own shell, outside the sandbox, on "+
		"what has landed; see docs/safety.md")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what --plan would do, and change nothing")
	f.StringSliceVar(&o.roles, "role", nil, roleFiles)
	o.AgentFlag(c)
	o.StartFlags(c)
	GroupFlags(c)
	g.NoticeFlags(c)
	g.waitFlag(c)
	return c
}

const roleFiles = "additional role file (repeatable)"

// AgentFlag is that of the commands that begin work of agents.
func (o *Flags) AgentFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.Agent, "agent", "", "a coding agent of yours that plans and does the work, with its own key: "+
		strings.Join(spec.CodingAgents(), ", "))
}

// StartFlags are those of every command that begins a run on a repository of the person.
func (o *Flags) StartFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.Repo, "repo", ".", "the repository")
	f.StringVar(&o.Base, "base", "", "start from this commit, ignoring uncommitted changes")
	ProjectFlag(f, &o.project)
	f.IntVar(&o.Parallel, "parallel", 0, "agents at once (default from the project file, else 16)")
	f.TextVar(&o.Budget, "budget", spec.Budget{},
		"stop the run after this many tokens, or dollars such as 5usd; resume continues it (default from the project file)")
	f.BoolVar(&o.AllowUnverified, "allow-unverified", false, allowUnverified)
	f.BoolVar(&o.AllowUnread, "allow-unread", false, allowUnread)
	f.BoolVar(&o.FreshBaseline, "fresh-baseline", false,
		"run the gates on the base commit though an earlier run has kept their results")
	f.BoolVar(&o.trust, "trust-repo", false, "allow the requests of the repository's files, in this run; see divisi trust --help")
	f.BoolVar(&o.followBase, "follow-base", false, "when the run is done, move what landed onto the commits that the branch has "+
		"gained meanwhile, as divisi rebase does, until there are none")
	f.StringVar(&o.NATS, "nats", "", "use the NATS server or cluster at this URL instead of the built-in one")
	f.StringVar(&o.creds, "creds", "", "file of NATS credentials for --nats")
	f.BoolVar(&o.Elsewhere, "elsewhere", false, "leave tasks and gates to the workers of the server of --nats")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address or port, e.g. 8080")
	hostFlags(c, &o.Machine, &o.sandbox)
}

const allowUnverified = "land changes that no gate can prove; they are shown as unverified, and the exit code is 1"

const allowUnread = "land files that no gate reads, such as those of another system; they are shown as unverified, and the " +
	"exit code is 1. --allow-unverified does so too"

// hostFlags are those of every command that runs a run.
func hostFlags(c *cobra.Command, m *orchestrator.Machine, sandbox *string) {
	f := c.Flags()
	f.StringVar(&m.Record, "record", "", "keep every exchange with a model in this directory, for --replay")
	f.StringVar(&m.Replay, "replay", "", "answer from this recording instead of a model's service: no key, no network")
	f.StringVar(&m.OnDoubt, "on-doubt", "", "rule for a questionable patch when the master does not decide: ask (default "+
		"on "+
		"a terminal, or with --review), reject (default without one) or accept")
	f.StringVar(sandbox, "sandbox", cli.SandboxAuto,
		"auto: use every layer of confinement that this machine has; strict: refuse to start unless it has all")
}

// oneGoal takes at most one argument.
func oneGoal(c *cobra.Command, args []string) error {
	if c.ArgsLenAtDash() >= 0 && len(args) > 1 {
		return usage.Errorf("a command for many files is: divisi each -- %s", text.CommandLine(args))
	}
	if len(args) > 1 {
		return usage.Errorf("the goal must be one argument, not %d: put it in quotes: divisi run %s",
			len(args), text.Shell(strings.Join(args, " ")))
	}
	return nil
}

// inRepo is the flag of another command for the same repository.
func (o *Flags) inRepo() string {
	if o.Repo == "." {
		return ""
	}
	return " --repo " + text.Shell(o.Repo)
}

// Start begins a run and shows it to its end; a dry run shows the plan. A plan whose work is done is no error.
func (g *Globals) Start(ctx context.Context, o Flags) error {
	err := g.carryOut(ctx, o)
	if code, _ := orchestrator.CodeOf(err); code == usage.NothingLeft {
		return g.Print(cli.Say("%s\n", display.Sanitize(err.Error())), map[string]string{"outcome": err.Error()})
	}
	return err
}

func (g *Globals) carryOut(ctx context.Context, o Flags) error {
	v, err := g.prepare(ctx, &o)
	if err != nil {
		return err
	}
	logged := g.Log.WithContext(ctx)
	if o.detach && g.At.URL == "" {
		return usage.Errorf("--detach leaves the run with a server: name it with --on")
	}
	if o.detach && g.Notify != "" {
		return usage.Errorf("--detach shows nothing of the run: leave --notify out, and use divisi watch --notify")
	}
	if o.SendEnvironment && g.At.URL == "" {
		return usage.Errorf("--send-environment sends to a server: name it with --on")
	}
	if o.dryRun {
		p, err := orchestrator.Preview(logged, o.Options)
		if err != nil {
			return err
		}
		return g.PrintPlan(p.Plan)
	}
	if g.At.URL != "" {
		return g.submit(ctx, o)
	}
	if err := v.serve(ctx, o.dashboard); err != nil {
		return err
	}
	defer v.close()
	r, err := orchestrator.Start(logged, o.Options)
	if err != nil {
		return err
	}
	if err := v.follow(ctx, r); err != nil {
		return err
	}
	if o.followBase {
		moved, err := g.hasMoved(ctx, r.ID())
		switch {
		case err != nil:
			return err
		case moved:
			return g.rebase(ctx, r.ID(), o.again())
		}
	}
	if o.Landed == nil {
		return nil
	}
	return o.Landed(ctx, r.ID())
}

// Preview shows the plan of a run that has not begun.
func (g *Globals) Preview(ctx context.Context, o *Flags) (orchestrator.Previewed, error) {
	if _, err := g.prepare(ctx, o); err != nil {
		return orchestrator.Previewed{}, err
	}
	return orchestrator.Preview(g.Log.WithContext(ctx), o.Options)
}

// Try runs setup and gates on a commit, and changes nothing; it returns the run that did. A project is used in place of the
// repository's, and gates run beside the project's where it has none of their names.
func (g *Globals) Try(ctx context.Context, repo, commit string, project *orchestrator.File, gates []spec.Gate) (string, error) {
	o := Flags{sandbox: cli.SandboxAuto}
	o.Repo, o.Base, o.Trial, o.Project, o.Gates = repo, commit, true, project, gates
	v, err := g.prepare(ctx, &o)
	if err != nil {
		return "", err
	}
	v.quiet = true
	r, err := orchestrator.Start(g.Log.WithContext(ctx), o.Options)
	if err != nil {
		return "", err
	}
	return r.ID(), v.follow(ctx, r)
}

// prepare reads the files that are named, and makes the view of the run.
func (g *Globals) prepare(ctx context.Context, o *Flags) (*view, error) {
	switch {
	case o.creds != "" && o.NATS == "":
		return nil, usage.Errorf("--creds is for the server of --nats")
	case o.followBase && o.Next == nil && (o.Elsewhere || g.At.URL != "" || o.Record+o.Replay+o.Base != ""):
		return nil, usage.Errorf("--follow-base is for a run of this machine on the commit of its branch: it goes with none of " +
			"--elsewhere, --on, --base, --record and --replay")
	case o.dryRun && o.plan == "" && o.Plan == nil:
		return nil, usage.Errorf("--dry-run needs --plan: a goal is planned by a model")
	case o.dryRun && o.Record+o.Replay != "":
		return nil, usage.Errorf("--dry-run calls no model: there is nothing to record or to replay")
	}
	if err := cli.CheckDir(o.Repo); err != nil {
		return nil, err
	}
	at, err := cli.ExternalServer(o.NATS, o.creds)
	if err != nil {
		return nil, err
	}
	o.Login = at.Login
	names := o.roles
	if o.plan != "" {
		names = append(names, o.plan)
	}
	read, err := configs.Read(names...)
	if err != nil {
		return nil, err
	}
	if named, err := NamedProject(o.project); err != nil {
		return nil, err
	} else if named != nil {
		o.Project = &orchestrator.File{Name: named.Name, Data: []byte(named.Text)}
	}
	for _, f := range read {
		o.Roles = append(o.Roles, orchestrator.File{Name: f.Name, Data: []byte(f.Text)})
	}
	if o.plan != "" {
		last := len(o.Roles) - 1
		o.Plan, o.Roles = &o.Roles[last], o.Roles[:last]
	}
	if o.Agent != "" && !o.dryRun {
		if err := g.agreeLogin(ctx, o); err != nil {
			return nil, err
		}
	}
	o.Trust = func(ctx context.Context, requests []string) (bool, error) { return g.trusted(ctx, o, requests) }
	o.Propose = func(ctx context.Context, setup, why, requests []string) (bool, error) {
		return g.propose(ctx, o, setup, why, requests)
	}
	if o.twin {
		o.Twin = func(ctx context.Context, commands []string) (bool, error) {
			if o.trust {
				return true, nil
			}
			return g.agreeTwin(ctx, o, "run --twin", commands)
		}
	}
	if g.Interactive() && !o.dryRun {
		o.Pins = func(ctx context.Context, conflicts []string) (bool, error) { return g.agreePins(ctx, o, conflicts) }
	}
	o.Fetch = func(ctx context.Context, clone orchestrator.PartialClone) (bool, error) {
		return g.fetches(ctx, o, clone)
	}
	return g.machine(&o.Machine, o.sandbox)
}

// agreePins asks whether a run may have other versions of programs than files of the repository name, unless a person has agreed
// to the same.
func (g *Globals) agreePins(ctx context.Context, o *Flags, conflicts []string) (bool, error) {
	about, err := needs.PinsTrustOf(g.Log.WithContext(ctx), g.StateDir, o.Repo, conflicts)
	if err != nil || about.Trusted {
		return err == nil, err
	}
	t := &Trust{Trust: about}
	list := display.SanitizeLines(strings.Join(conflicts, "\n"))
	return true, t.askIn(ctx, g, list+"\nUse the programs of your shell in this repository, as they are?",
		list+"\nNothing was run; pins: shell in "+projectPlace+" keeps the programs of the shell for all")
}

// agreeLogin asks whether a run may use what its coding agent keeps in a file.
func (g *Globals) agreeLogin(ctx context.Context, o *Flags) error {
	about, err := needs.LoginTrustOf(g.Log.WithContext(ctx), g.StateDir, o.Repo, o.Agent)
	if err != nil || !about.Found {
		return nil //nolint:nilerr // the run tells of its files itself
	}
	t := &Trust{Trust: about, title: "Runs with --agent " + o.Agent + " ask for this in ", flags: " --agent " + o.Agent}
	switch {
	case t.Trusted:
		return nil
	case !g.Interactive():
		return usage.Errorf("%sNothing was run. Read the list, then agree: %s", t.Text(), t.command())
	}
	return t.ask(ctx, g)
}

// fetches decides whether what a partial clone lacks is fetched.
func (g *Globals) fetches(ctx context.Context, o *Flags, clone orchestrator.PartialClone) (bool, error) {
	if o.AutoApprove || !g.Interactive() {
		return o.AutoApprove, nil
	}
	what := fmt.Sprintf("%s is a partial clone, and lacks %s that the run needs", clone.Repo, text.Count(clone.Missing, "object"))
	question := fmt.Sprintf("%s. Fetch them from %s (%s), for Divisi alone?", what, clone.Remote, clone.URL)
	err := g.Confirm(ctx, g.Out, display.Sanitize(question), display.Sanitize(what)+", and nothing was fetched")
	return err == nil, err
}

// trusted decides about the requests of the repository that a run works on. A dry run shows them, and asks no one.
func (g *Globals) trusted(ctx context.Context, o *Flags, requests []string) (bool, error) {
	if o.trust && !o.dryRun {
		return true, nil
	}
	t, err := g.Trusting(ctx, o.Repo, requests)
	if err != nil {
		return false, err
	}
	if o.dryRun {
		return t.Trusted || o.trust, t.show(g, t.Text())
	}
	return true, t.settle(ctx, g)
}

// Globals are those of every command, which can also decide for a person.
type Globals struct{ acts.Globals }
