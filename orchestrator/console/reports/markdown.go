package reports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/round"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/result"
)

// maxMarkdownRows bounds the rows of a table: code hosts cut a summary of more than 1 MiB.
const maxMarkdownRows = 200

// Markdown writes the report of a run, given as JSON, for a summary of CI or a comment on a code host. Foreign text
// is in code spans: there it is no markup, link or mention. Calls completes the commands of its next steps.
func Markdown(b *strings.Builder, data json.RawMessage, calls func(hint string) string) error {
	return render(data, func(r *view.Report) { writeMarkdown(b, r, calls) })
}

func markdownRounds(w *strings.Builder, list []view.Rounds) {
	for i := range list {
		head := []string{"round", "found", "closed", "unmasked", "tasks", "by"}
		markdownTable(w, span(list[i].String()), head, list[i].Rounds,
			func(one *view.Round) []string {
				return []string{
					strconv.Itoa(one.Number), strconv.Itoa(one.Found), strconv.Itoa(one.Closed), strconv.Itoa(one.Unmasked),
					strconv.Itoa(one.Tasks), span(one.Fixer),
				}
			})
		markdownTable(w, "What is left, by its codes", []string{"code", "left"}, list[i].Codes,
			func(c *round.Code) []string { return []string{span(c.Code), strconv.Itoa(c.Left)} })
	}
}

func writeMarkdown(w *strings.Builder, r *view.Report, calls func(hint string) string) {
	fmt.Fprintf(w, "## Divisi: %s\n", r.State)
	unread := func(u *view.UnreadFiles) []string {
		return []string{span(u.Dir), span(strings.Join(u.Files, ", ")), span(u.Reason), span(u.Command)}
	}
	columns := []string{"directory", "files", "why", "what would read them"}
	markdownTable(w, "Landed unverified: no gate reads these files", columns, r.Unread, unread)
	markdownTable(w, "No gate reads these files, which ask for no proof", columns, r.Told, unread)
	row := func(word, format string, args ...any) {
		fmt.Fprintf(w, "| %s | %s |\n", word, fmt.Sprintf(format, args...))
	}
	w.WriteString("\n| | |\n|---|---|\n")
	if r.Reason != "" {
		row("reason", "%s", span(r.Reason))
	}
	if r.Unverified != "" {
		row("unverified", "%s", span(r.Unverified))
	}
	if r.Better != "" {
		row("better", "%s", span(r.Better))
	}
	for _, line := range r.CI {
		row("ci", "%s", span(line))
	}
	row("goal", "%s", span(r.Goal))
	row("run", "%s", span(r.Run))
	if r.OneWorker != "" {
		row("proven", "by one worker, %s", span(r.OneWorker))
	}
	if r.Ref != "" {
		row("branch", "%s at %s", span(strings.TrimPrefix(r.Ref, "refs/heads/")), span(short(r.Head)))
		row("change", "%s, +%d -%d", text.Count(r.Files, "file"), r.Added, r.Deleted)
	}
	row("time", "%s", r.Times.Span())
	if r.Usage.Calls > 0 || r.Unmetered > 0 {
		row("tokens", "%d in %d calls%s", r.Usage.Total(), r.Usage.Calls, view.Plus(r.Unmetered))
	}
	for _, line := range moneyOf(r) {
		row(line[0], "%s", line[1])
	}
	markdownTable(w, text.Count(len(r.Unlike), "edit")+" that no other shard makes",
		[]string{"task", "place", "edit", "usual", "how"}, r.Unlike, func(u *view.Unlike) []string {
			return []string{
				span(u.Task), span(fmt.Sprintf("%s:%d", u.File, u.Line)), span(u.Was + " → " + u.Is),
				span(u.UsualWas + " → " + u.UsualIs), span(u.How),
			}
		})
	markdownRounds(w, r.Rounds)
	if r.Result != nil {
		markdownTable(w, "Read first", []string{"task", "why"}, r.Result.Risks, func(t *result.Risk) []string {
			return []string{span(t.Task), span(strings.Join(t.Why, "; "))}
		})
	}
	var landed, open, unchanged []view.Task
	for _, t := range view.Ranked(slices.Clone(r.Tasks)) {
		switch {
		case t.Landed():
			landed = append(landed, t)
		case !t.Unchanged():
			open = append(open, t)
		case !t.IsMaster(): // a plan is no change
			unchanged = append(unchanged, t)
		}
	}
	markdownTable(w, text.Count(len(open), "task")+" did not land", []string{"task", "state", "reason"}, open,
		func(t *view.Task) []string { return []string{span(t.ID), string(t.State), span(t.Reason)} })
	markdownTable(w, text.Count(len(unchanged), "task")+" changed nothing", []string{"task", "last words of its agent"},
		unchanged,
		func(t *view.Task) []string { return []string{span(t.ID), span(t.Said)} })
	markdownTable(w, text.Count(len(landed), "task")+" landed", []string{"task", "commit", "lines", "title"}, landed,
		func(t *view.Task) []string {
			return []string{span(t.ID), span(short(t.Commit)), fmt.Sprintf("+%d -%d", t.Added, t.Deleted), span(t.Title)}
		})
	markdownTable(w, text.Count(len(r.Gates), "gate"), []string{"gate", "verdict", "newly failing"}, r.Gates,
		func(g *view.Gate) []string {
			return []string{span(g.Gate), span(g.Verdict), span(strings.Join(g.New, ", "))}
		})
	if len(r.Next) > 0 {
		w.WriteString("\n### Next\n\n```sh\n")
		NextSteps(w, r.Run, r.Next, 0, calls)
		w.WriteString("```\n")
	}
}

// markdownTable writes a table; none where it has no rows.
func markdownTable[T any](w *strings.Builder, title string, head []string, rows []T, cells func(*T) []string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for i := range rows[:min(len(rows), maxMarkdownRows)] {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells(&rows[i]), " | "))
	}
	if more := len(rows) - maxMarkdownRows; more > 0 {
		fmt.Fprintf(w, "\n%d more are in the whole report.\n", more)
	}
}

// maxSpan bounds a foreign text.
const maxSpan = 400

// span shows foreign text as code, in a cell of a table: its fence is longer than every row of backticks in it (CommonMark
// 6.1, and the tables of GitHub Flavored Markdown for the bar). Renderers differ about a bar behind a backslash of the text's
// own: for some it ends the cell, and with it the code. A space keeps them apart.
func span(s string) string {
	s = strings.ReplaceAll(text.Short(display.Sanitize(s), maxSpan), `\|`, `\ |`)
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + strings.ReplaceAll(s, "|", `\|`) + " " + fence
}
