// Package commands holds the tools that run programs in an agent's work tree: run_command and run_gates. Their input is a
// confined runner and the gates of the task, their output what a program printed, without terminal sequences, and its exit
// code. They never start a process themselves, and what they report of a gate proves nothing: the gates run again on a
// clean tree.
package commands

import (
	"fmt"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/tool"
)

// Config is the input of the tools.
type Config struct {
	// Runner runs commands, confined; Gates are those of the task.
	Runner Runner
	Gates  Gates
	// MaxCommand caps the time of one command; zero means 10 minutes.
	MaxCommand time.Duration
}

type tools struct{ Config }

// Tools returns the tools that run programs.
func Tools(c Config) []tool.Tool {
	if c.MaxCommand <= 0 {
		c.MaxCommand = longestCommand
	}
	t := &tools{c}
	about := fmt.Sprintf("Run a command at the top of the work tree, confined, without a terminal. "+
		"timeout_seconds is %d, at most %d.",
		t.seconds(defaultCommand), t.seconds(c.MaxCommand))
	return []tool.Tool{
		tool.New(spec.ToolRunCommand, about, tool.Writes, t.runCommand),
		tool.New(spec.ToolRunGates,
			"Run the project's gates (build, tests, lint) and show new failures. A nearer check is faster.",
			tool.Writes, t.runGates),
	}
}
