package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/text"
	"divisi/internal/trust"
	"divisi/orchestrator/console"
	"divisi/orchestrator/needs"
)

// trusting is what the files of a repository request beyond confined commands without network, and whether a person agreed.
type trusting struct {
	repo     string
	requests []string
	trusted  bool
	// proposed reports that no file requests this yet.
	proposed bool
	// store is where the decision belongs, nil where there can be none; earlier is the decision that is there.
	store   *trust.Store
	earlier *trust.Decision
	// fault is why no decision can be read, which then counts as none.
	fault error
}

// trusting compares the requests with the decision about the repository. checkout is nil for a directory that is no repository.
func (g *globals) trusting(repo string, checkout *git.Checkout, requests []string) *trusting {
	t := &trusting{repo: console.Sanitize(repo), requests: requests}
	if t.trusted = len(t.requests) == 0; t.trusted && checkout == nil {
		return t
	}
	if t.store, t.fault = g.decisions(checkout); t.fault == nil && !t.trusted {
		t.earlier, t.fault = t.store.Read()
		t.trusted = t.earlier.Covers(t.requests)
	}
	return t
}

// decisions opens the place of the decision.
func (g *globals) decisions(checkout *git.Checkout) (*trust.Store, error) {
	if checkout == nil {
		return nil, usagef("this is no git repository that can be read: name one with --repo DIR")
	}
	return g.store().Decisions(checkout)
}

// text lists the requests, with what changed since the earlier decision; it is empty where there are none.
func (t *trusting) text() string {
	if len(t.requests) == 0 {
		return ""
	}
	text, lines := "The files of "+t.repo+" request", t.requests
	if t.proposed {
		text = "Divisi proposes for " + t.repo
	}
	text += " more than confined commands without network"
	if t.earlier != nil && !t.trusted {
		text += " (+ and -: changed since you agreed on " + t.earlier.Agreed.Local().Format(time.DateOnly) + ")"
		lines = t.earlier.Changes(t.requests)
	}
	list := strings.Join(lines, "\n  ")
	text += ":\n  " + list + "\n"
	if strings.Contains(list, "the network") && sandbox.Probe().HostNetwork() {
		text += "This machine cannot isolate networks: commands with the network reach every service of this machine.\n"
	}
	if t.fault != nil {
		text += console.Sanitize(t.fault.Error()) + "\n"
	}
	return text
}

// state is a sentence about the decision.
func (t *trusting) state() string {
	switch {
	case len(t.requests) == 0:
		return "the files of the repository request nothing beyond confined commands without network"
	case t.trusted:
		return "you agreed to this list on " + t.earlier.Agreed.Local().Format(time.DateOnly)
	default:
		return "you have not agreed to this list: a run asks first; agree with divisi trust --repo " + text.Shell(t.repo)
	}
}

// settle returns nil where the requests are trusted, asks on a terminal, and returns an error without one.
func (t *trusting) settle(ctx context.Context, g *globals) error {
	switch {
	case t.trusted:
		return nil
	case !isTerminal(g.in) || g.json():
		return usagef("%sNothing of it was run. Read the list, then agree: divisi trust --repo %s\n"+
			"For one run alone, as in CI: --trust-repo", t.text(), text.Shell(t.repo))
	}
	return t.ask(ctx, g)
}

// ask stores the decision after a yes. Where the output goes elsewhere, the question goes to the terminal itself.
func (t *trusting) ask(ctx context.Context, g *globals) error {
	to := g.out
	if !isTerminal(to) {
		tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open the terminal to ask whether the repository is trusted: %w", err)
		}
		defer tty.Close()
		to = tty
	}
	_, err := fmt.Fprintf(to, "%sTrust the repository with this? [y/N] ", t.text())
	if err != nil {
		return err
	}
	yes, err := answer(ctx, func() (bool, error) { return console.Yes(g.in) })
	if err == nil && !yes {
		err = &endError{codeStopped, t.repo + " is not trusted, and nothing of it was run"}
	}
	if err != nil {
		return err
	}
	return t.agree()
}

func (t *trusting) agree() (err error) {
	t.earlier, err = t.store.Write(t.requests, now())
	t.trusted = err == nil
	return err
}

// show prints the requests and the decision, where no question is asked.
func (t *trusting) show(g *globals, list string) error {
	if g.json() {
		return encodeLine(g.out, map[string]any{"requests": t.requests, "trusted": t.trusted})
	}
	_, err := fmt.Fprintf(g.out, "%strust: %s\n", list, g.calls(t.state()))
	return err
}

func newTrust(g *globals) *cobra.Command {
	var repo string
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Review and grant a repository's permission requests",
		Long: `Show what the files of a repository (.divisi, .claude/agents, .gemini/agents) request beyond confined
commands without network: setup, network, variables, tool servers, addresses, replaced roles. On a
terminal it is stored after a yes; elsewhere the command itself is the yes. A run asks by itself. The
decision is kept in the state directory, for this repository and exactly this list.` +
			codes(codeOK, codeUsage, codeStopped, codeMachine),
		Example: "  divisi trust\n  divisi trust --repo ../clone\n  divisi trust --revoke",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checkout, err := inspected(c.Context(), repo)
			if err != nil {
				return err
			}
			if revoke {
				return g.revoke(checkout)
			}
			return g.trust(c.Context(), checkout)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	c.Flags().BoolVar(&revoke, "revoke", false, "forget the decision about the repository")
	return c
}

// inspected reads the repository that a directory is in.
func inspected(ctx context.Context, dir string) (*git.Checkout, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	return g.Inspect(ctx, dir)
}

// requested compares what the files of a checkout request with the decision about it.
func (g *globals) requested(ctx context.Context, checkout *git.Checkout) (*trusting, error) {
	set, project, err := needs.Files(checkout.Top, nil)
	if err != nil {
		return nil, err
	}
	requests, err := needs.Requests(ctx, checkout, &project, set.Repository)
	return g.trusting(checkout.Top, checkout, requests), err
}

func (g *globals) trust(ctx context.Context, checkout *git.Checkout) error {
	t, err := g.requested(ctx, checkout)
	if err != nil {
		return err
	}
	list := t.text()
	switch {
	case t.trusted:
	case t.store == nil:
		return t.fault
	case isTerminal(g.in) && !g.json():
		list, err = "", t.ask(ctx, g)
	default:
		err = t.agree()
	}
	if err != nil {
		return err
	}
	return t.show(g, list)
}

// revoke forgets the decision, whatever the files of the repository request now.
func (g *globals) revoke(checkout *git.Checkout) error {
	store, err := g.decisions(checkout)
	if err != nil {
		return err
	}
	said := "the decision is forgotten"
	if err = store.Forget(); errors.Is(err, fs.ErrNotExist) {
		said, err = "there was no decision", nil
	}
	if err == nil {
		_, err = fmt.Fprintln(g.out, said)
	}
	return err
}
