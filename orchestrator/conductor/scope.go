package conductor

import (
	"context"
	"strings"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// grant decides whether a task may write more than it was given. What is granted is held at once.
func (c *Conductor) grant(ctx context.Context, q *run.Request) error {
	t := c.st.Tasks[q.Of]
	if t != nil && len(t.Task.Files) == 0 {
		return c.answerTo(ctx, q, wire.Answer{
			Text: "your task has no write set: everything that is not protected is yours to write",
		})
	}
	if why := request.MayGrow(c.st, t, q); why != "" {
		return c.refuse(ctx, q, why)
	}
	return c.answerTo(ctx, q, wire.Answer{Granted: q.Paths, Text: "yours to write from now on: " + strings.Join(q.Paths, ", ")})
}
