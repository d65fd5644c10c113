package project

import (
	"fmt"
	"os"
	"path/filepath"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// clientNext are the next steps of an agent in an editor, where they are others than a person's in a terminal: its tools.
var clientNext = map[string]string{
	usage.Active: "Follow it with the tool wait",
	usage.Dirty:  `Ask the person to commit or stash them, or start from the last commit without them: "base": "HEAD"`,
	usage.Goal:   "Give a goal or a plan",
	usage.Head:   `Ask the person to check out a branch, or name the commit: "base": "HEAD"`,
	usage.Held:   "Another process has this run: follow it with the tool wait",
	usage.Key: "Ask the person to set GEMINI_API_KEY under env of this server in the editor's configuration; plans of commands " +
		"need none",
	usage.Log:      "The tool log shows its output",
	usage.NoGates:  "Ask the person to run divisi init, which finds gates and tries them",
	usage.NoRepo:   "Ask the person to start this server in a repository, or with its path: divisi mcp --repo DIR",
	usage.Over:     "The tool report lists the next steps under next",
	usage.Running:  "Stop it with the tool pause",
	usage.Show:     "See the tools report and tasks",
	usage.Spent:    "Ask the person to give it more: divisi resume %s --budget %s",
	usage.Unproven: "Ask the user to run divisi init to detect a setup; then start a new run",
}

// words are an error as an agent in an editor reads it, with its next step.
func (s *mcpServer) words(err error) string {
	code, values := orchestrator.CodeOf(err)
	next, ok := clientNext[code]
	switch {
	case !ok:
		return s.calls(cli.Worded(err))
	case code == usage.Spent:
		next = fmt.Sprintf(next, values...)
	}
	return s.calls(err.Error() + "\n" + next)
}

// inRepository returns why there is no repository whose plans are read, and on which runs start.
func (s *mcpServer) inRepository() error {
	if _, err := os.Lstat(filepath.Join(s.repo, ".git")); err != nil {
		return usage.With(usage.Errorf("%s is not in a git repository", s.repo), usage.NoRepo)
	}
	return nil
}
