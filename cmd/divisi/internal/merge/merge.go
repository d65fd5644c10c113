// Package merge has the command that takes what a run has landed into the branch of a person: with that person's own git,
// settings and hooks, and on their word alone. Its input is a run that was published, its output what git did.
package merge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

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

// Of merges into the checkout that a directory is in, with no more flags.
func Of(g *runs.Globals, repo string) *Command { return &Command{Globals: g, repo: repo} }

// NewMerge makes divisi merge.
func NewMerge(g *runs.Globals) *cobra.Command {
	m := &Command{Globals: g}
	c := &cobra.Command{
		Use:   "merge [RUN]",
		Short: "Merge what a run has landed into the branch that is checked out",
		Long: `Merge the branch of a run, the newest one without RUN, into the branch that is checked out: by the git merge
that is printed first, with your own git, settings, signing and hooks. The checkout must be clean. Where
your branch has other commits than the run began with, the merged files are proven by the gates first.
On the default branch of a remote it asks first. The last line tells how to undo it.` +
			cli.Codes(cli.CodeOK, cli.CodeParked, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi merge\n  divisi merge 1f2e --squash\n  divisi merge --dry-run",
		RunE:    func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&m.repo, "repo", ".", "the checkout")
	f.BoolVar(&m.squash, "squash", false, "as git merge --squash does: stage the changes, and leave the commit to you")
	f.BoolVar(&m.ffOnly, "ff-only", false, "only where your branch has no other commits than the run began with")
	f.BoolVar(&m.unproven, "unproven", false, "where your branch has other commits, do not run the gates on the merged files")
	f.BoolVar(&m.local, "local", false, "on the default branch of a remote: merge here, without prompting")
	f.BoolVar(&m.dryRun, "dry-run", false, "print the git merge, and change nothing")
	c.MarkFlagsMutuallyExclusive("squash", "ff-only")
	return c
}

// landed is what a run has published.
type landed struct {
	Run        string `json:"run"`
	Repo       string `json:"repo"`
	Base       string `json:"base"`
	Head       string `json:"head"`
	Ref        string `json:"ref"`
	State      string `json:"state"`
	Unverified string `json:"unverified"`
}

func (m *Command) run(ctx context.Context, args []string) error {
	if err := cli.CheckDir(m.repo); err != nil {
		return err
	}
	id, err := m.FindRun(ctx, args)
	if err == nil && len(args) == 0 {
		id, err = m.newest(ctx, id)
	}
	if err != nil {
		return err
	}
	return m.Merge(ctx, id)
}

// newest is the newest run that is more than a trial of setup and gates; otherwise the one that is given.
func (m *Command) newest(ctx context.Context, otherwise string) (string, error) {
	ids, err := m.Runs().List(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		s, err := m.Runs().Summary(m.Log.WithContext(ctx), id)
		var l landed
		if err == nil {
			err = json.Unmarshal(s.Report, &l)
		}
		if err != nil {
			return "", fmt.Errorf("read the report of run %s: %w", id, err)
		}
		if l.State != "done" || l.Head != l.Base {
			return id, nil
		}
	}
	return otherwise, nil
}

// Merge merges what a run has landed.
func (m *Command) Merge(ctx context.Context, id string) error {
	c, err := open(ctx, m.repo)
	if err != nil {
		return err
	}
	l, err := m.landed(ctx, c, id)
	if err != nil {
		return err
	}
	if c.has(ctx, "merge-base", "--is-ancestor", l.Head, c.head) {
		return m.Print(cli.Say("%s has what run %s landed already\n", c.branch, id),
			map[string]string{"run": id, "branch": c.branch})
	}
	if err := m.here(ctx, c, l); err != nil {
		return err
	}
	if l.Unverified != "" {
		m.Aside(display.Sanitize("unverified: " + l.Unverified))
	}
	if err := m.proven(ctx, c, l); err != nil {
		return err
	}
	return m.merge(ctx, c, l)
}

// landed finds what a run has published in the repository of a checkout.
func (m *Command) landed(ctx context.Context, c *checkout, id string) (l landed, err error) {
	s, err := m.Runs().Summary(m.Log.WithContext(ctx), id)
	if err != nil {
		return l, err
	}
	if err = json.Unmarshal(s.Report, &l); err != nil {
		return l, fmt.Errorf("read the report of run %s: %w", id, err)
	}
	switch at, err := c.git(ctx, "rev-parse", "--verify", "--quiet", l.Ref+"^{commit}"); {
	case l.Ref == "" && l.Head == l.Base:
		return l, usage.Errorf("run %s has landed nothing", id)
	case l.Ref == "":
		return l, usage.Errorf("run %s has not ended; continue it with: %s\nOr take what it has landed: %s", id,
			m.Calls("divisi resume "+id), m.Calls("divisi publish "+id))
	case err != nil:
		return l, usage.Errorf("%s has no branch %s: the run was of %s", c.top, l.branch(), l.Repo)
	case at != l.Head:
		return l, usage.Errorf("the branch %s has other commits than run %s made: merge it by hand, with: git merge %[1]s",
			l.branch(), id)
	}
	return l, nil
}

func (l *landed) branch() string { return strings.TrimPrefix(l.Ref, "refs/heads/") }

// here asks before a merge into the default branch of a remote.
func (m *Command) here(ctx context.Context, c *checkout, l landed) error {
	if c.remote == "" || m.local || m.dryRun {
		return nil
	}
	push := fmt.Sprintf("git -C %s push %s %s", text.Shell(c.top), c.remote, l.branch())
	what := fmt.Sprintf("%s is the default branch of %s", c.branch, c.remote)
	if !m.Interactive() {
		return usage.Errorf("%s, and nothing was merged\nMerge here: %s --local\nOr push the branch, for a pull request: %s",
			what, m.Calls("divisi merge "+l.Run), push)
	}
	return m.Confirm(ctx, m.Out, display.Sanitize(what+". Merge into it here?"),
		"nothing was merged\nTo push the branch, for a pull request: "+push)
}

// proven proves the merged files, where they are not those that the run has proven.
func (m *Command) proven(ctx context.Context, c *checkout, l landed) error {
	if c.has(ctx, "merge-base", "--is-ancestor", c.head, l.Head) {
		return nil
	}
	if m.ffOnly {
		return usage.Errorf("%s has other commits than run %s began with: merge without --ff-only", c.branch, l.Run)
	}
	commit, err := c.merged(ctx, l.Head)
	if errors.Is(err, errConflict) {
		return cli.End(cli.CodeParked, fmt.Sprintf("%v; nothing was merged\nMerge by hand: git -C %s merge %s", err,
			text.Shell(c.top), l.branch()))
	}
	if err != nil || m.unproven || m.dryRun {
		return err
	}
	m.Aside(display.Sanitize(fmt.Sprintf("%s has other commits than run %s began with: the gates run on the merged files",
		c.branch, l.Run)))
	fresh, blind, err := m.red(ctx, c.top, commit)
	why := "the merged files fail where " + c.branch + " does not: "
	switch {
	case err != nil:
		return err
	case len(blind) > 0:
		fresh, why = blind, "gates prove nothing on the merged files: "
	case len(fresh) > 0:
		before, _, err := m.red(ctx, c.top, c.head)
		if err != nil {
			return err
		}
		fresh = slices.DeleteFunc(fresh, func(f string) bool { return slices.Contains(before, f) })
	}
	if len(fresh) == 0 {
		return nil
	}
	return cli.End(cli.CodeParked, fmt.Sprintf("%s%s; nothing was merged\nMerge all the same: %s --unproven", why,
		display.Sanitize(text.Some(fresh, maxNamed)), m.Calls("divisi merge "+l.Run)))
}

// merge runs git merge.
func (m *Command) merge(ctx context.Context, c *checkout, l landed) error {
	args := []string{"-C", c.top, "merge"}
	switch {
	case m.squash:
		args = append(args, "--squash")
	case m.ffOnly:
		args = append(args, "--ff-only")
	case !m.Interactive():
		args = append(args, "--no-edit")
	}
	args = append(args, l.branch())
	out := m.Out
	if m.JSON() {
		out = m.Err
	}
	fmt.Fprintln(out, text.CommandLine(append([]string{"git"}, args...)))
	if m.dryRun {
		return nil
	}
	if now, err := c.git(ctx, "rev-parse", "HEAD", l.Ref); err != nil || now != c.head+"\n"+l.Head {
		return errors.Join(err, cli.End(cli.CodeParked, "a branch has moved meanwhile, and nothing was merged"))
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, m.Err
	if err := cmd.Run(); err != nil {
		after := "nothing was merged"
		if c.has(ctx, "rev-parse", "--verify", "--quiet", "MERGE_HEAD") {
			after = "the merge has begun and is not finished: finish it with git commit, or take it back with: git -C " +
				text.Shell(c.top) + " merge --abort"
		}
		return cli.End(cli.CodeParked, fmt.Sprintf("git merge: %v; %s", err, after))
	}
	undo, staged := "git -C "+text.Shell(c.top)+" reset --keep "+c.head, ""
	if m.squash {
		undo, staged = "git -C "+text.Shell(c.top)+" reset --merge", "The changes are staged: commit them with git commit\n"
	}
	return m.Print(cli.Say("%sUndo: %s\n", staged, undo), map[string]string{"run": l.Run, "branch": c.branch, "undo": undo})
}
