package landing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// Merge proposes to merge the candidates onto a commit; Then proposes what follows, nothing when all of them have to wait.
type Merge struct {
	run.Proposal

	Head, Onto string
	// Set is the change set that the candidates are; empty for patches that may land one without the other. Each wants a commit
	// for each patch of it.
	Set        string
	Each       bool
	Candidates []Candidate
	// Sealed is the last commit of a passage, which becomes a merge commit with a message; empty for none.
	Sealed, Message string
	// Window returns until when the patches wait for tasks that are under way, those that are ready to start among them, and for
	// how long at most; zero for not at all.
	// The conductor waits (its waiter): it executes no merge before that time, and its other rules continue.
	Window func(ready []string) (until time.Time, most time.Duration)
	Then   func(Chain) []run.Action
}

// Key is the same for merges that have the same outcome.
func (a Merge) Key() string {
	key := a.Head + " " + a.Onto + " " + a.Sealed
	for _, c := range a.Candidates {
		key += " " + c.Commit
	}
	return key
}

// Candidate is one accepted patch.
type Candidate struct {
	Run, Task, Title, Role, Model string
	Attempt                       int
	// Commit is the patch, whose parent is the integration commit that the attempt started from. Base is its parent where that is
	// a merged change set; empty else.
	Commit, Base string
	// Unverified is why the patch is not proven; empty when it is. Better is what is left of what it mends.
	Unverified, Better string
	// CoAuthor is who a commit of an agent's patch names as co-author; empty for none.
	CoAuthor string
}

// candidateOf is the newest patch of a task.
func candidateOf(in facts, t *run.Task) Candidate {
	role := in.spec.Made(t, in.works)
	c := Candidate{Run: in.spec.Run, Task: t.Task.ID, Title: t.Task.Title, Role: role.Name, Attempt: t.Attempt}
	c.Unverified, c.Better = caveatsOf(in, t)
	if role.Executor == spec.ExecutorModel {
		c.Model = in.spec.Project.ModelName(role.Model)
	}
	if role.Executor == spec.ExecutorModel || role.Usage != "" {
		c.CoAuthor = in.spec.Project.CoAuthor
	}
	if t.Result.Patch != nil {
		c.Commit = t.Result.Patch.Commit
	}
	return c
}

// caveatsOf returns why the patch of a task is not proven, and what is left of what it mends.
func caveatsOf(in facts, t *run.Task) (unverified, better string) {
	unverified = proof.UnverifiedPatch(in.agenda, in.proofs, t)
	if t.Dropped.Attempt == t.Attempt {
		unverified, better = cmp.Or(unverified, t.Dropped.Unverified), t.Dropped.Better
	}
	return unverified, better
}

// mergeOf proposes to merge some patches onto a commit, in their order.
func mergeOf(in facts, onto string, tasks []*run.Task) Merge {
	m := Merge{Head: in.head, Onto: onto}
	for _, t := range tasks {
		m.Candidates = append(m.Candidates, candidateOf(in, t))
	}
	return m
}

// mergeOfSet proposes to merge the patches of a set, but for those of some tasks: first the ones that were made on the
// integration branch, then those that are built on the set as it was merged before, in the order in which their attempts began.
func mergeOfSet(in facts, onto string, set *run.ChangeSet, without map[string]bool) Merge {
	m := Merge{Head: in.head, Onto: onto, Set: set.Name, Each: in.spec.Project.Commits == spec.CommitsEach}
	for _, t := range set.Members {
		for _, k := range t.Patches() {
			if without[t.Task.ID] {
				continue
			}
			c := candidateOf(in, t)
			c.Attempt, c.Commit = k.Attempt, k.Patch.Commit
			if k.OnSet {
				c.Base = k.Patch.Base
			}
			m.Candidates = append(m.Candidates, c)
		}
	}
	began := func(c Candidate) (pos uint64) {
		if c.Base != "" {
			pos = in.works[c.Task].Attempts[c.Attempt].Pos
		}
		return pos
	}
	slices.SortStableFunc(m.Candidates, func(a, b Candidate) int { return cmp.Compare(began(a), began(b)) })
	return m
}

