package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/console/reports"
)

// PrintEnd prints the findings of the gates beyond their verdicts, and the next steps. The console has shown the state.
func (g *Globals) PrintEnd(run string, end *orchestrator.Result) error {
	called := slices.Clone(end.Next)
	for i := range called {
		called[i].Command = g.Calls(called[i].Command)
	}
	return g.Print(func(b *strings.Builder) error {
		for _, notice := range end.Notices {
			b.WriteString(display.Sanitize(g.Calls(notice)) + "\n")
		}
		if end.Ref != "" {
			WriteStat(b, end, Columns(g.Out))
		}
		var rest strings.Builder
		columns := Columns(g.Out)
		if err := reports.End(&rest, end.Report, columns); err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\nNext:\n", g.Calls(rest.String()))
		reports.NextSteps(b, run, end.Next, columns, g.Here)
		return nil
	}, map[string]any{"kind": "next", "run": run, "state": end.State, "next": called})
}

// Command is how this program was called, with the state directory where that is another than usual.
func (g *Globals) Command() string {
	if DefaultStateDir() == g.StateDir {
		return "divisi" + g.nameOn()
	}
	return g.InState("divisi")
}

// InState is the beginning of a command, with the state directory.
func (g *Globals) InState(begins string) string {
	return "divisi --state-dir " + text.Shell(g.StateDir) + g.nameOn() + strings.TrimPrefix(begins, "divisi")
}

// CalledBy matches the beginning of each command of the program.
func CalledBy(root *cobra.Command) *regexp.Regexp {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return regexp.MustCompile(`\bdivisi (?:` + strings.Join(names, "|") + `)\b`)
}

// Calls completes the commands that a hint names, so that they find the same state directory.
func (g *Globals) Calls(hint string) string {
	return g.Called.ReplaceAllStringFunc(hint, func(c string) string { return g.Command() + strings.TrimPrefix(c, "divisi") })
}

// Here is Calls for a person, who need not name the repository of the working directory.
func (g *Globals) Here(hint string) string {
	if dir, err := os.Getwd(); err == nil {
		at := " --repo " + text.Shell(dir)
		hint = strings.Replace(strings.TrimSuffix(hint, at), at+" -- ", " -- ", 1)
	}
	return g.Calls(hint)
}

// CallsIn completes the commands of a report's next steps.
func (g *Globals) CallsIn(report json.RawMessage) (json.RawMessage, error) {
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
		ways[i].Command = g.Calls(ways[i].Command)
	}
	next, err := json.Marshal(ways)
	return bytes.Replace(report, r.Next, next, 1), err
}

// maxStat bounds the files of a diff stat that are listed one by one.
const maxStat = 30

// WriteStat writes the changes of the branch, as git diff --stat does, for a terminal with columns.
func WriteStat(b *strings.Builder, end *orchestrator.Result, columns int) {
	added, deleted := 0, 0
	var rows [][]string
	for _, c := range end.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
		rows = append(rows, []string{c.Path, fmt.Sprintf("| +%d", c.Added), fmt.Sprintf("-%d", c.Deleted)})
	}
	branch := strings.TrimPrefix(end.Ref, "refs/heads/") + reports.Unverified(end.Unverified)
	b.WriteString("\n" + display.Behind("branch ", branch, columns) + "\n")
	for _, line := range display.Columns(rows[:min(len(rows), maxStat)], 1) {
		b.WriteString(" " + line + "\n")
	}
	if more := len(rows) - maxStat; more > 0 {
		fmt.Fprintf(b, " … and %d more\n", more)
	}
	fmt.Fprintf(b, " %s changed, %s(+), %s(-)\n",
		text.Count(len(rows), "file"), text.Count(added, "insertion"), text.Count(deleted, "deletion"))
}

// Abandoned prints the next step for a run that has not ended and has no process, and for one whose branch no repository has.
func (g *Globals) Abandoned(run string, s orchestrator.Summary) error {
	if s.Unfetched {
		_, err := fmt.Fprintf(g.Err, "divisi: the branch of run %s is with the host; get it with: %s\n", run,
			g.Calls("divisi publish "+run))
		return err
	}
	if s.State != "killed" {
		return nil
	}
	next := "resume with: divisi resume " + run
	switch s.Problem {
	case usage.Damaged:
		next = "its log is damaged, and no process can continue it; save what landed with: divisi publish " + run
	case usage.Unreadable:
		next = "an event of its conductor cannot be read, and no process can continue it"
	}
	_, err := fmt.Fprintf(g.Err, "divisi: run %s is not running; %s\n", run, g.Calls(next))
	return err
}

// NewConsole makes the view of a run that fits standard output.
func (g *Globals) NewConsole() *console.Console {
	var drop func()
	if f, is := g.In.(*os.File); is && g.ByHand() {
		drop = func() { dropTyped(f) }
	}
	return console.New(console.Options{
		Out: g.Out, TTY: IsTerminal(g.Out), Color: Colourful(), JSON: g.JSON(), Now: Now, Calls: g.Calls,
		Width: func() int { return Width(g.Out) }, Height: func() int { return height(g.Out) },
		Decide: g.Calls("divisi decide "), ASCII: !utf8Locale(), Bell: g.bell, Notify: g.notifier(), Drop: drop,
	})
}
