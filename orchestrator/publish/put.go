// Package publish makes the pull requests of a run at a forge. Its input are the run, its repository and a remote; its output are
// head branches, pull requests, and the events that note each write before and after it. The head branch identifies a pull
// request: it is looked up before each write and after each error, so that a repetition updates, and makes no twin.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"divisi/orchestrator/forge"
	"divisi/orchestrator/pull"
	"divisi/orchestrator/run"
)

// Branches are the branches of a remote.
type Branches interface {
	// Head is the commit of a branch; "" for none.
	Head(ctx context.Context, branch string) (string, error)
	// Push moves a branch from had, "" for none, to a commit. It changes nothing where the branch is elsewhere.
	Push(ctx context.Context, branch, commit, had string) error
}

// Item is a pull request as it is to be.
type Item struct {
	run.PullData

	Title, Body string
}

// Publisher writes pull requests. All fields but the wishes are needed.
type Publisher struct {
	Forge    forge.Forge
	Branches Branches
	// Note appends an event to the log of the run, and Pulls is what the log tells then.
	Note  func(ctx context.Context, d run.PullData) error
	Pulls func() run.Pulls
	// Now is the time, and Wait waits until another one for a pull request that may not be opened before.
	Now  func() time.Time
	Wait func(ctx context.Context, it Item, until time.Time) error

	Draft, Auto       bool
	Labels, Reviewers []string
	Pace              pull.Pace
}

var (
	// ErrForeign reports a head branch with commits that the run did not make.
	ErrForeign = errors.New("the branch has commits that are not of this run")
	// ErrFull reports that as many pull requests are open as may be.
	ErrFull = errors.New("as many pull requests are open as may be")
)

// openTries is how often a pull request is opened whose forge answers with an error after it may have written.
const openTries = 3

// Put makes the head branch and the pull request what they are to be. One that is merged or closed stays as it is; what has
// landed since it was merged gets another one.
func (p *Publisher) Put(ctx context.Context, it Item) error {
	found, err := p.find(ctx, it.Head)
	if err != nil {
		return err
	}
	if found != nil && found.State != forge.Open {
		if err := p.answer(ctx, it.Head, found); err != nil || p.Pulls()[it.Head].EndedWith(it.Commit) {
			return err
		}
		found = nil // what has landed since gets another one
	}
	if found == nil {
		if err := p.mayOpen(ctx, it); err != nil {
			return err
		}
	}
	if err := p.push(ctx, it); err != nil {
		return err
	}
	if found == nil {
		if found, err = p.open(ctx, it); err != nil {
			return err
		}
	}
	found.HeadSHA = it.Commit // what the forge listed may be older than the push
	if err := p.answer(ctx, it.Head, found); err != nil {
		return err
	}
	return errors.Join(p.edit(ctx, it, found), p.merge(ctx, it, found))
}

