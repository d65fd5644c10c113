// Package reports writes what orchestrator/view has computed, given as JSON, as text: the report of a run or of a task for a
// terminal or as Markdown, the output of an attempt, and the rows of several runs.
package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/result"
)

// Run writes the report of a run, given as JSON, for a terminal with columns, or for 0 of something else, where no text is broken
// into lines. Calls completes the commands of its next steps.
func Run(b *strings.Builder, data json.RawMessage, columns int, calls func(hint string) string) error {
	return render(data, func(r *view.Report) { writeReport(b, r, columns, calls) })
}

// Task writes the report of one task, given as JSON, as Run does.
func Task(b *strings.Builder, data json.RawMessage, columns int) error {
	return render(data, func(t *view.Task) { writeTask(fields{b, 9, columns}, t) })
}

// tableWidth is the width of a table where no terminal has one.
const tableWidth = 100

// End writes what the report of a run that has ended, given as JSON, has beyond what a console has shown, as Run does.
func End(b *strings.Builder, data json.RawMessage, columns int) error {
	return render(data, func(r *view.Report) {
		writeHandoffs(b, r)
		writeRounds(fields{b, 7, columns}, r.Rounds)
		writeNewGates(b, r.NewGates)
		writeRoles(b, r.Roles, cmp.Or(columns, tableWidth))
		writeGates(fields{b, 7, columns}, slices.DeleteFunc(r.Gates, func(g view.Gate) bool {
			return len(g.New)+len(g.Known)+len(g.Fixed) == 0 && g.Error == ""
		}))
	})
}

// render reads what is shown.
func render[T any](data json.RawMessage, write func(*T)) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read a report: %w", err)
	}
	write(&v)
	return nil
}

// fields writes texts behind words of a width, made safe, each on lines of so many columns, or on one for 0; empty ones are left
// out.
type fields struct {
	b              *strings.Builder
	width, columns int
}

func (f fields) add(word string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			f.b.WriteString(display.Behind(fmt.Sprintf("%-*s ", f.width, word), display.Sanitize(text), f.columns) + "\n")
		}
	}
}

// addf writes one text where there is something to tell.
func (f fields) addf(is bool, word, format string, args ...any) {
	if is {
		f.add(word, fmt.Sprintf(format, args...))
	}
}

// writeUnread tells what the gates of a run leave unread, what CI would run besides, and which gates are new.
func writeUnread(f fields, r *view.Report) {
	for _, u := range r.Told {
		f.addf(true, "told", "no gate reads %s", u)
	}
	for _, line := range r.CI {
		f.add("ci", line)
	}
	for _, g := range r.NewGates {
		f.add("gate", g.String())
	}
}

// writeReport prints a report for people.
func writeReport(w *strings.Builder, r *view.Report, columns int, calls func(hint string) string) {
	f, state := fields{w, 7, columns}, string(r.State)+text.Because(r.Reason)
	if r.Wait != "" {
		state += ", waiting for " + r.Wait
	}
	f.add("run", r.Run+"  "+state)
	f.add("unread", text.Each(r.Unread)...)
	for _, u := range r.Unlike {
		f.add("unlike", u.String())
	}
	proof := "none: everything that landed is unverified"
	if slices.ContainsFunc(r.Tasks, func(t view.Task) bool { return t.Landed() && !t.Unverified }) {
		proof = "in part, unverified are"
	}
	f.addf(r.Unverified != "", "proof", "%s: %s", proof, r.Unverified)
	f.addf(r.Better != "", "better", "%s", r.Better)
	f.addf(r.OneWorker != "", "proof", "by one worker, %s: no other one could run the final gates too", r.OneWorker)
	f.add("goal", r.Goal)
	writeRounds(f, r.Rounds)
	fmt.Fprintf(w, "repo    %s\nbase    %s\n", display.Sanitize(r.Repo), short(r.Base))
	f.addf(r.Ref != "", "branch", "%s at %s%s", strings.TrimPrefix(r.Ref, "refs/heads/"), short(r.Head),
		Unverified(r.Unverified))
	for i := range r.Pulls {
		f.add("pull", r.Pulls[i].String())
	}
	f.addf(r.Files > 0, "change", "%s, +%d -%d", text.Count(r.Files, "file"), r.Added, r.Deleted)
	writeResult(f, r.Result)
	writeUnread(f, r)
	f.addf(r.GateRuns > 0, "gates", "%s; one patch at a time takes at least %d", text.Count(r.GateRuns, "run"), r.OneByOne)
	if r.Reproof != nil {
		f.add("reprove", r.Reproof.String())
	}
	for i := range r.Quarantines {
		f.add("worker", r.Quarantines[i].String())
	}
	if b := r.FirstRed; b != nil {
		f.add("red", fmt.Sprintf("first after batch %d at %s: %s", b.Batch, short(b.Commit), strings.Join(b.Tasks, ", ")))
	}
	f.add("time", fmt.Sprintf("%s: %s", r.Times.Span(), r.Times.Wall()))
	f.add("", "agents added up: "+r.Times.Sum())
	f.add("now", r.Now...)
	f.add("flaky", r.Flakes...)
	f.addf(len(r.Executors) > 0, "chains", "landed %s", counts(r.Executors, "by %s %d"))
	f.add("judges", counts(r.Verdicts, "%s %d"))
	landed := ""
	if r.TokensPerLanded > 0 {
		landed = fmt.Sprintf(", %d a landed task", r.TokensPerLanded)
	}
	f.addf(r.Usage.Calls > 0 || r.Unmetered > 0, "tokens",
		"%d in %d calls (%d prompt, %d of them cached, %d output, %d thoughts)%s%s",
		r.Usage.Total(), r.Usage.Calls, r.Usage.Prompt, r.Usage.Cached, r.Usage.Output, r.Usage.Thoughts, landed,
		view.Plus(r.Unmetered))
	writeMoney(f, r)
	f.addf(r.Line != "", "line", "stopped: %s", r.Line)
	f.add("note", r.Notices...)
	for _, q := range r.Quotas {
		f.add("quota", q.String())
	}
	f.add("decide", text.Each(r.Decisions)...)
	for _, a := range r.Standing {
		f.add("stands", a.String())
	}
	f.add("doubt", r.Doubts...)
	f.add("untried", r.Untried...)
	w.WriteByte('\n')
	Tasks(w, r.Tasks, cmp.Or(columns, tableWidth))
	writeHandoffs(w, r)
	writeRoles(w, r.Roles, cmp.Or(columns, tableWidth))
	writeGates(f, r.Gates)
	if len(r.Next) > 0 {
		w.WriteString("\nNext:\n")
		Next(w, called(r.Next, calls), 0)
	}
}

