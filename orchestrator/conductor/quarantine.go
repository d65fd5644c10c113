package conductor

import (
	"context"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// isolate puts a worker into quarantine, and returns what follows. What it has at work is given to others. A run that has come to
// its end is stopped then, for resume to prove again what has landed. Done twice it is as good as once.
func (c *roster) isolate(ctx context.Context, q run.Quarantine) (string, error) {
	if c.st.Spec.Keys[q.Worker] == nil || c.st.Crew == nil {
		return "", request.Refusedf("no worker %.40q elsewhere has worked for run %s", q.Worker, c.cfg.Run)
	}
	from, err := positionAt(ctx, c.cfg.Bus, c.cfg.Run, q.Since)
	if err != nil {
		return "", err
	}
	q.From = from
	over := c.st.Status.Ended() && c.st.Status != run.Stopped
	if over && !c.st.Trusts(q.Worker, q.From) || c.st.Status == run.Cancelled {
		return "", request.Refusedf("run %s is over (%s), and nothing in it is to be proven again", c.cfg.Run, c.st.Status)
	}
	if had := c.st.Quarantines[q.Worker]; had == nil || q.From < had.From {
		if err := c.isolateNow(ctx, q); err != nil {
			return "", err
		}
	}
	if status := c.st.Status; (status == run.Done || status == run.Parked) && c.st.Suspect() {
		if err := c.append(ctx, run.Append{Data: run.Data{
			State: run.Stopped, Reason: "worker " + q.Worker + " is in quarantine, and its landed changes are proven again",
		}}); err != nil {
			return "", err
		}
	}
	return isolated(c.st, c.st.Quarantines[q.Worker]), nil
}

func (c *roster) isolateNow(ctx context.Context, q run.Quarantine) error {
	since := "since the run began"
	if !q.Since.IsZero() {
		since = "since " + q.Since.UTC().Format(time.RFC3339)
	}
	had := c.heldBy(q.Worker)
	if err := c.append(ctx, run.Append{Data: run.Data{Quarantine: &q, Notices: []string{
		fmt.Sprintf("worker %s is in quarantine, by %s: nothing that it has proven alone %s counts", q.Worker, q.By, since),
	}}}); err != nil || c.st.Status.Ended() {
		return err
	}
	return c.giveAgain(ctx, had)
}

// maxNamed bounds the tasks that an answer names.
const maxNamed = 12

// isolated reports what a quarantine means for a run.
func isolated(s *run.State, q *run.Quarantine) string {
	what := fmt.Sprintf("%s with the proof of worker %s alone (%s)",
		text.Count(len(q.Alone), "landed change"), q.Worker, text.Some(q.Alone, maxNamed))
	switch {
	case len(q.Alone) == 0:
		return fmt.Sprintf("no landed change has the proof of worker %s alone", q.Worker)
	case !s.Suspect():
		return what + ": the final gates have passed on another worker"
	case s.Status.Ended():
		return what + ": resume the run, and the gates run on them again"
	}
	return what + ": the gates run on them again before the run ends"
}

// positionAt is the newest position in the log of a run before a time, by the clock of the server.
func positionAt(ctx context.Context, b *bus.Bus, id string, since time.Time) (pos uint64, err error) {
	if since.IsZero() {
		return 0, nil
	}
	for m, err := range b.Read(ctx, bus.RunFilter(id), 1) {
		if err != nil {
			return 0, fmt.Errorf("look for %s in the log of run %s: %w", since.Format(time.RFC3339), id, err)
		}
		if !m.Time.Before(since) {
			break
		}
		pos = m.Pos
	}
	return pos, nil
}
