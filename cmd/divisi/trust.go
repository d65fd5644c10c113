package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/orchestrator/console"
)

// trusting is what the files of a repository request beyond confined commands without network, and whether a person agreed.
type trusting struct {
	repo     string
	requests []string
	trusted  bool
	// store and identity are where the decision belongs, earlier is the decision that is there.
	store              *trust.Store
	identity, commonID string
	earlier            *trust.Decision
	// fault is why no decision can be read.
	fault error
}

// trusting compares the requests with the decision about the repository. It fails for nothing: without a decision that counts the
// repository is not trusted. checkout may be nil, for a directory that is no repository.
func (g *globals) trusting(repo string, checkout *git.Checkout, project *spec.Project, set configs.RoleSet) *trusting {
	t := &trusting{repo: repo, requests: trust.Requests(project, set.Repository)}
	switch {
	case len(t.requests) == 0:
		t.trusted = true
	case checkout == nil:
		t.fault = fmt.Errorf("%s is no git repository that can be read", repo)
	default:
		t.fault = t.look(filepath.Join(g.stateDir, "trust"), checkout)
	}
	return t
}

func (t *trusting) look(dir string, checkout *git.Checkout) (err error) {
	if t.identity, err = checkout.Identity(); err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	t.commonID = checkout.CommonDir
	if t.store, err = openTrust(dir, checkout); err != nil {
		return err
	}
	t.earlier, err = t.store.Read(t.identity, t.commonID)
	t.trusted = t.earlier.Covers(t.requests)
	return err //nolint:wrapcheck // it names the file
}

// openTrust opens the decisions, which cannot lie in the repository's own work trees.
func openTrust(dir string, checkout *git.Checkout) (*trust.Store, error) {
	trees := []string{checkout.Top}
	if filepath.Base(checkout.CommonDir) == ".git" {
		trees = append(trees, filepath.Dir(checkout.CommonDir))
	}
	store, err := trust.Open(dir, trees...)
	if errors.Is(err, trust.ErrInside) {
		return nil, usagef("%v: choose another directory with --state-dir", err)
	}
	return store, err //nolint:wrapcheck // it names the directory
}

// text lists the requests, with what changed since the earlier decision.
func (t *trusting) text() string {
	if len(t.requests) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The files of %s request more than confined commands without network", console.Sanitize(t.repo))
	if t.earlier != nil && !t.trusted {
		fmt.Fprintf(&b, " (+ and -: changed since you agreed on %s)", t.earlier.Agreed.Local().Format(time.DateOnly))
	}
	b.WriteString(":\n")
	lines := t.requests
	if !t.trusted {
		lines = t.earlier.Changes(t.requests)
	}
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	if t.fault != nil {
		fmt.Fprintf(&b, "%s\n", console.Sanitize(t.fault.Error()))
	}
	return b.String()
}

// state is a sentence about the decision.
func (t *trusting) state() string {
	switch {
	case len(t.requests) == 0:
		return "nothing is requested beyond confined commands without network"
	case t.trusted:
		return "you agreed to this list on " + t.earlier.Agreed.Local().Format(time.DateOnly)
	default:
		return "you have not agreed to this list: a run asks first; agree with " + t.command()
	}
}

func (t *trusting) command() string { return "divisi trust --repo " + quote(t.repo) }

// settle is called before anything of the repository runs and before anything is sent: it returns nil where the requests are
// trusted, asks on a terminal, and is an error elsewhere.
func (t *trusting) settle(ctx context.Context, g *globals) error {
	if t.trusted {
		return nil
	}
	to, end, err := g.questions()
	if err != nil || t.store == nil {
		return usagef("%sNothing of it was run. Read the list, then agree: %s\nFor one run alone, as in CI: --trust-repo", t.text(), t.command())
	}
	defer end()
	return t.ask(ctx, g.in, to)
}

// ask stores the decision after a yes.
func (t *trusting) ask(ctx context.Context, in io.Reader, to io.Writer) error {
	fmt.Fprintf(to, "%sdocs/trust.md explains them. Trust the repository with these %d? [y/N] ", t.text(), len(t.requests))
	yes, err := answer(ctx, func() (bool, error) { return console.Yes(in) })
	if err != nil {
		return err
	}
	if !yes {
		return &endError{codeStopped, t.repo + " is not trusted, and nothing of it was run"}
	}
	return t.agree()
}

