package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/journal"
)

// Log is the output of one attempt for people. Printed is what the command of its role printed, or the longer text of its
// failure; Rejected is why its result was sent back, Said are the last words of a coding agent where Printed has them not. Own
// are the gates that the agent ran itself, Saved the artifacts that it gave a name, Gates those that decided, newest last.
type Log struct {
	Run      string      `json:"run"`
	Task     string      `json:"task"`
	Attempt  int         `json:"attempt"`
	Role     string      `json:"role"`
	Status   spec.Status `json:"status,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Rejected string      `json:"rejected,omitempty"`
	Said     string      `json:"said,omitempty"`
	Printed  string      `json:"printed,omitempty"`
	Own      []Own       `json:"run_gates,omitempty"`
	Saved    []Saved     `json:"saved,omitempty"`
	Gates    []Gate      `json:"gates"`
	// Idle are the gates that the newest of them did not start, because the change touches none of their paths.
	Idle []string `json:"not_started,omitempty"`
}

// Own is one call of run_gates: what the agent saw of the gates in its work tree. Red counts those that failed.
type Own struct {
	Turn   int    `json:"turn"`
	Red    int    `json:"red"`
	Output string `json:"output"`
}

// Saved is an artifact that the agent gave a name. Lost is why it has no content.
type Saved struct {
	contextscope.Listed

	Content string `json:"content,omitempty"`
	Lost    string `json:"lost,omitempty"`
}

// saved reads an artifact.
func (a *Attempt) saved(ctx context.Context, l contextscope.Listed) (Saved, error) {
	out := Saved{Listed: l}
	h, err := artifact.ParseHandle(l.Handle)
	if err != nil {
		return out, fmt.Errorf("read %s of %s: %w", l.Name, a.task, err)
	}
	kept, err := artifact.NewStore(a.bus, a.st.Spec.Run, bus.ErrNotFound, bus.ErrExists).Get(ctx, h)
	switch {
	case err == nil:
		out.Content = text.Valid(string(kept.Data))
	case ctx.Err() != nil:
		return out, fmt.Errorf("read %s of %s: %w", l.Name, a.task, err)
	default:
		out.Lost = err.Error()
	}
	return out, nil
}

// Gate is one run of a gate. New counts the failures that the base commit does not have, Failures are those that led to the task.
// Alone reports that it ran on the tests of a change set without the change.
// With are the other tasks of the batch. Lost is why Output is the end of the output alone.
type Gate struct {
	spec.Receipt

	Batch    int      `json:"batch,omitempty"`
	Alone    bool     `json:"alone,omitempty"`
	Set      string   `json:"set,omitempty"`
	With     []string `json:"with,omitempty"`
	New      int      `json:"new,omitempty"`
	Failures []string `json:"failures,omitempty"`
	Output   string   `json:"output,omitempty"`
	Lost     string   `json:"lost,omitempty"`
}

// own reads the calls of run_gates from the session of the attempt.
func (a *Attempt) own(ctx context.Context, role string) (all []Own, err error) {
	events, _, err := journal.ReadSession(ctx, a.bus, bus.AttemptFilter(a.st.Spec.Run, role, a.task, a.Attempt.Attempt))
	turn := 0
	for _, e := range events {
		if e.Kind == contextscope.KindTurn {
			turn++
		}
		if e.Kind != contextscope.KindTool {
			continue
		}
		content.EachResponse(e.Content, func(r *genai.FunctionResponse) {
			if r.Name != spec.ToolRunGates {
				return
			}
			red, _ := r.Response["red"].(float64)
			said, ok := r.Response["output"].(string)
			if !ok {
				said = spec.JSONText(r.Response)
			}
			all = append(all, Own{Turn: turn, Red: int(red), Output: said})
		})
	}
	return all, err
}

// Log reads what the attempt left.
func (a *Attempt) Log(ctx context.Context) (*Log, error) {
	if a.format != nil {
		return nil, a.format
	}
	n := a.Attempt.Attempt
	name := a.st.Works[a.task].RoleAt(n)
	role := a.st.Spec.Roles[name]
	own, err := a.own(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &Log{Run: a.st.Spec.Run, Task: a.task, Attempt: n, Role: name, Own: own, Gates: []Gate{}}
	switch r := a.Result; {
	case r == nil:
	case r.Status != spec.StatusDone:
		f := run.FaultOf(r)
		l.Status, l.Reason, l.Said, l.Printed = r.Status, f.Message, r.Said, f.Detail
	default:
		if l.Status = r.Status; a.Turns == 0 && role.Runs(spec.ExecutorCommand) {
			l.Printed = r.Handoff.Summary
		}
		if t := a.st.Tasks.ByID[a.task]; t != nil {
			for _, f := range t.Faults {
				if f.Attempt == n {
					l.Rejected = f.Fault.Message
				}
			}
		}
	}
	for _, listed := range a.Saved {
		kept, err := a.saved(ctx, listed)
		if err != nil {
			return nil, err
		}
		l.Saved = append(l.Saved, kept)
	}
	for _, t := range a.tests() {
		for _, r := range t.Receipts {
			g, err := a.gate(ctx, t, r)
			if err != nil {
				return nil, err
			}
			l.Gates = append(l.Gates, g)
		}
		l.Idle = a.idle(&t.batch)
	}
	return l, nil
}

// test is one run of gates, of a batch or, with none, of the attempt itself.
type test struct {
	*run.Attempt

	batch run.Batch
	// red reports that the tests were tested alone.
	red bool
}

// tests are the runs of gates that decided about the attempt, oldest first.
func (a *Attempt) tests() []test {
	out := []test{{Attempt: a.Attempt}}
	number := a.decided()
	for _, w := range a.st.Works {
		if a.testedBy(w, number) {
			for _, v := range w.Attempts {
				out = append(out, test{Attempt: v, batch: *w.Batch})
			}
		}
	}
	if w := a.st.Works[a.task+run.RedSuffix]; w != nil {
		for _, v := range w.Attempts {
			if a.proved(v) {
				out = append(out, test{Attempt: v, red: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b test) int { return cmp.Compare(a.Pos, b.Pos) })
	return out
}

// idle are the gates that a batch did not start, by their paths.
func (a *Attempt) idle(b *run.Batch) (names []string) {
	for _, g := range a.st.Spec.Project.Gates {
		if len(b.Gates) > 0 && len(g.Paths) > 0 && !slices.Contains(b.Gates, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

// testedBy reports whether a work tests a batch with that attempt of the task.
func (a *Attempt) testedBy(w *run.Work, number int) bool {
	return w.Batch != nil &&
		slices.ContainsFunc(w.Batch.Tasks, func(l run.Landed) bool { return l.Task == a.task && l.Attempt == number })
}

// decided is the attempt whose tests decided about this one: an earlier one where the patch of this one is the same and was not
// tested again.
func (a *Attempt) decided() int {
	tested := func(number int) bool {
		for _, w := range a.st.Works {
			if a.testedBy(w, number) {
				return true
			}
		}
		return false
	}
	own := a.Attempt.Attempt
	if tested(own) || a.Result == nil || a.Result.Patch == nil {
		return own
	}
	for number := own - 1; number > 0; number-- {
		if had := a.st.Works.Attempt(a.task, number); had != nil && had.Result != nil &&
			samePatch(had.Result.Patch, a.Result.Patch) &&
			tested(number) {
			return number
		}
	}
	return own
}

// samePatch reports whether two patches leave the same, or change as much of the same files.
func samePatch(a, b *spec.Patch) bool {
	return a != nil && (a.Tree == b.Tree || slices.Equal(a.Files, b.Files) && a.Added == b.Added && a.Deleted == b.Deleted)
}

// proved reports whether a run of gates was of the tests of this attempt alone: it is the newest one before it.
func (a *Attempt) proved(v *run.Attempt) bool {
	newest := 0
	for n, other := range a.st.Works[a.task].Attempts {
		if other.Pos < v.Pos {
			newest = max(newest, n)
		}
	}
	return newest == a.Attempt.Attempt
}

// gate describes one gate of a test, with all that it printed, or the end of that where the store has lost it.
func (a *Attempt) gate(ctx context.Context, of test, r spec.Receipt) (Gate, error) {
	d := of.batch
	g := Gate{Receipt: r, Batch: d.Number, Alone: of.red, Set: d.Set, Output: r.Tail}
	for _, l := range d.Tasks {
		if l.Task != a.task {
			g.With = append(g.With, l.Task)
		}
	}
	g.Failures, g.New = blame.LeadTo(a.st, d.Tasks, r, a.task)
	for i, signature := range g.Failures {
		g.Failures[i] = gate.InSource(&r, signature)
	}
	g.Signatures, g.Counts, g.Moved, g.Paths, g.Imports, g.Tail = nil, nil, nil, nil, nil, ""
	if r.Output == "" {
		return g, nil
	}
	data, err := a.bus.Get(ctx, r.Output)
	switch {
	case err == nil:
		g.Output = text.Valid(string(data))
	case errors.Is(err, bus.ErrNotFound), errors.Is(err, bus.ErrUnavailable) && ctx.Err() == nil:
		g.Lost = err.Error()
	default:
		return g, fmt.Errorf("read the output of gate %s: %w", r.Gate, err)
	}
	return g, nil
}
