package githubtest

import (
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// Pull is a pull request.
type Pull struct {
	Number                       int
	Title, Body, Head, Base, Sha string
	State, MergeSHA              string
	Draft, Auto, Queued, Merged  bool
	Author                       string
	Labels, Reviewers            []string
	Comments                     []*Comment
}

// Comment is on the pull request, on a line of it, or a review.
type Comment struct {
	ID     int64
	Kind   string // issue, line, review
	Author string
	Bot    bool
	Body   string
	State  string // of a review
	Path   string
	Line   int
	To     int64
	SHA    string
	At     time.Time
}

// Check is a check run of Actions, or a commit status where Status is set.
type Check struct {
	ID, Run, Suite int64
	Name, Workflow string
	SHA            string
	State          string // queued, in_progress, or a conclusion
	Status         bool
	Attempt        int
	Log            string
	Reports        map[string]string
	Annotations    []map[string]any
	Started        time.Time
}

// Say writes a comment.
func (h *Hub) Say(number int, c Comment) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	c.ID, c.At = h.next, h.o.Now()
	if c.Kind == "" {
		c.Kind = "issue"
	}
	p := h.Pulls[number-1]
	p.Comments = append(p.Comments, &c)
	return c.ID
}

// Report sets checks of a commit; those of its name and workflow are replaced.
func (h *Hub) Report(sha string, checks ...*Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report(sha, checks...)
}

func (h *Hub) report(sha string, checks ...*Check) {
	for _, c := range checks {
		had := h.check(sha, c.Workflow, c.Name)
		if had == nil {
			had = c
			h.next += 3
			c.ID, c.Run, c.Suite, c.Attempt, c.Started = h.next, h.next-1, h.next-2, 1, h.o.Now()
			for _, other := range h.Checks {
				if other.SHA == sha && other.Workflow == c.Workflow {
					c.Run, c.Suite = other.Run, other.Suite
				}
			}
			h.Checks = append(h.Checks, c)
		}
		had.SHA, had.State, had.Log, had.Reports, had.Annotations = sha, c.State, c.Log, c.Reports, c.Annotations
	}
	h.settle()
}

func (h *Hub) check(sha, workflow, name string) *Check {
	for _, c := range h.Checks {
		if c.SHA == sha && c.Workflow == workflow && c.Name == name {
			return c
		}
	}
	return nil
}

// Merge merges a pull request as a person does. It reports whether that was possible.
func (h *Hub) Merge(number int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.merge(h.Pulls[number-1])
}

func (h *Hub) merge(p *Pull) bool {
	base, head := h.Head(p.Base), h.Head(p.Head)
	tree, err := h.run(h.Dir, "merge-tree", "--write-tree", base, head)
	if err != nil || p.State != "open" {
		return false
	}
	p.MergeSHA = h.git(h.Dir, "commit-tree", "-p", base, "-p", head, "-m", "Merge pull request", tree)
	h.git(h.Dir, "update-ref", "refs/heads/"+p.Base, p.MergeSHA)
	p.Sha, p.State, p.Merged, p.Queued, p.Auto = head, "closed", true, false, false
	return true
}

// Settle merges what auto-merge and the queue let merge now.
func (h *Hub) Settle() { h.Do(h.settle) }

func (h *Hub) settle() {
	for _, p := range h.Pulls {
		if p.State == "open" && (p.Auto || p.Queued) && h.ready(p) {
			h.merge(p)
		}
	}
}

func (h *Hub) ready(p *Pull) bool {
	sha := h.Head(p.Head)
	for _, name := range h.o.Required {
		green := false
		for _, c := range h.Checks {
			green = green || c.SHA == sha && c.Name == name && c.State == "success"
		}
		if !green {
			return false
		}
	}
	approved := !h.o.Approve
	for _, c := range p.Comments {
		approved = approved || c.State == "APPROVED"
	}
	return approved && !p.Draft
}

func (h *Hub) hook(name, script string) {
	require.NoError(h.t, os.WriteFile(filepath.Join(h.Dir, "hooks", name), []byte(script), 0o755))
}

// Default is the default branch.
func (h *Hub) Default() string { return h.o.Default }
