package forge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Memory is a forge in memory, for tests of what uses one. A test sets what people, CI and the forge itself do.
type Memory struct {
	// Heads is the commit of a branch of the repository, "" for none; Now the time of the forge.
	Heads func(branch string) string
	Now   func() time.Time
	// Before and After see each call by its name. What they return is the answer: after a write that is done, too.
	Before, After func(call string) error

	mu       sync.Mutex
	repo     Repository
	pulls    []*Pull
	checks   map[string][]Check
	outputs  map[string]Output
	comments map[int][]Comment
	calls    map[string]int
}

// NewMemory returns a forge with one repository and no pull request.
func NewMemory(repo Repository) *Memory {
	nothing := func(string) error { return nil }
	return &Memory{
		Heads: func(string) string { return "" }, Now: time.Now, Before: nothing, After: nothing, repo: repo,
		checks: map[string][]Check{}, outputs: map[string]Output{}, comments: map[int][]Comment{}, calls: map[string]int{},
	}
}

// call does one call between what a test does before and after it.
func (m *Memory) call(ctx context.Context, name string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.Before(name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m.mu.Lock()
	m.calls[name]++
	err := do()
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := m.After(name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Repository implements Forge.
func (m *Memory) Repository(ctx context.Context) (r Repository, err error) {
	err = m.call(ctx, "repository", func() error { r = m.repo; return nil })
	return r, err
}

// Pulls implements Forge.
func (m *Memory) Pulls(ctx context.Context, head string) (list []Pull, err error) {
	err = m.call(ctx, "pulls", func() error {
		for _, p := range slices.Backward(m.pulls) {
			if p.Head == head {
				list = append(list, *m.fresh(p))
			}
		}
		return nil
	})
	return list, err
}

// fresh gives an open pull request the commit that its branch has now. The caller holds mu.
func (m *Memory) fresh(p *Pull) *Pull {
	if sha := m.Heads(p.Head); p.State == Open && sha != "" {
		p.HeadSHA = sha
	}
	return p
}

// Open implements Forge.
func (m *Memory) Open(ctx context.Context, p Pull) (out Pull, err error) {
	err = m.call(ctx, "open", func() error {
		for _, had := range m.pulls {
			if had.State == Open && had.Head == p.Head && had.Base == p.Base {
				return ErrExists
			}
		}
		p.Number, p.State, p.Updated = len(m.pulls)+1, Open, m.Now()
		p.URL = m.repo.URL + "/pull/" + strconv.Itoa(p.Number)
		m.pulls = append(m.pulls, &p)
		out = *m.fresh(&p)
		return nil
	})
	return out, err
}

// Edit implements Forge.
func (m *Memory) Edit(ctx context.Context, number int, e Edit) error {
	return m.change(ctx, "edit", number, func(p *Pull) error {
		set(&p.Title, e.Title)
		set(&p.Body, e.Body)
		set(&p.Base, e.Base)
		set(&p.Draft, e.Draft)
		set(&p.State, e.State)
		p.Labels, p.Reviewers = added(p.Labels, e.Labels), added(p.Reviewers, e.Reviewers)
		return nil
	})
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func added(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Merge implements Forge. A test merges by Set.
func (m *Memory) Merge(ctx context.Context, number int, headSHA string) error {
	return m.change(ctx, "merge", number, func(p *Pull) error {
		if p.HeadSHA != headSHA {
			return ErrMoved
		}
		if m.repo.Queue {
			p.Queued = true
			return nil
		}
		if !m.repo.AutoMerge {
			return ErrUnsupported
		}
		p.Auto = true
		return nil
	})
}

// change changes a pull request that is known.
func (m *Memory) change(ctx context.Context, name string, number int, do func(p *Pull) error) error {
	return m.call(ctx, name, func() error {
		if number < 1 || number > len(m.pulls) {
			return ErrNotFound
		}
		p := m.fresh(m.pulls[number-1])
		p.Updated = m.Now()
		return do(p)
	})
}

// Checks implements Checks.
func (m *Memory) Checks(ctx context.Context, sha string) (list []Check, err error) {
	err = m.call(ctx, "checks", func() error { list = slices.Clone(m.checks[sha]); return nil })
	return list, err
}

// Output implements Checks.
func (m *Memory) Output(ctx context.Context, c Check, limit int) (o Output, err error) {
	err = m.call(ctx, "output", func() error {
		o = m.outputs[c.ID]
		o.Log = o.Log[:min(len(o.Log), limit)]
		return nil
	})
	return o, err
}

// Rerun implements Checks: the check of the run waits again, with one attempt more.
func (m *Memory) Rerun(ctx context.Context, c Check) error {
	return m.call(ctx, "rerun", func() error {
		return m.ofRun(c, func(c *Check) {
			if c.State != Waiting && c.State != Success {
				c.State, c.Attempt = Waiting, c.Attempt+1
			}
		})
	})
}

// Cancel implements Checks.
func (m *Memory) Cancel(ctx context.Context, c Check) error {
	return m.call(ctx, "cancel", func() error {
		return m.ofRun(c, func(c *Check) {
			if c.State == Waiting {
				c.State, c.Reason = Broken, "cancelled"
			}
		})
	})
}

// ofRun changes the checks of a check's run. The caller holds mu.
func (m *Memory) ofRun(c Check, do func(c *Check)) error {
	found := false
	for i := range m.checks[c.SHA] {
		if at := &m.checks[c.SHA][i]; at.Run == c.Run {
			found = true
			do(at)
		}
	}
	if !found {
		return ErrNotFound
	}
	return nil
}

// Comments implements Talk.
func (m *Memory) Comments(ctx context.Context, number int) (list []Comment, err error) {
	err = m.call(ctx, "comments", func() error { list = slices.Clone(m.comments[number]); return nil })
	return list, err
}

// Reply implements Talk.
func (m *Memory) Reply(ctx context.Context, number int, to Comment, body string) error {
	return m.call(ctx, "reply", func() error {
		m.comments[number] = append(m.comments[number], Comment{
			ID: "own-" + strconv.Itoa(len(m.comments[number])), Thread: to.Thread, Author: "divisi", Own: true, Body: body,
			Created: m.Now(),
		})
		return nil
	})
}

// Set changes a pull request as people and the forge do.
func (m *Memory) Set(number int, do func(p *Pull)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do(m.pulls[number-1])
}

// Say writes a comment as a person or bot does, Report the checks of a commit as CI does; o is what the check printed.
func (m *Memory) Say(number int, c Comment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.comments[number] = append(m.comments[number], c)
}

// Report sets a check of a commit, in place of the one of that id.
func (m *Memory) Report(c Check, o Output) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outputs[c.ID] = o
	list := m.checks[c.SHA]
	if i := slices.IndexFunc(list, func(had Check) bool { return had.ID == c.ID }); i >= 0 {
		list[i] = c
		return
	}
	m.checks[c.SHA] = append(list, c)
}

// All returns every pull request, the oldest first, and Calls how often each call was done.
func (m *Memory) All() (list []Pull) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pulls {
		list = append(list, *m.fresh(p))
	}
	return list
}

// Calls returns how often a call was done.
func (m *Memory) Calls(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[name]
}
