package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/view"
)

const (
	// usualTasks and mostTasks bound a page of the tasks of a run.
	usualTasks = 50
	mostTasks  = 200
	// usualBytes and mostBytes bound a part of a patch or of a log.
	usualBytes = 32 << 10
	mostBytes  = 100 << 10
)

type whichTasks struct {
	ofRun
	page

	State string `json:"state,omitempty" jsonschema:"Only tasks in this state; left out, all."`
	Task  string `json:"task,omitempty" jsonschema:"Only the task with this id."`
}

type taskPage struct {
	Tasks []task `json:"tasks" jsonschema:"In plan order."`
	Total int    `json:"total"`
	Next  int    `json:"next_offset,omitempty" jsonschema:"The offset of the next page; left out at the end."`
}

type task struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Role     string   `json:"role"`
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Attempts int      `json:"attempts"`
	Files    []string `json:"files,omitempty" jsonschema:"The write set: paths and globs that it may change."`
	Commit   string   `json:"commit,omitempty" jsonschema:"The commit with which it landed."`
	Added    int      `json:"added,omitempty"`
	Deleted  int      `json:"deleted,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	Summary  string   `json:"summary,omitempty" jsonschema:"What its agent says of its result."`
	Failures []string `json:"failures,omitempty" jsonschema:"How its earlier attempts ended; the newest few."`
}

// tasks lists tasks of a run.
func (s *Server) tasks(ctx context.Context, _ caller, in whichTasks) (taskPage, error) {
	_, r, err := s.both(ctx, in.Run)
	if err != nil {
		return taskPage{}, err
	}
	found := slices.DeleteFunc(r.Tasks, func(t view.Task) bool {
		return in.State != "" && in.State != string(t.State) && in.State != t.Status() || in.Task != "" && in.Task != t.ID
	})
	if in.Task != "" && len(found) == 0 {
		return taskPage{}, usage.Errorf("run %s has no task %.80q", in.Run, in.Task)
	}
	part, next, err := of(found, in.page, usualTasks, mostTasks)
	out := taskPage{Tasks: []task{}, Total: len(found), Next: next}
	for i := range part {
		out.Tasks = append(out.Tasks, taskOf(&part[i]))
	}
	return out, err
}

// maxFailures is how many of the newest failures of a task are shown.
const maxFailures = 3

func taskOf(t *view.Task) task {
	out := task{
		ID: t.ID, Title: text.Clip(t.Title, text.MaxLine), Role: t.Role, State: t.Status(),
		Reason:   text.Clip(t.Reason, text.MaxLine),
		Attempts: t.Attempts, Files: text.Few(t.WriteSet, maxFew), Commit: t.Commit, Added: t.Added, Deleted: t.Deleted,
		Tokens: t.Usage.Total(), Summary: text.Clip(t.Summary, text.MaxLine),
	}
	for _, f := range t.Failures[max(0, len(t.Failures)-maxFailures):] {
		out.Failures = append(out.Failures, text.Clip(f, text.MaxLine))
	}
	return out
}

type whichAttempt struct {
	ofRun

	Task    string `json:"task" jsonschema:"The id of the task."`
	Attempt int    `json:"attempt,omitempty" jsonschema:"The number of the attempt; 0 for the newest."`
	Offset  int    `json:"offset,omitempty" jsonschema:"At which byte to begin; next_offset of the answer before."`
	Limit   int    `json:"limit,omitempty" jsonschema:"How many bytes to return at most; 0 for 32768."`
}

// part is a part of a text.
type part struct {
	Task    string   `json:"task"`
	Attempt int      `json:"attempt"`
	Files   []string `json:"files,omitempty"`
	Text    string   `json:"text" jsonschema:"Data: text of the repository, of programs and of agents."`
	Total   int      `json:"total" jsonschema:"How many bytes the whole text has."`
	Next    int      `json:"next_offset,omitempty" jsonschema:"The offset of the next part; left out at the end."`
}

// cut sets the part of a text.
func (p *part) cut(whole string, in *whichAttempt) error {
	limit := in.Limit
	if limit == 0 {
		limit = usualBytes
	}
	if in.Offset < 0 || limit < 4 || limit > mostBytes { // a character has at most four bytes
		return usage.Errorf("offset cannot be negative, and limit must be between 4 and %d", mostBytes)
	}
	whole = text.Valid(whole)
	rest := text.End(whole, max(0, len(whole)-in.Offset))
	p.Text, p.Total = text.Head(rest, limit), len(whole)
	if end := len(whole) - len(rest) + len(p.Text); end < len(whole) {
		p.Next = end
	}
	return nil
}

// diff shows the patch of an attempt.
func (s *Server) diff(ctx context.Context, _ caller, in whichAttempt) (out part, err error) {
	var p attempt.Patch
	data, err := s.attempt(ctx, dashboard.ShowDiff, &in)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return out, fmt.Errorf("read the patch of %s: %w", in.Task, err)
	}
	out = part{Task: p.Task, Attempt: p.Attempt, Files: text.Few(p.Files, maxFew)}
	return out, out.cut(p.Diff, &in)
}

// log shows what the gates printed that tested an attempt.
func (s *Server) log(ctx context.Context, _ caller, in whichAttempt) (out part, err error) {
	data, err := s.attempt(ctx, dashboard.ShowLog, &in)
	if err != nil {
		return out, err
	}
	var l attempt.Log
	var b strings.Builder
	if err := json.Unmarshal(data, &l); err != nil {
		return out, fmt.Errorf("read the log of %s: %w", in.Task, err)
	}
	if err := reports.Attempt(&b, data); err != nil {
		return out, err
	}
	out = part{Task: l.Task, Attempt: l.Attempt}
	return out, out.cut(b.String(), &in)
}

func (s *Server) attempt(ctx context.Context, what string, in *whichAttempt) (json.RawMessage, error) {
	if err := s.known(ctx, in.Run); err != nil {
		return nil, err
	}
	if in.Attempt < 0 || in.Task == "" {
		return nil, usage.Errorf("name a task; attempts are counted from 1")
	}
	return s.opts.Controller.Show(ctx, dashboard.Query{What: what, Run: in.Run, Task: in.Task, Attempt: in.Attempt})
}
