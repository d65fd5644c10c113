package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

type checkRun struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	SHA        string    `json:"head_sha"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	URL        string    `json:"html_url"`
	Details    string    `json:"details_url"`
	Started    time.Time `json:"started_at"`
	Ended      time.Time `json:"completed_at"`
	App        struct {
		Slug string `json:"slug"`
	} `json:"app"`
	Suite struct {
		ID int64 `json:"id"`
	} `json:"check_suite"`
}

type workflowRun struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Attempt int    `json:"run_attempt"`
	Suite   int64  `json:"check_suite_id"`
}

type status struct {
	ID      int64     `json:"id"`
	Context string    `json:"context"`
	State   string    `json:"state"`
	URL     string    `json:"target_url"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// states are those of a check by the conclusion of a check run, and by the state of a commit status.
var states = map[string]string{
	"success": forge.Success, "failure": forge.Failure, "neutral": forge.Skipped, "skipped": forge.Skipped,
	"cancelled": forge.Broken, "timed_out": forge.Broken, "action_required": forge.Broken, "stale": forge.Broken,
	"startup_failure": forge.Broken, "error": forge.Broken, "pending": forge.Waiting,
}

// The sources of checks that are no runs of workflows.
const (
	actions = "github-actions"
	byPeer  = "status"
)

// Checks implements forge.Checks: check runs and commit statuses, which are two lists.
func (c *Client) Checks(ctx context.Context, sha string) ([]forge.Check, error) {
	at := "/commits/" + url.PathEscape(sha)
	required, err := c.required(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := c.runs(ctx, sha)
	if err != nil {
		return nil, err
	}
	checks, err := web.Fold(ctx, c.web, c.path("%s/check-runs?filter=latest&per_page=100", at), func(p struct {
		Runs []checkRun `json:"check_runs"`
	},
	) (out []forge.Check) {
		for _, r := range p.Runs {
			out = append(out, r.told(runs[r.Suite.ID]))
		}
		return out
	})
	if err != nil {
		return nil, fmt.Errorf("read the check runs of %s: %w", sha, err)
	}
	peers, err := web.Fold(ctx, c.web, c.path("%s/status?per_page=100", at), func(p struct {
		Statuses []status `json:"statuses"`
	},
	) (out []forge.Check) {
		for _, s := range p.Statuses {
			out = append(out, s.told(sha))
		}
		return out
	})
	if err != nil {
		return nil, fmt.Errorf("read the statuses of %s: %w", sha, err)
	}
	checks = append(checks, peers...)
	for i := range checks {
		checks[i].Required = required[checks[i].Name]
	}
	return checks, nil
}

func (r *checkRun) told(run workflowRun) forge.Check {
	out := forge.Check{
		ID: strconv.FormatInt(r.ID, 10), Run: "suite/" + strconv.FormatInt(r.Suite.ID, 10), Name: r.Name,
		Source: r.App.Slug, SHA: r.SHA, Reason: cmp.Or(r.Conclusion, r.Status), State: forge.Waiting, URL: r.URL,
		Started: r.Started, Ended: r.Ended,
	}
	if r.Status == "completed" {
		out.State = cmp.Or(states[r.Conclusion], forge.Broken)
	}
	if run.ID != 0 {
		out.Run, out.Source, out.Attempt = "run/"+strconv.FormatInt(run.ID, 10), actions+"/"+run.Name, run.Attempt
	}
	return out
}

func (s *status) told(sha string) forge.Check {
	out := forge.Check{
		ID: byPeer + "/" + strconv.FormatInt(s.ID, 10), Name: s.Context, Source: byPeer, SHA: sha,
		State: cmp.Or(states[s.State], forge.Broken), Reason: s.State, URL: s.URL, Started: s.Created,
	}
	if out.State != forge.Waiting {
		out.Ended = s.Updated
	}
	return out
}

// runs are the runs of workflows on a commit, by their suites.
func (c *Client) runs(ctx context.Context, sha string) (map[int64]workflowRun, error) {
	list, err := web.Fold(ctx, c.web, c.path("/actions/runs?head_sha=%s&per_page=100", url.QueryEscape(sha)), func(p struct {
		Runs []workflowRun `json:"workflow_runs"`
	},
	) []workflowRun {
		return p.Runs
	})
	if err != nil && !errors.Is(err, forge.ErrNotFound) { // a server without Actions
		return nil, fmt.Errorf("read the runs of workflows on %s: %w", sha, err)
	}
	runs := map[int64]workflowRun{}
	for _, r := range list {
		runs[r.Suite] = r
	}
	return runs, nil
}

// required names the checks that the rules of the default branch want.
func (c *Client) required(ctx context.Context) (map[string]bool, error) {
	c.mu.Lock()
	def := c.def
	c.mu.Unlock()
	if def == "" {
		repo, err := c.Repository(ctx)
		if err != nil {
			return nil, err
		}
		def = repo.Default
	}
	rules, err := web.All[rule](ctx, c.web, c.path("/rules/branches/%s", url.PathEscape(def)))
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", def, err)
	}
	names := map[string]bool{}
	for _, r := range rules {
		for _, check := range r.Parameters.Checks {
			names[check.Context] = true
		}
	}
	return names, nil
}

var runPath = regexp.MustCompile(`^(run|suite)/(\d+)$`)

// ofRun sends an order to the run of a check; to its suite where it is of another CI than Actions.
func (c *Client) ofRun(ctx context.Context, check forge.Check, order, suite string) error {
	m := runPath.FindStringSubmatch(check.Run)
	switch {
	case m != nil && m[1] == "run":
		return c.web.Write(ctx, http.MethodPost, c.path("/actions/runs/%s/%s", m[2], order), nil, nil)
	case m != nil && suite != "":
		return c.web.Write(ctx, http.MethodPost, c.path("/check-suites/%s/%s", m[2], suite), nil, nil)
	}
	return forge.ErrUnsupported
}

// Rerun implements forge.Checks.
func (c *Client) Rerun(ctx context.Context, check forge.Check) error {
	if err := c.ofRun(ctx, check, "rerun-failed-jobs", "rerequest"); err != nil {
		return fmt.Errorf("run check %s again: %w", check.Name, err)
	}
	return nil
}

// Cancel implements forge.Checks. A run that has ended answers 409.
func (c *Client) Cancel(ctx context.Context, check forge.Check) error {
	if err := c.ofRun(ctx, check, "cancel", ""); err != nil && !errors.Is(err, forge.ErrMoved) {
		return fmt.Errorf("cancel check %s: %w", check.Name, err)
	}
	return nil
}
