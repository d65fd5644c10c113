package githubtest

import (
	"strconv"
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

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
