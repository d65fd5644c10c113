package githubtest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (h *Hub) routes() map[string]handler {
	return map[string]handler{
		"GET ":                            h.repository,
		"GET /rules/branches/{branch...}": h.rules,
		"GET /pulls":                      h.list,
		"POST /pulls":                     h.open,
		"GET /pulls/{n}": h.onPull(func(_ *call, p *Pull) (any, *fault) {
			return h.pull(p, true),
				nil
		}),
		"PATCH /pulls/{n}":                      h.onPull(h.edit),
		"POST /issues/{n}/labels":               h.onPull(h.label),
		"POST /pulls/{n}/requested_reviewers":   h.onPull(h.review),
		"GET /issues/{n}/comments":              h.comments("issue"),
		"GET /pulls/{n}/comments":               h.comments("line"),
		"GET /pulls/{n}/reviews":                h.comments("review"),
		"POST /issues/{n}/comments":             h.onPull(h.say),
		"POST /pulls/{n}/comments/{id}/replies": h.onPull(h.say),
		"GET /collaborators/{user}/permission":  h.permission,
		"GET /commits/{sha}/check-runs":         h.checkRuns,
		"GET /commits/{sha}/status":             h.statuses,
		"GET /actions/runs":                     h.runs,
		"GET /check-runs/{id}/annotations": h.onCheck("id", func(_ *call, c *Check) (any,
			*fault,
		) {
			return c.Annotations, nil
		}),
		"GET /actions/jobs/{id}/logs":                h.onCheck("id", h.jobLog),
		"POST /actions/runs/{run}/rerun-failed-jobs": h.onCheck("run", h.rerun),
		"POST /actions/runs/{run}/cancel":            h.onCheck("run", h.cancel),
		"GET /actions/runs/{run}/artifacts":          h.onCheck("run", h.artifacts),
		"GET /actions/artifacts/{id}/zip":            h.onCheck("id", h.archive),
	}
}

func (h *Hub) repository(c *call) (any, *fault) {
	if !c.as.NoScopes {
		scopes := "repo"
		if c.as.Workflows {
			scopes += ", workflow"
		}
		c.header.Set("X-Oauth-Scopes", scopes)
	}
	return map[string]any{
		"full_name": h.o.Owner + "/" + h.o.Name, "default_branch": h.o.Default,
		"html_url": "http://" + c.Host + "/" + h.o.Owner + "/" + h.o.Name,
		"archived": h.o.Archived, "fork": h.o.Fork, "allow_auto_merge": h.o.AutoMerge,
		"permissions": map[string]bool{"push": c.as.Push},
	}, nil
}

func (h *Hub) rules(c *call) (any, *fault) {
	rules := []map[string]any{}
	if c.PathValue("branch") != h.o.Default {
		return rules, nil
	}
	if h.o.Queue {
		rules = append(rules, map[string]any{"type": "merge_queue"})
	}
	if len(h.o.Required) > 0 {
		var checks []map[string]string
		for _, name := range h.o.Required {
			checks = append(checks, map[string]string{"context": name})
		}
		rules = append(rules, map[string]any{
			"type":       "required_status_checks",
			"parameters": map[string]any{"required_status_checks": checks},
		})
	}
	return rules, nil
}

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

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func (h *Hub) onCheck(by string, do func(c *call, check *Check) (any, *fault)) handler {
	return func(c *call) (any, *fault) {
		id := number(c.PathValue(by))
		for _, check := range h.Checks {
			if !check.Status && (by == "id" && check.ID == id || by == "run" && check.Run == id) {
				return do(c, check)
			}
		}
		return nil, refuse(http.StatusNotFound, "Not Found")
	}
}

func (c *Check) running() bool { return c.State == "queued" || c.State == "in_progress" }

func (h *Hub) checkRuns(c *call) (any, *fault) {
	out := []any{}
	for _, k := range h.Checks {
		if k.SHA != c.PathValue("sha") || k.Status {
			continue
		}
		told := map[string]any{
			"id": k.ID, "name": k.Name, "head_sha": k.SHA, "status": k.State, "conclusion": nil,
			"html_url": "http://hub/check", "started_at": k.Started,
			"app": map[string]string{"slug": "github-actions"}, "check_suite": map[string]int64{"id": k.Suite},
		}
		if !k.running() {
			told["status"], told["conclusion"], told["completed_at"] = "completed", k.State, k.Started
		}
		out = append(out, told)
	}
	return map[string]any{"total_count": len(out), "check_runs": page(c, out)}, nil
}

