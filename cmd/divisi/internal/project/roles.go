package project

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/console/display"
)

// rolesCommand is the repository and the files of the commands about roles.
type rolesCommand struct {
	*Globals
	repo  string
	files []string
}

// NewRoles makes divisi roles.
func NewRoles(g *Globals) *cobra.Command {
	r := &rolesCommand{Globals: g}
	c := &cobra.Command{
		Use:   "roles [NAME]",
		Short: "List, inspect, validate and create roles",
		Long: `List the roles that a plan can name here, or show one. They come from Divisi itself, from .gemini/agents
and .claude/agents of the repository, from its .divisi/roles, and from --role files; later wins by
name. Every error of a role file is reported.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi roles\n  divisi roles generator\n  divisi roles --role my-role.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return r.show(c.Context(), args[0])
			}
			return r.list()
		},
	}
	c.PersistentFlags().StringVar(&r.repo, "repo", ".", "also list the roles of this repository")
	c.PersistentFlags().StringSliceVar(&r.files, "role", nil, "additional role file (repeatable)")
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List roles, and files that could not be loaded",
		Long: "List the roles with what runs them and where they come from, then the fields of imported files that\n" +
			"are ignored." + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi roles list\n  divisi roles list --output json",
		RunE:    func(*cobra.Command, []string) error { return r.list() },
	}, &cobra.Command{
		Use: "show NAME", Short: "Show a role as it takes effect",
		Long: "Show a role with every default filled in: its source, its model, tools and limits, its errors in this\n" +
			"repository, and its instruction." + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi roles show generator\n  divisi roles show reviewer --output json",
		RunE:    func(c *cobra.Command, args []string) error { return r.show(c.Context(), args[0]) },
	}, newRolesValidate(r), newRolesNew(r))
	return c
}

// load reads the roles and the project; all errors of all files are one error.
func (r *rolesCommand) load() (configs.RoleSet, error) {
	if err := cli.CheckDir(r.repo); err != nil {
		return configs.RoleSet{}, err
	}
	return configs.Roles(cli.Top(r.repo), r.files)
}

// project is the one that roles are used with.
func (r *rolesCommand) project(ctx context.Context) (spec.Project, error) {
	o := doctor.Options{Top: cli.Top(r.repo)}
	o.Store.Path, o.Store.Log = r.StateDir, r.Log
	s, err := o.Settings(ctx)
	if err != nil {
		return spec.Project{}, err
	}
	return s.Project, nil
}

func (r *rolesCommand) list() error {
	set, broken := r.load()
	if set.Roles == nil {
		return broken
	}
	names := slices.Sorted(maps.Keys(set.Roles))
	var values []any
	var rows [][]string
	for _, name := range names {
		role := set.Roles[name]
		values = append(values, role)
		rows = append(rows, []string{name, executors(&role), text.Short(display.Sanitize(role.Description), 80), role.Source})
	}
	if err := r.Print(cli.Say("%s", display.Table(rows)), values...); err != nil {
		return err
	}
	return errors.Join(r.notes(set, func(string) bool { return true }), broken)
}

// executors names what runs a role.
func executors(r *spec.Role) string {
	if list := r.Executors(); len(list) > 0 {
		return strings.Join(list, ",")
	}
	return "gates"
}

// notes prints which of the wanted files were not loaded, and which of their fields are ignored. In JSON the roles have theirs.
func (r *rolesCommand) notes(set configs.RoleSet, wanted func(file string) bool) error {
	note := func(file, why string, values ...any) error {
		if !wanted(file) {
			return nil
		}
		return r.Print(cli.Say("note: %s: %s\n", display.Sanitize(file), display.Sanitize(why)), values...)
	}
	for _, s := range set.Skipped {
		if err := note(s.File, "not loaded as a role: "+s.Why, map[string]configs.Skipped{"skipped": s}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.Roles)) {
		for _, notice := range set.Roles[name].Notices {
			if err := note(set.Roles[name].Source, notice); err != nil {
				return err
			}
		}
	}
	return nil
}
