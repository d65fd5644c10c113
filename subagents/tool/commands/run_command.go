package commands

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"divisi/subagents/tool"
)

// Runner runs commands in the work tree.
type Runner interface {
	// Run runs one command, confined, in the work tree, and returns when it and everything that it started are
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

// Output is the output of a command.
type Output struct {
	// Text is standard output and standard error as they came, bounded by the runner.
	Text     string
	ExitCode int
	// TimedOut reports that it was killed at its timeout.
	TimedOut bool
}

// The time of one command.
const (
	defaultCommand = 2 * time.Minute
	longestCommand = 10 * time.Minute
)

type commandArgs struct {
	Command string   `json:"command,omitempty" jsonschema:"a line for the shell"`
	Args    []string `json:"args,omitempty" jsonschema:"or a program and its arguments"`
	Timeout int      `json:"timeout_seconds,omitempty"`
}

// Doing describes the call.
func (a commandArgs) Doing() string { return "running " + cmp.Or(a.Command, strings.Join(a.Args, " ")) }

func (t *tools) seconds(d time.Duration) int { return int(min(d, t.MaxCommand) / time.Second) }

func (t *tools) runCommand(ctx context.Context, a commandArgs) tool.Result {
	c := Command{Shell: a.Command, Args: a.Args, Timeout: min(defaultCommand, t.MaxCommand)}
	switch {
	case strings.TrimSpace(c.Shell) == "" && len(c.Args) == 0:
		return tool.Failed("give command, a line for the shell, or args, a program and its arguments")
	case c.Shell != "" && len(c.Args) > 0:
		return tool.Failed("give either command or args, not both")
	case strings.ContainsRune(c.Shell+strings.Join(c.Args, ""), 0):
		return tool.Failed("the command contains a NUL character")
	}
	if a.Timeout > 0 {
		c.Timeout = min(time.Duration(min(a.Timeout, 1<<30))*time.Second, t.MaxCommand)
	}
	out, err := t.Runner.Run(ctx, c)
	if err != nil {
		return tool.Failed("the command could not be run: %v", err)
	}
	return t.result(c, out)
}

func (t *tools) result(c Command, out Output) tool.Result {
	shown := cmp.Or(Plain(out.Text), "[no output]")
	if out.TimedOut {
		shown += fmt.Sprintf("\n[killed after %s; run less, or give timeout_seconds up to %d]", c.Timeout,
			t.seconds(t.MaxCommand))
	}
	return tool.Result{Output: map[string]any{"output": shown, "exit_code": out.ExitCode}, Red: out.ExitCode != 0 || out.TimedOut}
}
