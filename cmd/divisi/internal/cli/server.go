package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// AtServer is an annotation of commands that can be about the runs of a server.
const AtServer = "server"

// onServer are other commands that can be about the runs of a server.
var onServer = []string{
	"run", "runs", "show", "watch", "decide", "publish", "send", "accept", "line", "cancel", "log", "diff",
	"debug context", "resume", "retry", "drop", "gate", "server worker", "server workers", "mcp",
}

// FindOn finds the server of --on for a command.
func (g *Globals) FindOn(c *cobra.Command) (err error) {
	if g.On == "" {
		return nil
	}
	top := c
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	_, named, _ := strings.Cut(c.CommandPath()+" ", " ")
	listed := slices.ContainsFunc(onServer, func(name string) bool { return strings.HasPrefix(named, name+" ") })
	if !listed && top.Annotations[AtServer] == "" {
		return usage.Errorf("%s works on this machine: leave --on out", c.CommandPath())
	}
	g.At, err = orchestrator.FindServer(g.StateDir, g.On)
	return err
}

// nameOn is how --on is given in a command that is printed.
func (g *Globals) nameOn() string {
	if g.On == "" {
		return ""
	}
	return " --on " + strings.TrimSpace(text.Shell(g.On))
}
