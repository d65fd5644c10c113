package githubtest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
)

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
