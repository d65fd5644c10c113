package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/subagents/wire"
)

// Background is a task that an agent delegated without waiting for it.
type Background interface {
	// Begun are the ids of its requests, whose tasks run or have ended.
	Begun() []string
	// Arrived returns the results that came since the last call, each a message with its request's id.
	Arrived(ctx context.Context) ([]wire.Control, error)
	// Await returns when every task has ended. call names the call that waits, the same in every delivery.
	Await(ctx context.Context, call string) error
}

// messages are those for the next turn: what others wrote, and the results of background tasks.
func (a *Agent) messages(ctx context.Context) ([]wire.Control, error) {
	came := a.Inbox.Take()
	if a.Background == nil {
		return came, nil
	}
	ended, err := a.Background.Arrived(ctx)
	return append(came, ended...), err
}

// unread are the background tasks whose results the agent has not seen.
func (a *Agent) unread() []string {
	if a.Background == nil || a.session.limit != "" {
		return nil // a result in the wrap-up turn waits for nothing: what still runs is cancelled
	}
	return slices.DeleteFunc(a.Background.Begun(), func(id string) bool { return a.session.steered[id] })
}

// await waits for the background tasks whose result the agent has not seen, without room and time of its own. It returns
// why nothing can be submitted yet; "" when there are none.
func (b *batch) await(ctx context.Context, i int) string {
	unread := b.unread()
	if len(unread) == 0 {
		return ""
	}
	began, goOn, resume := time.Now(), b.limit.Suspend(), b.Rest()
	err := b.Background.Await(ctx, b.ids[i])
	resume()
	goOn()
	b.rested += time.Since(began)
	if err != nil {
		return "nothing was submitted: " + strings.TrimSpace(err.Error())
	}
	return fmt.Sprintf("nothing was submitted: your work in the background (%s) has ended only now. Read the results, "+
		"which follow, then submit again.", text.Count(len(unread), "task"))
}
