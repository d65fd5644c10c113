// Package rebase makes the plan of a run that goes on, on another base, from what an earlier run has landed: it moves that work
// there, or takes it out again. Its input are the state of the earlier run, its mirror and the repository of the person; its
// output is a plan, and the patches that its tasks begin with. It writes nothing but to a temporary directory.
package rebase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Succession is the plan of a run that goes on from what another one has landed.
type Succession = conduct.Succession

// Source is a run that has ended or was stopped, and a commit of its repository.
type Source struct {
	State    *run.State
	Git      *git.Git
	Checkout *git.Checkout
	// Base is the commit, Onto its name. Rewritten reports that it does not have the commit that the run began with.
	Base, Onto string
	Rewritten  bool
	// repo has the objects of the checkout and what has landed.
	repo  *git.Repo
	dir   store.Dir
	close []func() error
}

// Close removes what Open made.
func (s *Source) Close() (err error) {
	for _, end := range slices.Backward(s.close) {
		err = errors.Join(err, end())
	}
	return err
}

// Open finds the commit that a name stands for, "" for the branch that the run began on, and reads what the run has landed.
func Open(ctx context.Context, r *client.Run, onto string) (s *Source, err error) {
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.ID())
	if err != nil {
		return nil, err
	}
	s = &Source{State: st, Onto: onto, dir: r.Dir}
	switch {
	case st.Damaged || len(st.Unread) > 0:
		return nil, usage.Errorf("the log of run %s is damaged: what it has landed is not known", r.ID())
	case r.Sent:
		return nil, usage.Errorf("run %s was submitted from another machine, which has its repository: merge its branch there",
			r.ID())
	case !r.NotRunning():
		return nil, usage.With(usage.Errorf("run %s is active: wait until it has ended", r.ID()), usage.Running, r.ID())
	case st.Head == st.Spec.Base:
		return nil, usage.Errorf("run %s has landed nothing", r.ID())
	}
	if s.Git, err = git.New(ctx); err != nil {
		return nil, err
	}
	if s.Checkout, err = r.Dir.Inspect(ctx, s.Git, st.Spec.Repo); err != nil {
		return nil, usage.Errorf("the repository of run %s: %v", r.ID(), err)
	}
	if s.Onto == "" {
		if s.Onto = st.Spec.Branch; s.Onto == "" {
			return nil, usage.Errorf("run %s began on no branch: name the branch or commit to go on from", r.ID())
		}
	}
	if s.Base, err = s.Git.Resolve(ctx, s.Checkout, s.Onto); err != nil {
		return nil, usage.Errorf("%s: %v", s.Onto, err)
	}
	if err = s.open(ctx, filepath.Join(r.Dir.Run(r.ID()), "repo.git")); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open makes a repository with the objects of the checkout and of the run.
func (s *Source) open(ctx context.Context, mirror string) error {
	had, err := s.Git.OpenMirror(mirror)
	if err != nil {
		return err
	}
	defer had.Close()
	tmp, err := os.MkdirTemp("", "divisi-rebase-")
	if err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	s.close = append(s.close, func() error { return os.RemoveAll(tmp) })
	if s.repo, err = s.Git.BorrowMirror(ctx, filepath.Join(tmp, "repo.git"), s.Checkout, s.Base); err != nil {
		return err
	}
	s.close = append(s.close, func() error { s.repo.Close(); return nil })
	if is, err := s.repo.Has(ctx, s.State.Spec.Base); err != nil || !is {
		return errors.Join(err, usage.Errorf("%s no longer has the commit %.12s that run %s began with: fetch it again",
			s.Checkout.Top, s.State.Spec.Base, s.State.Spec.Run))
	}
	pack, err := had.Pack(ctx, s.State.Head, s.State.Spec.Base)
	if err == nil {
		err = s.repo.Import(ctx, pack)
	}
	if err != nil {
		return fmt.Errorf("read what run %s has landed: %w", s.State.Spec.Run, err)
	}
	s.Rewritten, err = s.Git.Unrelated(ctx, s.Checkout, s.State.Spec.Base, s.Base)
	return err
}

// step is one landed commit with its tasks.
type step struct {
	commit git.Commit
	tasks  []string
	files  []string
}

// steps are the landed commits, oldest first.
func (s *Source) steps(ctx context.Context) (list []step, err error) {
	for _, l := range s.State.Batches.Landed {
		for _, t := range l.Tasks {
			if n := len(list); n > 0 && list[n-1].commit.ID == t.Commit {
				list[n-1].tasks = append(list[n-1].tasks, t.Task)
				continue
			}
			if t.Commit == "" {
				continue
			}
			c, err := s.repo.Commit(ctx, t.Commit)
			if err != nil {
				return nil, err
			}
			one := step{commit: c, tasks: []string{t.Task}}
			changes, err := s.repo.Changed(ctx, c.Parents[0], c.ID)
			if err != nil {
				return nil, err
			}
			for _, change := range changes {
				one.files = append(one.files, change.Path)
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// hand signs commits that are not landed as they are.
var hand = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// apply merges the change from a commit to a tree onto another tree, and returns the tree of that, or the paths that conflict.
func (s *Source) apply(ctx context.Context, d *git.Draft, onto, from, to string) (tree string, conflicts []string, err error) {
	commit := func(tree string) (string, error) {
		return d.CommitTree(tree, []string{from}, "x", hand, hand, s.State.Spec.Created)
	}
	ours, err := commit(onto)
	if err != nil {
		return "", nil, err
	}
	theirs, err := commit(to)
	if err != nil {
		return "", nil, err
	}
	m, err := d.MergeTree(ctx, ours, theirs)
	if err != nil || m.Clean() {
		return m.Tree, nil, err
	}
	for _, c := range m.Conflicts {
		m.Paths = append(m.Paths, c.Path)
	}
	slices.Sort(m.Paths)
	return "", slices.Compact(m.Paths), nil
}

// patch makes a patch on the base that leaves a tree, and its pack; nil where it changes nothing.
func (s *Source) patch(ctx context.Context, d *git.Draft, tree, message string) (*spec.Patch, []byte, error) {
	p := &spec.Patch{Base: s.Base, Tree: tree}
	var err error
	if p.Commit, err = d.CommitTree(tree, []string{s.Base}, message, hand, hand, s.State.Spec.Created); err != nil {
		return nil, nil, err
	}
	if err := d.Flush(ctx); err != nil {
		return nil, nil, err
	}
	changes, err := s.repo.Changed(ctx, s.Base, tree)
	if err != nil || len(changes) == 0 {
		return nil, nil, err
	}
	for _, c := range changes {
		if p.Files = append(p.Files, c.Path); c.Status == 'A' {
			p.Created = append(p.Created, c.Path)
		}
	}
	p.Added, p.Deleted = git.CountLines(changes)
	p.Pack = "pack-" + p.Commit
	pack, err := s.repo.Pack(ctx, p.Commit, s.Base)
	return p, pack, err
}

// next is a succession without tasks.
func (s *Source) next() conduct.Succession {
	return conduct.Succession{Spec: s.State.Spec, Packs: map[string][]byte{}}
}

// begin has a task begin with a patch.
func begin(n *conduct.Succession, t spec.Task, p *spec.Patch, pack []byte) {
	if n.Spec.Carried == nil {
		n.Spec.Carried = map[string]*spec.Patch{}
	}
	n.Plan.Tasks = append(n.Plan.Tasks, t)
	n.Spec.Carried[t.ID], n.Packs[p.Pack] = p, pack
}

// maxNamed bounds what a message names.
const maxNamed = 8

func some(list []string) string { return text.Some(list, maxNamed) }
