package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/configs"
	"divisi/internal/spec"
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
				return usagef("name the role: divisi roles new NAME")
			case from != "" && !slices.Contains(spec.CodingAgents(), from):
				return usagef("--from %q: must be %s", from, strings.Join(spec.CodingAgents(), ", "))
			case from != "" && write:
				return usagef("--from makes a role with a key, and a role of the repository sees none: "+
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
		_, err = fmt.Fprint(r.out, text)
		return err
	}
	if err := checkDir(r.repo); err != nil {
		return err
	}
	file := path.Join(configs.RolesDir, name+".md")
	err = writeNew(top(r.repo), file, text)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s already exists, and was not changed; see: divisi roles show %s", file, name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "wrote %s; edit it, check it with divisi roles validate, and commit it\n",
		path.Join(top(r.repo), file))
	return err
}

// writeNew writes a file that is not there into a checkout. The error wraps fs.ErrExist where it is there.
func writeNew(top, file, text string) error { return writeOver(top, file, text, false) }

// writeOver writes a file into a checkout; with over also one that is there.
func writeOver(top, file, text string, over bool) (err error) {
	root, err := os.OpenRoot(top) // a link in the repository leads nowhere else
	if err != nil {
		return fmt.Errorf("open the repository: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", file, err)
	}
	how := os.O_EXCL
	if over {
		how = os.O_TRUNC
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return fmt.Errorf("make %s: %w", file, err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", file, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
