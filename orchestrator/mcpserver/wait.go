package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

const (
	// usualWait and mostWait bound how long wait waits, in seconds. Many clients give a call one minute.
	usualWait = 45
	mostWait  = 300
	// progressPause is between two notices of progress, for a client that names a token.
	progressPause = 3 * time.Second
	// reopenPause is between two inspects a run whose process has just ended or begun.
	reopenPause = 200 * time.Millisecond
)

type waitFor struct {
	ofRun

	After   uint64 `json:"after,omitempty" jsonschema:"The position of the answer before: what was open there already is not waited for. 0 at first."`
	Seconds int    `json:"seconds,omitempty" jsonschema:"How long to wait at most, 1 to 300; left out, 45."`
}

// Why wait returns.
const (
	whyDecision = "decision"
	whyEnded    = "ended"
	whyStopped  = "stopped"
	whyIdle     = "not_running"
	whyTime     = "time"
)

type waited struct {
	Run       string   `json:"run"`
	Why       string   `json:"why" jsonschema:"decision: something new waits for an answer. ended: the run has ended. stopped: it was paused, has used its budget up, or cannot prove what it would land; reason, notices and next tell more. not_running: no process has the run, and nothing changes until it is resumed. time: nothing of this happened yet; call wait again."`
	Position  uint64   `json:"position" jsonschema:"Give it as after the next time."`
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Tasks     int      `json:"tasks"`
	Landed    int      `json:"landed"`
	Unchanged int      `json:"unchanged,omitempty" jsonschema:"How many tasks ended without a change."`
	Parked    int      `json:"parked"`
	Tokens    int      `json:"tokens"`
	Left      string   `json:"left,omitempty" jsonschema:"What the rest is likely to use."`
	Now       []string `json:"now,omitempty" jsonschema:"What agents and gates are doing."`
	Notices   []string `json:"notices,omitempty" jsonschema:"What a person should know of a run that nothing continues now."`
	Next      []way    `json:"next,omitempty" jsonschema:"What can be done next with a run that nothing continues now, the most useful first."`
	Decisions []needed `json:"decisions" jsonschema:"All that wait for a person now; the tool decisions shows them whole."`
}

type needed struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	New  bool   `json:"new,omitempty" jsonschema:"It was not open at the position after."`
}

