package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newHelp replaces cobra's help command, for which an unknown name is no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: manage,
		Short:   "Help about any command",
		Long:    "Show the help of a command, the same as COMMAND --help." + codes(codeOK, codeUsage),
		Example: "  divisi help run\n  divisi help exit-codes",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				if does, tried := instead[args[0]]; tried {
					return usagef("unknown command %q\n%s\nSee: divisi --help", args[0], does)
				}
				return usagef("unknown command %q%s\nSee: divisi --help",
					strings.Join(args, " "), nearest(args[0], names(c.Root())))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// needsCommand is the action of a command that only has subcommands.
func needsCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %s%s\nSee: %[2]s --help", args[0], c.CommandPath(), nearest(args[0], names(c)))
	}
	return usagef("missing command: %s %s", c.CommandPath(), strings.Join(names(c), "|"))
}

func names(c *cobra.Command) []string {
	var out []string
	for _, sub := range c.Commands() {
		out = append(out, sub.Name())
	}
	return out
}

// describeCompletion gives cobra's completion command examples and exit codes, and makes it refuse unknown shells.
func describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Short = "Print a script that completes commands, flags and runs in a shell"
		c.Long = c.Short + "." + codes(codeOK, codeUsage)
		c.Example = "  source <(divisi completion bash)\n  divisi completion fish > ~/.config/fish/completions/divisi.fish"
		c.RunE = func(*cobra.Command, []string) error {
			return usagef("missing shell: divisi completion %s", strings.Join(names(c), "|"))
		}
		for _, shell := range c.Commands() {
			shell.Long = strings.TrimSpace(shell.Long) + codes(codeOK, codeUsage)
			shell.Example = "  divisi completion " + shell.Name()
		}
	}
}
