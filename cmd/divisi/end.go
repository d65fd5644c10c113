package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/console"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// printEnd prints what the gates found beyond their verdicts, and what to do next. The console has shown how the run stands.
func (g *globals) printEnd(ctx context.Context, end orchestrator.Result, st *run.State, why error) error {
	if g.json() || st.Spec.Trial { // divisi init says what it found
		return nil
	}
	for _, notice := range end.Notices {
		fmt.Fprintln(g.out, console.Sanitize(g.calls(notice)))
	}
	if end.Ref != "" {
		if err := g.printStat(ctx, st.Spec.Run, end); err != nil {
			return err
		}
	}
	rep := report.Of(st)
	writeHandoffs(g.out, rep)
	if err := writeRoles(g.out, rep.Roles, width(g.out)); err != nil {
		return err
	}
	writeGates(g.out, slices.DeleteFunc(rep.Gates, func(r report.Gate) bool {
		return len(r.New)+len(r.Known)+len(r.Fixed) == 0 && r.Error == ""
	}))
	runID := st.Spec.Run
	divisi := g.command()
	next := []string{divisi + " show " + runID, divisi + " watch " + runID}
	switch {
	case st.Ref != "":
		branch := strings.TrimPrefix(st.Ref, "refs/heads/")
		repo := text.Shell(end.Repo)
		next = slices.Insert(next, 0,
			fmt.Sprintf("git -C %s diff --stat %s %s", repo, short(st.Spec.Base), branch),
			fmt.Sprintf("git -C %s log --oneline %s", repo, branch))
	case st.StoppedByBudget():
		next = slices.Insert(next, 0, fmt.Sprintf("%s resume %s --budget TOKENS", divisi, runID))
	case st.Status == run.Stopped && acceptance.Unproven(st):
		next = slices.Insert(next, 0, divisi+" resume "+runID+" --allow-unverified   # after reading the message below")
	case errors.Is(why, phase.ErrPreflight):
		next = slices.Insert(next, 0, divisi+" resume "+runID+"   # after reading the message below")
	case st.Status == run.Stopped && strings.HasPrefix(st.Reason, phase.WaitsFor):
		next = slices.Insert(next, 0, divisi+" decide "+runID, divisi+" resume "+runID)
	case st.Status == run.Stopped, !st.Status.Ended():
		next = slices.Insert(next, 0, divisi+" resume "+runID)
	}
	if st.Ref == "" && st.Status.Ended() && st.Head != st.Spec.Base {
		next = append(next, divisi+" publish "+runID+"   # put what has landed so far on a branch")
	}
	if end.Proposals > 0 {
		next = append(next, fmt.Sprintf("%s memory proposals --repo %s   # review %d suggested notes",
			divisi, text.Shell(end.Repo), end.Proposals))
	}
	_, err := fmt.Fprintf(g.out, "\nNext:\n  %s\n", strings.Join(next, "\n  "))
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
var called = regexp.MustCompile(`\bdivisi (?:accept|cancel|context|decide|diff|doctor|env|give|init|log|memory|pause|publish|` +
	`resume|retry|runs?|send|show|skip|take|trust|watch)\b`)

// calls completes the commands that a hint names, so that they find the same state directory.
func (g *globals) calls(hint string) string {
	return called.ReplaceAllStringFunc(hint, func(c string) string { return g.command() + strings.TrimPrefix(c, "divisi") })
}

// maxStat bounds the files of a diff stat that are listed one by one.
const maxStat = 30

// printStat prints what the branch changes, as git diff --stat does.
func (g *globals) printStat(ctx context.Context, id string, end orchestrator.Result) error {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err
	}
	mirror, err := gitCLI.OpenMirror(filepath.Join(g.store().Run(id), "repo.git"))
	if err != nil {
		return err
	}
	changes, err := mirror.Changed(ctx, end.Base, end.Head)
	if err != nil {
		return err
	}
	added, deleted := 0, 0
	w := tabwriter.NewWriter(g.out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "\nbranch %s%s\n", strings.TrimPrefix(end.Ref, "refs/heads/"), unverifiedNote(end.Unverified))
	for i, c := range changes {
		added, deleted = added+c.Added, deleted+c.Deleted
		if i < maxStat {
			fmt.Fprintf(w, " %s\t| +%d\t-%d\n", console.Sanitize(c.Path), c.Added, c.Deleted)
		}
	}
	if more := len(changes) - maxStat; more > 0 {
		fmt.Fprintf(w, " … and %d more\n", more)
	}
	fmt.Fprintf(w, " %d files changed, %d insertions(+), %d deletions(-)\n", len(changes), added, deleted)
	return w.Flush()
}
