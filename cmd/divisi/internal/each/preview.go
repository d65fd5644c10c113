package each

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/round"
)

// preview shows change, files and gates, and asks.
func (e *command) preview(ctx context.Context, c Change) error {
	p, err := e.Preview(ctx, &e.Flags)
	if err != nil {
		return err
	}
	if err := errors.Join(p.Refused...); err != nil {
		return err
	}
	// No trial is needed where gates that prove nothing are allowed.
	if p.Detected && len(p.Gates) > len(e.Gates) && !e.AllowUnverified {
		e.Aside("No settings are known for this repository: setup and gates are found and tried first")
		if err := e.InitFirst(ctx, &e.Flags); err != nil {
			return err
		}
		if p, err = e.Preview(ctx, &e.Flags); err != nil {
			return err
		}
	}
	v, err := viewOf(c, p)
	if err != nil {
		return err
	}
	for _, line := range v.lines(cli.Width(e.Out)) {
		fmt.Fprintln(e.Out, line)
	}
	if err := e.proposeThen(ctx, v.files); err != nil {
		return err
	}
	return e.Confirm(ctx, e.Out, "Run it?", "nothing was run")
}

// proposeThen asks whether what the repository has for it runs after the command, where the line has no --then.
func (e *command) proposeThen(ctx context.Context, files []string) error {
	if e.Then != "" || e.Role != "" || e.Command == nil && e.Pattern == "" {
		return nil
	}
	installed := func(program string) bool { _, err := exec.LookPath(program); return err == nil }
	e.Then = propose(files, os.DirFS(cli.Top(e.Repo)), installed)
	if e.Then == "" {
		return nil
	}
	fmt.Fprintf(e.Out, "Then format what each task changed, as by --then %s? [y/N] ", text.Shell(e.Then))
	yes, err := cli.Answer(ctx, func() (bool, error) { return console.Yes(e.In) })
	if err != nil {
		return err
	}
	if !yes {
		e.Then = ""
		return nil
	}
	change, err := e.Change()
	if err != nil {
		return err
	}
	return e.take(change)
}

// maxGates is how many gates a preview names.
const maxGates = 8

// view is what a preview shows.
type view struct {
	change, which string
	files         []string
	tasks         int
	gates, notes  []string
	// rounds are the rows of a change in rounds, in place of files.
	rounds [][2]string
	// took is how long the gates took when they last ran on a base commit, 0 where that is not known.
	took time.Duration
}

// viewOf takes what a preview shows from a change and its expanded plan.
func viewOf(c Change, p orchestrator.Previewed) (v view, err error) {
	var plan struct {
		Tasks []spec.Task `json:"tasks"`
		Notes []string    `json:"notes"`
	}
	if err := json.Unmarshal(p.Plan, &plan); err != nil {
		return v, fmt.Errorf("read the plan: %w", err)
	}
	v = view{change: c.Plan.Goal, tasks: len(plan.Tasks), notes: plan.Notes, which: "all of them, as no --match names some"}
	for _, t := range plan.Tasks {
		v.files = append(v.files, t.Files...)
	}
	switch shard := c.Plan.Tasks[0].Shard; {
	case c.Plan.Tasks[0].ByFindings():
		v.rounds = roundsOf(c.Plan.Tasks[0])
	case shard == nil:
		v.which = "those that --from lists"
	case c.Guessed:
		v.which = "with a match of " + shard.Match + ", which is from the command"
	case shard.Match != "":
		v.which = "with a match of " + shard.Match
	}
	for _, g := range p.Gates {
		v.gates = append(v.gates, g.Name)
		v.took += g.Took
	}
	return v, nil
}

// roundsOf are the rows of a template by finding.
func roundsOf(t spec.Task) [][2]string {
	var fixers []string
	for _, way := range t.Ways() {
		fixers = append(fixers, round.FixerWords(way))
	}
	return [][2]string{
		{"rounds", fmt.Sprintf("at most %d; the first begins when gate %s has run, and its tasks are not known before",
			cmp.Or(t.Shard.Rounds, spec.DefaultRounds), strings.Join(t.Mends, ", "))},
		{"tasks", "the findings of each " + cmp.Or(t.Shard.Group, "file")},
		{"fixers", strings.Join(fixers, "; then ")},
	}
}

// lines are those of a terminal of a width.
func (v view) lines(width int) (all []string) {
	gates := text.Some(v.gates, maxGates)
	if v.took > 0 {
		gates += fmt.Sprintf("; they took %.1f s on the base commit", v.took.Seconds())
	}
	const label = 8
	all = []string{fmt.Sprintf("%-*s%s", label, "change", display.Sanitize(v.change))} // as it was typed: blanks count
	rows := v.rounds
	if rows == nil {
		rows = [][2]string{{"files", fmt.Sprintf("%d, %s; %s", len(v.files), v.which, text.Count(v.tasks, "task"))}}
	}
	rows = append(rows, [2]string{"gates", gates})
	for _, n := range text.Few(v.notes, maxGates) {
		rows = append(rows, [2]string{"note", n})
	}
	for _, row := range rows {
		for i, line := range display.Wrap(display.Sanitize(row[1]), width-label) {
			if i > 0 {
				row[0] = ""
			}
			all = append(all, fmt.Sprintf("%-*s%s", label, row[0], line))
		}
	}
	return all
}
