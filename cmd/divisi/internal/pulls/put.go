package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/merge"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/publish"
	"divisi/orchestrator/run"
)

// publish prints what will be written, asks, and writes it.
func (p *Command) publish(ctx context.Context, t *publish.Target) error {
	out := &publish.Publisher{
		Forge: t.Forge, Branches: t, Pulls: func() run.Pulls { return t.State.Pulls }, Now: time.Now, Wait: p.wait(t),
		Draft: p.draft, Auto: p.wanted.Auto, Labels: p.labels, Reviewers: p.reviewers, Pace: p.pace,
		Note: t.Note,
	}
	if err := out.Look(ctx); err != nil {
		return err
	}
	items, err := t.Order(p.per).Items(ctx)
	if err != nil {
		return err
	}
	ci, err := t.ChangesCI(ctx)
	if err != nil {
		return err
	}
	if err := p.ask(ctx, t, items, ci); err != nil {
		return err
	}
	left := false
	for i := range items {
		done, err := p.put(ctx, t, out, &items[i])
		if err == nil && items[i].Waits != "" {
			err = waits(ctx, t, items[i].Item, items[i].Waits)
		}
		if err == nil {
			err = p.show(t, &items[i])
		}
		if err != nil {
			return err
		}
		if !done {
			left = true
			drop(items[i+1:], items[i].Head)
		}
	}
	if left {
		return cli.End(cli.CodeParked, "")
	}
	return nil
}

// waits notes why an item was not published.
func waits(ctx context.Context, t *publish.Target, it publish.Item, why string) error {
	if had := t.State.Pulls[it.Head]; had != nil && had.Reason == why {
		return nil
	}
	d := it.PullData
	d.Reason = why
	return t.Note(ctx, d)
}

// drop has items wait that are stacked on one that was not published.
func drop(items []publish.Planned, head string) {
	for i := range items {
		if items[i].Below == head {
			items[i].Waits = "it is stacked on " + head
		}
	}
}

// ask prints what will be written, and asks whether to.
func (p *Command) ask(ctx context.Context, t *publish.Target, items []publish.Planned, ci bool) error {
	open, proofs := 0, 0
	for i := range items {
		it, had := &items[i], t.State.Pulls[items[i].Head]
		if it.Waits != "" || had.EndedWith(it.Commit) {
			continue
		}
		if had == nil || !had.Opened() || had.Over() {
			open++
		}
		if !it.Proven && !p.unproven {
			proofs++
		}
	}
	p.Aside(display.Sanitize(fmt.Sprintf("%s at %s (%s): %s, %d of them new, into %s", t.Repository.Name, t.Name, t.At.Host,
		text.Count(len(items), "pull request"), open, t.Base)))
	for i := range items {
		it := &items[i]
		line := fmt.Sprintf("  %s: %s", it.Head, text.Count(len(it.Tasks), "task"))
		if it.Below != "" {
			line += ", on " + it.Below
		}
		if it.Waits != "" {
			line += "; waits: " + it.Waits
		}
		p.Aside(display.Sanitize(line))
	}
	if proofs > 0 {
		p.Aside(fmt.Sprintf("the gates run on %s before, about %s in all", text.Count(proofs, "tree"),
			text.Span(p.gates(t)*time.Duration(proofs))))
	}
	p.Aside(fmt.Sprintf("by %s; it needs the permissions %s", t.Token, t.Permissions(ci)))
	for _, line := range t.Told {
		p.Aside(display.Sanitize("note: " + line))
	}
	switch {
	case p.yes:
		return nil
	case !p.Interactive():
		return usage.Errorf("nothing was pushed: there is no terminal to ask on\nAgree to what is printed above with --yes")
	}
	return p.Confirm(ctx, p.Out, "Push and open them?", "nothing was pushed")
}

// gates is how long all gates of a run take.
func (p *Command) gates(t *publish.Target) (sum time.Duration) {
	for _, r := range t.State.Proofs.Baseline {
		sum += r.Duration
	}
	return sum
}

// put proves one item and publishes it. It reports whether that is done: what keeps one pull request back is told, and the others
// are published all the same.
func (p *Command) put(ctx context.Context, t *publish.Target, out *publish.Publisher, it *publish.Planned) (bool, error) {
	if it.Waits != "" {
		return false, nil
	}
	if !t.State.Pulls[it.Head].EndedWith(it.Commit) {
		if err := p.prove(ctx, t, it); err != nil || it.Waits != "" {
			return false, err
		}
	}
	if err := t.Order(p.per).Describe(ctx, it); err != nil {
		return false, err
	}
	err := out.Put(ctx, it.Item)
	switch {
	case errors.Is(err, forge.ErrReviewer):
		p.Aside(display.Sanitize("note: " + err.Error()))
		return true, nil
	case errors.Is(err, publish.ErrFull), errors.Is(err, publish.ErrForeign):
		it.Waits = err.Error()
		return false, nil
	case errors.Is(err, git.ErrStale):
		return false, fmt.Errorf("%w\nAnother process pushed to it meanwhile: try again", err)
	}
	return err == nil, err
}

