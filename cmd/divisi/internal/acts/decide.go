package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/inspect"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/console/reports"
)

// NewDecide makes divisi decide.
func NewDecide(g *Globals) *cobra.Command {
	var back, now, alike bool
	c := &cobra.Command{
		Use:   `decide [RUN [DECISION OPTION ["TEXT"]]]`,
		Short: "Walk through pending decisions",
		Long: `Walk through the open decisions of a run, what blocks most first: plans, questions of agents, held
patches, files that no gate reads, shards that are unlike the others, and held templates. Without RUN,
the newest run. Enter leaves one open, and the next divisi decide shows it again. Decisions that are
alike are answered together: their list is shown first.
Without a terminal the command lists what is open; with the id of a decision and an option it answers
that one. An answer to a decision that is closed, or about an attempt that another one has replaced,
is refused. An answer from a terminal is held back for ten seconds: --take-back takes it back, as long as
the run has not acted on it, and --now ends the wait. accept with --alike
also accepts each other patch of the run that is alike, held now or later, until that is taken back.`,
		Example: `  divisi decide 1f2e
  divisi decide 1f2e api@120 reject "Keep the old name as an alias"
  divisi decide 1f2e api@120 accept --alike
  divisi decide 1f2e api@120 --take-back`,
		RunE: func(c *cobra.Command, args []string) error {
			run, err := g.FindRun(c.Context(), args)
			switch {
			case err != nil:
				return err
			case alike && (back || now || len(args) < 3):
				return usage.Errorf("--alike is for an answer: divisi decide %s DECISION accept --alike", run)
			case (back || now) && (back == now || len(args) != 2):
				return usage.Errorf("name the decision whose answer is meant: divisi decide %s ID --take-back, or --now", run)
			case back:
				return g.Act(c.Context(), act.TakeBack{Decision: args[1]}, run)
			case now:
				return g.Act(c.Context(), act.Apply{Decision: args[1]}, run)
			case len(args) == 2:
				return usage.Errorf("name an option too: divisi decide %s %s OPTION", run, args[1])
			case len(args) > 2:
				choice := orchestrator.Choice{Option: args[2], Text: strings.Join(args[3:], ""), Alike: alike}
				return g.Act(c.Context(), decide(orchestrator.Decision{ID: args[1]}, choice), run)
			}
			return g.Walk(c.Context(), run)
		},
	}
	c.Flags().BoolVar(&back, "take-back", false, "take the answer to a decision back")
	c.Flags().BoolVar(&now, "now", false, "have the run act at once on an answer that it holds back")
	c.Flags().BoolVar(&alike, "alike", false, "accept each other patch that is alike too, now and later")
	return c
}

// Walk shows the open decisions, and asks about each on a terminal.
func (g *Globals) Walk(ctx context.Context, run string) (err error) {
	open, err := g.openDecisions(ctx, run)
	switch {
	case err != nil:
		return err
	case !g.Interactive():
		return g.Print(func(b *strings.Builder) error { listDecisions(b, run, open); return nil }, open)
	}
	if err := g.tellOutlook(ctx, run); err != nil {
		return err
	}
	show := g.NewConsole()
	defer func() { err = errors.Join(err, show.Close()) }()
	// What was refused because it is another decision by now, or was taken back, is shown again.
	left, others := map[string]bool{}, map[string]bool{}
	for len(open) > 0 {
		for _, alike := range Groups(open) {
			if err := g.walkAlike(ctx, show, run, alike, left, others); err != nil {
				return err
			}
		}
		if open, err = g.openDecisions(ctx, run); err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(d orchestrator.Decision) bool { return left[d.Key()] || others[d.Key()] })
	}
	said := "nothing is open"
	switch {
	case len(left) > 0:
		said = fmt.Sprintf("%s: see them again with: divisi decide %s", text.Count(len(left), "decision")+" left open", run)
	case len(others) > 0:
		said = fmt.Sprintf("the run accepts %d more that are alike", len(others))
	}
	return g.Print(cli.Say("%s: %s\n", run, g.Calls(said)))
}

// walkAlike asks about decisions that are alike. Those that are left open are added to left, and those to which the run gives the
// answer of another one to others.
func (g *Globals) walkAlike(
	ctx context.Context, show *console.Console, run string, alike []orchestrator.Decision, left, others map[string]bool,
) error {
	choice, err := g.askAlike(ctx, show, alike)
	if err != nil {
		return err
	}
	into := left
	switch {
	case choice.Alike:
		into = others
		if err = g.decideAlike(ctx, show, run, alike[:1], choice); err != nil {
			return err
		}
		alike = alike[1:]
	case choice.Option != "":
		return g.decideAlike(ctx, show, run, alike, choice)
	}
	for i := range alike {
		into[alike[i].Key()] = true
	}
	return nil
}

// tellOutlook prints what a run used so far, and what the rest is likely to use.
func (g *Globals) tellOutlook(ctx context.Context, run string) error {
	s, err := g.Runs().Summary(ctx, run)
	if err != nil {
		return err
	}
	line, err := reports.Outlook(s.Report)
	if err == nil {
		_, err = fmt.Fprintf(g.Out, "%s: %s\n", run, line)
	}
	return err
}

// openDecisions are those of a run.
func (g *Globals) openDecisions(ctx context.Context, run string) (open orchestrator.Decisions, err error) {
	r, err := g.Attach(ctx, run)
	if err != nil {
		return nil, err
	}
	open, err = r.Decisions(ctx)
	return open, errors.Join(err, r.Close())
}

