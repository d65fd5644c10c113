package publish

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/pull"
	"divisi/orchestrator/run"
)

// The groupings of landed tasks into pull requests, and all of them in one.
const (
	PerRun      = ""
	PerOwner    = "owner"
	PerDir      = "dir"
	PerPackage  = "package"
	PerTemplate = "template"
	PerTask     = "task"
)

// Groupings are all but PerRun.
var Groupings = []string{PerOwner, PerDir, PerPackage, PerTemplate, PerTask}

// Order is what is to be published of a run.
type Order struct {
	Run  *run.State
	Repo *git.Repo
	Per  string
	// Base is the branch to merge into, BaseHead its commit at the remote, which Repo has.
	Base, BaseHead string
}

// Planned is an item with what is known of it before anything is written.
type Planned struct {
	Item

	// Group is its name; "" for the whole run. Waits is why it cannot be published now; "" where it can.
	Group, Waits string
	// Proven reports that its tree needs no further proof. Unproven of the item is why it has none.
	Proven bool
}

// Head is the head branch of a run.
func Head(id string) string { return strings.TrimPrefix(run.IntegrationRef(id), "refs/heads/") }

// Items are the pull requests of an order, each after those that it is built on. Commits are made in the repository, and nothing
// is written elsewhere.
func (o Order) Items(ctx context.Context) ([]Planned, error) {
	if o.Run.Head == o.Run.Spec.Base {
		return nil, usage.Errorf("nothing has landed in run %s", o.Run.Spec.Run)
	}
	parts, err := o.parts(ctx)
	if err != nil {
		return nil, err
	}
	var items []Planned
	if o.Per == PerRun {
		items, err = o.whole(ctx, parts)
	} else {
		items, err = o.grouped(ctx, parts)
	}
	if err != nil {
		return nil, err
	}
	return items, o.elsewhere(items)
}

// elsewhere refuses tasks that are in the pull request of another head already.
func (o Order) elsewhere(items []Planned) error {
	for _, it := range items {
		for _, task := range it.Tasks {
			if p := o.Run.Pulls.Of(task); p != nil && p.Head != it.Head && p.Opened() && p.State == run.PullStateOpen {
				return usage.Errorf("task %s is in %s already: publish as before, or close that first", task,
					cmp.Or(p.URL, p.Head))
			}
		}
	}
	return nil
}

func (o Order) whole(ctx context.Context, parts []pull.Part) ([]Planned, error) {
	tree, err := o.Repo.Tree(ctx, o.Run.Head)
	if err != nil {
		return nil, err
	}
	all := pull.Group{Parts: parts}
	commit, same, err := o.rebuild(ctx, o.Run.Spec.Base, parts)
	if err != nil || same != tree { // as after a passage, whose commits are not all of it
		commit = o.Run.Head
	}
	it := Planned{Proven: len(o.Run.Final) > 0}
	it.PullData = run.PullData{
		Head: Head(o.Run.Spec.Run), Base: o.Base, Tasks: all.Tasks(), Commit: commit, Tree: tree, From: o.Run.Spec.Base,
		Unproven: proof.UnverifiedLanded(&o.Run.Agenda, &o.Run.Branch),
	}
	for i := range o.Run.Final {
		if r := &o.Run.Final[i]; r.Verdict == spec.VerdictFail {
			it.Unproven = cmp.Or(it.Unproven, "the final gate "+r.Gate+" fails")
		}
	}
	o.recall(&it)
	return []Planned{it}, nil
}

// recall takes what the log knows of the proof of the same tree.
func (o Order) recall(it *Planned) {
	for _, p := range o.Run.Pulls {
		if p.Tree == it.Tree && p.Unproven == "" {
			it.Proven = true
		}
	}
}

