package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// execute is main without the process: it returns the exit code.
func execute(args []string, in io.Reader, out, errOut io.Writer) int {
	g := &cli.Globals{In: in, Out: out, Err: errOut}
	root := newRoot(g)
	args, renamed := current(root, args)
	if renamed != "" {
		fmt.Fprintln(errOut, renamed)
	}
	root.SetArgs(args)
	ctx, stop := signals(context.Background())
	defer stop()
	err := unknownCommand(root, g.StoppedBy(ctx, root.ExecuteContext(ctx)))
	if err != nil { // of an unknown command no flag was read
		root.PersistentFlags().ParseErrorsAllowlist.UnknownFlags = true
		_ = root.PersistentFlags().Parse(args)
		_ = g.FindState()
	}
	cli.PrintError(g, err)
	return cli.ExitCode(err)
}

// signals makes the root context: the first SIGINT, SIGTERM or SIGHUP ends it, in order; the second ends the process at once.
// Under nohup a terminal that goes ends nothing.
func signals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	got := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(got, syscall.SIGHUP)
	}
	go func() {
		if interrupted(got, done, cancel) {
			os.Exit(cli.CodeStopped) //nolint:forbidigo // a second signal means now
		}
	}()
	return ctx, func() { signal.Stop(got); close(done); cancel(nil) }
}

// sameSignal is how long after the first signal another one counts as the same: timeout(1) and npm signal their child, and then
// the group that it is in.
const sameSignal = 500 * time.Millisecond

// interrupted cancels at the first signal, and reports whether a second one came before done.
func interrupted(got <-chan os.Signal, done <-chan struct{}, cancel context.CancelCauseFunc) bool {
	var first time.Time
	for {
		select {
		case s := <-got:
			switch {
			case first.IsZero():
				first = time.Now()
				cancel(causeOf(s))
			case time.Since(first) > sameSignal:
				return true
			}
		case <-done:
			return false
		}
	}
}

// causeOf is why a context ends at a signal: Ctrl-C is a person's.
func causeOf(s os.Signal) error {
	if s == os.Interrupt {
		return &cli.SignalError{Signal: s}
	}
	return orchestrator.Signalled(&cli.SignalError{Signal: s})
}

func newRoot(g *cli.Globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "divisi",
		Short: "Divisi runs one large refactor as many small, verified pieces in parallel.",
		Long: `Divisi runs one large refactor as many small, verified pieces in parallel.

A master agent, or a plan file, splits the goal into tasks. Reader, generator and tester
agents run them in work trees of their own; a landing queue puts proven patches on one
branch, divisi/<run>. Of all commands, divisi merge alone writes to your branch.`,
		SilenceErrors: true, SilenceUsage: true, DisableSuggestions: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if c.Root().PersistentFlags().Changed("all") && c.Name() != "help" {
				return usage.Errorf("--all is for help: %s --help --all", c.CommandPath())
			}
			return errors.Join(cli.NoneEmpty(c.Flags()), g.CheckOutput(c), g.Setup(), g.FindOn(c))
		},
	}
	root.SetIn(g.In)
	root.SetOut(g.Out)
	root.SetErr(g.Err)
	f := root.PersistentFlags()
	f.StringVar(&g.StateDir, "state-dir", cli.DefaultStateDir(), "where runs, caches and logs are kept")
	f.StringVar(&g.On, "on", "", "the runs of this server: a name of divisi server join, a context of nats, or a URL")
	f.StringVar(&g.Output, "output", "text", "text, or json: one event a line")
	f.StringVar(&g.LogLevel, "log-level", "warn", "trace, debug, info, warn or error; logs go to standard error")
	f.Bool("all", false, "with --help: show all commands, or all flags of one")
	root.Version = versionLine() // without a template of its own: those would keep every exported method of the program
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage.Errorf("%s\nSee: %s --help", cmp.Or(unknownFlag(c, err), flagError(err)), c.CommandPath())
	})
	addGroups(root, g)
	describeArgs(g, root)
	cli.CompleteFlags(root)
	shortenHelp(root)
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpFlag()
	describeCompletion(root)
	g.Called = cli.CalledBy(root)
	return root
}

// flagError words a flag's error for a person.
func flagError(err error) string {
	var value *pflag.InvalidValueError
	switch {
	case !errors.As(err, &value):
		return err.Error()
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("--%s %s is out of range", value.GetFlag().Name, value.GetValue())
	case errors.Is(err, strconv.ErrSyntax):
		return fmt.Sprintf("--%s must be a whole number, not %q", value.GetFlag().Name, value.GetValue())
	}
	return fmt.Sprintf("--%s: %v", value.GetFlag().Name, errors.Unwrap(err))
}

// describeArgs has every command take the arguments that its usage names, and complete words. A command with others below it
// checks its own. A command's help has the usual exit codes, unless it names its own.
func describeArgs(g *cli.Globals, c *cobra.Command) {
	for _, sub := range c.Commands() {
		sub.InitDefaultHelpFlag() // so that in --help server start no command is a value of the flag
		describeArgs(g, sub)
		g.CompleteArgs(sub)
		cli.CompleteFlags(sub)
		if !strings.Contains(sub.Long, "\n\nExit codes:") {
			sub.Long += cli.Codes(cli.CodeOK, cli.CodeUsage, cli.CodeMachine)
		}
		check := sub.Args
		if check == nil && !sub.HasSubCommands() {
			sub.Args = fits
		}
		if check == nil {
			continue
		}
		sub.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || !cli.IsCobraUsage(err) || strings.HasPrefix(err.Error(), "unknown command") && c.HasSubCommands() {
				return err
			}
			return takesNot(c, args)
		}
	}
}

// fits refuses more or fewer arguments than the usage of a command names: each word of it is one, in brackets one that can be
// left out, and before dots one or more.
func fits(c *cobra.Command, args []string) error {
	least, most, depth := 0, 0, 0
	for _, word := range strings.Fields(c.Use)[1:] {
		if word == "--" {
			continue
		}
		if most++; depth == 0 && word[0] != '[' {
			least++
		}
		if strings.HasSuffix(strings.TrimRight(word, "]"), "...") {
			most = len(args)
		}
		depth += strings.Count(word, "[") - strings.Count(word, "]")
	}
	if len(args) < least || len(args) > most {
		return takesNot(c, args)
	}
	return nil
}

// takesNot is the error of a command that is given too many or too few arguments.
func takesNot(c *cobra.Command, args []string) error {
	return usage.Errorf("%s takes %s, not %s\nSee: %[1]s --help", c.CommandPath(), takes(c), text.Count(len(args), "argument"))
}

// takes names a command's arguments.
func takes(c *cobra.Command) string {
	_, arguments, some := strings.Cut(strings.TrimSuffix(c.Use, " [flags]"), " ")
	if !some {
		return "no arguments"
	}
	return arguments
}
