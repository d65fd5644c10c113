package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator/console"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

func newShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [RUN[/TASK]]",
		Short: "Show a run's report, or one task of it",
		Long: `Show a run's report: its state, its tasks with attempts, commits and usage, and its gates against
the baseline. Without RUN, the newest run. With /TASK, everything about one task.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi show\n  divisi show 20261121-101500-1f2e\n  divisi show 1f2e/migrate-003\n  divisi show --output json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.show(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) show(ctx context.Context, args []string) error {
	run, task, err := g.findTask(args)
	if err != nil {
		return err
	}
	if r, ok := g.store().Summary(run); ok && task == "" {
		return g.printReport(r)
	}
	st, alone, err := g.store().State(ctx, run)
	if err != nil {
		return err
	}
	if task != "" {
		return g.showTask(st, task)
	}
	if !alone {
		return g.printReport(report.Live(st, now()))
	}
	if err := g.printReport(report.Of(st)); err != nil {
		return err
	}
	return g.abandoned(run, st, nil)
}

func (g *globals) printReport(r report.Report) error {
	if g.json() {
		return json.NewEncoder(g.out).Encode(r)
	}
	var b strings.Builder
	err := writeReport(&b, r, width(g.out))
	fmt.Fprint(g.out, g.calls(b.String()))
	return err
}

// writeReport prints a report for people.
func writeReport(w io.Writer, r report.Report, columns int) error {
	fmt.Fprintf(w, "run     %s  %s", r.Run, r.State)
	if r.Reason != "" {
		fmt.Fprintf(w, ": %s", console.Sanitize(oneLine(r.Reason)))
	}
	if r.Wait != "" {
		fmt.Fprintf(w, ", waiting for %s", console.Sanitize(oneLine(r.Wait)))
	}
	if r.Unverified != "" {
		what := "none: everything that landed is unverified"
		if slices.ContainsFunc(r.Tasks, func(t report.Task) bool { return t.State == run.TaskLanded && !t.Unverified }) {
			what = "in part, unverified are"
		}
		fmt.Fprintf(w, "\nproof   %s: %s", what, console.Sanitize(r.Unverified))
	}
	fmt.Fprintf(w, "\ngoal    %s\nrepo    %s\nbase    %s\n",
		console.Sanitize(oneLine(r.Goal)), console.Sanitize(r.Repo), short(r.Base))
	if r.Ref != "" {
		fmt.Fprintf(w, "branch  %s at %s%s\n", strings.TrimPrefix(r.Ref, "refs/heads/"), short(r.Head),
			unverifiedNote(r.Unverified))
	}
	if r.Files > 0 {
		fmt.Fprintf(w, "change  %s, +%d -%d\n", text.Count(r.Files, "file"), r.Added, r.Deleted)
	}
	if r.GateRuns > 0 {
		fmt.Fprintf(w, "gates   %s; one patch at a time takes at least %d\n", text.Count(r.GateRuns, "run"), r.OneByOne)
	}
	if b := r.FirstRed; b != nil {
		fmt.Fprintf(w, "red     first after batch %d at %s: %s\n", b.Batch, short(b.Commit),
			console.Sanitize(strings.Join(b.Tasks, ", ")))
	}
	fmt.Fprintf(w, "time    wall clock %s: %s\n        agents added up: %s\n", r.Times.Span(), r.Times.Wall(), r.Times.Sum())
	for _, n := range r.Now {
		fmt.Fprintf(w, "now     %s\n", console.Sanitize(oneLine(n)))
	}
	for _, f := range r.Flakes {
		fmt.Fprintf(w, "flaky   %s\n", console.Sanitize(f))
	}
	if len(r.Executors) > 0 {
		fmt.Fprintf(w, "chains  landed %s\n", counts(r.Executors, "by %s %d"))
	}
	if len(r.Verdicts) > 0 {
		fmt.Fprintf(w, "judges  %s\n", counts(r.Verdicts, "%s %d"))
	}
	if r.Usage.Calls > 0 {
		fmt.Fprintf(w, "tokens  %d in %d calls (%d prompt, %d of them cached, %d output, %d thoughts)",
			r.Usage.Total(), r.Usage.Calls, r.Usage.Prompt, r.Usage.Cached, r.Usage.Output, r.Usage.Thoughts)
		if r.TokensPerLanded > 0 {
			fmt.Fprintf(w, ", %d a landed task", r.TokensPerLanded)
		}
		fmt.Fprintln(w)
	}
	for _, h := range r.Holds {
		fmt.Fprintf(w, "held    template %s: %s \n", h.Template, console.Sanitize(h.Why()))
	}
	for _, n := range r.Notices {
		fmt.Fprintf(w, "note    %s\n", console.Sanitize(oneLine(n)))
	}
	for _, q := range r.Quotas {
		fmt.Fprintf(w, "quota   %s\n", console.Sanitize(q.String()))
	}
	for _, q := range r.Questions {
		fmt.Fprintf(w, "asks    %s: %s\n", q.Agent, console.Sanitize(oneLine(q.Question)))
	}
	for _, d := range r.Doubts {
		fmt.Fprintf(w, "doubt   %s\n", console.Sanitize(oneLine(d)))
	}
	fmt.Fprintln(w)
	if err := console.RenderTasks(w, rows(r.Tasks), columns); err != nil {
		return fmt.Errorf("print the tasks: %w", err)
	}
	writeHandoffs(w, r)
	if err := writeRoles(w, r.Roles, columns); err != nil {
		return err
	}
	writeGates(w, r.Gates)
	return nil
}

// counts lists numbers by name, sorted by name.
func counts(by map[string]int, format string) string {
	parts := make([]string, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf(format, name, by[name]))
	}
	return strings.Join(parts, ", ")
}

// writeRoles prints what each role used.
func writeRoles(w io.Writer, roles []report.Role, columns int) error {
	if len(roles) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	if err := console.RenderRoles(w, roles, columns); err != nil {
		return fmt.Errorf("print the roles: %w", err)
	}
	return nil
}

func rows(tasks []report.Task) []report.Row {
	out := make([]report.Row, 0, len(tasks))
	for _, t := range tasks {
		out = append(out, report.Row{
			ID: t.ID, Title: t.Title, Role: t.Role, State: t.State, Reason: t.Reason, Attempt: t.Attempts,
			Unverified: t.Unverified,
			Tokens:     t.Usage.Total(),
			Added:      t.Added, Deleted: t.Deleted, Files: t.Files, Commit: t.Commit,
			Took: time.Duration(t.Seconds * float64(time.Second)),
		})
	}
	return out
}

func writeGates(w io.Writer, gates []report.Gate) {
	if len(gates) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, g := range gates {
		fmt.Fprintf(w, "gate    %s: %s, %.1f s", console.Sanitize(g.Gate), g.Verdict, g.Seconds)
		for _, part := range []struct {
			word string
			list []string
		}{{"newly failing", g.New}, {"already failing before this run", g.Known}, {"fixed", g.Fixed}} {
			if len(part.list) > 0 {
				fmt.Fprintf(w, "; %s: %s", part.word, console.Sanitize(strings.Join(part.list, ", ")))
			}
		}
		if g.Error != "" {
			fmt.Fprintf(w, "\n        first error: %s", console.Sanitize(g.Error))
		}
		if g.Output != "" {
			fmt.Fprintf(w, "\n        whole output: %s", g.Output)
		}
		fmt.Fprintln(w)
	}
}

// showTask prints everything about one task.
func (g *globals) showTask(st *run.State, id string) error {
	for _, t := range report.Of(st).Tasks {
		if t.ID != id {
			continue
		}
		if g.json() {
			return json.NewEncoder(g.out).Encode(t)
		}
		return writeTask(g.out, t, st)
	}
	return usagef("run %s has no task %q%s\nSee: divisi show %s", st.Spec.Run, id, nearest(id, st.Tasks.Order), st.Spec.Run)
}

func writeTask(w io.Writer, t report.Task, st *run.State) error {
	fmt.Fprintf(w, "task      %s  %s%s\ntitle     %s\nrole      %s\nattempts  %d, delivered %d times, %.1f s\n",
		t.ID, t.State, unverifiedWord(t.Unverified), console.Sanitize(oneLine(t.Title)), t.Role, t.Attempts, t.Deliveries,
		t.Seconds)
	if v := st.Tasks.ByID[t.ID]; v != nil {
		fmt.Fprintf(w, "files     %s\ninherits  %s\n", console.Sanitize(strings.Join(v.Task.Files, ", ")), v.Task.IncludeContents)
	}
	fmt.Fprintf(w, "tokens    %d in %d calls, %d turns\n", t.Usage.Total(), t.Usage.Calls, t.Turns)
	if t.Executor != "" {
		fmt.Fprintf(w, "executor  %s\n", t.Executor)
	}
	if t.Uses != "" {
		fmt.Fprintf(w, "attempt %d uses %s\n", t.Attempts, console.Sanitize(t.Uses))
	}
	if t.LimitHit != "" {
		fmt.Fprintf(w, "limit     %s was reached before its result\n", t.LimitHit)
	}
	writeOthers(w, t)
	for _, s := range t.Steps {
		fmt.Fprintf(w, "plan      %s\n", console.Sanitize(s.String()))
	}
	for _, l := range t.Saved {
		fmt.Fprintf(w, "artifact  %s, %d bytes: %s\n", l.Name, l.Bytes, l.Handle)
	}
	if t.Commit != "" {
		fmt.Fprintf(w, "commit    %s  %d files, +%d -%d\n", t.Commit, t.Files, t.Added, t.Deleted)
	}
	if t.Reason != "" {
		fmt.Fprintf(w, "reason    %s\n", console.Sanitize(t.Reason))
	}
	for _, f := range t.Failures {
		fmt.Fprintf(w, "failed    %s\n", console.Sanitize(oneLine(f)))
	}
	for _, d := range t.Doubts {
		for _, e := range d.Evidence {
			fmt.Fprintf(w, "doubt     attempt %d: %s\n", d.Attempt, console.Sanitize(oneLine(e)))
		}
		fmt.Fprintf(w, "decision  %s\n", console.Sanitize(oneLine(d.Decision(t.State))))
	}
	if t.Summary != "" {
		fmt.Fprintf(w, "summary   %s\n", console.Sanitize(oneLine(t.Summary)))
	}
	if len(t.Red) > 0 {
		after := ""
		if t.State == run.TaskLanded {
			after = "; passes after the change"
		}
		fmt.Fprintf(w, "proof     failed on the base: %s%s\n", console.Sanitize(strings.Join(t.Red, ", ")), after)
	}
	if t.Verdict != "" {
		fmt.Fprintf(w, "verdict   %s\n", console.Sanitize(oneLine(t.Verdict)))
	}
	for _, l := range handoffLines(t) {
		fmt.Fprintf(w, "%-9s %s\n", l[0], l[1])
	}
	return nil
}

// writeOthers prints a task's parent, children, messages and refused requests.
func writeOthers(w io.Writer, t report.Task) {
	if t.Parent != "" {
		fmt.Fprintf(w, "for       %s\n", t.Parent)
	}
	if len(t.Children) > 0 {
		fmt.Fprintf(w, "delegated %d tokens to %s\n", t.Delegated.Total(), strings.Join(t.Children, ", "))
	}
	for _, waits := range t.Waits {
		fmt.Fprintf(w, "waits for %s\n", console.Sanitize(oneLine(waits)))
	}
	for _, m := range t.Messages {
		receipt := "not delivered yet"
		for i, r := range m.Receipts {
			receipt = fmt.Sprintf("%sdelivered to %s at turn %d", strings.Repeat(receipt+", ", min(i, 1)), r.Agent, r.Turn)
		}
		fmt.Fprintf(w, "message   from %s: %s (%s)\n", m.From, console.Sanitize(oneLine(m.Text)), receipt)
	}
	for _, s := range t.Refused {
		fmt.Fprintf(w, "refused   to write %s: %s (%s)\n", console.Sanitize(strings.Join(s.Paths, ", ")),
			console.Sanitize(oneLine(s.Reason)), console.Sanitize(oneLine(s.Why)))
	}
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
