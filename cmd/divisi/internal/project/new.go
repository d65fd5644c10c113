package project

import (
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
)

// NewNew makes divisi new.
func NewNew(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "new",
		Short: "Create files from a template: a codemod",
		Long: `Create the files of a codemod: program, plan, role, and a script that tries it on a few files. A role for
a model: divisi roles new.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi new codemod readfile\n  divisi roles new docwriter",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCodemod(g))
	return c
}
