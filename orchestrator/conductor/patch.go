package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// patches imports, compares and shares commits of the mirror.
type patches struct {
	*record

	// imported are the packs that this conductor has taken in. synced is where it put the mirror's integration branch last.
	imported map[string]bool
	synced   string
	// shapes are those of held patches, by the ids of their decisions.
	shapes   map[string]string
	siblings *evidence.Siblings
}

// receive examines a patch, and executes what follows.
func (c *Conductor) receive(ctx context.Context, a acceptance.Import) error {
	examined := timeSpent(&c.own.Git)
	v, err := c.examine(ctx, a)
	examined()
	if err != nil {
		return fmt.Errorf("receive the patch of %s/%d: %w", a.Task.Task.ID, a.Task.Attempt, err)
	}
	return c.execute(ctx, a.Then(v))
}

// examine imports a patch into the mirror, strictly, and has it checked for what no gate can see.
func (c *patches) examine(ctx context.Context, a acceptance.Import) (v acceptance.Verdict, err error) {
	t := a.Task
	p := t.Result.Patch
	if err := c.importPatch(ctx, t, p); refused(err) {
		return acceptance.Verdict{
			Decision: acceptance.Refuse,
			Findings: []acceptance.Finding{{Check: wire.FaultWriteSet, Decision: acceptance.Refuse, Text: err.Error()}},
		}, nil
	} else if err != nil {
		return v, err
	}
	repeat, err := c.findRepeat(ctx, p, a.Rejected)
	switch {
	case err != nil:
		return v, err
	case repeat != nil:
		return acceptance.Verdict{Decision: acceptance.Again, Again: repeat}, nil
	case a.Patch == nil:
		return acceptance.Verdict{Decision: acceptance.Pass}, nil
	}
	names, err := c.cfg.Mirror.Names(ctx, p.Base, p.Commit)
	for _, f := range names.Odd {
		a.Patch.Names = append(a.Patch.Names, acceptance.Finding{Path: f.Path, Text: f.Text})
	}
	if err == nil {
		a.Patch.Changes, err = evidence.Changes(ctx, c.cfg.Mirror, p)
	}
	if err == nil {
		c.siblings.Keep(t, p, a.Patch.Changes)
		err = evidence.Filter(ctx, c.cfg.Mirror, p, a.Patch.Changes)
	}
	if err == nil {
		a.Patch.Roots, err = evidence.Roots(ctx, c.cfg.Mirror, p.Base, a.Patch.Gates)
	}
	if locks := acceptance.LocksOf(a.Patch.Changes); err == nil && len(locks) > 0 {
		var entries []git.Entry
		entries, err = c.cfg.Mirror.Lookup(ctx, p.Base, locks)
		for _, e := range entries {
			if e.Mode != "" { // it is there
				a.Patch.Locks = append(a.Patch.Locks, e.Path)
			}
		}
	}
	if err != nil {
		return v, err
	}
	return acceptance.Check(a.Patch), nil
}

// findRepeat returns which of some failures had a patch that changes the same files in the same way; nil for none.
func (c *patches) findRepeat(ctx context.Context, p *spec.Patch, had []run.AttemptFault) (*run.AttemptFault, error) {
	var now []git.Change
	for i := range had {
		was, err := c.cfg.Mirror.Changed(ctx, had[i].Patch.Base, had[i].Patch.Commit)
		if err == nil && now == nil {
			now, err = c.cfg.Mirror.Changed(ctx, p.Base, p.Commit)
		}
		if err != nil {
			return nil, fmt.Errorf("compare it with the patch of attempt %d: %w", had[i].Attempt, err)
		}
		if slices.Equal(was, now) {
			return &had[i], nil
		}
	}
	return nil, nil
}

// refused reports whether the patch is at fault, and not the machine: the same patch would fail at every resume.
func refused(err error) bool {
	var bad *git.PatchError
	return errors.As(err, &bad) || slices.ContainsFunc(
		[]error{git.ErrPack, git.ErrTooLarge, bus.ErrNotFound, bus.ErrBroken, bus.ErrTooLarge, bus.ErrSubject},
		func(of error) bool { return errors.Is(err, of) })
}

func (c *patches) importPatch(ctx context.Context, t *run.Task, p *spec.Patch) error {
	if head := c.st.Works[t.Task.ID].Attempts[t.Attempt].Head; p.Base != head {
		return &git.PatchError{Commit: p.Commit, Faults: []git.PatchFault{{
			Kind: git.FaultCommit, Text: "is not a commit on " + head,
		}}}
	}
	if err := c.importPack(ctx, p.Pack); err != nil {
		return err
	}
	undone, err := c.undoes(ctx, t, p)
	if err != nil {
		return err
	}
	set := t.WriteSet(c.st.Spec.Project.Protected)
	err = git.CheckPatch(ctx, c.cfg.Mirror, *p, func(file string, made bool) bool {
		return set.RefuseChange(file, made) == ""
	})
	var bad *git.PatchError
	ofCommit := func(f git.PatchFault) bool { return f.Kind == git.FaultCommit }
	if undone && errors.As(err, &bad) && !slices.ContainsFunc(bad.Faults, ofCommit) {
		return nil // what it brings back, such as a link, was on the branch
	}
	return err
}

