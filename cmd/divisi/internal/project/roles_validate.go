package project

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/configs"
	"divisi/orchestrator/console/display"
)

func newRolesValidate(r *rolesCommand) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check role files, and report every error",
		Long: `Check the named files, or without one every role of the repository, and report every error with its line and
column. A file in .claude/agents or .gemini/agents is read as that program's agent: what of it is not
honoured is noted, and is no error.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi roles validate\n  divisi roles validate .divisi/roles/docwriter.md",
		RunE:    func(c *cobra.Command, args []string) error { return r.validate(c.Context(), args) },
	}
}

func (r *rolesCommand) validate(ctx context.Context, files []string) error {
	if err := cli.CheckDir(r.repo); err != nil {
		return err
	}
	set, err := configs.Roles(cli.Top(r.repo), append(slices.Clone(r.files), files...))
	wanted := func(file string) bool { return len(files) == 0 || slices.Contains(files, file) }
	faults := append(faultsOf(errors.Join(set.Replaced...), wanted), faultsOf(err, wanted)...)
	project, err := r.project(ctx)
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	for _, name := range slices.Sorted(maps.Keys(set.Roles)) {
		role := set.Roles[name]
		if role.Source == configs.BuiltIn || !wanted(role.Source) || refused(faults, role.Source) {
			continue
		}
		if misfit := set.Misfit(name, &project); misfit != nil {
			faults = append(faults, misfit)
			continue
		}
		role.Notices = slices.Concat(role.Notices, doctor.RoleNotes(&project, &role))
		set.Roles[name] = role
		err = r.Print(cli.Say("ok: %s: role %s\n", display.Sanitize(role.Source), name),
			map[string]any{"file": role.Source, "role": name, "notices": role.Notices})
		if err != nil {
			return err
		}
	}
	return errors.Join(append(faults, r.notes(set, wanted))...)
}

// faultsOf takes the errors of the wanted files out of all; what is about no file is always wanted.
func faultsOf(err error, wanted func(file string) bool) []error {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	return slices.DeleteFunc(list, func(err error) bool {
		var file *configs.FileError
		return err == nil || errors.As(err, &file) && !wanted(file.File)
	})
}

func refused(faults []error, file string) bool {
	return slices.ContainsFunc(faults, func(err error) bool {
		var wrong *configs.FileError
		return errors.As(err, &wrong) && wrong.File == file
	})
}
