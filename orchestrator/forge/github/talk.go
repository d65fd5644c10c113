package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

type comment struct {
	ID        int64     `json:"id"`
	User      user      `json:"user"`
	Body      string    `json:"body"`
	Created   time.Time `json:"created_at"`
	Submitted time.Time `json:"submitted_at"` // of a review
	URL       string    `json:"html_url"`
	Path      string    `json:"path"`
	Line      int       `json:"line"`
	SHA       string    `json:"commit_id"`
	To        int64     `json:"in_reply_to_id"`
	State     string    `json:"state"` // of a review
}

// The kinds of comments: their ids are numbers of three kinds.
const (
	onIssue  = "issue"
	onLine   = "line"
	inReview = "review"
)

// Comments implements forge.Talk.
func (c *Client) Comments(ctx context.Context, number int) (out []forge.Comment, err error) {
	lists := map[string]string{onIssue: "/issues/%d/comments", onLine: "/pulls/%d/comments", inReview: "/pulls/%d/reviews"}
	for kind, path := range lists {
		list, err := web.All[comment](ctx, c.web, c.path(path+"?per_page=100", number))
		if err != nil {
			return nil, fmt.Errorf("read the comments of pull request %d: %w", number, err)
		}
		for _, m := range list {
			if m.Body == "" || m.State == "PENDING" {
				continue
			}
			told, err := c.comment(ctx, kind, &m)
			if err != nil {
				return nil, err
			}
			out = append(out, told)
		}
	}
	slices.SortStableFunc(out, func(a, b forge.Comment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (c *Client) comment(ctx context.Context, kind string, m *comment) (forge.Comment, error) {
	id := strconv.FormatInt(m.ID, 10)
	out := forge.Comment{
		ID: kind + "/" + id, Author: m.User.Login, Bot: m.User.Type == "Bot", Body: m.Body, Path: m.Path, Line: m.Line,
		SHA:     m.SHA,
		Created: m.Created, URL: m.URL,
	}
	if kind == inReview {
		out.Created = m.Submitted
	}
	if kind == onLine {
		out.Thread = strconv.FormatInt(cmp.Or(m.To, m.ID), 10)
	}
	var err error
	if out.Own, err = c.own(ctx, m.User.Login); err != nil {
		return out, err
	}
	out.MayWrite, err = c.mayWrite(ctx, m.User.Login)
	return out, err
}

// own reports whether a login is that of the credential. One of an App has no login of its own.
func (c *Client) own(ctx context.Context, login string) (bool, error) {
	c.mu.Lock()
	known := c.login
	c.mu.Unlock()
	if known == nil {
		var me user
		if _, err := c.web.Get(ctx, "/user", &me); err != nil && !absent(err) {
			return false, fmt.Errorf("read the login of the credential: %w", err)
		}
		known = &me.Login
		c.mu.Lock()
		c.login = known
		c.mu.Unlock()
	}
	return *known != "" && strings.EqualFold(*known, login), nil
}

// mayWrite asks the forge whether a person may write to the repository now.
func (c *Client) mayWrite(ctx context.Context, login string) (bool, error) {
	var may struct {
		Permission string `json:"permission"`
	}
	_, err := c.web.Get(ctx, c.path("/collaborators/%s/permission", url.PathEscape(login)), &may)
	if errors.Is(err, forge.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what %s may do: %w", text.Clip(login, text.MaxLine), err)
	}
	return may.Permission == "admin" || may.Permission == "write", nil
}

func (c *Client) reviews(ctx context.Context, number int) ([]comment, error) {
	list, err := web.All[comment](ctx, c.web, c.path("/pulls/%d/reviews?per_page=100", number))
	if err != nil {
		return nil, fmt.Errorf("read the reviews of pull request %d: %w", number, err)
	}
	return list, nil
}

// verdict is what the newest reviews of all people say together.
func verdict(reviews []comment) string {
	by := map[string]string{}
	for _, r := range reviews {
		switch r.State {
		case "APPROVED", "CHANGES_REQUESTED", "DISMISSED":
			by[r.User.Login] = r.State
		}
	}
	out := ""
	for _, state := range by {
		switch state {
		case "CHANGES_REQUESTED":
			return "changes"
		case "APPROVED":
			out = "approved"
		}
	}
	return out
}

// Reply implements forge.Talk. Only a note on a line has a thread; another comment is answered below all, with its link.
func (c *Client) Reply(ctx context.Context, number int, to forge.Comment, body string) error {
	path := c.path("/issues/%d/comments", number)
	if kind, _, _ := strings.Cut(to.ID, "/"); kind == onLine {
		path = c.path("/pulls/%d/comments/%s/replies", number, url.PathEscape(to.Thread))
	} else if to.URL != "" {
		body = to.URL + "\n\n" + body
	}
	if err := c.web.Write(ctx, http.MethodPost, path, map[string]any{"body": body}, nil); err != nil {
		return fmt.Errorf("answer on pull request %d: %w", number, err)
	}
	return nil
}

// mayWorkflows reports whether a token may change the files of workflows. A classic token names its scopes; what another one may
// do is said when it does it.
func mayWorkflows(h http.Header) bool {
	scopes, classic := h["X-Oauth-Scopes"]
	if !classic {
		return true
	}
	for _, s := range scopes {
		for scope := range strings.SplitSeq(s, ",") {
			if strings.TrimSpace(scope) == "workflow" {
				return true
			}
		}
	}
	return false
}