// maxEvidence bounds the lines that a list has of a decision about several patches.
const maxEvidence = 20

func listDecisions(b *strings.Builder, run string, open []orchestrator.Decision) {
	if len(open) == 0 {
		fmt.Fprintf(b, "%s: nothing is open\n", run)
	}
	for _, d := range open {
		names := make([]string, len(d.Options))
		for i, o := range d.Options {
			names[i] = o.Name
		}
		fmt.Fprintf(b, "%s  %s  %s (%s; %s decides: %s)\n", d.ID, d.Kind, display.Sanitize(d.Text),
			strings.Join(names, ", "), d.Decider, d.Why)
		if d.About == "" && len(d.Patches) > 0 {
			for _, line := range text.Few(d.Evidence, maxEvidence) {
				b.WriteString("    " + display.Sanitize(line) + "\n")
			}
		}
	}
}

// Groups puts decisions together that are alike and are shown whole. Each group is in the place of its first.
func Groups(open []orchestrator.Decision) (out [][]orchestrator.Decision) {
	for _, d := range open {
		at := slices.IndexFunc(out, func(had []orchestrator.Decision) bool {
			return d.Alike != "" && had[0].Alike == d.Alike && console.Whole(d.Patches[0])
		})
		if at >= 0 {
			out[at] = append(out[at], d)
		} else {
			out = append(out, []orchestrator.Decision{d})
		}
	}
	return out
}

// askAlike asks about decisions that are alike, by the first of them.
func (g *Globals) askAlike(
	ctx context.Context, show *console.Console, alike []orchestrator.Decision,
) (orchestrator.Choice, error) {
	d := alike[0]
	if len(alike) > 1 {
		fmt.Fprintf(g.Out, "\n%d decisions are alike, and one answer is for all:\n  %s\n", len(alike),
			strings.Join(console.Patched(alike), "\n  "))
	}
	if d.Plan != nil {
		if err := g.PrintPlan(d.Plan); err != nil {
			return orchestrator.Choice{}, err
		}
	}
	return g.Choose(ctx, show, d, NoteOn(alike))
}

// NoteOn helps a person to decide about decisions that are alike.
func NoteOn(alike []orchestrator.Decision) string {
	d, blocks := alike[0], 0
	for i := range alike {
		blocks += alike[i].Blocks
	}
	note := "blocks " + text.Count(blocks, "task")
	if d.Suggests != "" {
		note += "; suggested: " + d.Suggests
	}
	if d.Decider != "person" {
		note += fmt.Sprintf("; without you the %s decides", d.Decider)
	}
	return note
}

// decide is the act that answers a decision as it was shown.
func decide(d orchestrator.Decision, c orchestrator.Choice) act.Args {
	c.Decision, c.Attempt = d.ID, d.Attempt
	return c
}

// decideAlike gives one answer to decisions that are alike. One that does not take it is told, and does not stop the others.
func (g *Globals) decideAlike(
	ctx context.Context, show *console.Console, run string, alike []orchestrator.Decision, c orchestrator.Choice,
) error {
	var held []string
	var failed error
	for _, d := range alike {
		_, ids, err := g.Do(ctx, decide(d, c), run)
		held = append(held, ids...)
		var mistake *usage.Error
		if errors.As(err, &mistake) {
			fmt.Fprintf(g.Out, "%s: not taken: %s\n", run, display.Sanitize(g.Calls(inspect.ErrorLine(err))))
			continue
		}
		if failed = err; err != nil {
			break
		}
	}
	return errors.Join(g.Held(ctx, show, run, held), failed)
}

// always is accept, for all that is alike.
const always = "always"

// Choose shows a decision on a terminal and reads the answer.
func (g *Globals) Choose(
	ctx context.Context, c *console.Console, d orchestrator.Decision, note string,
) (orchestrator.Choice, error) {
	q := g.Asked(d, note)
	if several := d.About == "" && len(q.Patches) > 1; !several && !console.Whole(q.Patches...) {
		task := "TASK"
		if len(q.Patches) == 1 {
			task = q.Patches[0].Task
		}
		q.Note = strings.TrimPrefix(fmt.Sprintf("%s; some lines are not shown, and your answer is for them too: "+
			"see the whole patch with: divisi diff %s/%s", q.Note, d.Run, task), "; ")
	}
	if d.Alike != "" {
		q.Options = append(slices.Clone(q.Options), orchestrator.Option{
			Name: always, Does: "accepts it, and each other one that is alike, now or later",
		})
	}
	choice, err := c.Decide(ctx, g.In, q)
	if choice.Alike = choice.Option == always; choice.Alike {
		choice.Option = "accept"
	}
	return choice, err
}

// Asked is a decision as a terminal shows it.
func (g *Globals) Asked(d orchestrator.Decision, note string) console.Asked {
	q := console.Asked{Decision: d, Note: note}
	q.Patches = slices.Clone(d.Patches)
	for i := range q.Patches {
		p := &q.Patches[i]
		if p.Diff = g.PatchText(p.Diff); p.Fault != "" {
			p.Diff = "It cannot be shown: " + display.Sanitize(p.Fault)
		}
	}
	if len(d.Patches) == 1 {
		of := d.Run + "/" + d.Patches[0].Task
		q.Elsewhere = []console.Elsewhere{
			{Name: "take", Does: "fix the patch by hand", Command: "divisi take " + of + " DIR"},
			{Name: "cancel", Does: "end the task for good", Command: "divisi cancel " + of},
		}
	}
	return q
}
