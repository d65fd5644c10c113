package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/internal/text"
	"divisi/orchestrator"
)

// globals holds the shared state of every command: the streams it was started with, and the persistent flags.
type globals struct {
	in       io.Reader
	out, err io.Writer
	stateDir string
	// on is --on, at the server that it names.
	on       string
	at       orchestrator.Server
	output   string
	logLevel string
	log      zerolog.Logger
	// logTo is where log lines go: standard error, or above the live view while there is one on the same terminal.
	logTo redirect
	// notes is where text that a person should read at once goes: as logTo.
	notes redirect
	// wait has a run without a terminal wait for the answers that a person gives elsewhere.
	wait bool
	// bell and notify are flags; notices runs the command of --notify, nil for none.
	bell    bool
	notify  string
	notices *notices
	// called matches the beginning of a command in a text.
	called *regexp.Regexp
}

// execute is main without the process: it returns the exit code.
func execute(args []string, in io.Reader, out, errOut io.Writer) int {
	g := &globals{in: in, out: out, err: errOut}
	root := newRoot(g)
	root.SetArgs(args)
	ctx, stop := signals(context.Background())
	defer stop()
	err := unknownCommand(root, g.stoppedBy(ctx, root.ExecuteContext(ctx)))
	if err != nil { // of an unknown command no flag was read
		root.PersistentFlags().ParseErrorsAllowlist.UnknownFlags = true
		_ = root.PersistentFlags().Parse(args)
		_ = g.findState()
	}
	printError(g, err)
	return exitCode(err)
}

// stoppedBy returns the signal instead of the error that it caused: an interrupted command did not fail.
func (g *globals) stoppedBy(ctx context.Context, err error) error {
	var signalled *signalError
	if err == nil || errors.As(err, new(*endError)) || !errors.As(context.Cause(ctx), &signalled) {
		return err
	}
	g.log.Info().Err(err).Msg("a signal interrupted this")
	return signalled
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
			os.Exit(codeStopped) //nolint:forbidigo // a second signal means now
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
		return &signalError{s}
	}
	return orchestrator.Signalled(&signalError{s})
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "divisi",
		Short: "Run a large refactor as many small, verified pieces in parallel",
		Long: `Divisi runs one large refactor as many small, verified pieces in parallel.

A master agent, or a plan file, splits the goal into tasks. Reader, generator and tester
agents run them in work trees of their own; a landing queue puts proven patches on one
branch, divisi/<run>. Your checkout and your other branches are never touched.

Start with:  divisi demo`,
		SilenceErrors: true, SilenceUsage: true, DisableSuggestions: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return errors.Join(noneEmpty(c.Flags()), g.checkOutput(c), g.setup(), g.findOn(c))
		},
	}
	root.SetIn(g.in)
	root.SetOut(g.out)
	root.SetErr(g.err)
	f := root.PersistentFlags()
	f.StringVar(&g.stateDir, "state-dir", defaultStateDir(), "where runs, caches and logs are kept")
	f.StringVar(&g.on, "on", "", "the runs of this server: a name of divisi join, a context of nats, or a URL")
	f.StringVar(&g.output, "output", "text", "text, or json: one event a line")
	f.StringVar(&g.logLevel, "log-level", "warn", "trace, debug, info, warn or error; logs go to standard error")
	root.Version = versionLine() // without a template of its own: those would keep every exported method of the program
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s\nSee: %s --help", cmp.Or(unknownFlag(c, err), flagError(err)), c.CommandPath())
	})
	g.addGroups(root)
	g.describeArgs(root)
	completeFlags(root)
	root.SetHelpCommand(newHelp())
	describeCompletion(root)
	g.called = calledBy(root)
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
func (g *globals) describeArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		g.describeArgs(sub)
		g.completeArgs(sub)
		completeFlags(sub)
		if !strings.Contains(sub.Long, "\n\nExit codes:") {
			sub.Long += codes(codeOK, codeUsage, codeMachine)
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
			if err == nil || !isCobraUsage(err) || strings.HasPrefix(err.Error(), "unknown command") && c.HasSubCommands() {
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
	return usagef("%s takes %s, not %s\nSee: %[1]s --help", c.CommandPath(), takes(c), text.Count(len(args), "argument"))
}

// takes names a command's arguments.
func takes(c *cobra.Command) string {
	_, arguments, some := strings.Cut(strings.TrimSuffix(c.Use, " [flags]"), " ")
	if !some {
		return "no arguments"
	}
	return arguments
}

// noneEmpty refuses a flag that is given and empty: most likely a variable that is not set. Without its recording a replay
// would call the service.
func noneEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = usagef("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// markdown is an --output that a command has which is annotated with it.
const (
	outputs  = "outputs"
	markdown = "markdown"
)

func (g *globals) checkOutput(c *cobra.Command) error {
	if g.output == "text" || g.output == "json" || g.output == c.Annotations[outputs] {
		return nil
	}
	if also := c.Annotations[outputs]; also != "" {
		return usagef("invalid --output %q: must be text, json or %s", g.output, also)
	}
	return usagef("invalid --output %q: must be text or json", g.output)
}

func (g *globals) setup() error {
	level, err := zerolog.ParseLevel(g.logLevel)
	if err != nil || level == zerolog.NoLevel {
		return usagef("invalid --log-level %q: must be trace, debug, info, warn or error", g.logLevel)
	}
	w := g.err
	if tty := isTerminal(g.err); tty || !g.json() {
		w = zerolog.ConsoleWriter{Out: g.err, TimeFormat: "15:04:05", NoColor: !tty || !colourful()}
	}
	g.logTo.set(w)
	g.notes.set(g.err)
	g.log = zerolog.New(&g.logTo).Level(level).With().Timestamp().Logger()
	return g.findState()
}

// findState makes the state directory's path absolute.
func (g *globals) findState() error {
	if g.stateDir == "" {
		return usagef("no state directory: HOME and XDG_STATE_HOME are not set; name one with --state-dir")
	}
	dir, err := filepath.Abs(g.stateDir)
	if err != nil {
		return usagef("--state-dir %q: %v", g.stateDir, err)
	}
	g.stateDir = dir
	return nil
}

// runs are the runs of the state directory, or of the server of --on.
func (g *globals) runs() orchestrator.Runs {
	if g.at.URL != "" {
		return orchestrator.On(g.at)
	}
	return orchestrator.Local(g.stateDir)
}

// place is where the runs are, in words.
func (g *globals) place() string {
	if g.at.URL != "" {
		return "on " + g.at.String()
	}
	return "in " + g.stateDir
}

func (g *globals) json() bool { return g.output == "json" }

// interactive reports whether a person is at a terminal who can be asked.
func (g *globals) interactive() bool { return isTerminal(g.in) && !g.json() }

// defaultStateDir is empty where the user has no home. A directory that others can write could hold their trust decisions.
func defaultStateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "divisi")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "divisi")
}

// codesOfRuns are codes of a command that conducts a run.
func codesOfRuns() string { return codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine) }

// codes is the part of every command's help that lists its exit codes.
func codes(list ...int) string {
	words := map[int]string{
		codeOK:      "0  success: each task landed, or was a shard with nothing to change; no new gate failures",
		codeParked:  "1  the run ended with parked tasks, gates redder than the baseline, unverified, or less than was asked for",
		codeUsage:   "2  wrong usage or bad input",
		codeStopped: "3  stopped by a person, a signal or the budget (resume continues it), or cancelled",
		codeMachine: "4  the machine or a service failed",
	}
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	for _, c := range list {
		b.WriteString("\n  " + words[c])
	}
	return b.String()
}
