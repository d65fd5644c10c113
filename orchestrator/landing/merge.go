package landing

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Candidate is one accepted patch.
type Candidate struct {
	Run, Task, Title, Role, Model string
	Attempt                       int
	// Commit is the patch, whose parent is the integration commit that the attempt started from.
	Commit string
	// Unverified is why the patch is not proven; empty when it is.
	Unverified string
}

// Merged is a candidate's commit in a chain.
type Merged struct {
	Candidate
	// Landed is the commit on the integration branch, Tree its tree.
	Landed, Tree string
}

// Conflict is a candidate that does not merge onto the chain before it.
type Conflict struct {
	Candidate
	Paths   []string
	Message string
	// Waits reports that it merges onto the head alone: it conflicts only with others of the chain.
	Waits bool
}

// Chain is what a batch would make of the integration branch.
type Chain struct {
	Head, Tree string
	Merged     []Merged
	Conflicts  []Conflict
}

// Merger merges and commits without a work tree and without touching a ref.
type Merger interface {
	// Merge returns the tree of a three-way merge of two commits, or the paths that conflict and git's words about them.
	Merge(ctx context.Context, ours, theirs string) (tree string, conflicts []string, message string, err error)
	// Commit writes a commit with one parent. The same arguments give the same id.
	Commit(ctx context.Context, tree, parent, message string, at time.Time) (string, error)
}

// Build merges the candidates, in order, onto a commit; head is the integration head. A candidate that conflicts is left out;
// the others are merged without it. A candidate whose merge changes nothing lands as an empty commit, so that its trailers
// record that it landed.
func Build(ctx context.Context, m Merger, head, onto string, candidates []Candidate, at time.Time) (Chain, error) {
	chain := Chain{Head: onto}
	for _, c := range candidates {
		tree, conflicts, message, err := m.Merge(ctx, chain.Head, c.Commit)
		if err != nil {
			return Chain{}, fmt.Errorf("merge %s of task %s onto %s: %w", c.Commit, c.Task, chain.Head, err)
		}
		if len(conflicts) > 0 {
			k := Conflict{Candidate: c, Paths: conflicts, Message: message}
			if chain.Head != head {
				if _, alone, _, err := m.Merge(ctx, head, c.Commit); err != nil {
					return Chain{}, fmt.Errorf("merge %s of task %s onto %s: %w", c.Commit, c.Task, head, err)
				} else if len(alone) == 0 {
					k.Waits = true
				}
			}
			chain.Conflicts = append(chain.Conflicts, k)
			continue
		}
		commit, err := m.Commit(ctx, tree, chain.Head, Message(c), at)
		if err != nil {
			return Chain{}, fmt.Errorf("commit task %s: %w", c.Task, err)
		}
		chain.Merged = append(chain.Merged, Merged{Candidate: c, Landed: commit, Tree: tree})
		chain.Head, chain.Tree = commit, tree
	}
	return chain, nil
}

// Message is a landed commit's message: the task's title, and trailers that name run, task, attempt, role and model, and
// whether it is unverified.
func Message(c Candidate) string {
	title, _, _ := strings.Cut(c.Title, "\n")
	var b strings.Builder
	b.WriteString(cmp.Or(strings.TrimSpace(title), c.Task) + "\n\n")
	for _, t := range [][2]string{
		{"Divisi-Run", c.Run},
		{"Divisi-Task", c.Task},
		{"Divisi-Attempt", strconv.Itoa(c.Attempt)},
		{"Divisi-Role", c.Role},
		{"Divisi-Model", c.Model},
		{"Divisi-Unverified", c.Unverified},
	} {
		if t[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", t[0], t[1])
		}
	}
	return b.String()
}
