package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/spf13/cobra"

	"divisi/configs"
)

func newRolesNew(r *rolesCommand) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a role file from a template",
		Long: `Print a role file: a commented template, or for the name of a built-in role that role's own text. With
--write it is written to .divisi/roles/NAME.md in the repository; an existing file is never overwritten.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi roles new docwriter\n  divisi roles new tester --write",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return r.begin(args[0], write) },
	}
	c.Flags().BoolVar(&write, "write", false, "write .divisi/roles/NAME.md instead of printing it")
	return c
}

func (r *rolesCommand) begin(name string, write bool) (err error) {
	text, err := configs.Starter(name)
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
	root, err := os.OpenRoot(top(r.repo)) // a link in the repository leads nowhere else
	if err != nil {
		return fmt.Errorf("open the repository: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file := path.Join(configs.RolesDir, name+".md")
	if err := root.MkdirAll(configs.RolesDir, 0o755); err != nil {
		return fmt.Errorf("make the directory of roles: %w", err)
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already, and was not changed; see: divisi roles show %s", file, name)
	}
	if err != nil {
		return fmt.Errorf("write a role: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(fmt.Errorf("write role %s: %w", name, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write role %s: %w", name, err)
	}
	_, err = fmt.Fprintf(r.out, "wrote %s; edit it, check it with divisi roles validate, and commit it\n",
		path.Join(top(r.repo), file))
	return err
}