// Merged is a candidate's commit in a chain.
type Merged struct {
	Candidate
	// Landed is the commit on the integration branch.
	Landed string
}

// Conflict is a candidate that does not merge onto the chain before it.
type Conflict struct {
	Candidate
	Paths   []string
	Message string
	// Waits reports that it merges onto the head alone: it conflicts only with others of the chain.
	Waits bool
}

// Chain is the integration branch as a batch would make it.
type Chain struct {
	Head, Tree string
	Merged     []Merged
	Conflicts  []Conflict
	// Changed are the files in which it differs from the commit that it is built on; none where that is not known.
	Changed []string
}

// Merger merges and commits without a work tree and without touching a ref.
type Merger interface {
	// Merge returns the tree of a three-way merge of two commits, or the paths that conflict and git's words about them.
	Merge(ctx context.Context, ours, theirs string) (tree string, conflicts []string, message string, err error)
	// Commit writes a commit with its parents, the first one before others. The same arguments give the same id.
	Commit(ctx context.Context, tree, message string, at time.Time, parents ...string) (string, error)
}

// Build merges the candidates, in order. A task with a patch that conflicts is left out, with all of its patches; the others are
// merged without it. A candidate whose merge changes nothing lands as an empty commit, so that its trailers record that it
// landed. A change set is one commit, unless each patch of it is to be one.
func Build(ctx context.Context, m Merger, a Merge, at time.Time) (chain Chain, err error) {
	if a.Sealed != "" {
		return a.seal(ctx, m, at)
	}
	for rebuild := true; rebuild; {
		if chain, rebuild, err = a.chain(ctx, m, chain.Conflicts, at); err != nil {
			return Chain{}, err
		}
	}
	if a.Set == "" || a.Each || len(chain.Merged) == 0 {
		return chain, nil
	}
	if chain.Head, err = m.Commit(ctx, chain.Tree, a.message(chain.Merged), at, a.Onto); err != nil {
		return Chain{}, fmt.Errorf("commit change set %s: %w", a.Set, err)
	}
	for i := range chain.Merged {
		chain.Merged[i].Landed = chain.Head
	}
	return chain, nil
}

// seal makes the merge commit of a passage.
func (a Merge) seal(ctx context.Context, m Merger, at time.Time) (chain Chain, err error) {
	chain.Head = a.Sealed
	if err = chain.readTree(ctx, m); err == nil {
		chain.Head, err = m.Commit(ctx, chain.Tree, a.Message, at, a.Onto, a.Sealed)
	}
	if err != nil {
		return Chain{}, fmt.Errorf("commit the passage that ends with %s: %w", a.Sealed, err)
	}
	return chain, nil
}

// chain merges the candidates of all tasks without a conflict, and adds to those with one. rebuild reports that a task with a new
// one has an earlier patch in the chain.
func (a Merge) chain(ctx context.Context, m Merger, had []Conflict, at time.Time) (chain Chain, rebuild bool, err error) {
	chain.Head, chain.Conflicts = a.Onto, had
	for _, c := range a.Candidates {
		if slices.ContainsFunc(chain.Conflicts, func(k Conflict) bool { return k.Task == c.Task }) {
			continue
		}
		k, err := chain.add(ctx, m, c, at)
		if err != nil {
			return Chain{}, false, err
		}
		if k == nil {
			continue
		}
		if a.Set == "" && chain.Head != a.Head {
			_, alone, _, err := m.Merge(ctx, a.Head, c.Commit)
			if err != nil {
				return Chain{}, false, fmt.Errorf("merge %s of task %s onto %s: %w", c.Commit, c.Task, a.Head, err)
			}
			k.Waits = len(alone) == 0
		}
		chain.Conflicts = append(chain.Conflicts, *k)
		if slices.ContainsFunc(chain.Merged, func(had Merged) bool { return had.Task == c.Task }) {
			return chain, true, nil
		}
	}
	return chain, false, nil
}

