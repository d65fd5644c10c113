// Package forge is one repository at a forge: its pull requests, their checks and what people write on them. GitHub, GitLab and
// any forge behind a command are implementations; what they answer is data, and decides nothing but the state of a pull request.
package forge

import (
	"context"
	"time"
)

// Forge is one repository at a forge. Its methods may be called from several goroutines, wait out what the forge says of its
// limits, and repeat reads but never writes: after an error of a write the caller looks the state up. Errors wrap one of the
// classes of errors.go.
type Forge interface {
	Repository(ctx context.Context) (Repository, error)

	// Pulls returns the pull requests of one head branch of this repository in every state, the newest first.
	Pulls(ctx context.Context, head string) ([]Pull, error)
	// Open makes a pull request of Head into Base. One that exists for both is ErrExists.
	Open(ctx context.Context, p Pull) (Pull, error)
	// Edit changes what is not nil. It may be repeated.
	Edit(ctx context.Context, number int, e Edit) error
	// Merge asks the forge to merge this head when its rules are met: by its queue where the base has one, else by auto-merge.
	// Never past either.
	Merge(ctx context.Context, number int, headSHA string) error

	Checks
	Talk
}

// Checks reads and steers the forge's CI.
type Checks interface {
	// Checks returns every check of a commit, the newest of each name and source.
	Checks(ctx context.Context, sha string) ([]Check, error)
	// Output returns the log and reports of a check, at most limit bytes of each.
	Output(ctx context.Context, c Check, limit int) (Output, error)
	// Rerun runs the failed jobs of a check's run again; Cancel ends the run. Both may be repeated.
	Rerun(ctx context.Context, c Check) error
	Cancel(ctx context.Context, c Check) error
}

// Talk is what people write on a pull request.
type Talk interface {
	// Comments returns comments, reviews with a text and notes on lines, oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Reply answers one comment in its thread.
	Reply(ctx context.Context, number int, to Comment, body string) error
}

// Repository is what a forge says of a repository and of the credential in use.
type Repository struct {
	Name    string // owner/name
	Default string // the default branch, as it is called today
	URL     string
	Archived, Fork,
	MayPush, MayWorkflows, // what the credential may do; MayWorkflows: change files of CI
	StartsCI, // false: pushes by this credential start no CI
	AutoMerge bool // the repository allows auto-merge
	Queue bool // Default is merged by a queue or train
}

// The states of a pull request.
const (
	Open   = "open"
	Merged = "merged"
	Closed = "closed"
)

// Pull is a pull request. A merge request is one.
type Pull struct {
	Number            int
	URL, Author       string
	Head, Base        string // branches
	HeadSHA           string
	BaseSHA           string // the base when the forge last compared
	Title, Body       string
	State             string
	Draft             bool
	Conflict          *bool  // nil: the forge has not computed it
	MergeSHA          string // of a merged one: the commit on the base
	Auto              bool   // auto-merge is on
	Queued            bool
	Review            string // "", "approved", "changes", "required"
	Labels, Reviewers []string
	Updated           time.Time
}

// Edit is a change of a pull request; nil fields stay.
type Edit struct {
	Title, Body, Base *string
	Draft             *bool
	State             *string // Open or Closed
	// Labels and Reviewers are added. A reviewer whom the forge refuses is an error that wraps ErrReviewer; the others are asked.
	Labels, Reviewers []string
}

// The states of a check. Only Success is green.
const (
	Waiting = "waiting" // queued, running, pending
	Success = "success"
	Failure = "failure"
	Skipped = "skipped" // skipped, neutral
	Broken  = "broken"  // cancelled, timed out, stale, start-up failure, approval required: the machinery's, of no task
)

// Check is one result of CI on a commit: a check run, a commit status or a job.
type Check struct {
	ID, Run        string // Run groups jobs that a rerun or cancel meets
	Name           string
	Source         string // the app, workflow or context that reported it
	SHA            string
	State          string
	Reason         string // the forge's own word for the state
	Attempt        int
	Required       bool
	URL            string
	Started, Ended time.Time
}

// Output is what a check printed and reported.
type Output struct {
	Log         []byte
	Reports     [][]byte // JUnit XML
	Annotations []Annotation
}

// Annotation is a finding of a check at a line.
type Annotation struct {
	Path        string
	Line        int
	Level, Text string
}

// Comment is what a person or bot wrote on a pull request.
type Comment struct {
	ID, Thread string
	Author     string
	Bot        bool
	Own        bool // by the credential in use
	MayWrite   bool // its author may write to the repository, asked for this comment
	Body       string
	Path       string // of a note on a line
	Line       int
	SHA        string
	Created    time.Time
	URL        string
}
