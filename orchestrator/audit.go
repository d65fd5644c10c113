package orchestrator

import (
	"time"

	"divisi/orchestrator/act"
	"divisi/orchestrator/audit"
)

// wasAsked keeps what a host was asked that changes something.
func (h *Host) wasAsked(by string, q *hostCall, err error) {
	if q.Verb == verbRequest && q.Request != nil {
		h.runAsked(q.Run, by, q.Request, err)
		return
	}
	what, known := map[string]string{
		verbStart: audit.Submitted, verbResume: audit.Resumed, verbRemove: audit.Removed, verbFetched: audit.Published,
		verbRequest: audit.Asked, verbQuarantine: audit.Isolated,
	}[q.Verb]
	if !known {
		return
	}
	e := audit.Entry{By: by, What: what, Run: q.Run, Refused: refusal(err)}
	if q.Verb == verbFetched {
		e.Detail = q.Commit
	}
	if q.Verb == verbQuarantine {
		e.Name, e.Detail = q.Worker, "since "+q.Since.UTC().Format(time.RFC3339)
	}
	h.o.audit.Add(e)
}

// runAsked keeps what the conductor of a run was asked.
func (h *Host) runAsked(run, by string, q *act.Request, err error) {
	h.o.audit.Add(audit.Entry{By: by, What: audit.Asked, Run: run, Task: q.Task(), Verb: q.Act, Refused: refusal(err)})
}

func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