// add merges one candidate onto the chain. It returns the conflict of one that does not merge, and leaves the chain as it was.
func (chain *Chain) add(ctx context.Context, m Merger, c Candidate, at time.Time) (*Conflict, error) {
	ours := chain.Head
	fail := func(err error) error {
		return fmt.Errorf("merge %s of task %s onto %s: %w", c.Commit, c.Task, chain.Head, err)
	}
	if c.Base != "" && c.Base != ours { // a merge finds this parent, so that what the patch is built on does not count as its own
		if err := chain.readTree(ctx, m); err != nil {
			return nil, fail(err)
		}
		var err error
		if ours, err = m.Commit(ctx, chain.Tree, Message(c), at, c.Base); err != nil {
			return nil, fail(err)
		}
	}
	tree, conflicts, message, err := m.Merge(ctx, ours, c.Commit)
	if err != nil {
		return nil, fail(err)
	}
	if len(conflicts) > 0 {
		return &Conflict{Candidate: c, Paths: conflicts, Message: message}, nil
	}
	commit, err := m.Commit(ctx, tree, Message(c), at, chain.Head)
	if err != nil {
		return nil, fmt.Errorf("commit task %s: %w", c.Task, err)
	}
	chain.Merged = append(chain.Merged, Merged{Candidate: c, Landed: commit})
	chain.Head, chain.Tree = commit, tree
	return nil, nil
}

// readTree finds the tree of a chain in which nothing was merged yet.
func (chain *Chain) readTree(ctx context.Context, m Merger) (err error) {
	if chain.Tree == "" {
		chain.Tree, _, _, err = m.Merge(ctx, chain.Head, chain.Head)
	}
	return err
}

// message is that of a change set's commit: its trailers name each task once, with its newest attempt, role and model behind it.
func (a Merge) message(merged []Merged) string {
	var b strings.Builder
	tasks, first, of := 0, merged[0], Candidate{}
	for i, c := range merged {
		of.Unverified, of.Better = cmp.Or(of.Unverified, c.Unverified), cmp.Or(of.Better, c.Better)
		of.CoAuthor = cmp.Or(of.CoAuthor, c.CoAuthor)
		if slices.ContainsFunc(merged[i+1:], func(m Merged) bool { return m.Task == c.Task }) {
			continue // its newest attempt names it
		}
		tasks++
		trailers(&b, c.own())
	}
	head := fmt.Sprintf("%s (change set of %s)\n\nDivisi-Run: %s\nDivisi-Set: %s\n",
		a.Set, text.Count(tasks, "task"), first.Run, a.Set)
	trailers(&b, of.caveats())
	trailers(&b, of.coAuthor())
	return head + b.String()
}

// Message is a landed commit's message: the task's title, and trailers that name run, task, attempt, role and model, and
// whether it is unverified.
func Message(c Candidate) string {
	title, _, _ := strings.Cut(c.Title, "\n")
	var b strings.Builder
	b.WriteString(cmp.Or(strings.TrimSpace(title), c.Task) + "\n\n")
	trailers(&b, [][2]string{{"Divisi-Run", c.Run}})
	trailers(&b, c.own())
	trailers(&b, c.caveats())
	trailers(&b, c.coAuthor())
	return b.String()
}

// caveats are the trailers of a commit that is not proven.
func (c Candidate) caveats() [][2]string {
	return [][2]string{{"Divisi-Better", c.Better}, {"Divisi-Unverified", c.Unverified}}
}

// coAuthor is the trailer that code hosts read.
func (c Candidate) coAuthor() [][2]string { return [][2]string{{"Co-authored-by", c.CoAuthor}} }

// own are the trailers that name a task's part in a commit.
func (c Candidate) own() [][2]string {
	return [][2]string{
		{"Divisi-Task", c.Task},
		{"Divisi-Attempt", strconv.Itoa(c.Attempt)},
		{"Divisi-Role", c.Role},
		{"Divisi-Model", c.Model},
	}
}

// trailers writes those that have a value.
func trailers(b *strings.Builder, list [][2]string) {
	for _, t := range list {
		if t[1] != "" {
			fmt.Fprintf(b, "%s: %s\n", t[0], t[1])
		}
	}
}
