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
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/publish"
	"divisi/orchestrator/run"
)

type event = contextscope.Event

// publish prints what will be written, asks, and writes it.
func (p *Command) publish(ctx context.Context, t *target) error {
	out := &publish.Publisher{
		Forge: t.forge, Branches: t, Pulls: func() run.Pulls { return t.st.Pulls }, Now: time.Now, Wait: p.wait(t),
		Draft: p.draft, Auto: p.auto, Labels: p.labels, Reviewers: p.reviewers, Pace: p.pace,
		Note: func(ctx context.Context, d run.PullData) error { return t.note(ctx, d) },
	}
	if err := out.Look(ctx); err != nil {
		return err
	}
	items, err := p.order(t).Items(ctx)
	if err != nil {
		return err
	}
	ci, err := p.changesCI(ctx, t)
	if err != nil {
		return err
	}
	if err := p.ask(ctx, t, items, ci); err != nil {
		return err
	}
	left := false
	for i := range items {
		done, err := p.put(ctx, t, out, &items[i])
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

// note appends to the log, and reads what it has then.
func (t *target) note(ctx context.Context, d run.PullData) error {
	if d.Commit != "" {
		d.Remote = t.at.Scheme + "://" + t.at.Host + "/" + t.at.Path()
	}
	if _, err := t.run.Act(ctx, act.NotePull{Pull: d}); err != nil {
		return err
	}
	return t.refresh(ctx)
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
func (p *Command) ask(ctx context.Context, t *target, items []publish.Planned, ci bool) error {
	open, proofs := 0, 0
	for i := range items {
		it, had := &items[i], t.st.Pulls[items[i].Head]
		if it.Waits != "" || had.Over() {
			continue
		}
		if had == nil || !had.Opened() {
			open++
		}
		if !it.Proven && !p.unproven {
			proofs++
		}
	}
	p.Aside(display.Sanitize(fmt.Sprintf("%s at %s (%s): %s, %d of them new, into %s", t.repo.Name, t.name, t.to.URL,
		text.Count(len(items), "pull request"), open, t.base)))
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
	p.Aside(fmt.Sprintf("by %s; it needs the permissions %s", t.token, permissions(t, ci)))
	for _, line := range t.told {
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
func (p *Command) gates(t *target) (sum time.Duration) {
	for _, r := range t.st.Proofs.Baseline {
		sum += r.Duration
	}
	return sum
}

// put proves one item and publishes it. It reports whether that is done: what keeps one pull request back is told, and the others
// are published all the same.
func (p *Command) put(ctx context.Context, t *target, out *publish.Publisher, it *publish.Planned) (bool, error) {
	if it.Waits != "" {
		return false, nil
	}
	if !t.st.Pulls[it.Head].Over() {
		if err := p.prove(ctx, t, it); err != nil || it.Waits != "" {
			return false, err
		}
	}
	if err := p.order(t).Describe(ctx, it); err != nil {
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
func (p *Command) prove(ctx context.Context, t *target, it *publish.Planned) error {
	had := it.Unproven
	if !it.Proven && !p.unproven {
		if err := p.lay(ctx, t, it); err != nil {
			return err
		}
		trial := merge.Trial{
			Repo: t.checkout.Top, Commit: it.Commit, On: it.From, Onto: "the base", What: "the files of " + it.Head,
			Whole: it.Group == "",
		}
		if trial.Whole {
			trial.Commit = t.st.Head // of the same tree, and on the branch
		}
		changes, err := t.mirror.Changed(ctx, it.From, it.Commit)
		if err != nil {
			return err
		}
		for _, c := range changes {
			trial.Changed = append(trial.Changed, c.Path)
		}
		if len(t.st.Spec.Project.Gates) == 0 {
			it.Unproven = "run " + t.run.ID() + " had no gates"
		} else if it.Unproven, err = merge.Of(p.Globals, t.checkout.Top, false).Prove(ctx, trial, t.st); err != nil {
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
func (p *Command) lay(ctx context.Context, t *target, it *publish.Planned) error {
	if it.Group == "" {
		if t.st.Ref != "" && t.st.Published == t.st.Head {
			return nil
		}
		_, err := orchestrator.Publish(ctx, t.run)
		return err
	}
	ref, had := "refs/heads/"+it.Head, ""
	at, err := t.git.Resolve(ctx, t.checkout, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if known := t.st.Pulls[it.Head]; known != nil && known.Ours[at] {
		had = at
	}
	return t.git.Publish(ctx, t.checkout, t.mirror, ref, it.Commit, t.st.Spec.Base, had)
}

// wait waits until another pull request may be opened. The log has the time of the others, so that a repetition waits no longer.
func (p *Command) wait(t *target) func(ctx context.Context, head string, until time.Time) error {
	return func(ctx context.Context, head string, until time.Time) error {
		why := fmt.Sprintf("it may be opened at %s: %d an hour", until.Local().Format("15:04:05"), p.pace.PerHour)
		if err := t.note(ctx, run.PullData{Head: head, Reason: why}); err != nil {
			return err
		}
		p.Aside(fmt.Sprintf("%s waits: %s; Ctrl-C leaves it to the next %s", head, why, p.Calls("divisi publish "+t.run.ID())))
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
func (p *Command) show(t *target, it *publish.Planned) error {
	line := map[string]any{"run": t.run.ID(), "head": it.Head, "base": it.Base, "tasks": it.Tasks}
	words := it.Head
	if had := t.st.Pulls[it.Head]; had != nil && had.Opened() {
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
