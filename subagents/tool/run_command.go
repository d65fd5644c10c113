package tool

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed run_command.md
var runCommandText string

// Runner carries out commands in the work tree.
type Runner interface {
	// Run carries out one command, confined, in the work tree, and returns when it and everything that it started are
	// gone. A command that exits non-zero or is killed at its timeout is an Output; the error is for one that could not be
	// started. When ctx ends the command is killed.
	Run(ctx context.Context, command Command) (Output, error)
}

// Command is one command: a line for the shell, or a program and its arguments.
type Command struct {
	Shell   string
	Args    []string
	Timeout time.Duration
}

// Output is what a command left.
type Output struct {
	// Text is standard output and standard error as they came, bounded by the runner.
	Text     string
	ExitCode int
	// TimedOut says that it was killed at its timeout.
	TimedOut bool
}

// The time of one command.
const (
	defaultCommand = 2 * time.Minute
	longestCommand = 10 * time.Minute
)

func commandCap(most time.Duration) time.Duration {
	if most <= 0 {
		return longestCommand
	}
	return most
}

type runCommand struct {
	runner Runner
	most   time.Duration
}

// Declaration is what the model is told.
func (t *runCommand) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolRunCommand, Description: runCommandText,
		ParametersJsonSchema: object(properties{
			"command": property("string", "A line for the shell, e.g. go test ./internal/..."),
			"args":    textList("Instead of command: a program and its arguments, passed on as they are."),
			"timeout_seconds": property("integer",
				fmt.Sprintf("After how many seconds it is killed. Default %d, at most %d.",
					t.seconds(defaultCommand), t.seconds(t.most))),
		}),
	}
}

func (t *runCommand) seconds(d time.Duration) int { return int(min(d, t.most) / time.Second) }

// Effect is Writes: it changes the work tree.
func (t *runCommand) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *runCommand) Doing(call Call) string {
	if line := call.text("command"); line != "" {
		return "running " + line
	}
	return "running " + strings.Join(call.texts("args"), " ")
}

// Run carries out one call.
func (t *runCommand) Run(ctx context.Context, call Call) Result {
	c := Command{Shell: call.text("command"), Args: call.texts("args")}
	switch {
	case strings.TrimSpace(c.Shell) == "" && len(c.Args) == 0:
		return Failed("give command, a line for the shell, or args, a program and its arguments")
	case c.Shell != "" && len(c.Args) > 0:
		return Failed("give either command or args, not both")
	case strings.ContainsRune(c.Shell+strings.Join(c.Args, ""), 0):
		return Failed("the command contains a NUL character")
	}
	c.Timeout = min(defaultCommand, t.most)
	if asked := call.number("timeout_seconds", 0); asked > 0 {
		c.Timeout = min(time.Duration(asked)*time.Second, t.most)
	}
	out, err := t.runner.Run(ctx, c)
	if err != nil {
		return Failed("the command could not be run: %v", err)
	}
	return t.result(c, out)
}

func (t *runCommand) result(c Command, out Output) Result {
	text := plain(out.Text)
	if text == "" {
		text = "[no output]"
	}
	if out.TimedOut {
		text += fmt.Sprintf("\n[killed after %s; run less, or give timeout_seconds up to %d]", c.Timeout, t.seconds(t.most))
	}
	return Result{Output: map[string]any{"output": text, "exit_code": out.ExitCode}}
}

// escape is a terminal sequence: colours, cursor movements, titles.
var escape = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")

// plain is output without terminal sequences, and of lines that were redrawn only what remained.
func plain(text string) string {
	text = escape.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsAny(text, "\r\x00\b") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.NewReplacer("\x00", "", "\b", "").Replace(strings.Join(lines, "\n"))
}