// writeRounds tells what each round found and closed, and what is left.
func writeRounds(f fields, all []view.Rounds) {
	for i := range all {
		r := &all[i]
		f.add("rounds", r.String()+text.Because(r.Ended))
		for _, one := range r.Rounds {
			f.add("", one.String())
		}
		if rest := r.Rest(); rest != "" {
			f.add("left", rest)
			f.addf(r.Baseline != "", "", "the tool's own file of them: %s", r.Baseline)
		}
	}
}

func writeMoney(f fields, r *view.Report) {
	for _, line := range moneyOf(r) {
		f.add(line[0], line[1])
	}
}

// moneyOf words what a run cost, with a landed change of it, beside its estimate.
func moneyOf(r *view.Report) (lines [][2]string) {
	cost := r.Outlook.Spent()
	if r.CostPerLanded > 0 {
		cost += ", " + r.CostPerLanded.String() + " a landed task"
	}
	for _, line := range [][2]string{{"cost", cost}, {"estimate", r.Estimate.String()}} {
		if line[1] != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// writeResult writes what a run that has ended has brought, and what is left.
func writeResult(f fields, r *result.Result) {
	if r == nil {
		return
	}
	if len(r.Directories) > 1 {
		f.add("", text.Each(r.Directories)...)
	}
	f.add("came", text.Each(r.Came)...)
	f.add("risk", text.Each(r.Risks)...)
	f.addf(r.RisksMore > 0, "risk", "and %d more", r.RisksMore)
	for _, l := range r.Left {
		if f.columns == 0 {
			f.add("left", l.String())
			continue
		}
		is, does := l.Lines()
		f.add("left", is)
		fields{f.b, f.width, 0}.add("", does) // a command is copied whole
	}
	f.addf(r.LeftMore > 0, "left", "and %d more", r.LeftMore)
}

// writeNewGates writes the gates that were added to the run as the project file would have them.
func writeNewGates(w *strings.Builder, gates []view.AddedGate) {
	gates = slices.DeleteFunc(slices.Clone(gates), func(g view.AddedGate) bool { return g.Dropped != "" })
	for i, g := range gates {
		if i == 0 {
			w.WriteString("\nGates that were added to this run. For later ones, in .divisi/divisi.yaml, below gates:\n")
		}
		fmt.Fprintf(w, "  - name: %s\n    command: %s\n", display.Sanitize(g.Name), display.Sanitize(text.Flow(g.Command)))
	}
}

// counts lists numbers by name, sorted by name.
func counts(by map[string]int, format string) string {
	parts := make([]string, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf(format, name, by[name]))
	}
	return strings.Join(parts, ", ")
}

// maxFailures bounds the failures of a gate that a report names of one kind.
const maxFailures = 40

func writeGates(f fields, gates []view.Gate) {
	if len(gates) == 0 {
		return
	}
	f.b.WriteByte('\n')
	for _, g := range gates {
		line := fmt.Sprintf("%s: %s, %.1f s", g.Gate, g.Verdict, g.Seconds)
		for _, part := range []struct {
			word string
			list []string
		}{
			{"newly failing", g.New},
			{"failing now, did not run before", g.Appeared},
			{"already failing before this run", g.Known},
			{"fixed", g.Fixed},
		} {
			if len(part.list) > 0 {
				line += fmt.Sprintf("; %s: %s", part.word, text.Some(part.list, maxFailures))
			}
		}
		f.add("gate", line)
		f.addf(g.Error != "", "", "first error: %s", g.Error)
		if g.Output != "" {
			fmt.Fprintf(f.b, "        whole output: %s\n", g.Output)
		}
	}
}

// writeTask prints everything about one task.
func writeTask(f fields, t *view.Task) {
	w := f.b
	fmt.Fprintf(w, "task      %s  %s\ntitle     %s\nrole      %s\nattempts  %d, delivered %d times, %.1f s\n",
		t.ID, t.Status(), display.Sanitize(t.Title), t.Role, t.Attempts, t.Deliveries, t.Seconds)
	if t.Inherits != "" {
		fmt.Fprintf(w, "files     %s\ninherits  %s\n", display.Sanitize(strings.Join(t.WriteSet, ", ")), t.Inherits)
	}
	fmt.Fprintf(w, "tokens    %d in %d calls, %d turns\n", t.Usage.Total(), t.Usage.Calls, t.Turns)
	f.addf(t.Usage.Total() > 0, "cost", "%s", forecast.Cost(t.Cost, t.Unpriced))
	for _, m := range t.Models {
		f.addf(m.Model != "", "model", "%s: %d tokens in %d calls, %s", m.Model, m.Usage.Total(), m.Usage.Calls,
			forecast.Cost(m.Cost, m.Unpriced))
	}
	f.add("executor", t.Executor)
	f.addf(t.Uses != "", fmt.Sprintf("attempt %d", t.Attempts), "uses %s", t.Uses)
	f.addf(t.LimitHit != "", "limit", "%s was reached before its result", t.LimitHit)
	writeOthers(f, t)
	for _, s := range t.Steps {
		f.add("plan", s.String())
	}
	for _, l := range t.Saved {
		f.add("artifact", fmt.Sprintf("%s, %d bytes: %s", l.Name, l.Bytes, l.Handle))
	}
	if t.Commit != "" {
		fmt.Fprintf(w, "commit    %s  %s, +%d -%d\n", t.Commit, text.Count(t.Files, "file"), t.Added, t.Deleted)
	}
	f.add("reason", t.Reason)
	f.add("failed", t.Failures...)
	for i := range t.Doubts {
		d := &t.Doubts[i]
		for _, e := range d.Evidence {
			f.add("doubt", fmt.Sprintf("attempt %d: %s", d.Attempt, e))
		}
		f.add("decision", view.Ruling(d, t.State))
	}
	f.add("summary", t.Summary)
	f.addf(!strings.Contains(t.Summary, t.Said), "said", "%s", t.Said)
	after := ""
	if t.Landed() {
		after = "; passes after the change"
	}
	f.addf(len(t.Red) > 0, "proof", "failed on the base: %s%s", strings.Join(t.Red, ", "), after)
	f.addf(len(t.Kills) > 0, "proof", "no other test finds %s", strings.Join(t.Kills, "; "))
	f.add("verdict", t.Verdict)
	for _, l := range t.Handoff() {
		f.add(l[0], l[1])
	}
}

// writeOthers prints a task's parent, children, messages and refused requests.
func writeOthers(f fields, t *view.Task) {
	f.add("for", t.Parent)
	f.addf(len(t.Children) > 0, "delegated", "%d tokens to %s", t.Delegated.Total(), strings.Join(t.Children, ", "))
	f.add("waits for", t.Waits...)
	for _, m := range t.Messages {
		receipt := "not delivered yet"
		for i, r := range m.Receipts {
			receipt = fmt.Sprintf("%sdelivered to %s at turn %d", strings.Repeat(receipt+", ", min(i, 1)), r.Agent, r.Turn)
		}
		f.add("message", fmt.Sprintf("from %s: %s (%s)", m.From, m.Text, receipt))
	}
	for _, s := range t.Refused {
		f.add("refused", fmt.Sprintf("to write %s: %s (%s)", strings.Join(s.Paths, ", "), s.Reason, s.Why))
	}
}

func short(commit string) string { return commit[:min(len(commit), 12)] }
