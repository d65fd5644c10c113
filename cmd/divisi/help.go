package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
)

// weekOne are the commands on the first screen of help.
var weekOne = []string{
	"demo", "init", "doctor", "each", "run", "merge", "runs", "show", "watch", "dashboard", "decide", "cancel", "resume", "retry",
}

// shortenHelp has the help of the program show the first screen alone, unless --all is given.
func shortenHelp(root *cobra.Command) {
	whole := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != root || c.PersistentFlags().Changed("all") {
			whole(c, args)
			return
		}
		fmt.Fprintln(c.OutOrStdout(), c.Short)
		for _, group := range c.Groups() {
			title := "\n" + group.Title + "\n"
			for _, sub := range c.Commands() {
				if sub.GroupID == group.ID && slices.Contains(weekOne, sub.Name()) {
					fmt.Fprintf(c.OutOrStdout(), "%s  %-10s %s\n", title, sub.Name(), sub.Short)
					title = ""
				}
			}
		}
		fmt.Fprintln(c.OutOrStdout(), "\nAll commands: divisi help --all. One command: divisi help COMMAND.")
	})
}

// newHelp replaces cobra's help command, for which an unknown name is no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: manage,
		Short:   "Help about any command",
		Long: "Show the help of a command, the same as COMMAND --help; with --all all commands, or all flags of one." +
			cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi help --all\n  divisi help run\n  divisi help exit-codes",
		RunE: func(c *cobra.Command, args []string) error {
			args, _ = current(c.Root(), args)
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