func (t *trusting) agree() error {
	d := trust.Agree(t.commonID, t.requests, now())
	t.trusted, t.earlier, t.fault = true, &d, nil
	return t.store.Write(t.identity, d) //nolint:wrapcheck // it says what failed
}

// questions is where a person at the terminal sees a question: an output that is a terminal, else the terminal itself. Without a
// person it is an error.
func (g *globals) questions() (to io.Writer, end func(), err error) {
	switch {
	case !isTerminal(g.in) || g.json():
		return nil, nil, errors.New("there is no terminal to ask on")
	case isTerminal(g.out):
		return g.out, func() {}, nil
	case isTerminal(g.err):
		return g.err, func() {}, nil
	}
	f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open the terminal: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// show tells the requests, listed as text says, where nothing is asked.
func (t *trusting) show(g *globals, list string) error {
	if g.json() {
		return encodeLine(g.out, map[string]any{"requests": t.requests, "trusted": t.trusted})
	}
	_, err := fmt.Fprintf(g.out, "%strust: %s\n", list, t.state())
	return err //nolint:wrapcheck // the terminal
}

// trustCommand is divisi trust.
type trustCommand struct {
	*globals
	repo   string
	revoke bool
}

func newTrust(g *globals) *cobra.Command {
	t := &trustCommand{globals: g}
	c := &cobra.Command{
		Use:   "trust",
		Short: "Agree to what the files of a repository request",
		Long: `Show what the files of a repository (.divisi, .claude/agents, .gemini/agents) request beyond confined
commands without network: setup, network, variables, tool servers, addresses, replaced roles. On a
terminal it is stored after a yes; elsewhere the command itself is the yes. A run asks by itself. The
decision is kept in the state directory, for this repository and exactly this list. See docs/trust.md.` +
			codes(codeOK, codeUsage, codeStopped, codeMachine),
		Example: "  divisi trust\n  divisi trust --repo ../clone\n  divisi trust --revoke",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return t.run(c.Context()) },
	}
	c.Flags().StringVar(&t.repo, "repo", ".", "the repository")
	c.Flags().BoolVar(&t.revoke, "revoke", false, "forget the decision about the repository")
	return c
}

func (c *trustCommand) run(ctx context.Context) error {
	if err := checkDir(c.repo); err != nil {
		return err
	}
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what to install
	}
	checkout, err := gitCLI.Inspect(ctx, c.repo)
	if err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	if c.revoke {
		return c.forget(checkout)
	}
	set, project, err := files(checkout.Top, nil)
	if err != nil {
		return err
	}
	t := c.trusting(checkout.Top, checkout, &project, set)
	list := t.text()
	switch {
	case t.trusted:
	case t.store == nil:
		return t.fault
	default:
		if list, err = c.decide(ctx, t, list); err != nil {
			return err
		}
	}
	return t.show(c.globals, list)
}

// decide asks on a terminal; elsewhere the command itself is the yes. It returns the list where it was not shown yet.
func (c *trustCommand) decide(ctx context.Context, t *trusting, list string) (string, error) {
	to, end, err := c.questions()
	if err != nil {
		return list, t.agree()
	}
	defer end()
	return "", t.ask(ctx, c.in, to)
}

// forget removes the decision, whatever the files of the repository request now.
func (c *trustCommand) forget(checkout *git.Checkout) error {
	store, err := openTrust(filepath.Join(c.stateDir, "trust"), checkout)
	if err != nil {
		return err
	}
	identity, err := checkout.Identity()
	if err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	had, err := store.Forget(identity)
	if err != nil {
		return err //nolint:wrapcheck // it says what failed
	}
	said := "no decision was stored about"
	if had {
		said = "forgotten is the decision about"
	}
	_, err = fmt.Fprintf(c.out, "%s %s\n", said, console.Sanitize(checkout.Top))
	return err //nolint:wrapcheck // the terminal
}
