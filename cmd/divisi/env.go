package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// envs shows and removes the environments of a repository.
type envs struct {
	*globals
	repo        string
	verify, all bool
}

func newEnv(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "env",
		Short: "Show and remove what setup has left for later runs",
		Long: `Show and remove environments: what the setup of a repository has left in ignored paths, with its tools and the
stores of package managers.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi env show\n  divisi env rm 3f2a",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newEnvShow(g), newEnvRm(g))
	return c
}

func newEnvShow(g *globals) *cobra.Command {
	e := envs{globals: g}
	c := &cobra.Command{
		Use:   "show [ENVIRONMENT...]",
		Short: "List the environments of a repository, the last used first",
		Long: `List what setup has left in ignored paths, the tools and the stores of package managers, which later runs
use while what setup depends on is the same. With names: those, with what they were made of.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi env show\n  divisi env show --verify 3f2a",
		RunE:    func(c *cobra.Command, args []string) error { return e.show(c.Context(), args) },
	}
	c.Flags().StringVar(&e.repo, "repo", ".", "a directory of the repository")
	c.Flags().BoolVar(&e.verify, "verify", false, "read all files, and compare them with what was made")
	return c
}

func newEnvRm(g *globals) *cobra.Command {
	e := envs{globals: g}
	c := &cobra.Command{
		Use:   "rm [ENVIRONMENT...]",
		Short: "Remove environments that no run uses",
		Long: `Remove environments that no run uses: the next run whose setup needs one makes it again. What no run has
used for 30 days goes by itself.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi env rm 3f2a\n  divisi env rm --all",
		RunE:    func(c *cobra.Command, args []string) error { return e.remove(c.Context(), args) },
	}
	c.Flags().StringVar(&e.repo, "repo", ".", "a directory of the repository")
	c.Flags().BoolVar(&e.all, "all", false, "all of the repository")
	return c
}

// chosen are the environments that names begin.
func chosen(list []orchestrator.Environment, names []string) (found []orchestrator.Environment, err error) {
	for _, name := range names {
		match := slices.DeleteFunc(slices.Clone(list), func(l orchestrator.Environment) bool {
			return !strings.HasPrefix(l.ID, name)
		})
		switch {
		case name == "" || len(match) == 0:
			return nil, usagef("there is no environment %q of this repository\nSee: divisi env show", name)
		case len(match) > 1:
			return nil, usagef("%q could be %s or %s", name, match[0].ID, match[1].ID)
		}
		found = append(found, match[0])
	}
	return found, nil
}

func (e *envs) show(ctx context.Context, args []string) error {
	list, err := orchestrator.Environments(ctx, e.stateDir, e.repo, e.verify)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if list, err = chosen(list, args); err != nil {
			return err
		}
	}
	if len(list) == 0 && !e.json() {
		fmt.Fprintln(e.out, "There are no environments of this repository: setup makes one.")
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for i := range list {
		l := &list[i]
		if e.json() {
			err = encodeLine(e.out, l.Manifest)
		} else {
			err = e.row(w, l, len(args) > 0)
		}
		if err != nil {
			return fmt.Errorf("print environment %s: %w", l.ID, err)
		}
	}
	return w.Flush()
}

// row prints an environment in one line, or with all that is known of it.
func (e *envs) row(w *tabwriter.Writer, l *orchestrator.Environment, whole bool) error {
	state := "used " + l.Used.Format(time.DateOnly)
	switch {
	case l.Damage != "":
		state = "damaged"
	case l.InUse:
		state = "in use"
	}
	from := "from your checkout"
	if len(l.Command) > 0 {
		from = strings.Join(l.Command, " ")
	}
	size := doctor.Bytes(uint64(max(0, l.Bytes)))
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.ID[:12], size, text.Count(l.Entries, "file"), state,
		console.Sanitize(oneLine(from)))
	if !whole || err != nil {
		return err
	}
	lines := []string{"id " + l.ID, "digest " + l.Digest, "made " + l.Made.Format(time.DateTime), "in " + l.Dir}
	for _, place := range l.Lays {
		lines = append(lines, "lays "+place)
	}
	for _, note := range append(l.Notes, l.Damage) {
		if note != "" {
			lines = append(lines, "note: "+note)
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "  %s\n", console.Sanitize(oneLine(line))); err != nil {
			return err
		}
	}
	return nil
}

func (e *envs) remove(ctx context.Context, args []string) error {
	if len(args) == 0 && !e.all {
		return usagef("name the environments to remove, or give --all; see: divisi env show")
	}
	list, err := orchestrator.Environments(ctx, e.stateDir, e.repo, false)
	if err != nil {
		return err
	}
	if !e.all {
		if list, err = chosen(list, args); err != nil {
			return err
		}
	}
	for i := range list {
		if err := list[i].Remove(); err != nil {
			return err
		}
		if !e.json() {
			fmt.Fprintf(e.out, "removed %s\n", list[i].ID[:12])
		}
	}
	return nil
}