// prove has the gates run on the tree of an item that they have not proven.
func (p *Command) prove(ctx context.Context, t *publish.Target, it *publish.Planned) error {
	had := it.Unproven
	if !it.Proven && !p.unproven {
		if err := p.lay(ctx, t, it); err != nil {
			return err
		}
		trial := merge.Trial{
			Repo: t.Checkout.Top, Commit: it.Commit, On: it.From, Onto: "the base", What: "the files of " + it.Head,
			Whole: it.Group == "",
		}
		if trial.Whole {
			trial.Commit = t.State.Head // of the same tree, and on the branch
		}
		changes, err := t.Mirror.Changed(ctx, it.From, it.Commit)
		if err != nil {
			return err
		}
		for _, c := range changes {
			trial.Changed = append(trial.Changed, c.Path)
		}
		if len(t.State.Spec.Project.Gates) == 0 {
			it.Unproven = "run " + t.Run.ID() + " had no gates"
		} else if it.Unproven, err = merge.Of(p.Globals, t.Checkout.Top, false).Prove(ctx, trial, t.State); err != nil {
			return err
		}
		it.Proven, it.Unproven = true, cmp.Or(it.Unproven, had)
	} else if !it.Proven {
		it.Unproven = cmp.Or(it.Unproven, "its gates have not run")
	}
	if it.Unproven == "" || p.unproven {
		return nil
	}
	if p.Interactive() {
		return p.Confirm(ctx, p.Out, display.Sanitize(it.Head+" is not proven: "+it.Unproven+". Publish it?"), "")
	}
	it.Waits = fmt.Sprintf("it is not proven: %s; publish it all the same with --unproven", it.Unproven)
	return nil
}

// lay puts the commits of an item on a branch of the person's repository, where the gates find them.
func (p *Command) lay(ctx context.Context, t *publish.Target, it *publish.Planned) error {
	if it.Group == "" {
		if t.State.Ref != "" && t.State.Published == t.State.Head {
			return nil
		}
		_, err := orchestrator.Publish(ctx, t.Run)
		return err
	}
	ref, had := "refs/heads/"+it.Head, ""
	at, err := t.Git.Resolve(ctx, t.Checkout, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if known := t.State.Pulls[it.Head]; known != nil && known.Ours[at] {
		had = at
	}
	return t.Git.Publish(ctx, t.Checkout, t.Mirror, ref, it.Commit, t.State.Spec.Base, had)
}

// wait waits until another pull request may be opened. The log has the time of the others, so that a repetition waits no longer.
func (p *Command) wait(t *publish.Target) func(ctx context.Context, it publish.Item, until time.Time) error {
	return func(ctx context.Context, it publish.Item, until time.Time) error {
		why := fmt.Sprintf("it may be opened at %s: %d an hour", until.Local().Format("15:04:05"), p.pace.PerHour)
		if err := waits(ctx, t, it, why); err != nil {
			return err
		}
		p.Aside(fmt.Sprintf("%s waits: %s; Ctrl-C leaves it to the next %s", it.Head, why, p.Calls("divisi publish "+t.Run.ID())))
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	}
}

// show prints how a pull request stands.
func (p *Command) show(t *publish.Target, it *publish.Planned) error {
	line := map[string]any{"run": t.Run.ID(), "head": it.Head, "base": it.Base, "tasks": it.Tasks}
	words := it.Head
	if had := t.State.Pulls[it.Head]; had != nil && had.Opened() {
		line["number"], line["url"], line["state"] = had.Number, had.URL, had.State
		words = fmt.Sprintf("%s: %s %s", it.Head, had.State, had.URL)
	}
	if it.Unproven != "" && it.Waits == "" {
		line["unproven"] = it.Unproven
		words += "; not proven: " + it.Unproven
	}
	if it.Waits != "" {
		line["waits"] = it.Waits
		words += "; waits: " + it.Waits
	}
	return p.Print(func(b *strings.Builder) error {
		b.WriteString(display.SanitizeLines(words) + "\n")
		return nil
	}, line)
}
