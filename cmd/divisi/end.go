package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// printEnd prints what the gates found beyond their verdicts, and what to do next. The console has shown how the run stands.
func (g *globals) printEnd(run string, end *orchestrator.Result) error {
	called := slices.Clone(end.Next)
	for i := range called {
		called[i].Command = g.calls(called[i].Command)
	}
	return g.print(func(b *strings.Builder) error {
		for _, notice := range end.Notices {
			b.WriteString(console.Sanitize(g.calls(notice)) + "\n")
		}
		if end.Ref != "" {
			writeStat(b, end)
		}
		var rest strings.Builder
		if err := console.EndReport(&rest, end.Report, width(g.out)); err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\nNext:\n", g.calls(rest.String()))
		console.NextSteps(b, run, end.Next, g.calls)
		return nil
	}, map[string]any{"kind": "next", "run": run, "state": end.State, "next": called})
}

// command is how this program was called, with the state directory where that is another than usual.
func (g *globals) command() string {
	if defaultStateDir() == g.stateDir {
		return "divisi" + g.nameOn()
	}
	return g.inState("divisi")
}

// inState is the beginning of a command, with the state directory.
func (g *globals) inState(begins string) string {
	return "divisi --state-dir " + text.Shell(g.stateDir) + g.nameOn() + strings.TrimPrefix(begins, "divisi")
}

// calledBy matches the beginning of each command of the program.
func calledBy(root *cobra.Command) *regexp.Regexp {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return regexp.MustCompile(`\bdivisi (?:` + strings.Join(names, "|") + `)\b`)
}

// calls completes the commands that a hint names, so that they find the same state directory.
func (g *globals) calls(hint string) string {
	return g.called.ReplaceAllStringFunc(hint, func(c string) string { return g.command() + strings.TrimPrefix(c, "divisi") })
}

// callsIn completes the commands of a report's next steps.
func (g *globals) callsIn(report json.RawMessage) (json.RawMessage, error) {
	var r struct {
		Next json.RawMessage `json:"next"`
	}
	var ways []orchestrator.Way
	if err := json.Unmarshal(report, &r); err != nil || r.Next == nil {
		return report, err
	}
	if err := json.Unmarshal(r.Next, &ways); err != nil {
		return nil, fmt.Errorf("read its next steps: %w", err)
	}
	for i := range ways {
		ways[i].Command = g.calls(ways[i].Command)
	}
	next, err := json.Marshal(ways)
	return bytes.Replace(report, r.Next, next, 1), err
}

// maxStat bounds the files of a diff stat that are listed one by one.
const maxStat = 30

// writeStat writes what the branch changes, as git diff --stat does.
func writeStat(b *strings.Builder, end *orchestrator.Result) {
	added, deleted := 0, 0
	var rows [][]string
	for _, c := range end.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
		rows = append(rows, []string{c.Path, fmt.Sprintf("| +%d", c.Added), fmt.Sprintf("-%d", c.Deleted)})
	}
	fmt.Fprintf(b, "\nbranch %s%s\n", strings.TrimPrefix(end.Ref, "refs/heads/"), console.UnverifiedNote(end.Unverified))
	for _, line := range console.Columns(rows[:min(len(rows), maxStat)], 1) {
		b.WriteString(" " + line + "\n")
	}
	if more := len(rows) - maxStat; more > 0 {
		fmt.Fprintf(b, " … and %d more\n", more)
	}
	fmt.Fprintf(b, " %s changed, %s(+), %s(-)\n",
		text.Count(len(rows), "file"), text.Count(added, "insertion"), text.Count(deleted, "deletion"))
}
