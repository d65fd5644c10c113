package main

import (
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
)

// newHelp replaces cobra's help command, for which an unknown name is no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: manage,
		Short:   "Help about any command",
		Long:    "Show the help of a command, the same as COMMAND --help." + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi help run\n  divisi help exit-codes",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				if does, tried := instead[args[0]]; tried {
					return usage.Errorf("unknown command %q\n%s\nSee: divisi --help", args[0], does)
				}
				return usage.Errorf("unknown command %q%s\nSee: divisi --help",
					strings.Join(args, " "), cli.Nearest(args[0], cli.Names(c.Root())))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// describeCompletion gives cobra's completion command examples and exit codes, and makes it refuse unknown shells.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Short = "Print a script that completes commands, flags and runs in a shell"
		c.Long = c.Short + "." + cli.Codes(cli.CodeOK, cli.CodeUsage)
		c.Example = "  source <(divisi completion bash)\n  divisi completion fish > ~/.config/fish/completions/divisi.fish"
		c.RunE = func(*cobra.Command, []string) error {
			return usage.Errorf("missing shell: divisi completion %s", strings.Join(cli.Names(c), "|"))
		}
		for _, shell := range c.Commands() {
			shell.Long = strings.TrimSpace(shell.Long) + cli.Codes(cli.CodeOK, cli.CodeUsage)
			shell.Example = "  divisi completion " + shell.Name()
		}
	}
}