func (h *Hub) statuses(c *call) (any, *fault) {
	out := []any{}
	for _, k := range h.Checks {
		if k.SHA == c.PathValue("sha") && k.Status {
			out = append(out, map[string]any{
				"id": k.ID, "context": k.Name, "state": k.State, "created_at": k.Started,
				"updated_at": k.Started,
			})
		}
	}
	return map[string]any{"statuses": page(c, out)}, nil
}

func (h *Hub) runs(c *call) (any, *fault) {
	out, seen := []any{}, map[int64]bool{}
	for _, k := range h.Checks {
		if k.SHA == c.URL.Query().Get("head_sha") && !k.Status && !seen[k.Run] {
			seen[k.Run] = true
			out = append(out, map[string]any{
				"id": k.Run, "name": k.Workflow, "run_attempt": k.Attempt,
				"check_suite_id": k.Suite,
			})
		}
	}
	return map[string]any{"workflow_runs": page(c, out)}, nil
}

func (h *Hub) jobLog(_ *call, c *Check) (any, *fault) {
	return redirect(fmt.Sprintf("%s/%d", h.logs.URL, c.ID)), nil
}

func (h *Hub) rerun(_ *call, c *Check) (any, *fault) {
	for _, k := range h.Checks {
		if k.Run == c.Run && !k.running() && k.State != "success" {
			k.State, k.Attempt = "queued", k.Attempt+1
			h.next++
			k.ID = h.next
		}
	}
	return map[string]any{}, nil
}

func (h *Hub) cancel(_ *call, c *Check) (any, *fault) {
	cancelled := false
	for _, k := range h.Checks {
		if k.Run == c.Run && k.running() {
			cancelled, k.State = true, "cancelled"
		}
	}
	if !cancelled {
		return nil, refuse(http.StatusConflict, "Cannot cancel a workflow run that is completed.")
	}
	return map[string]any{}, nil
}

func (*Hub) artifacts(_ *call, c *Check) (any, *fault) {
	list := []any{}
	if len(c.Reports) > 0 {
		list = append(list, map[string]any{"id": c.ID, "name": "test-results", "expired": false})
	}
	return map[string]any{"artifacts": list}, nil
}

func (*Hub) archive(_ *call, c *Check) (any, *fault) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range c.Reports {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			return nil, refuse(http.StatusInternalServerError, "%v", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, refuse(http.StatusInternalServerError, "%v", err)
	}
	return b.Bytes(), nil
}

// graph answers the queries and mutations that exist in GraphQL alone.
func (h *Hub) graph(c *call) (any, *fault) {
	var in struct {
		Query     string
		Variables struct{ ID, SHA string }
	}
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	refused := func(message string) (any, *fault) {
		return map[string]any{"data": nil, "errors": []any{map[string]string{
			"type":    "UNPROCESSABLE",
			"message": message,
		}}}, nil
	}
	n := number(strings.TrimPrefix(in.Variables.ID, "PR_"))
	if n < 1 || int(n) > len(h.Pulls) {
		return refused("Could not resolve to a node")
	}
	p := h.Pulls[n-1]
	guarded := strings.Contains(in.Query, "expectedHeadOid")
	switch {
	case strings.Contains(in.Query, "isInMergeQueue"):
		return map[string]any{"data": map[string]any{"node": map[string]bool{"isInMergeQueue": p.Queued}}}, nil
	case !c.as.Push:
		return refused("Resource not accessible by personal access token")
	case guarded && in.Variables.SHA != h.Head(p.Head):
		return refused("Head sha didn't match the expected head")
	case strings.Contains(in.Query, "enqueuePullRequest") && h.o.Queue:
		p.Queued = true
	case strings.Contains(in.Query, "enablePullRequestAutoMerge") && h.o.AutoMerge && !h.o.Queue:
		p.Auto = true
	case strings.Contains(in.Query, "convertPullRequestToDraft"):
		p.Draft = true
	case strings.Contains(in.Query, "markPullRequestReadyForReview"):
		p.Draft = false
	default:
		return refused("Pull request auto merge is not allowed for this repository")
	}
	h.settle()
	return map[string]any{"data": map[string]any{}}, nil
}
