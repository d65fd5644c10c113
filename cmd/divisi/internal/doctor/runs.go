package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
	"divisi/orchestrator/twin"
)

// condition is the state of a run as the checks see it.
type condition int

// The conditions of a run. Nothing is to be done about one that ended, or that a process runs.
const (
	ended condition = iota
	active
	// busy is a run whose process does not answer.
	busy
	notBegun
	unreadable
	// killed is a run that has not ended, and has no process.
	killed
)

// mostRuns bounds how many runs are checked, the newest first.
const mostRuns = 50

// checkRuns reports runs without a process that did not end in order, and directories that no run needs.
func (o Options) checkRuns(ctx context.Context) []Finding {
	ids, err := o.Store.IDs()
	if err != nil {
		return []Finding{bad("runs", "choose a directory that you can read with --state-dir", "%v", err)}
	}
	var found []Finding
	if err := twin.Clear(o.Store.Path); err != nil {
		found = append(found, warn("runs", "remove twins/ of the state directory", "%v", err))
	}
	if left := o.leftovers; len(left) > 0 {
		found = append(found, warn("runs", "divisi runs rm --leftovers",
			"demos, dry runs or killed processes left %d directories, such as %s", len(left), left[0]))
	}
	running := 0
	for _, id := range ids[:min(len(ids), mostRuns)] {
		c, err := conditionOf(ctx, o.Store, id)
		if c == active {
			running++
		}
		if err != nil && o.Hint != nil {
			err = errors.New(strings.TrimSpace(err.Error() + "\n" + o.Hint(err)))
		}
		if f := c.finding(id, err); f.Level != OK {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found
	}
	seen := fmt.Sprintf("%d in %s, %d active", len(ids), o.Store.Runs(), running)
	if len(ids) > mostRuns {
		seen += fmt.Sprintf(" among the newest %d", mostRuns)
	}
	return []Finding{fine("runs", "%s", seen)}
}

// conditionOf returns a run's condition, with the reason where it is busy or unreadable.
func conditionOf(ctx context.Context, dir store.Dir, id string) (condition, error) {
	if _, over := dir.Summary(id); over {
		return ended, nil
	}
	b, err := bus.Attach(dir.Log.WithContext(ctx), dir.Bus(id))
	if err == nil {
		dir.Close(b)
		return active, nil
	}
	if !errors.Is(err, bus.ErrNoOwner) {
		return busy, err
	}
	if _, err := store.ReadMeta(dir.Run(id)); errors.As(err, new(*usage.Error)) {
		return notBegun, err
	}
	st, _, err := dir.State(ctx, id)
	switch {
	case errors.As(err, new(*store.FormatError)): // what landed in it can be had all the same
		return ended, nil
	case err != nil:
		return unreadable, err
	case st.Damaged:
		return unreadable, errors.New(st.Unread[0])
	case !st.Status.Ended():
		return killed, nil
	}
	return ended, nil
}

// finding returns what to do about a run.
func (c condition) finding(id string, err error) Finding {
	switch c {
	case busy:
		return warn("runs", "wait a moment, then run divisi doctor again", "run %s: %v", id, err)
	case notBegun:
		return warn("runs", "if no run is starting, remove it: divisi runs rm "+id,
			"run %s never started, or is starting now", id)
	case unreadable:
		return warn("runs", "inspect it: divisi show "+id, "run %s cannot be read: %s", id,
			strings.ReplaceAll(err.Error(), "\n", "; "))
	case killed:
		return warn("runs", fmt.Sprintf("resume it: divisi resume %s; or end it: divisi cancel %s", id, id),
			"the process of run %s was killed", id)
	default:
		return fine("runs", "run %s ended, or is active", id)
	}
}
