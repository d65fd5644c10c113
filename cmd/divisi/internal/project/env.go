package project

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/depot"
)

// envs shows and removes the environments of a repository.
type envs struct {
	*Globals
	repo        string
	verify, all bool
}

// NewEnv makes divisi env.
func NewEnv(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "env",
		Short: "Show and remove environments of setup",
		Long: `Show and remove environments: ignored paths that the setup of a repository filled, with its tools and the
stores of package managers.`,
		Example: "  divisi env show\n  divisi env rm 3f2a",
		RunE:    cli.NeedsCommand,
	}
	c.AddCommand(newEnvShow(g), newEnvRm(g))
	return c
}

func newEnvShow(g *Globals) *cobra.Command {
	e := envs{Globals: g}
	c := &cobra.Command{
		Use:   "show [ENVIRONMENT...]",
		Short: "List the environments of a repository, the last used first",
		Long: `List what setup has left in ignored paths, the tools and the stores of package managers, which later runs
use while what setup depends on is the same. With names: those, with what they were made of.`,
		Example: "  divisi env show\n  divisi env show --verify 3f2a",
		RunE:    func(c *cobra.Command, args []string) error { return e.show(c.Context(), args) },
	}
	c.Flags().StringVar(&e.repo, "repo", ".", "a directory of the repository")
	c.Flags().BoolVar(&e.verify, "verify", false, "read all files, and compare them with the manifest")
	return c
}

func newEnvRm(g *Globals) *cobra.Command {
	e := envs{Globals: g}
	c := &cobra.Command{
		Use:   "rm [ENVIRONMENT...]",
		Short: "Remove environments that no run uses",
		Long: `Remove environments that no run uses: the next run whose setup needs one makes it again. What no run has
used for 30 days goes by itself.`,
		Example: "  divisi env rm 3f2a\n  divisi env rm --all",
		RunE:    func(c *cobra.Command, args []string) error { return e.remove(c.Context(), args) },
	}
	c.Flags().StringVar(&e.repo, "repo", ".", "a directory of the repository")
	c.Flags().BoolVar(&e.all, "all", false, "all of the repository")
	return c
}

// chosen are the environments that names begin.
func chosen(list []depot.Environment, names []string) (found []depot.Environment, err error) {
	for _, name := range names {
		match := slices.DeleteFunc(slices.Clone(list), func(l depot.Environment) bool {
			return !strings.HasPrefix(l.ID, name)
		})
		switch {
		case name == "" || len(match) == 0:
			return nil, usage.Errorf("there is no environment %q of this repository\nSee: divisi env show", name)
		case len(match) > 1:
			return nil, usage.Errorf("%q could be %s or %s", name, match[0].ID, match[1].ID)
		}
		found = append(found, match[0])
	}
	return found, nil
}

func (e *envs) show(ctx context.Context, args []string) error {
	list, err := depot.Environments(ctx, e.StateDir, e.repo, e.verify)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if list, err = chosen(list, args); err != nil {
			return err
		}
	}
	values := make([]any, len(list))
	for i := range list {
		values[i] = list[i].Manifest
	}
	return e.Print(func(b *strings.Builder) error {
		if len(list) == 0 {
			b.WriteString("There are no environments of this repository: setup makes one.\n")
		}
		var rows [][]string
		for i := range list {
			rows = append(rows, environmentCells(&list[i]))
		}
		if len(args) == 0 {
			b.WriteString(display.Table(rows))
			return nil
		}
		for i := range list {
			b.WriteString(display.Table(rows[i:i+1]) + environmentText(&list[i]))
		}
		return nil
	}, values...)
}

// environmentCells are an environment in a row.
func environmentCells(l *depot.Environment) []string {
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
	return []string{l.ID[:12], doctor.Bytes(uint64(max(0, l.Bytes))), text.Count(l.Entries, "file"), state, from}
}

// environmentText is all that is known of an environment beyond its row.
func environmentText(l *depot.Environment) string {
	lines := []string{"id " + l.ID, "digest " + l.Digest, "made " + l.Made.Format(time.DateTime), "in " + l.Dir}
	for _, place := range l.Lays {
		lines = append(lines, "lays "+place)
	}
	for _, note := range append(l.Notes, l.Damage) {
		if note != "" {
			lines = append(lines, "note: "+note)
		}
	}
	for i := range lines {
		lines[i] = "  " + display.Sanitize(lines[i]) + "\n"
	}
	return strings.Join(lines, "")
}

func (e *envs) remove(ctx context.Context, args []string) error {
	if len(args) == 0 && !e.all {
		return usage.Errorf("name the environments to remove, or give --all; see: divisi env show")
	}
	list, err := depot.Environments(ctx, e.StateDir, e.repo, false)
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
		if err := e.Print(cli.Say("removed %s\n", list[i].ID[:12])); err != nil {
			return err
		}
	}
	return nil
}
