// Package cli is what every command of the program has: streams and flags, output as text or JSON, exit codes, how a run is named
// and found, completion and notices. It knows no command.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/internal/usage"
	"divisi/orchestrator"
)

// Globals holds the shared state of every command: the streams it was started with, and the persistent flags.
type Globals struct {
	In       io.Reader
	Out, Err io.Writer
	StateDir string
	// On is --on, at the server that it names.
	On       string
	At       orchestrator.Server
	Output   string
	LogLevel string
	Log      zerolog.Logger
	// LogTo is where log lines go: standard error, or above the live view while there is one on the same terminal.
	LogTo redirect
	// Notes is where text that a person should read at once goes: as logTo.
	Notes redirect
	// Wait has a run without a terminal wait for the answers that a person gives elsewhere.
	Wait bool
	// bell and notify are flags; notices runs the command of --notify, nil for none.
	bell    bool
	Notify  string
	notices *notices
	// Called matches the beginning of a command in a text.
	Called *regexp.Regexp
}

// StoppedBy returns the signal instead of the error that it caused: an interrupted command did not fail.
func (g *Globals) StoppedBy(ctx context.Context, err error) error {
	var signalled *SignalError
	if err == nil || errors.As(err, new(*EndError)) || !errors.As(context.Cause(ctx), &signalled) {
		return err
	}
	g.Log.Info().Err(err).Msg("a signal interrupted this")
	return signalled
}

// NoneEmpty refuses a flag that is given and empty: most likely a variable that is not set. Without its recording a replay
// would call the service.
func NoneEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = usage.Errorf("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// Outputs annotates a command with the further words of --output that it has, such as Markdown and Plan, with a space between.
const (
	Outputs  = "outputs"
	Markdown = "markdown"
	Plan     = "plan"
)

// CheckOutput refuses an --output that a command does not have.
func (g *Globals) CheckOutput(c *cobra.Command) error {
	words := outputs(c)
	if slices.Contains(words, g.Output) {
		return nil
	}
	last := len(words) - 1
	return usage.Errorf("invalid --output %q: must be %s or %s", g.Output, strings.Join(words[:last], ", "), words[last])
}

// outputs are the words of --output that a command has.
func outputs(c *cobra.Command) []string {
	return append([]string{"text", "json"}, strings.Fields(c.Annotations[Outputs])...)
}

// Setup makes the log, and the path of the state directory.
func (g *Globals) Setup() error {
	level, err := zerolog.ParseLevel(g.LogLevel)
	if err != nil || level == zerolog.NoLevel {
		return usage.Errorf("invalid --log-level %q: must be trace, debug, info, warn or error", g.LogLevel)
	}
	w := g.Err
	if tty := IsTerminal(g.Err); tty || !g.JSON() {
		w = zerolog.ConsoleWriter{Out: g.Err, TimeFormat: "15:04:05", NoColor: !tty || !Colourful()}
	}
	g.LogTo.Set(w)
	g.Notes.Set(g.Err)
	g.Log = zerolog.New(&g.LogTo).Level(level).With().Timestamp().Logger()
	return g.FindState()
}

// FindState makes the state directory's path absolute.
func (g *Globals) FindState() error {
	if g.StateDir == "" {
		return usage.Errorf("no state directory: HOME and XDG_STATE_HOME are not set; name one with --state-dir")
	}
	dir, err := filepath.Abs(g.StateDir)
	if err != nil {
		return usage.Errorf("--state-dir %q: %v", g.StateDir, err)
	}
	g.StateDir = dir
	return nil
}

// Runs are the runs of the state directory, or of the server of --on.
func (g *Globals) Runs() orchestrator.Runs {
	if g.At.URL != "" {
		return orchestrator.On(g.At)
	}
	return orchestrator.Local(g.StateDir)
}

// Place is where the runs are, in words.
func (g *Globals) Place() string {
	if g.At.URL != "" {
		return "on " + g.At.String()
	}
	return "in " + g.StateDir
}

// JSON reports whether programs read the output.
func (g *Globals) JSON() bool { return g.Output == "json" }

// Interactive reports whether a person is at a terminal who can be asked.
func (g *Globals) Interactive() bool { return IsTerminal(g.In) && !g.JSON() }

// ByHand reports whether a person at a terminal sees what the command asks and answers there.
func (g *Globals) ByHand() bool { return g.Interactive() && IsTerminal(g.Out) }

// DefaultStateDir is empty where the user has no home. A directory that others can write could hold their trust decisions.
func DefaultStateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "divisi")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "divisi")
}

// CodesOfRuns are codes of a command that conducts a run.
func CodesOfRuns() string { return Codes(CodeOK, CodeParked, CodeUsage, CodeStopped, CodeMachine) }

// Codes is the part of every command's help that lists its exit codes.
func Codes(list ...int) string {
	words := map[int]string{
		CodeOK:      "0  success: each task landed, or was a shard with nothing to change; no new gate failures",
		CodeParked:  "1  the run ended with parked tasks, gates redder than the baseline, unverified, or less than was asked for",
		CodeUsage:   "2  wrong usage or bad input",
		CodeStopped: "3  stopped by a person, a signal or the budget (resume continues it), or cancelled",
		CodeMachine: "4  the machine or a service failed",
	}
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	for _, c := range list {
		b.WriteString("\n  " + words[c])
	}
	return b.String()
}
