package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// Report writes the report of a run, given as JSON, at most width cells wide.
func Report(data json.RawMessage, width int) (string, error) {
	return render(data, func(w *strings.Builder, r *report.Report) { writeReport(w, r, width) })
}

// TaskReport writes the report of one task, given as JSON.
func TaskReport(data json.RawMessage) (string, error) { return render(data, writeTask) }

// EndReport writes what the report of a run that has ended, given as JSON, has beyond what Close has written.
func EndReport(data json.RawMessage, width int) (string, error) {
	return render(data, func(w *strings.Builder, r *report.Report) {
		writeHandoffs(w, r)
		writeRoles(w, r.Roles, width)
		writeGates(w, slices.DeleteFunc(r.Gates, func(g report.Gate) bool {
			return len(g.New)+len(g.Known)+len(g.Fixed) == 0 && g.Error == ""
		}))
	})
}

// Progress writes how far a run is, by its report as JSON, and its goal: the cells of a row.
func Progress(data json.RawMessage) (string, error) {
	return render(data, func(w *strings.Builder, r *report.Report) {
		fmt.Fprintf(w, "%s\t%s", progress(r), Sanitize(oneLine(r.Goal)))
	})
}

func render[T any](data json.RawMessage, write func(*strings.Builder, *T)) (string, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return "", fmt.Errorf("read a report: %w", err)
	}
	var b strings.Builder
	write(&b, &v)
	return b.String(), nil
}

// writeReport prints a report for people.
func writeReport(w *strings.Builder, r *report.Report, columns int) {
	fmt.Fprintf(w, "run     %s  %s", r.Run, r.State)
	if r.Reason != "" {
		fmt.Fprintf(w, ": %s", Sanitize(oneLine(r.Reason)))
	}
	if r.Wait != "" {
		fmt.Fprintf(w, ", waiting for %s", Sanitize(oneLine(r.Wait)))
	}
	if r.Unverified != "" {
		what := "none: everything that landed is unverified"
		if slices.ContainsFunc(r.Tasks, func(t report.Task) bool { return t.State == run.TaskLanded && !t.Unverified }) {
			what = "in part, unverified are"
		}
		fmt.Fprintf(w, "\nproof   %s: %s", what, Sanitize(r.Unverified))
	}
	fmt.Fprintf(w, "\ngoal    %s\nrepo    %s\nbase    %s\n",
		Sanitize(oneLine(r.Goal)), Sanitize(r.Repo), short(r.Base))
	if r.Ref != "" {
		fmt.Fprintf(w, "branch  %s at %s%s\n", strings.TrimPrefix(r.Ref, "refs/heads/"), short(r.Head),
			UnverifiedNote(r.Unverified))
	}
	if r.Files > 0 {
		fmt.Fprintf(w, "change  %s, +%d -%d\n", text.Count(r.Files, "file"), r.Added, r.Deleted)
	}
	if r.GateRuns > 0 {
		fmt.Fprintf(w, "gates   %s; one patch at a time takes at least %d\n", text.Count(r.GateRuns, "run"), r.OneByOne)
	}
	if b := r.FirstRed; b != nil {
		fmt.Fprintf(w, "red     first after batch %d at %s: %s\n", b.Batch, short(b.Commit),
			Sanitize(strings.Join(b.Tasks, ", ")))
	}
	fmt.Fprintf(w, "time    wall clock %s: %s\n        agents added up: %s\n", r.Times.Span(), r.Times.Wall(), r.Times.Sum())
	for _, n := range r.Now {
		fmt.Fprintf(w, "now     %s\n", Sanitize(oneLine(n)))
	}
	for _, f := range r.Flakes {
		fmt.Fprintf(w, "flaky   %s\n", Sanitize(f))
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
		w.WriteByte('\n')
	}
	if r.Line != "" {
		fmt.Fprintf(w, "line    stopped: %s\n", Sanitize(r.Line))
	}
	for _, n := range r.Notices {
		fmt.Fprintf(w, "note    %s\n", Sanitize(oneLine(n)))
	}
	for _, q := range r.Quotas {
		fmt.Fprintf(w, "quota   %s\n", Sanitize(q.String()))
	}
	for _, d := range r.Decisions {
		fmt.Fprintf(w, "decide  %s\n", Sanitize(oneLine(d.String())))
	}
	for _, d := range r.Doubts {
		fmt.Fprintf(w, "doubt   %s\n", Sanitize(oneLine(d)))
	}
	w.WriteByte('\n')
	writeTasks(w, rows(r.Tasks), columns)
	writeHandoffs(w, r)
	writeRoles(w, r.Roles, columns)
	writeGates(w, r.Gates)
}

// counts lists numbers by name, sorted by name.
func counts(by map[string]int, format string) string {
	parts := make([]string, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf(format, name, by[name]))
	}
	return strings.Join(parts, ", ")
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

