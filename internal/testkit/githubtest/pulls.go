package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (h *Hub) list(c *call) (any, *fault) {
	owner, head, _ := strings.Cut(c.URL.Query().Get("head"), ":")
	all := []any{}
	for _, p := range slices.Backward(h.Pulls) {
		if owner == h.o.Owner && p.Head == head {
			all = append(all, h.pull(p, false))
		}
	}
	return page(c, all), nil
}

// pull is a pull request as the forge tells of it. Whether it merges is computed once it was asked for.
func (h *Hub) pull(p *Pull, whole bool) map[string]any {
	sha := p.Sha
	if now := h.Head(p.Head); p.State == "open" && now != "" {
		sha = now
	}
	at := func(branch, sha string) map[string]any {
		return map[string]any{"ref": branch, "sha": sha, "repo": map[string]string{"full_name": h.o.Owner + "/" + h.o.Name}}
	}
	base := h.Head(p.Base)
	out := map[string]any{
		"number": p.Number, "node_id": fmt.Sprintf("PR_%d", p.Number), "html_url": fmt.Sprintf("http://hub/%s/%s/pull/%d",
			h.o.Owner, h.o.Name, p.Number),
		"state": p.State, "title": p.Title, "body": p.Body, "draft": p.Draft, "user": map[string]string{
			"login": p.Author,
			"type":  "User",
		},
		"head": at(p.Head, sha), "base": at(p.Base, base), "updated_at": h.o.Now().UTC().Truncate(time.Hour).Format(time.RFC3339),
	}
	labels, people := []any{}, []any{}
	for _, l := range p.Labels {
		labels = append(labels, map[string]string{"name": l})
	}
	for _, r := range p.Reviewers {
		people = append(people, map[string]string{"login": r, "type": "User"})
	}
	out["labels"], out["requested_reviewers"] = labels, people
	if p.Merged {
		out["merged_at"], out["merge_commit_sha"] = h.o.Now().UTC().Truncate(time.Hour).Format(time.RFC3339), p.MergeSHA
	}
	if p.Auto {
		out["auto_merge"] = map[string]string{"merge_method": "merge"}
	}
	if key := sha + base; whole && p.State == "open" {
		if h.asked[key] {
			_, err := h.run(h.Dir, "merge-tree", "--write-tree", base, sha)
			out["mergeable"] = err == nil
		}
		h.asked[key] = true
	}
	return out
}

func (h *Hub) open(c *call) (any, *fault) {
	var in struct {
		Title, Body, Head, Base string
		Draft                   bool
		MaintainerCanModify     bool `json:"maintainer_can_modify"`
	}
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	now := h.o.Now()
	if h.opened = since(h.opened, now.Add(-time.Hour)); h.o.Creations > 0 && len(h.opened) >= h.o.Creations {
		h.counts["limited"]++
		return nil, refuse(http.StatusForbidden, "You have exceeded a secondary rate limit: was submitted too quickly")
	}
	head, base := h.Head(in.Head), h.Head(in.Base)
	switch {
	case in.Title == "" || head == "" || base == "" || h.o.Archived:
		return nil, refuse(http.StatusUnprocessableEntity, "Validation Failed")
	case slices.ContainsFunc(h.Pulls, func(p *Pull) bool { return p.State == "open" && p.Head == in.Head && p.Base == in.Base }):
		return nil, refuse(http.StatusUnprocessableEntity, "Validation Failed: A pull request already exists for %s:%s.",
			h.o.Owner, in.Head)
	}
	if _, err := h.run(h.Dir, "merge-base", "--is-ancestor", head, base); err == nil {
		return nil, refuse(http.StatusUnprocessableEntity, "Validation Failed: No commits between %s and %s", in.Base, in.Head)
	}
	h.opened = append(h.opened, now)
	p := &Pull{
		Number: len(h.Pulls) + 1, Title: in.Title, Body: in.Body, Head: in.Head, Base: in.Base, Sha: head, Draft: in.Draft,
		State:  "open",
		Author: c.as.Login,
	}
	h.Pulls = append(h.Pulls, p)
	return h.pull(p, false), nil
}

func (h *Hub) onPull(do func(c *call, p *Pull) (any, *fault)) handler {
	return func(c *call) (any, *fault) {
		n, err := strconv.Atoi(c.PathValue("n"))
		if err != nil || n < 1 || n > len(h.Pulls) {
			return nil, refuse(http.StatusNotFound, "Not Found")
		}
		return do(c, h.Pulls[n-1])
	}
}

func (h *Hub) edit(c *call, p *Pull) (any, *fault) {
	var in struct{ Title, Body, Base, State *string }
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	for to, from := range map[*string]*string{&p.Title: in.Title, &p.Body: in.Body, &p.Base: in.Base, &p.State: in.State} {
		if from != nil {
			*to = *from
		}
	}
	return h.pull(p, false), nil
}

func (*Hub) label(c *call, p *Pull) (any, *fault) {
	var in struct{ Labels []string }
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	p.Labels = union(p.Labels, in.Labels)
	return []any{}, nil
}

func (h *Hub) review(c *call, p *Pull) (any, *fault) {
	var in struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	for _, r := range in.Reviewers {
		if !h.writer(r) {
			return nil, refuse(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators.")
		}
	}
	p.Reviewers = union(p.Reviewers, append(in.Reviewers, in.Teams...))
	return h.pull(p, false), nil
}

func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func (h *Hub) writer(login string) bool {
	for _, t := range h.o.Tokens {
		if t.Login == login && t.Push {
			return true
		}
	}
	return slices.Contains(h.o.Writers, login)
}

func (h *Hub) permission(c *call) (any, *fault) {
	if h.writer(c.PathValue("user")) {
		return map[string]string{"permission": "write"}, nil
	}
	return map[string]string{"permission": "read"}, nil
}

func (h *Hub) comments(kind string) handler {
	return h.onPull(func(c *call, p *Pull) (any, *fault) {
		out := []any{}
		for _, m := range p.Comments {
			if m.Kind == kind {
				out = append(out, m.told())
			}
		}
		return page(c, out), nil
	})
}

func (m *Comment) told() map[string]any {
	of := map[bool]string{false: "User", true: "Bot"}[m.Bot]
	return map[string]any{
		"id": m.ID, "user": map[string]string{"login": m.Author, "type": of}, "body": m.Body, "created_at": m.At,
		"submitted_at": m.At,
		"html_url":     fmt.Sprintf("http://hub/comment/%d", m.ID), "path": m.Path, "line": m.Line, "commit_id": m.SHA,
		"in_reply_to_id": m.To,
		"state":          m.State,
	}
}

func (h *Hub) say(c *call, p *Pull) (any, *fault) {
	var in struct{ Body string }
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	h.next++
	m := &Comment{ID: h.next, Kind: "issue", Author: c.as.Login, Body: in.Body, At: h.o.Now()}
	if id := c.PathValue("id"); id != "" {
		m.Kind, m.To = "line", number(id)
	}
	p.Comments = append(p.Comments, m)
	return m.told(), nil
}
