package conductor

import (
	"cmp"
	"context"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// maxLineReason bounds, in bytes, why a line is stopped.
const maxLineReason = 200

// line stops or starts the line. What is at work goes on.
func (c *Conductor) line(ctx context.Context, q Request) (string, error) {
	stops, outcome := q.Verb == VerbStopLine, "the line goes on"
	if err := request.Over(c.st); err != nil {
		return "", err
	}
	switch {
	case stops && c.st.Line != "":
		return "", request.Refusedf("the line of run %s is stopped already: %s", c.cfg.Run, c.st.Line)
	case !stops && c.st.Line == "":
		return "", request.Refusedf("the line of run %s is not stopped", c.cfg.Run)
	}
	reason := ""
	if stops {
		reason = cmp.Or(text.Head(text.OneLine(q.Text), maxLineReason), "by a person")
		outcome = "the line is stopped: nothing is dispatched, and nothing lands; what is at work goes on"
	}
	return outcome, c.append(ctx, run.Append{Data: run.Data{Line: &reason}})
}