func writeGates(w *strings.Builder, gates []report.Gate) {
	if len(gates) == 0 {
		return
	}
	w.WriteByte('\n')
	for _, g := range gates {
		fmt.Fprintf(w, "gate    %s: %s, %.1f s", Sanitize(g.Gate), g.Verdict, g.Seconds)
		for _, part := range []struct {
			word string
			list []string
		}{{"newly failing", g.New}, {"already failing before this run", g.Known}, {"fixed", g.Fixed}} {
			if len(part.list) > 0 {
				fmt.Fprintf(w, "; %s: %s", part.word, Sanitize(strings.Join(part.list, ", ")))
			}
		}
		if g.Error != "" {
			fmt.Fprintf(w, "\n        first error: %s", Sanitize(g.Error))
		}
		if g.Output != "" {
			fmt.Fprintf(w, "\n        whole output: %s", g.Output)
		}
		w.WriteByte('\n')
	}
}

// writeTask prints everything about one task.
func writeTask(w *strings.Builder, t *report.Task) {
	fmt.Fprintf(w, "task      %s  %s%s\ntitle     %s\nrole      %s\nattempts  %d, delivered %d times, %.1f s\n",
		t.ID, t.State, unverifiedWord(t.Unverified), Sanitize(oneLine(t.Title)), t.Role, t.Attempts, t.Deliveries,
		t.Seconds)
	if t.Inherits != "" {
		fmt.Fprintf(w, "files     %s\ninherits  %s\n", Sanitize(strings.Join(t.WriteSet, ", ")), t.Inherits)
	}
	fmt.Fprintf(w, "tokens    %d in %d calls, %d turns\n", t.Usage.Total(), t.Usage.Calls, t.Turns)
	if t.Executor != "" {
		fmt.Fprintf(w, "executor  %s\n", t.Executor)
	}
	if t.Uses != "" {
		fmt.Fprintf(w, "attempt %d uses %s\n", t.Attempts, Sanitize(t.Uses))
	}
	if t.LimitHit != "" {
		fmt.Fprintf(w, "limit     %s was reached before its result\n", t.LimitHit)
	}
	writeOthers(w, t)
	for _, s := range t.Steps {
		fmt.Fprintf(w, "plan      %s\n", Sanitize(s.String()))
	}
	for _, l := range t.Saved {
		fmt.Fprintf(w, "artifact  %s, %d bytes: %s\n", l.Name, l.Bytes, l.Handle)
	}
	if t.Commit != "" {
		fmt.Fprintf(w, "commit    %s  %d files, +%d -%d\n", t.Commit, t.Files, t.Added, t.Deleted)
	}
	if t.Reason != "" {
		fmt.Fprintf(w, "reason    %s\n", Sanitize(t.Reason))
	}
	for _, f := range t.Failures {
		fmt.Fprintf(w, "failed    %s\n", Sanitize(oneLine(f)))
	}
	for _, d := range t.Doubts {
		for _, e := range d.Evidence {
			fmt.Fprintf(w, "doubt     attempt %d: %s\n", d.Attempt, Sanitize(oneLine(e)))
		}
		fmt.Fprintf(w, "decision  %s\n", Sanitize(oneLine(d.Decision(t.State))))
	}
	if t.Summary != "" {
		fmt.Fprintf(w, "summary   %s\n", Sanitize(oneLine(t.Summary)))
	}
	if len(t.Red) > 0 {
		after := ""
		if t.State == run.TaskLanded {
			after = "; passes after the change"
		}
		fmt.Fprintf(w, "proof     failed on the base: %s%s\n", Sanitize(strings.Join(t.Red, ", ")), after)
	}
	if t.Verdict != "" {
		fmt.Fprintf(w, "verdict   %s\n", Sanitize(oneLine(t.Verdict)))
	}
	for _, l := range handoffLines(t) {
		fmt.Fprintf(w, "%-9s %s\n", l[0], l[1])
	}
}

// writeOthers prints a task's parent, children, messages and refused requests.
func writeOthers(w *strings.Builder, t *report.Task) {
	if t.Parent != "" {
		fmt.Fprintf(w, "for       %s\n", t.Parent)
	}
	if len(t.Children) > 0 {
		fmt.Fprintf(w, "delegated %d tokens to %s\n", t.Delegated.Total(), strings.Join(t.Children, ", "))
	}
	for _, waits := range t.Waits {
		fmt.Fprintf(w, "waits for %s\n", Sanitize(oneLine(waits)))
	}
	for _, m := range t.Messages {
		receipt := "not delivered yet"
		for i, r := range m.Receipts {
			receipt = fmt.Sprintf("%sdelivered to %s at turn %d", strings.Repeat(receipt+", ", min(i, 1)), r.Agent, r.Turn)
		}
		fmt.Fprintf(w, "message   from %s: %s (%s)\n", m.From, Sanitize(oneLine(m.Text)), receipt)
	}
	for _, s := range t.Refused {
		fmt.Fprintf(w, "refused   to write %s: %s (%s)\n", Sanitize(strings.Join(s.Paths, ", ")),
			Sanitize(oneLine(s.Reason)), Sanitize(oneLine(s.Why)))
	}
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
