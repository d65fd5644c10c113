// Package github is a repository at GitHub or a GitHub Enterprise server.
//
// Source: GitHub REST API 2022-11-28 and GraphQL API; notes of what no real GitHub has seen are in docs/forge.md.
package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

// Options are what a client needs.
type Options struct {
	// API is the address of the REST interface; of github.com where it is empty. Of an Enterprise server it ends with /api/v3.
	API string
	// Owner and Name name the repository.
	Owner, Name string
	// Token is the credential, sent to the host of API alone.
	Token string
	// Silent is set where pushes by the token start no workflow, as those of a job's own token do.
	Silent  bool
	Clock   web.Clock
	Limited func(until time.Time, why string)
}

// Client implements forge.Forge.
type Client struct {
	web    *web.Client
	graph  *web.Client
	owner  string
	name   string
	silent bool
	mu     sync.Mutex
	login  *string
	nodes  map[int]string
	def    string
	queue  bool
}

var _ forge.Forge = (*Client)(nil)

const public = "https://api.github.com"

// New returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	if o.API == "" {
		o.API = public
	}
	base, err := url.Parse(o.API)
	if err != nil || !web.Private(base) {
		return nil, fmt.Errorf("the address of the forge must be https: %q", o.API)
	}
	if o.Clock == nil {
		o.Clock = web.Real{}
	}
	graph := *base
	if n := len(graph.Path) - len("/v3"); n >= 0 && graph.Path[n:] == "/v3" {
		graph.Path = graph.Path[:n]
	}
	at := func(base *url.URL) *web.Client {
		return &web.Client{
			Base: base, HTTP: web.HTTP(), Clock: o.Clock, Limited: o.Limited,
			Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+o.Token) },
			Header: http.Header{
				"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}, "User-Agent": {"divisi"},
			},
		}
	}
	return &Client{
		web: at(base), graph: at(&graph), owner: o.Owner, name: o.Name, silent: o.Silent,
		nodes: map[int]string{},
	}, nil
}

// path is a path below the repository.
func (c *Client) path(format string, args ...any) string {
	return "/repos/" + url.PathEscape(c.owner) + "/" + url.PathEscape(c.name) + fmt.Sprintf(format, args...)
}

type rule struct {
	Type       string `json:"type"`
	Parameters struct {
		Checks []struct {
			Context string `json:"context"`
		} `json:"required_status_checks"`
	} `json:"parameters"`
}

// Repository implements forge.Forge.
func (c *Client) Repository(ctx context.Context) (forge.Repository, error) {
	var r struct {
		Name        string `json:"full_name"`
		Default     string `json:"default_branch"`
		URL         string `json:"html_url"`
		Archived    bool   `json:"archived"`
		Fork        bool   `json:"fork"`
		AutoMerge   bool   `json:"allow_auto_merge"`
		Permissions struct {
			Push bool `json:"push"`
		} `json:"permissions"`
	}
	header, err := c.web.Get(ctx, c.path(""), &r)
	if err != nil {
		return forge.Repository{}, fmt.Errorf("read the repository: %w", err)
	}
	rules, err := web.All[rule](ctx, c.web, c.path("/rules/branches/%s", url.PathEscape(r.Default)))
	if err != nil {
		return forge.Repository{}, fmt.Errorf("read the rules of %s: %w", r.Default, err)
	}
	out := forge.Repository{
		Name: r.Name, Default: r.Default, URL: r.URL, Archived: r.Archived, Fork: r.Fork, MayPush: r.Permissions.Push,
		MayWorkflows: mayWorkflows(header), StartsCI: !c.silent, AutoMerge: r.AutoMerge,
	}
	for _, rule := range rules {
		out.Queue = out.Queue || rule.Type == "merge_queue"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.def, c.queue = out.Default, out.Queue
	return out, nil
}