func (o Order) grouped(ctx context.Context, parts []pull.Part) ([]Planned, error) {
	groups := pull.Groups(parts)
	heads := pull.Heads(Head(o.Run.Spec.Run), groups)
	items := make([]Planned, len(groups))
	for i := range groups {
		it := &items[i]
		it.Group = groups[i].Name
		it.PullData = run.PullData{Head: heads[i], Base: o.Base, Tasks: groups[i].Tasks()}
		below, why := o.below(&groups[i], items[:i])
		if it.Waits = why; why != "" {
			continue
		}
		if it.From = o.Run.Spec.Base; len(groups[i].Needs) > 0 {
			it.From = o.BaseHead // which has what is merged
		}
		if below != nil {
			it.Below, it.Base, it.From = below.Head, below.Head, below.Commit
		}
		if err := o.commit(ctx, it, groups[i].Parts); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// below is the item that a group is stacked on, nil for none, or why the group waits.
func (o Order) below(g *pull.Group, before []Planned) (*Planned, string) {
	var open []*Planned
	for _, n := range g.Needs {
		if p := o.Run.Pulls[before[n].Head]; p == nil || p.State != run.PullStateMerged {
			open = append(open, &before[n])
		}
	}
	var heads []string
	for _, it := range open {
		if it.Waits != "" {
			return nil, "it is built on " + it.Head + ", which waits"
		}
		heads = append(heads, it.Head)
	}
	switch {
	case len(open) == 0:
		return nil, ""
	case g.Below >= 0 && open[len(open)-1] == &before[g.Below]:
		return &before[g.Below], ""
	}
	return nil, "it is built on several that are not merged: " + text.Some(heads, len(heads))
}

// commit makes the commits of an item, or takes those that the log has for the same tasks on the same ground.
func (o Order) commit(ctx context.Context, it *Planned, parts []pull.Part) error {
	had := o.Run.Pulls[it.Head]
	settled := had != nil && had.Commit != "" && had.Below == it.Below && slices.Equal(had.Tasks, it.Tasks) &&
		(had.From == it.From || it.Below == "" && it.From == o.BaseHead)
	if settled {
		if is, err := o.Repo.Has(ctx, had.Commit); err != nil || is {
			it.Commit, it.Tree, it.From, it.Unproven, it.Proven = had.Commit, had.Tree, had.From, had.Unproven, had.Unproven == ""
			return err
		}
	}
	var err error
	it.Commit, it.Tree, err = o.rebuild(ctx, it.From, parts)
	if err != nil {
		return fmt.Errorf("make %s: %w", it.Head, err)
	}
	o.recall(it)
	return nil
}

// maxNamed bounds the files that an error names.
const maxNamed = 3

// nameless signs for a user whose settings name no author.
var nameless = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// rebuild makes the commits of parts on another commit. The same arguments give the same commits.
func (o Order) rebuild(ctx context.Context, from string, parts []pull.Part) (head, tree string, err error) {
	draft, author, done := o.Repo.Draft(), cmp.Or(git.Ident(o.Run.Spec.Author), nameless), map[string]bool{}
	if tree, err = o.Repo.Tree(ctx, from); err != nil {
		return "", "", err
	}
	head = from
	for i, p := range parts {
		if done[p.Commit] {
			continue
		}
		done[p.Commit] = true
		c, err := o.Repo.Commit(ctx, p.Commit)
		if err != nil {
			return "", "", err
		}
		subject, rest, _ := strings.Cut(c.Message, "\n")
		if c.Parents[0] == head && quiet(subject) == subject && !SkipsCI(c.Message) {
			head, tree = c.ID, c.Tree
			continue
		}
		at := o.Run.Spec.Created.Add(time.Duration(i) * time.Second)
		// A merge finds this parent, so that only what the commit itself changed is merged.
		ours, err := draft.CommitTree(tree, c.Parents[:1], "ours", author, author, at)
		if err != nil {
			return "", "", err
		}
		m, err := draft.MergeTree(ctx, ours, c.ID)
		if err != nil {
			return "", "", err
		}
		if !m.Clean() {
			return "", "", usage.Errorf("task %s does not apply without the changes of other groups: it conflicts in %s", p.Task,
				text.Some(m.Paths, maxNamed))
		}
		message := cmp.Or(Title(subject), "Task "+p.Task) + "\n" + skips.ReplaceAllString(rest, "")
		tree = m.Tree
		if head, err = draft.CommitTree(tree, []string{head}, message, author, author, at); err != nil {
			return "", "", err
		}
	}
	return head, tree, draft.Flush(ctx)
}

// parts are the landed tasks with what decides about their groups.
func (o Order) parts(ctx context.Context) ([]pull.Part, error) {
	owner := func(string) string { return "" }
	if o.Per == PerOwner {
		of, problem, err := plan.Owners(ctx, &evidence.CommitTree{Repo: o.Repo, Commit: o.Run.Spec.Base})
		if err != nil {
			return nil, err
		}
		if problem != "" {
			return nil, usage.Errorf("the groups of owners cannot be made: %s", problem)
		}
		owner = of
	}
	var parts []pull.Part
	sets := o.dropped()
	for _, landing := range o.Run.Batches.Landed {
		for _, l := range landing.Tasks {
			t := o.Run.Tasks.ByID[l.Task]
			if t == nil || l.Commit == "" {
				continue
			}
			p := pull.Part{Task: l.Task, Commit: l.Commit, Set: cmp.Or(sets[l.Task], t.Task.ChangeSet)}
			if err := o.fill(ctx, &p, t, owner); err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// fill completes the part of a task.
func (o Order) fill(ctx context.Context, p *pull.Part, t *run.Task, owner func(string) string) error {
	if o.Per == PerRun {
		return nil // nothing is grouped
	}
	if len(t.Task.Through)+len(t.Task.Mends) > 0 {
		p.Set = "passage"
	}
	for _, ref := range t.After {
		p.After = append(p.After, o.Run.Tasks.Members(ref)...)
	}
	c, err := o.Repo.Commit(ctx, p.Commit)
	if err != nil {
		return err
	}
	changes, err := o.Repo.Changed(ctx, c.Parents[0], p.Commit)
	for _, change := range changes {
		p.Files = append(p.Files, change.Path)
		p.Keys = append(p.Keys, o.key(t, change.Path, owner))
	}
	return err
}

// dropped puts what was taken out and what took it out into one set.
func (o Order) dropped() map[string]string {
	sets := map[string]string{}
	for t := range o.Run.Tasks.All() {
		for _, id := range t.Drops {
			if of := o.Run.Tasks.ByID[id]; of != nil {
				sets[t.Task.ID] = cmp.Or(of.Task.ChangeSet, "without "+id)
				sets[id] = sets[t.Task.ID]
			}
		}
	}
	return sets
}

// key is the group that a file of a task asks for.
func (o Order) key(t *run.Task, file string, owner func(string) string) string {
	switch o.Per {
	case PerOwner:
		return cmp.Or(strings.ReplaceAll(owner(file), " ", "+"), "unowned")
	case PerDir:
		if top, _, below := strings.Cut(file, "/"); below {
			return top
		}
		return "top"
	case PerPackage:
		if dir := path.Dir(file); dir != "." {
			return dir
		}
		return "top"
	case PerTemplate:
		return cmp.Or(t.Task.ShardOf, t.Task.ID)
	}
	return t.Task.ID
}
