package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/usage"
)

func newRolesNew(r *rolesCommand) *cobra.Command {
	var write bool
	var from string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a role file from a template",
		Long: `Print a role file: a commented template, or for the name of a built-in role that role's own text. With
--write it is written to .divisi/roles/NAME.md in the repository; an existing file is never overwritten.
With --from the role runs a coding agent, and NAME can be left out: keep the file outside the repository, and
name it with --role, because a role of a repository sees no key.`,
		Example: "  divisi roles new docwriter\n  divisi roles new tester --write\n" +
			"  divisi roles new --from claude > ../claude.md",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := cmp.Or(strings.Join(args, ""), from)
			switch {
			case name == "":
				return usage.Errorf("name the role: divisi roles new NAME")
			case from != "" && !slices.Contains(spec.CodingAgents(), from):
				return usage.Errorf("--from %q: must be %s", from, strings.Join(spec.CodingAgents(), ", "))
			case from != "" && write:
				return usage.Errorf("--from makes a role with a key, and a role of the repository sees none: "+
					"divisi roles new %s --from %s > ../%[1]s.md", name, from)
			}
			return r.begin(name, from, write)
		},
	}
	c.Flags().BoolVar(&write, "write", false, "write .divisi/roles/NAME.md instead of printing it")
	c.Flags().StringVar(&from, "from", "", "coding agent that the role runs: "+strings.Join(spec.CodingAgents(), ", "))
	return c
}

func (r *rolesCommand) begin(name, from string, write bool) error {
	text, err := configs.Starter(name)
	if from != "" {
		text, err = configs.AgentStarter(from, name)
	}
	if err != nil {
		return err
	}
	if !write {
		_, err = fmt.Fprint(r.Out, text)
		return err
	}
	if err := cli.CheckDir(r.repo); err != nil {
		return err
	}
	file := path.Join(configs.RolesDir, name+".md")
	err = cli.WriteNew(cli.Top(r.repo), file, text)
	if errors.Is(err, fs.ErrExist) {
		return usage.Errorf("%s already exists, and was not changed; see: divisi roles show %s", file, name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.Out, "wrote %s; edit it, check it with divisi roles validate, and commit it\n",
		path.Join(cli.Top(r.repo), file))
	return err
}
