package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/result"
)

// The bounds of a body. GitHub refuses one that is longer than 65,536 characters.
const (
	maxBody      = 60_000
	maxGoal      = 2000
	maxDiff      = 4 << 10
	maxDiffLines = 60
	maxOdd       = 8
	maxTemplate  = 20 << 10
)

// Describe gives an item its title and body: what was asked, by what it is proven, a typical change, the odd ones, and how to
// repeat the proof. Text of agents, of the goal and of the repository is shown as code.
func (o Order) Describe(ctx context.Context, it *Planned) error {
	var b strings.Builder
	goal := o.Run.Spec.Goal
	if it.Title = Title(goal); it.Title == "" {
		it.Title = "Changes of run " + o.Run.Spec.Run
	}
	if it.Group != "" {
		it.Title += " (" + Title(it.Group) + ")"
	}
	b.WriteString(Fenced("", text.Ends(goal, maxGoal)) + "\n")
	added, deleted := 0, 0
	for _, id := range it.Tasks {
		if t := o.Run.Tasks.ByID[id]; t != nil {
			added, deleted = added+t.Landed.Added, deleted+t.Landed.Deleted
		}
	}
	fmt.Fprintf(&b, "%s of run %s by Divisi %s: +%d -%d lines.\n", text.Count(len(it.Tasks), "task"), Code(o.Run.Spec.Run),
		Code(o.Run.Spec.Program), added, deleted)
	if it.Group != "" {
		fmt.Fprintf(&b, "One of several pull requests, by %s: %s.\n", o.Per, Code(it.Group))
	}
	if it.Below != "" {
		fmt.Fprintf(&b, "It is stacked on %s: merge that first.\n", Code(it.Below))
	}
	o.grade(&b, it)
	if err := o.typical(ctx, &b, it); err != nil {
		return err
	}
	o.odd(&b, it)
	o.repeat(&b, it)
	template, err := Template(ctx, o.Repo, o.Run.Spec.Base)
	it.Body = Fill(template, text.Head(b.String(), maxBody))
	return err
}

// grade tells whether the tree is proven, by which gates, and how much of CI they are.
func (o Order) grade(b *strings.Builder, it *Planned) {
	b.WriteString("\n**Proof**\n\n")
	switch {
	case it.Unproven != "":
		fmt.Fprintf(b, "- **Not proven:** %s\n", Code(it.Unproven))
	default:
		fmt.Fprintf(b, "- Proven: the gates below pass on tree %.12s, or fail as they do without the change.\n", it.Tree)
	}
	for _, g := range o.Run.Spec.Project.Gates {
		fmt.Fprintf(b, "- %s: %s\n", Code(g.Name), Code(text.CommandLine(g.Command)))
	}
	for _, line := range view.CILines(o.Run) {
		fmt.Fprintf(b, "- %s\n", Code(line))
	}
	if r := result.Of(o.Run); r != nil && it.Group == "" {
		for _, g := range r.Came {
			fmt.Fprintf(b, "- %d %s %s\n", g.Tasks, g.Grade, Code(g.By))
		}
	}
}

// typical shows the change of the task that has the middle size.
func (o Order) typical(ctx context.Context, b *strings.Builder, it *Planned) error {
	var tasks []*run.Task
	for _, id := range it.Tasks {
		if t := o.Run.Tasks.ByID[id]; t != nil && t.Commit != "" && t.Landed.Added+t.Landed.Deleted > 0 {
			tasks = append(tasks, t)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	slices.SortStableFunc(tasks, func(x, y *run.Task) int {
		return x.Landed.Added + x.Landed.Deleted - y.Landed.Added - y.Landed.Deleted
	})
	t := tasks[len(tasks)/2]
	c, err := o.Repo.Commit(ctx, t.Commit)
	if err != nil {
		return err
	}
	diff, cut, err := o.Repo.Diff(ctx, c.Parents[0], t.Commit, maxDiff)
	if err != nil {
		return err
	}
	if lines := text.Lines(diff); len(lines) > maxDiffLines {
		diff, cut = strings.Join(lines[:maxDiffLines], "\n"), true
	}
	fmt.Fprintf(b, "\n**A typical change**, of %s\n\n%s", Code(t.Task.ID), Fenced("diff", diff))
	if cut {
		b.WriteString("\nThe diff goes on.\n")
	}
	return nil
}

// odd lists what deserves a look first.
func (o Order) odd(b *strings.Builder, it *Planned) {
	n := 0
	for _, r := range result.Risks(o.Run) {
		if !slices.Contains(it.Tasks, r.Task) {
			continue
		}
		if n++; n == 1 {
			b.WriteString("\n**Look at these first**\n\n")
		}
		if n <= maxOdd {
			fmt.Fprintf(b, "- %s\n", Code(r.String()))
		}
	}
	if n > maxOdd {
		fmt.Fprintf(b, "- and %d more\n", n-maxOdd)
	}
}

// repeat tells how to run the gates on the commit.
func (o Order) repeat(b *strings.Builder, it *Planned) {
	commands := []string{"git checkout " + it.Commit}
	for _, g := range o.Run.Spec.Project.Gates {
		commands = append(commands, text.CommandLine(g.Command))
	}
	b.WriteString("\n**To repeat the proof**\n\n" + Fenced("sh", strings.Join(commands, "\n")))
}

// templates are the places of the repository's template for pull requests, in the order in which forges look.
var templates = []string{
	".github/PULL_REQUEST_TEMPLATE.md", ".github/pull_request_template.md",
	"PULL_REQUEST_TEMPLATE.md", "pull_request_template.md",
	"docs/PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md", ".gitlab/merge_request_templates/Default.md",
}

// Template is the template for pull requests of a commit; "" for none, and for one that is too long.
func Template(ctx context.Context, r *git.Repo, commit string) (string, error) {
	for _, name := range templates {
		data, err := r.ReadFile(ctx, commit, name, maxTemplate)
		if err == nil {
			return string(data), nil
		}
		if !errors.Is(err, git.ErrNotFound) && !errors.Is(err, git.ErrTooLarge) {
			return "", err
		}
	}
	return "", nil
}

var description = lazyregexp.New(
	`(?im)^#{1,6}[ \t]*(description|summary|overview|what\b.*|changes|proposed changes|motivation)[ \t]*:?[ \t]*\r?$`)

// Fill puts a body into a template, behind its heading for a description, or before it where it has none.
func Fill(template, body string) string {
	if strings.TrimSpace(template) == "" {
		return body
	}
	at := description.FindStringIndex(template)
	if at == nil {
		return body + "\n" + template
	}
	return template[:at[1]] + "\n\n" + body + template[at[1]:]
}
