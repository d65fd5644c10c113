// Package merge has the command that takes what a run has landed into the branch of a person: with that person's own git,
// settings and hooks, and on their word alone. Its input is a run that was published, its output what git did.
package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

// Command is divisi merge, with its flags.
type Command struct {
	*runs.Globals

	repo                                    string
	squash, ffOnly, unproven, local, dryRun bool
}

// Of merges into the checkout that a directory is in; local merges into the default branch of a remote without a question.
func Of(g *runs.Globals, repo string, local bool) *Command {
	return &Command{Globals: g, repo: repo, local: local}
}

// Ready reports why nothing can be merged into the checkout as it is, and asks what Merge would ask of its branch: Merge does not
// ask that again.
func (m *Command) Ready(ctx context.Context) error {
	c, err := open(ctx, m.repo)
	if err == nil {
		err = m.here(ctx, c, "add --local", "")
	}
	m.local = m.local || err == nil
	return err
}

// NewMerge makes divisi merge.
func NewMerge(g *runs.Globals) *cobra.Command {
	m := &Command{Globals: g}
	c := &cobra.Command{
		Use:   "merge [RUN]",
		Short: "Merge what a run has landed into the branch that is checked out",
		Long: `Merge the branch of a run, the newest one without RUN, into the branch that is checked out: by the git merge
that is printed first, with your own git, settings, signing and hooks. The checkout must be clean. Where
your branch has other commits than the run began with, the merged files are proven by the gates first. On
the default branch of a remote it asks first, and where the run began on commits that your branch does not
have, or has landed changes without proof. The last line tells how to undo it.` +
			cli.Codes(cli.CodeOK, cli.CodeParked, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi merge\n  divisi merge 1f2e --squash\n  divisi merge --dry-run",
		RunE:    func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&m.repo, "repo", ".", "the checkout")
	f.BoolVar(&m.squash, "squash", false, "as git merge --squash does: stage the changes, and leave the commit to you")
	f.BoolVar(&m.ffOnly, "ff-only", false, "only where your branch has no other commits than the run began with")
	f.BoolVar(&m.unproven, "unproven", false, "merge files that the gates have not proven, without prompting")
	f.BoolVar(&m.local, "local", false, "merge into this branch without prompting, whatever it is")
	f.BoolVar(&m.dryRun, "dry-run", false, "print the git merge, and change nothing")
	c.MarkFlagsMutuallyExclusive("squash", "ff-only")
	return c
}

func (m *Command) run(ctx context.Context, args []string) error {
	if err := cli.CheckDir(m.repo); err != nil {
		return err
	}
	id, err := m.FindRun(ctx, args)
	if err == nil && len(args) == 0 {
		id, err = m.newest(ctx)
	}
	if err != nil {
		return err
	}
	return m.Merge(ctx, id)
}

// Merge merges what a run has landed.
func (m *Command) Merge(ctx context.Context, id string) (err error) {
	c, err := open(ctx, m.repo)
	if err != nil {
		return err
	}
	if m.dryRun {
		remove, aerr := c.aside(ctx)
		if aerr != nil {
			return aerr
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	l, err := m.landed(ctx, c, id)
	if err != nil {
		return err
	}
	if c.has(ctx, "merge-base", "--is-ancestor", l.Head, c.head) {
		return m.Print(cli.Say("%s has what run %s landed already\n", c.branch, id),
			map[string]string{"run": id, "branch": c.branch})
	}
	for _, line := range l.told() {
		m.Aside(display.Sanitize(line))
	}
	push := fmt.Sprintf("git -C %s push %s %s", text.Shell(c.top), c.remote, l.branch())
	if err := m.here(ctx, c, m.Calls("divisi merge "+l.Run)+" --local", push); err != nil {
		return err
	}
	if err := m.brings(ctx, c, l); err != nil {
		return err
	}
	tree, err := m.proven(ctx, c, l)
	if err == nil {
		err = m.unverified(ctx, l)
	}
	if err != nil {
		return err
	}
	return m.merge(ctx, c, l, tree)
}

// here asks before a merge into the default branch of a remote; push is what could be done instead.
func (m *Command) here(ctx context.Context, c *checkout, again, push string) error {
	if c.remote == "" {
		return nil
	}
	if push != "" {
		push = "\nOr push the branch, for a pull request: " + push
	}
	return m.ask(ctx, fmt.Sprintf("%s is the default branch of %s", c.branch, c.remote), again, push)
}

// brings asks before commits are merged that the run has not made.
func (m *Command) brings(ctx context.Context, c *checkout, l landed) error {
	out, err := c.git(ctx, "rev-list", "--count", l.Base, "^"+c.head)
	n, nerr := strconv.Atoi(out)
	if err = cmp.Or(err, nerr); err != nil || n == 0 {
		return err
	}
	return m.ask(ctx, fmt.Sprintf("run %s began with %s that %s does not have, and that come too", l.Run, text.Count(n, "commit"),
		c.branch), m.Calls("divisi merge "+l.Run)+" --local", "")
}

// ask asks whether to merge into the branch that is checked out.
func (m *Command) ask(ctx context.Context, what, again, instead string) error {
	if m.local || m.dryRun {
		return nil
	}
	if !m.Interactive() {
		return usage.Errorf("%s, and nothing was merged\nMerge here: %s%s", what, again, instead)
	}
	return m.Confirm(ctx, m.Out, display.Sanitize(what+". Merge into it here?"), "nothing was merged"+instead)
}

// unverified asks before what no gate has proven is merged.
func (m *Command) unverified(ctx context.Context, l landed) error {
	if l.Unverified == "" || m.unproven || m.dryRun {
		return nil
	}
	if !m.Interactive() {
		return usage.Errorf("run %s is unverified: %s; nothing was merged\nMerge all the same: %s --unproven", l.Run,
			l.Unverified, m.Calls("divisi merge "+l.Run))
	}
	return m.Confirm(ctx, m.Out, "Merge what no gate has proven?", "nothing was merged")
}

// merge runs git merge, and checks that it has made what was proven.
func (m *Command) merge(ctx context.Context, c *checkout, l landed, tree string) error {
	args := []string{"-C", c.top, "merge"}
	switch message := "Merge branch '" + l.branch() + "'"; {
	case m.squash:
		args = append(args, "--squash")
	case m.ffOnly:
		args = append(args, "--ff-only")
	case m.Interactive():
		args = append(args, "--edit", "-m", message)
	default:
		args = append(args, "-m", message)
	}
	args = append(args, l.Ref)
	if now, err := c.git(ctx, "rev-parse", "HEAD", l.Ref); err != nil || now != c.head+"\n"+l.Head {
		return errors.Join(err, cli.End(cli.CodeParked, "a branch has moved meanwhile, and nothing was merged"))
	}
	out := m.Out
	if m.JSON() {
		out = m.Err
	}
	fmt.Fprintln(out, text.CommandLine(append([]string{"git"}, args...)))
	if m.dryRun {
		return nil
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, m.Err
	failed := cmd.Run()
	what, undo := c.wrong(context.WithoutCancel(ctx), l, tree, m.squash)
	switch {
	case failed != nil:
		what = fmt.Sprintf("%v; %s", failed, cmp.Or(what, "nothing was merged"))
		fallthrough
	case what != "":
		if undo != "" {
			what += "\nUndo: " + undo
		}
		return cli.End(cli.CodeParked, display.SanitizeLines("git merge: "+what))
	}
	staged := ""
	if m.squash {
		staged = "The changes are staged: commit them with git commit\n"
	}
	return m.Print(cli.Say("%sUndo: %s\n", staged, undo), map[string]string{"run": l.Run, "branch": c.branch, "undo": undo})
}
