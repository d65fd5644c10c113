package host

import (
	"context"
	"errors"

	"divisi/orchestrator/act"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/call"
)

// kept keeps what a host is asked that changes something; with more adds what it is about.
func kept[Q, A any](
	what string, do func(*Host, context.Context, *call.In, *Q) (A, error), more func(*Host, *call.In, *Q, *audit.Entry),
) func(*Host, context.Context, *call.In, *Q) (A, error) {
	return func(h *Host, ctx context.Context, in *call.In, q *Q) (A, error) {
		a, err := do(h, ctx, in, q)
		if errors.Is(err, call.ErrUnanswered) {
			return a, err
		}
		e := audit.Entry{By: h.by(in), What: what, Run: in.Run, Refused: Refusal(err)}
		if more != nil {
			more(h, in, q, &e)
		}
		h.o.Audit.Add(e)
		return a, err
	}
}

// runAsked keeps what the conductor of a run was asked.
func (h *Host) runAsked(run, by string, q *act.Request, err error) {
	h.o.Audit.Add(audit.Entry{By: by, What: audit.Asked, Run: run, Task: q.Task(), Verb: q.Act, Refused: Refusal(err)})
}

// Misasked keeps what was refused before it was known whether it can be done: a call that cannot be read, or whose caller may
// not make it.
func (h *Host) Misasked(run, by, verb string, err error) {
	h.o.Audit.Add(audit.Entry{By: by, What: audit.Misasked, Run: run, Verb: verb, Refused: Refusal(err)})
}

// Refusal is an error as the audit keeps it, "" for none.
func Refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
