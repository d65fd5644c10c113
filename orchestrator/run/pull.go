package run

import (
	"errors"
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
)

// The writes to a forge that a pull event notes before they begin.
const (
	PullPush   = "push"   // the commit goes to the head branch
	PullOpen   = "open"   // the pull request is made
	PullUpdate = "update" // title, body, base, labels or reviewers change
	PullMerge  = "merge"  // the forge is asked to merge it
	PullClose  = "close"  // it is closed
)

// The states of a pull request at its forge; "" while none is known.
const (
	PullStateOpen   = "open"
	PullStateMerged = "merged"
	PullStateClosed = "closed"
)

// PullData is the data of a pull event (contextscope.KindPull): what is about to be written to a forge for a pull request of the
// run, or what the forge answered. Only what changed is set, but Head, which names the pull request.
type PullData struct {
	// Head is the branch at the remote.
	Head string `json:"head"`
	// Remote is the address of the remote, without a credential; Base is the branch to merge into. Below is the head of the pull
	// request that this one is stacked on; empty for none.
	Remote string `json:"remote,omitempty"`
	Base   string `json:"base,omitempty"`
	Below  string `json:"below,omitempty"`
	// Tasks are in it; Commit is the proven commit, Tree its tree, From the commit of the base that it is built on.
	Tasks  []string `json:"tasks,omitempty"`
	Tree   string   `json:"tree,omitempty"`
	Commit string   `json:"commit,omitempty"`
	From   string   `json:"from,omitempty"`
	// Unproven is set with Commit: why no gates prove it; empty where they do.
	Unproven string `json:"unproven,omitempty"`
	// Doing is the write that is about to begin: see PullPush. It is over with the next event of the same head that has none.
	Doing string `json:"doing,omitempty"`
	// Number and URL are the forge's. HeadSHA is where the head branch is, Theirs are commits on it that a person pushed, and
	// that are built on: with the commits of the run they may be moved away from.
	Number  int      `json:"number,omitempty"`
	URL     string   `json:"url,omitempty"`
	HeadSHA string   `json:"head_sha,omitempty"`
	Theirs  []string `json:"theirs,omitempty"`
	// State is that of the pull request, MergeSHA the commit on the base of a merged one. Reason explains either.
	State    string `json:"state,omitempty"`
	MergeSHA string `json:"merge_sha,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Mark is set when a check, comment or another happening at the forge has been dealt with.
	Mark *PullMark `json:"mark,omitempty"`
}

func (d PullData) check() error {
	if d.Head == "" {
		return errors.New("a pull event names its head branch")
	}
	return nil
}

// PullMark notes what became of a happening at the forge. A mark replaces that of the same id.
type PullMark struct {
	// ID is that of the comment, of a check with its commit and attempt, or of another happening.
	ID string `json:"id"`
	// Did is what was done, in a word of who marks, Task the task that was made for it.
	Did  string `json:"did"`
	Task string `json:"task,omitempty"`
	Text string `json:"text,omitempty"`
	// Time is that of its event, and Pos its place in the log.
	Time time.Time `json:"-"`
	Pos  uint64    `json:"-"`
}

// Pull is a pull request of the run, as its events tell.
type Pull struct {
	Head, Remote, Base, Below    string
	Tasks                        []string
	Tree, Commit, From, Unproven string
	// Doing is a write whose answer is not in the log: it may have happened.
	Doing   string
	Number  int
	URL     string
	HeadSHA string
	// Ours are the commits that may be moved away from on the head branch: those of the run, and Theirs, which are built on.
	Ours map[string]bool
	// made are those of Ours that the run has made.
	made            map[string]bool
	State, MergeSHA string
	// Merged is the commit of the run that it was merged with.
	Merged string
	Reason string
	Marks  map[string]PullMark
	// Asked is when it was opened, or first about to be while the answer is not known. Changed is the time of its newest event;
	// First and Pos are the places of its first and newest event in the log.
	Asked, Changed time.Time
	First, Pos     uint64
}

// Opened reports whether the forge has answered with a number.
func (p *Pull) Opened() bool { return p.Number > 0 }

// Over reports whether it is merged or closed; a nil one is not.
func (p *Pull) Over() bool {
	return p != nil && (p.State == PullStateMerged || p.State == PullStateClosed)
}

// EndedWith reports whether it was closed, or merged with a commit: with another one, what has landed since is still to be
// merged.
func (p *Pull) EndedWith(commit string) bool {
	return p.Over() && (p.State == PullStateClosed || commit == p.Merged)
}

// Marked reports whether a happening has been dealt with.
func (p *Pull) Marked(id string) bool {
	_, is := p.Marks[id]
	return is
}

// Pulls are the pull requests of a run, by head branch.
type Pulls map[string]*Pull

// List has them in the order of their first events.
func (p Pulls) List() []*Pull {
	return slices.SortedFunc(maps.Values(p), func(a, b *Pull) int { return int(a.First) - int(b.First) })
}

// Of is the pull request that has a task and is not closed, one that was opened before others; nil for none.
func (p Pulls) Of(task string) (of *Pull) {
	for _, pull := range p.List() {
		if pull.State == PullStateClosed || !slices.Contains(pull.Tasks, task) {
			continue
		}
		if pull.Opened() {
			return pull
		}
		of = pull
	}
	return of
}

func (s *State) applyPull(e *contextscope.Event, d PullData) {
	p := s.Pulls[d.Head]
	if p == nil {
		p = &Pull{Head: d.Head, First: e.Pos, Ours: map[string]bool{}, made: map[string]bool{}, Marks: map[string]PullMark{}}
		s.Pulls[d.Head] = p
	}
	p.fold(d, e.Time, e.Pos)
}

func (p *Pull) fold(d PullData, at time.Time, pos uint64) {
	if p.Changed, p.Pos = at, pos; d.Mark != nil {
		m := *d.Mark
		m.Time, m.Pos = at, pos
		p.Marks[m.ID] = m
	}
	if p.Doing = d.Doing; d.Doing == PullOpen && p.Asked.IsZero() {
		p.Asked = at
	}
	if d.State == PullStateMerged && p.State != PullStateMerged {
		p.Merged = p.mergedWith(d.HeadSHA)
	}
	keep(&p.Remote, d.Remote)
	keep(&p.Base, d.Base)
	keep(&p.Tree, d.Tree)
	keep(&p.From, d.From)
	keep(&p.URL, d.URL)
	keep(&p.HeadSHA, d.HeadSHA)
	keep(&p.State, d.State)
	keep(&p.MergeSHA, d.MergeSHA)
	if d.Tasks != nil {
		p.Tasks, p.Below = d.Tasks, d.Below
	}
	if d.Commit != "" {
		p.Commit, p.Unproven, p.Ours[d.Commit], p.made[d.Commit] = d.Commit, d.Unproven, true, true
	}
	for _, commit := range d.Theirs {
		p.Ours[commit] = true
	}
	if d.Number > 0 {
		if d.Number != p.Number && !p.Asked.IsZero() {
			p.Asked = at // an hour of the forge begins when it has opened it
		}
		p.Number = d.Number
	}
	if d.State != "" || d.Reason != "" {
		p.Reason = d.Reason
	}
}

// mergedWith is the commit of the run that was merged, where the forge names the head of the merged branch: a commit that the log
// only announces may not have been pushed. One of a person is on top of what the run has pushed.
func (p *Pull) mergedWith(head string) string {
	for _, commit := range []string{head, p.HeadSHA} {
		if p.made[commit] {
			return commit
		}
	}
	return p.Commit
}

func keep(at *string, to string) {
	if to != "" {
		*at = to
	}
}
