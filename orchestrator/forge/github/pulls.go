package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

const unprocessable = http.StatusUnprocessableEntity

type pull struct {
	Number    int        `json:"number"`
	Node      string     `json:"node_id"`
	URL       string     `json:"html_url"`
	State     string     `json:"state"`
	Title     string     `json:"title"`
	Body      string     `json:"body"`
	Draft     bool       `json:"draft"`
	MergedAt  *time.Time `json:"merged_at"`
	MergeSHA  string     `json:"merge_commit_sha"`
	Mergeable *bool      `json:"mergeable"`
	Auto      any        `json:"auto_merge"`
	Updated   time.Time  `json:"updated_at"`
	User      user       `json:"user"`
	Labels    []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Reviewers []user `json:"requested_reviewers"`
	Head      ref    `json:"head"`
	Base      ref    `json:"base"`
}

type user struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

type ref struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		Name string `json:"full_name"`
	} `json:"repo"`
}

func (p *pull) told() forge.Pull {
	out := forge.Pull{
		Number: p.Number, URL: p.URL, Author: p.User.Login, Head: p.Head.Ref, HeadSHA: p.Head.SHA, Base: p.Base.Ref,
		BaseSHA: p.Base.SHA, Title: p.Title, Body: p.Body, State: p.State, Draft: p.Draft, Auto: p.Auto != nil,
		Updated: p.Updated,
	}
	if p.Mergeable != nil {
		conflict := !*p.Mergeable
		out.Conflict = &conflict
	}
	if p.MergedAt != nil {
		out.State, out.MergeSHA = forge.Merged, p.MergeSHA
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	for _, r := range p.Reviewers {
		out.Reviewers = append(out.Reviewers, r.Login)
	}
	return out
}

// Pulls implements forge.Forge. The forge computes whether an open one merges when it is asked for that one.
func (c *Client) Pulls(ctx context.Context, head string) ([]forge.Pull, error) {
	query := url.Values{
		"head": {c.owner + ":" + head}, "state": {"all"}, "per_page": {"100"}, "sort": {"created"}, "direction": {"desc"},
	}
	list, err := web.All[pull](ctx, c.web, c.path("/pulls?%s", query.Encode()))
	if err != nil {
		return nil, fmt.Errorf("list the pull requests of %s: %w", head, err)
	}
	var out []forge.Pull
	for _, p := range list {
		if p.Head.Ref != head {
			continue // a forge that ignores the filter must not hand over a stranger's
		}
		if p.State != forge.Open {
			out = append(out, p.told())
			continue
		}
		whole, err := c.pull(ctx, p.Number)
		if err != nil {
			return nil, err
		}
		out = append(out, whole)
	}
	return out, nil
}

// pull reads one, with its reviews and its place in a queue.
func (c *Client) pull(ctx context.Context, number int) (forge.Pull, error) {
	var p pull
	if _, err := c.web.Get(ctx, c.path("/pulls/%d", number), &p); err != nil {
		return forge.Pull{}, fmt.Errorf("read pull request %d: %w", number, err)
	}
	reviews, err := c.reviews(ctx, number)
	if err != nil {
		return forge.Pull{}, err
	}
	out := p.told()
	out.Review = verdict(reviews)
	c.mu.Lock()
	c.nodes[number] = p.Node
	queue := c.queue && p.State == forge.Open
	c.mu.Unlock()
	if queue {
		out.Queued, err = c.queued(ctx, p.Node)
	}
	return out, err
}

// Open implements forge.Forge.
func (c *Client) Open(ctx context.Context, p forge.Pull) (forge.Pull, error) {
	var made pull
	err := c.web.Write(ctx, http.MethodPost, c.path("/pulls"), map[string]any{
		"title": p.Title, "body": p.Body, "head": p.Head, "base": p.Base, "draft": p.Draft, "maintainer_can_modify": true,
	}, &made)
	var status *web.StatusError
	if errors.As(err, &status) && status.Code == unprocessable && strings.Contains(status.Message, "already exists") {
		err = fmt.Errorf("%w: %w", forge.ErrExists, err)
	}
	if err != nil {
		return forge.Pull{}, fmt.Errorf("open a pull request of %s: %w", p.Head, err)
	}
	return made.told(), nil
}

// Edit implements forge.Forge.
func (c *Client) Edit(ctx context.Context, number int, e forge.Edit) error {
	fields := map[string]any{}
	for name, v := range map[string]*string{"title": e.Title, "body": e.Body, "base": e.Base, "state": e.State} {
		if v != nil {
			fields[name] = *v
		}
	}
	if len(fields) > 0 {
		if err := c.web.Write(ctx, http.MethodPatch, c.path("/pulls/%d", number), fields, nil); err != nil {
			return fmt.Errorf("change pull request %d: %w", number, err)
		}
	}
	if e.Draft != nil {
		if err := c.draft(ctx, number, *e.Draft); err != nil {
			return err
		}
	}
	if len(e.Labels) > 0 {
		labels := map[string]any{"labels": e.Labels}
		if err := c.web.Write(ctx, http.MethodPost, c.path("/issues/%d/labels", number), labels, nil); err != nil {
			return fmt.Errorf("label pull request %d: %w", number, err)
		}
	}
	return c.review(ctx, number, e.Reviewers)
}

// review asks people one by one: one whom the forge refuses would leave all unasked.
func (c *Client) review(ctx context.Context, number int, who []string) (err error) {
	for _, name := range who {
		ask := map[string]any{"reviewers": []string{name}}
		if _, team, is := strings.Cut(name, "/"); is {
			ask = map[string]any{"team_reviewers": []string{team}}
		}
		asked := c.web.Write(ctx, http.MethodPost, c.path("/pulls/%d/requested_reviewers", number), ask, nil)
		var status *web.StatusError
		switch {
		case asked == nil:
		case errors.As(asked, &status) && status.Code == unprocessable:
			err = errors.Join(err, fmt.Errorf("ask %s for a review: %w: %w", name, forge.ErrReviewer, asked))
		default:
			return fmt.Errorf("ask %s for a review: %w", name, asked)
		}
	}
	return err
}
