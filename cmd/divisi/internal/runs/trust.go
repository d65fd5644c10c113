package runs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
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

	// title begins the list where the files do not request this by themselves: before the name of the repository.
	title string
	// flags are those of divisi trust for another list than that of the files.
	flags string
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

// TrustingRoles compares role files and a coding agent, which a program names for a run, with the decision about them.
func (g *Globals) TrustingRoles(ctx context.Context, dir string, files []configs.File, agent string) (*Trust, error) {
	about, err := needs.RolesTrustOf(g.Log.WithContext(ctx), g.StateDir, dir, files, agent)
	t := &Trust{Trust: about, title: "A program asks for runs with these permissions in "}
	for _, f := range files {
		t.flags += " --role " + text.Shell(f.Name)
	}
	if agent != "" {
		t.flags += " --agent " + agent
	}
	return t, err
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
	if t.title != "" {
		text = t.title + display.Sanitize(t.Repo)
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
		return "you have not agreed to this list: a run asks first; agree with " + t.command()
	}
}

// command is the one with which a person agrees.
func (t *Trust) command() string { return "divisi trust --repo " + text.Shell(t.Repo) + t.flags }

const (
	// maxQuestion bounds a question that an editor shows as a form, in bytes, questionWidth a line of it, and maxGates its gates.
	maxQuestion   = 6 << 10
	questionWidth = 100
	maxGates      = 10
)

// Question is the list for a form of an editor, which may render Markdown: every line begins with four spaces, and none is cut.
// The gates, which run confined, come last. It is empty where a form would not show it whole.
func (t *Trust) Question() string {
	lines := strings.Split(strings.TrimSuffix(t.Text(), "\n"), "\n")
	if t.Settings != nil {
		gates := t.Settings.AllGates()
		for _, g := range gates[:min(len(gates), maxGates)] {
			lines = append(lines, "  gate, confined: "+strconv.QuoteToASCII(g.Name+": "+text.CommandLine(g.Command)))
		}
	}
	b := strings.Builder{}
	b.WriteString("A coding agent asks Divisi to start or continue work. This needs your yes:\n\n    " + lines[0] + "\n")
	for _, line := range lines[1:] {
		for row := range slices.Chunk([]rune(line), questionWidth) {
			b.WriteString("    " + string(row) + "\n")
		}
	}
	if b.Len() > maxQuestion {
		return ""
	}
	return b.String()
}

// Refusal is nil where a person agreed; else it is the error for a program, with the command for the person. It asks nothing.
func (t *Trust) Refusal() error {
	if t.Fault != nil || t.Trusted {
		return t.Fault
	}
	return usage.Errorf("%sNothing of it was run. Ask the person to read the list, and to agree to it in a terminal: %s",
		t.Text(), t.command())
}

// settle returns nil where the requests are trusted, asks on a terminal, and returns an error without one.
func (t *Trust) settle(ctx context.Context, g *Globals) error {
	switch {
	case t.Trusted:
		return nil
	case !g.Interactive():
		return usage.Errorf("%sNothing of it was run. Read the list, then agree: %s\n"+
			"For one run alone, as in CI: --trust-repo", t.Text(), t.command())
	}
	return t.ask(ctx, g)
}

// ask stores the decision after a yes.
func (t *Trust) ask(ctx context.Context, g *Globals) error {
	no := display.Sanitize(t.Repo) + " is not trusted, and nothing of it was run\n" +
		"To agree to the list later: " + t.command()
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
	if err == nil {
		err = t.Refusal()
	}
	return err == nil, err
}

// show prints the requests and the decision, where no question is asked.
func (t *Trust) show(g *Globals, list string) error {
	return g.Print(cli.Say("%strust: %s\n", list, g.Calls(t.State())),
		map[string]any{"requests": t.Requests, "trusted": t.Trusted})
}

// NewTrust makes divisi trust.
func NewTrust(g *Globals) *cobra.Command {
	var repo, agent string
	var roles []string
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Review and grant a repository's permission requests",
		Long: `Show what the files of a repository (.divisi, .claude/agents, .gemini/agents) request beyond confined
commands without network: setup, network, variables, tool servers, addresses, replaced roles. On a
terminal it is stored after a yes; elsewhere the command itself is the yes. A run asks by itself. The
decision is kept in the state directory, for this repository and exactly this list. With --role and
--agent the list is what these get in runs that a program starts (divisi mcp), and the decision another.` +
			cli.Codes(cli.CodeOK, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi trust\n  divisi trust --repo ../clone\n  divisi trust --revoke",
		RunE: func(c *cobra.Command, _ []string) error {
			return g.trust(c.Context(), repo, revoke, roles, agent)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	c.Flags().StringSliceVar(&roles, "role", nil, "a role file that a program may start runs with (repeatable)")
	c.Flags().StringVar(&agent, "agent", "", "a coding agent that a program may start runs with")
	c.Flags().BoolVar(&revoke, "revoke", false, "forget the decision about the repository")
	return c
}

func (g *Globals) trust(ctx context.Context, repo string, revoke bool, roles []string, agent string) error {
	if err := cli.CheckDir(repo); err != nil {
		return err
	}
	t, err := g.Trusting(ctx, repo, nil)
	if t.Found && len(roles)+len(agent) > 0 {
		var files []configs.File
		if files, err = configs.Read(roles...); err == nil {
			t, err = g.TrustingRoles(ctx, t.Repo, files, agent)
		}
	}
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