// maxImported bounds the names of packs that are remembered.
const maxImported = 1000

// importPack takes a pack into the mirror, strictly. The patches of a group are in one.
func (c *patches) importPack(ctx context.Context, name string) error {
	if c.imported[name] {
		return nil
	}
	pack, err := c.cfg.Bus.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("its pack %s: %w", name, err)
	}
	if err := c.cfg.Mirror.Import(ctx, pack); err != nil {
		return err
	}
	if len(c.imported) >= maxImported {
		clear(c.imported)
	}
	c.imported[name] = true
	return nil
}

// undoes reports whether a patch takes a task out; one that does not leave the tree from before it is refused. A merge may have
// put the task's change into other files than its own. A person can mend one that did not pass.
func (c *patches) undoes(ctx context.Context, t *run.Task, p *spec.Patch) (bool, error) {
	if len(t.Drops) == 0 || t.Attempt > 1 {
		return false, nil
	}
	_, old, _ := c.st.Batches.LandedWith(c.st.Tasks.ByID[t.Drops[0]], c.st.Spec.Base)
	tree, err := c.cfg.Mirror.Tree(ctx, old)
	if err == nil && tree != p.Tree {
		err = &git.PatchError{Commit: p.Commit, Faults: []git.PatchFault{{
			Kind: git.FaultCommit, Text: "does not leave the tree from before " + t.Drops[0],
		}}}
	}
	return err == nil, err
}

// nameless signs what the landing queue commits for a user whose settings name no author.
var nameless = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// merger lets the landing queue work on the mirror.
type merger struct {
	draft  *git.Draft
	author git.Ident
}

// Merge implements landing.Merger.
func (m merger) Merge(ctx context.Context, ours, theirs string) (tree string, conflicts []string, message string, err error) {
	r, err := m.draft.MergeTree(ctx, ours, theirs)
	if err != nil {
		return "", nil, "", err
	}
	if r.Clean() {
		return r.Tree, nil, "", nil
	}
	words := make([]string, 0, len(r.Conflicts))
	for _, c := range r.Conflicts {
		words = append(words, strings.TrimSpace(c.Message))
	}
	paths := r.Paths
	if len(paths) == 0 {
		paths = []string{r.Conflicts[0].Path}
	}
	return "", paths, strings.Join(words, "\n"), nil
}

// Commit implements landing.Merger.
func (m merger) Commit(_ context.Context, tree, message string, at time.Time, parents ...string) (string, error) {
	return m.draft.CommitTree(tree, parents, message, m.author, m.author, at)
}

// syncHead puts the mirror's integration branch where the log reports that it is. It keeps the commits reachable.
func (c *patches) syncHead(ctx context.Context) error {
	if tip := c.st.Tip(); tip != c.st.Head {
		if err := c.keepPassage(ctx, tip); err != nil {
			return err
		}
	}
	ref := run.IntegrationRef(c.cfg.Run)
	if c.synced != "" && c.cfg.Mirror.UpdateRef(ctx, ref, c.st.Head, c.synced) == nil {
		c.synced = c.st.Head
		return nil
	}
	at, err := c.cfg.Mirror.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	if at != c.st.Head {
		if err := c.cfg.Mirror.UpdateRef(ctx, ref, c.st.Head, at); err != nil {
			return err
		}
	}
	c.synced = c.st.Head
	return nil
}

// keepPassage keeps the commits of a passage, which are not on the branch yet, reachable.
func (c *patches) keepPassage(ctx context.Context, tip string) error {
	ref := "refs/divisi/passage/" + c.cfg.Run
	at, err := c.cfg.Mirror.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	if at == tip {
		return nil
	}
	return c.cfg.Mirror.UpdateRef(ctx, ref, tip, at)
}

// pack packs the mirror beside the run, where that pays. Without it the run continues all the same.
func (c *Conductor) pack(ctx context.Context) {
	if !c.packing.CompareAndSwap(false, true) {
		return
	}
	c.askers.Go(func() {
		defer c.packing.Store(false)
		n, err := c.cfg.Mirror.PackLoose(ctx)
		c.cfg.Log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
	})
}

// changedBy lists the files in which two commits differ, both names of one that moved; none where one of them is a link or a
// submodule, because these lead elsewhere.
func (c *patches) changedBy(ctx context.Context, old, head string) (files []string, err error) {
	changes, err := c.cfg.Mirror.Changed(ctx, old, head)
	for i := range changes {
		modes := changes[i].OldMode + changes[i].NewMode
		if strings.Contains(modes, git.ModeSymlink) || strings.Contains(modes, git.ModeGitlink) {
			return nil, err
		}
		files = append(files, changes[i].Path)
	}
	return files, err
}
