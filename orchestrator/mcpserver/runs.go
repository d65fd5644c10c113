package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/view"
)

const (
	// usualRuns and mostRuns bound a page of the list of runs.
	usualRuns = 20
	mostRuns  = 100
	// maxText bounds a text of a run in an answer, in bytes, and maxFew what is listed of many.
	maxText = 2 << 10
	maxFew  = 20
)

// page is a part of a list.
type page struct {
	Offset int `json:"offset,omitempty" jsonschema:"How many to leave out at the beginning; 0 for none."`
	Limit  int `json:"limit,omitempty" jsonschema:"How many to return at most; left out, the usual number."`
}

// of returns the part of a list, and where the next one begins; 0 for none.
func of[T any](list []T, p page, usual, most int) (part []T, next int, err error) {
	if p.Limit == 0 {
		p.Limit = usual
	}
	switch {
	case p.Offset < 0 || p.Limit < 0:
		return nil, 0, usage.Errorf("offset and limit cannot be negative")
	case p.Limit > most:
		return nil, 0, usage.Errorf("limit must be at most %d, not %d", most, p.Limit)
	}
	from := min(p.Offset, len(list))
	to := min(from+p.Limit, len(list))
	if to < len(list) {
		next = to
	}
	return list[from:to], next, nil
}

type listed struct {
	Runs []row `json:"runs" jsonschema:"The newest first."`
	// StateDir is where the person's shell finds the same runs.
	StateDir string `json:"state_dir" jsonschema:"The state directory, with which the person finds the same runs in a shell."`
	Total    int    `json:"total"`
	Next     int    `json:"next_offset,omitempty" jsonschema:"The offset of the next page; left out at the end."`
}

// row is a run in the list of all.
type row struct {
	Run       string `json:"run"`
	State     string `json:"state" jsonschema:"done, parked, stopped and cancelled are ends. A killed run has no process, and can be resumed."`
	Goal      string `json:"goal,omitempty"`
	Repo      string `json:"repo,omitempty"`
	Created   string `json:"created,omitempty"`
	Tasks     int    `json:"tasks"`
	Landed    int    `json:"landed"`
	Unchanged int    `json:"unchanged,omitempty" jsonschema:"How many tasks ended without a change."`
	Parked    int    `json:"parked,omitempty"`
	Tokens    int    `json:"tokens"`
	Wait      string `json:"wait,omitempty" jsonschema:"What the run waits for a person to do."`
	Decisions int    `json:"decisions,omitempty" jsonschema:"How many decisions are open."`
	Problem   string `json:"problem,omitempty" jsonschema:"Why the run cannot be read or continued."`
}

// runs lists the runs.
func (s *Server) runs(ctx context.Context, _ caller, in page) (listed, error) {
	ids, err := s.opts.Runs.List(ctx)
	if err != nil {
		return listed{}, err
	}
	out := listed{StateDir: s.opts.StateDir, Total: len(ids), Runs: []row{}}
	part, next, err := of(ids, in, usualRuns, mostRuns)
	out.Next = next
	for _, id := range part {
		r, _, err := s.look(ctx, id)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			r.Problem = err.Error()
		}
		out.Runs = append(out.Runs, row{
			Run: id, State: r.State, Goal: text.Clip(r.Goal, text.MaxLine), Repo: r.Repo, Created: date(r.Created),
			Tasks: r.Tasks, Landed: r.Landed, Unchanged: r.Unchanged, Parked: r.Parked, Tokens: r.Tokens,
			Wait: text.Clip(r.Wait, text.MaxLine), Decisions: r.Decisions,
			Problem: text.Clip(r.Problem, maxText),
		})
	}
	return out, err
}

func date(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// look returns the row of a run. The report is that of one that a process has, which its row is made of; nil else.
func (s *Server) look(ctx context.Context, id string) (view.Row, *view.Report, error) {
	stands, err := s.opts.Runs.Stand(ctx, id)
	if err != nil || !stands.Active {
		return stands.Row, nil, err
	}
	r, err := s.report(ctx, id)
	if err != nil {
		return view.Row{State: "unreadable", Active: true}, nil, err
	}
	row := view.RowIn(id, string(r.State), r)
	row.Active = true
	return row, r, nil
}

// report reads the report of a run.
func (s *Server) report(ctx context.Context, id string) (*view.Report, error) {
	data, err := s.opts.Controller.Show(ctx, dashboard.Query{What: dashboard.ShowReport, Run: id})
	if err != nil {
		return nil, err
	}
	var r view.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the report of run %s: %w", id, err)
	}
	return &r, nil
}

// known refuses a run that there is not.
func (s *Server) known(ctx context.Context, id string) error {
	ids, err := s.opts.Runs.List(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(ids, id):
		return usage.Errorf("there is no run %.80q: name one that the tool runs lists, whole", id)
	}
	return nil
}

// both returns the row and the report of a run.
func (s *Server) both(ctx context.Context, id string) (view.Row, *view.Report, error) {
	if err := s.known(ctx, id); err != nil {
		return view.Row{}, nil, err
	}
	row, r, err := s.look(ctx, id)
	if err == nil && r == nil {
		r, err = s.report(ctx, id)
	}
	return row, r, err
}