// Look asks the forge about the pull requests that the log knows and that have not ended, and notes what has changed.
func (p *Publisher) Look(ctx context.Context) error {
	for _, known := range p.Pulls().List() {
		if known.Over() || known.Commit == "" {
			continue
		}
		found, err := p.find(ctx, known.Head)
		if err == nil && found != nil {
			err = p.answer(ctx, known.Head, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find looks the pull request up by its head branch: the open one, else the newest; nil for none.
func (p *Publisher) find(ctx context.Context, head string) (*forge.Pull, error) {
	list, err := p.Forge.Pulls(ctx, head)
	if err != nil {
		return nil, fmt.Errorf("look for the pull request from %s: %w", head, err)
	}
	for i := range list {
		if list[i].State == forge.Open {
			return &list[i], nil
		}
	}
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	return &list[0], nil
}

// mayOpen waits until another pull request may be opened.
func (p *Publisher) mayOpen(ctx context.Context, it Item) error {
	at, full := p.Pace.Next(p.Pulls(), p.Now())
	if full {
		return fmt.Errorf("%w: %d", ErrFull, p.Pace.MaxOpen)
	}
	if asked := p.Pulls()[it.Head]; asked != nil && !asked.Asked.IsZero() || !at.After(p.Now()) {
		return nil // it has been counted
	}
	return p.Wait(ctx, it, at)
}

// push moves the head branch to the commit, from a commit of this run alone.
func (p *Publisher) push(ctx context.Context, it Item) error {
	had, err := p.Branches.Head(ctx, it.Head)
	if err != nil {
		return err
	}
	known := p.Pulls()[it.Head]
	switch {
	case had == it.Commit && known != nil && known.HeadSHA == had && known.Doing != run.PullPush:
		return nil
	case had != "" && had != it.Commit && (known == nil || !known.Ours[had]):
		return fmt.Errorf("%w: %s is at %.12s", ErrForeign, it.Head, had)
	}
	intent := it.PullData
	intent.Doing = run.PullPush
	if err := p.Note(ctx, intent); err != nil {
		return err
	}
	if had != it.Commit {
		if err := p.Branches.Push(ctx, it.Head, it.Commit, had); err != nil {
			if now, again := p.Branches.Head(ctx, it.Head); again != nil || now != it.Commit {
				return errors.Join(err, again)
			}
		}
	}
	return p.Note(ctx, run.PullData{Head: it.Head, HeadSHA: it.Commit})
}

// open makes the pull request. What the forge has after an error counts, and not what the error says.
func (p *Publisher) open(ctx context.Context, it Item) (*forge.Pull, error) {
	if err := p.Note(ctx, run.PullData{Head: it.Head, Doing: run.PullOpen}); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		made, err := p.Forge.Open(ctx, forge.Pull{
			Head: it.Head, Base: it.Base, Title: it.Title, Body: Signed(it.Title, it.Body), Draft: p.Draft,
		})
		if err == nil {
			return &made, nil
		}
		found, again := p.find(ctx, it.Head)
		switch {
		case again != nil:
			return nil, errors.Join(err, again)
		case found != nil && found.State == forge.Open: // one that has ended is an older one
			return found, nil
		case try == openTries || !errors.Is(err, forge.ErrUncertain):
			return nil, fmt.Errorf("open a pull request from %s: %w", it.Head, err)
		}
	}
}

// answer notes what the forge said, where the log does not have it.
func (p *Publisher) answer(ctx context.Context, head string, found *forge.Pull) error {
	d := run.PullData{
		Head: head, Number: found.Number, URL: found.URL, HeadSHA: found.HeadSHA, State: found.State, MergeSHA: found.MergeSHA,
	}
	had := p.Pulls()[head]
	if had != nil && had.Doing == "" && (had.Reason == "" || had.Over()) && had.Number == d.Number && had.URL == d.URL &&
		had.State == d.State && had.HeadSHA == d.HeadSHA && had.MergeSHA == d.MergeSHA {
		return nil
	}
	return p.Note(ctx, d)
}

// asked is the mark that a pull request has its labels and reviewers: people may remove them.
func asked(number int) string { return fmt.Sprintf("labels and reviewers of %d", number) }

// edit brings title, body and base up to date, where no person has changed the text, and asks reviewers once.
func (p *Publisher) edit(ctx context.Context, it Item, found *forge.Pull) error {
	var e forge.Edit
	body, change := Signed(it.Title, it.Body), false
	if Unchanged(found.Title, found.Body) && (found.Title != it.Title || plain(found.Body) != plain(body)) {
		e.Title, e.Body, change = &it.Title, &body, true
	}
	if found.Base != it.Base {
		e.Base, change = &it.Base, true
	}
	wishes := slices.Concat(p.Labels, p.Reviewers)
	asks := len(wishes) > 0 && !p.Pulls()[it.Head].Marked(asked(found.Number))
	if asks {
		e.Labels, e.Reviewers, change = p.Labels, p.Reviewers, true
	}
	if !change {
		return nil
	}
	if err := p.Note(ctx, run.PullData{Head: it.Head, Doing: run.PullUpdate}); err != nil {
		return err
	}
	d := run.PullData{Head: it.Head}
	err := p.Forge.Edit(ctx, found.Number, e)
	if asks && (err == nil || errors.Is(err, forge.ErrReviewer)) {
		d.Mark = &run.PullMark{ID: asked(found.Number), Did: "asked"}
	}
	if err != nil {
		err = fmt.Errorf("change the pull request %s: %w", found.URL, err)
	}
	return errors.Join(err, p.Note(context.WithoutCancel(ctx), d))
}

// merge has the forge merge it when its rules are met. One on a stack waits for what is below.
func (p *Publisher) merge(ctx context.Context, it Item, found *forge.Pull) error {
	if !p.Auto || found.Auto || found.Queued || it.Below != "" {
		return nil
	}
	if err := p.Note(ctx, run.PullData{Head: it.Head, Doing: run.PullMerge}); err != nil {
		return err
	}
	if err := p.Forge.Merge(ctx, found.Number, it.Commit); err != nil {
		now, again := p.find(ctx, it.Head)
		if again != nil || now == nil || !now.Auto && !now.Queued && now.State != forge.Merged {
			return errors.Join(fmt.Errorf("have the forge merge %s: %w", found.URL, err), again)
		}
	}
	return p.Note(ctx, run.PullData{Head: it.Head})
}
