package runs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/needs"
)

// Trust lists the permission requests of a repository's files in the words of a terminal.
type Trust struct {
	*needs.Trust

	// proposed reports that no file requests this yet.
	proposed bool
}

// Trusting compares requests, or nil for those of the files, with the decision about a repository.
func (g *Globals) Trusting(ctx context.Context, dir string, requests []string) (*Trust, error) {
	return g.TrustingWith(ctx, dir, requests, nil)
}

// TrustingWith does so for a project file that the person names; nil for none.
func (g *Globals) TrustingWith(ctx context.Context, dir string, requests []string, named *configs.File) (*Trust, error) {
	t, err := needs.TrustOf(g.Log.WithContext(ctx), g.StateDir, dir, requests, named)
	return &Trust{Trust: t}, err
}

// ProjectFlag is the flag of commands that read a project.
func ProjectFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "project", "", "a project file in the place of .divisi/divisi.yaml and of what divisi init keeps")
}

// NamedProject reads the file of that flag; nil where it is not given.
func NamedProject(name string) (*configs.File, error) {
	if name == "" {
		return nil, nil
	}
	read, err := configs.Read(name)
	if err != nil {
		return nil, err
	}
	return &read[0], nil
}

// Text lists the requests, with what changed since the earlier decision; it is empty where there are none.
func (t *Trust) Text() string {
	if len(t.Requests) == 0 {
		return ""
	}
	text, lines := display.Sanitize(t.Repo)+" asks for permissions beyond the sandbox", t.Requests
	if t.proposed {
		text = "Divisi proposes permissions beyond the sandbox for " + display.Sanitize(t.Repo)
	}
	if !t.Agreed.IsZero() && !t.Trusted {
		text += " (+ and -: changed since you agreed on " + t.Agreed.Local().Format(time.DateOnly) + ")"
		lines = t.Changes
	}
	text += ":\n  " + strings.Join(lines, "\n  ") + "\n"
	if t.Exposed {
		text += "This machine cannot isolate networks: commands with the network reach every service of this machine.\n"
	}
	if t.Fault != nil {
		text += display.Sanitize(t.Fault.Error()) + "\n"
	}
	return text
}

// State is a sentence about the decision.
func (t *Trust) State() string {
	switch {
	case len(t.Requests) == 0:
		return "the repository asks for nothing beyond the sandbox"
	case t.Trusted:
		return "you agreed to this list on " + t.Agreed.Local().Format(time.DateOnly)
	default:
		return "you have not agreed to this list: a run asks first; agree with divisi trust --repo " + text.Shell(t.Repo)
	}
}

// settle returns nil where the requests are trusted, asks on a terminal, and returns an error without one.
func (t *Trust) settle(ctx context.Context, g *Globals) error {
	switch {
	case t.Trusted:
		return nil
	case !g.Interactive():
		return usage.Errorf("%sNothing of it was run. Read the list, then agree: divisi trust --repo %s\n"+
			"For one run alone, as in CI: --trust-repo", t.Text(), text.Shell(t.Repo))
	}
	return t.ask(ctx, g)
}

// ask stores the decision after a yes.
func (t *Trust) ask(ctx context.Context, g *Globals) error {
	no := display.Sanitize(t.Repo) + " is not trusted, and nothing of it was run\n" +
		"To agree to the list later: divisi trust --repo " + text.Shell(t.Repo)
	return t.askIn(ctx, g, t.Text()+"Allow this request?", no)
}

// askIn is ask in other words: a question, and what a no ends with. Where the output goes elsewhere, the question goes to the
// terminal itself.
func (t *Trust) askIn(ctx context.Context, g *Globals, question, no string) error {
	to := g.Out
	if !cli.IsTerminal(to) {
		tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open the terminal to ask whether the repository is trusted: %w", err)
		}
		defer tty.Close()
		to = tty
	}
	if err := g.Confirm(ctx, to, question, no); err != nil {
		return err
	}
	return t.Agree()
}

// Agreed refuses a repository whose requests, or those of its files where they are nil, no person has agreed to. It asks nothing.
func (g *Globals) Agreed(ctx context.Context, repo string, requests []string) (bool, error) {
	t, err := g.Trusting(ctx, repo, requests)
	switch {
	case err != nil:
		return false, err
	case t.Fault != nil:
		return false, t.Fault
	case !t.Trusted:
		return false, usage.Errorf("%sNothing of it was run. Ask the person to read the list, and to agree to it in a terminal: "+
			"divisi trust --repo %s", t.Text(), text.Shell(t.Repo))
	}
	return true, nil
}

// show prints the requests and the decision, where no question is asked.
func (t *Trust) show(g *Globals, list string) error {
	return g.Print(cli.Say("%strust: %s\n", list, g.Calls(t.State())),
		map[string]any{"requests": t.Requests, "trusted": t.Trusted})
}

// NewTrust makes divisi trust.
func NewTrust(g *Globals) *cobra.Command {
	var repo string
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Review and grant a repository's permission requests",
		Long: `Show what the files of a repository (.divisi, .claude/agents, .gemini/agents) request beyond confined
commands without network: setup, network, variables, tool servers, addresses, replaced roles. On a
terminal it is stored after a yes; elsewhere the command itself is the yes. A run asks by itself. The
decision is kept in the state directory, for this repository and exactly this list.` +
			cli.Codes(cli.CodeOK, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi trust\n  divisi trust --repo ../clone\n  divisi trust --revoke",
		RunE: func(c *cobra.Command, _ []string) error {
			return g.trust(c.Context(), repo, revoke)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	c.Flags().BoolVar(&revoke, "revoke", false, "forget the decision about the repository")
	return c
}

func (g *Globals) trust(ctx context.Context, repo string, revoke bool) error {
	if err := cli.CheckDir(repo); err != nil {
		return err
	}
	t, err := g.Trusting(ctx, repo, nil)
	switch {
	case !t.Found && t.Fault != nil:
		return t.Fault
	case !t.Found:
		return err
	case revoke: // whatever the files request now
		return g.revoke(t)
	case err != nil:
		return err
	}
	list := t.Text()
	switch {
	case t.Trusted:
	case g.Interactive():
		list, err = "", t.ask(ctx, g)
	default:
		err = t.Agree()
	}
	if err != nil {
		return err
	}
	return t.show(g, list)
}

func (g *Globals) revoke(t *Trust) error {
	had, err := t.Revoke()
	if err != nil {
		return err
	}
	said := "there was no decision"
	if had {
		said = "the decision is forgotten"
	}
	_, err = fmt.Fprintln(g.Out, said)
	return err
}