// wait waits until something new needs a person, the run has ended, no process has it, or the time is over.
func (s *Server) wait(ctx context.Context, by caller, in waitFor) (waited, error) {
	if in.Seconds < 0 || in.Seconds > mostWait {
		return waited{}, usage.Errorf("seconds must be between 0 and %d, not %d", mostWait, in.Seconds)
	}
	if in.Seconds == 0 {
		in.Seconds = usualWait
	}
	if err := s.known(ctx, in.Run); err != nil {
		return waited{}, err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second)
	defer cancel()
	w := watch{state: view.NewState(), after: in.After}
	turn := mostWait * time.Second
	if by.req.Params.GetProgressToken() != nil {
		turn = progressPause
	}
	for {
		until, end := context.WithTimeout(limit, turn)
		why, err := s.watch(until, in.Run, &w)
		over := until.Err() != nil
		end()
		switch {
		case ctx.Err() != nil:
			return waited{}, ctx.Err()
		case limit.Err() != nil:
			why = whyTime
		case over && why == "":
			by.progress(ctx, &w)
			continue
		case err != nil:
			return waited{}, err
		}
		if why != "" {
			return s.told(&w, in.Run, why), nil
		}
		pause := time.NewTimer(reopenPause)
		select {
		case <-limit.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// watch follows a run until there is a reason to return; "" where its log has to be opened again, because its process has just
// ended.
func (s *Server) watch(ctx context.Context, id string, w *watch) (why string, err error) {
	stands, err := s.opts.Runs.Stand(ctx, id)
	if err != nil {
		return "", err
	}
	opened, err := s.opts.Runs.Open(ctx, id)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	end, err := opened.Last(ctx)
	switch {
	case err != nil && stands.Active: // the process may have just ended
		return "", nil
	case err != nil:
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.pos >= end {
		if why, over := w.why(stands.Active); over {
			return why, nil
		}
	}
	for b, err := range opened.Tail(ctx, w.pos) {
		switch {
		case err != nil && stands.Active: // the process may have just ended
			return "", nil
		case err != nil:
			return "", fmt.Errorf("read the log of run %s after %d: %w", id, w.pos, err)
		}
		if w.fold(b); b.Pos < end {
			continue
		}
		if why, over := w.why(stands.Active); over {
			return why, nil
		}
	}
	if ctx.Err() != nil || stands.Active {
		return "", nil
	}
	return whyIdle, nil
}

// watch is a run that is waited for, up to a position of its log. One goroutine uses it.
type watch struct {
	state      *view.State
	pos, after uint64
	// had lists the decisions that were open at after.
	had map[string]bool
	// told is the progress that the client was told last.
	told float64
}

// fold applies a batch. What the fold cannot read is left out, as the page leaves it out.
func (w *watch) fold(b dashboard.Batch) {
	if b.Pos <= w.pos {
		return
	}
	if w.had == nil && b.Pos > w.after {
		w.had = w.open()
	}
	for i := range b.Events {
		e := b.Events[i]
		e.Pos = b.Pos
		_ = w.state.Apply(&e) // an event that cannot be read is part of the state
	}
	w.pos = b.Pos
}

// open are the decisions that wait for a person.
func (w *watch) open() map[string]bool {
	open := map[string]bool{}
	for _, d := range view.ForPerson(w.state) {
		open[d.Key()] = true
	}
	return open
}

// why is the reason to return now; over reports whether nothing more is to be read. A run has ended when no process has it any
// more, either: one that ended before may continue just now.
func (w *watch) why(active bool) (why string, over bool) {
	for now := range w.open() {
		if w.had != nil && !w.had[now] {
			return whyDecision, true
		}
	}
	switch {
	case !view.AtRest(w.state):
		return "", false
	case active:
		return "", true
	case view.Over(w.state):
		return whyEnded, true
	}
	return whyStopped, true
}

// progress tells the client how many tasks have landed, and what is being done. The number must grow each time: where nothing
// more has landed, a little is added.
func (by *caller) progress(ctx context.Context, w *watch) {
	const little = 1.0 / 1024
	r, row := view.Live(w.state, time.Now()), view.RowOf(w.state)
	w.told = max(float64(row.Landed), w.told+little)
	done := slices.Concat([]string{fmt.Sprintf("%d of %s landed", row.Landed, text.Count(row.Tasks, "task"))}, r.Now)
	_ = by.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // a client that is gone ends the call otherwise
		ProgressToken: by.req.Params.GetProgressToken(), Progress: w.told, Total: float64(row.Tasks),
		Message: visible(text.Clip(strings.Join(done, "; "), text.MaxLine)),
	})
}

// told is how the run stands, with the reason.
func (s *Server) told(w *watch, id, why string) waited {
	st := w.state
	r, row := view.Live(st, time.Now()), view.RowOf(st)
	out := waited{
		Run: id, Why: why, Position: max(w.pos, w.after), State: row.State, Reason: text.Clip(row.Reason, maxText),
		Tasks: row.Tasks, Landed: row.Landed, Unchanged: row.Unchanged, Parked: row.Parked, Tokens: row.Tokens,
		Left:      r.Outlook.Left.Range(),
		Decisions: []needed{},
	}
	switch why {
	case whyTime, whyDecision:
		out.Now = few(r.Now)
	default:
		out.Notices, out.Next = few(r.Notices), s.ways(advice.Next(st))
	}
	for _, d := range view.ForPerson(st) {
		if len(out.Decisions) < maxFew {
			out.Decisions = append(out.Decisions, needed{d.ID, text.Clip(d.Text, text.MaxLine), w.had != nil && !w.had[d.Key()]})
		}
	}
	return out
}
