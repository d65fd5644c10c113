package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// printEnd prints what the gates found beyond their verdicts, and what to do next. The console has shown how the run stands.
func (g *globals) printEnd(run string, end *orchestrator.Result) error {
	if g.json() {
		return nil
	}
	for _, notice := range end.Notices {
		fmt.Fprintln(g.out, console.Sanitize(g.calls(notice)))
	}
	if end.Ref != "" {
		if err := g.printStat(end); err != nil {
			return err
		}
	}
	rest, err := console.EndReport(end.Report, width(g.out))
	if err != nil {
		return err
	}
	divisi := g.command()
	next := []string{divisi + " show " + run, divisi + " watch " + run}
	resume := divisi + " resume " + run
	switch end.Next {
	case orchestrator.NextBudget:
		next = slices.Insert(next, 0, resume+" --budget TOKENS")
	case orchestrator.NextUnverified:
		next = slices.Insert(next, 0, resume+" --allow-unverified   # after reading the message below")
	case orchestrator.NextMend:
		next = slices.Insert(next, 0, resume+"   # after reading the message below")
	case orchestrator.NextDecide:
		next = slices.Insert(next, 0, divisi+" decide "+run, resume)
	case orchestrator.NextResume:
		next = slices.Insert(next, 0, resume)
	}
	switch repo := text.Shell(end.Repo); {
	case end.Ref != "":
		branch := strings.TrimPrefix(end.Ref, "refs/heads/")
		next = slices.Insert(next, 0,
			fmt.Sprintf("git -C %s diff --stat %s %s", repo, short(end.Base), branch),
			fmt.Sprintf("git -C %s log --oneline %s", repo, branch))
	case end.Ended && end.Head != end.Base:
		next = append(next, divisi+" publish "+run+"   # put what has landed so far on a branch")
	}
	if end.Proposals > 0 {
		next = append(next, fmt.Sprintf("%s memory proposals --repo %s   # review %d suggested notes",
			divisi, text.Shell(end.Repo), end.Proposals))
	}
	_, err = fmt.Fprintf(g.out, "%s\nNext:\n  %s\n", g.calls(rest), strings.Join(next, "\n  "))
	return err
}

// command is how this program was called, with the state directory where that is another than usual.
func (g *globals) command() string {
	if defaultStateDir() == g.stateDir {
		return "divisi"
	}
	return "divisi --state-dir " + text.Shell(g.stateDir)
}

// called matches the beginning of a command that looks into the state directory.
var called = regexp.MustCompile(`\bdivisi (?:accept|cancel|context|decide|diff|doctor|env|give|init|line|log|memory|pause|` +
	`publish|resume|retry|runs?|send|show|skip|take|trust|watch)\b`)

// calls completes the commands that a hint names, so that they find the same state directory.
func (g *globals) calls(hint string) string {
	return called.ReplaceAllStringFunc(hint, func(c string) string { return g.command() + strings.TrimPrefix(c, "divisi") })
}

// maxStat bounds the files of a diff stat that are listed one by one.
const maxStat = 30

// printStat prints what the branch changes, as git diff --stat does.
func (g *globals) printStat(end *orchestrator.Result) error {
	added, deleted := 0, 0
	w := tabwriter.NewWriter(g.out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "\nbranch %s%s\n", strings.TrimPrefix(end.Ref, "refs/heads/"), console.UnverifiedNote(end.Unverified))
	for i, c := range end.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
		if i < maxStat {
			fmt.Fprintf(w, " %s\t| +%d\t-%d\n", console.Sanitize(c.Path), c.Added, c.Deleted)
		}
	}
	if more := len(end.Changes) - maxStat; more > 0 {
		fmt.Fprintf(w, " … and %d more\n", more)
	}
	fmt.Fprintf(w, " %d files changed, %d insertions(+), %d deletions(-)\n", len(end.Changes), added, deleted)
	return w.Flush()
}
