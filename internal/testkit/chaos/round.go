package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/testkit/fleet"
)

// round is one run of Divisi to which something happens.
type round struct {
	*fleet.Fleet

	seed   int64
	limit  time.Duration
	job    *job
	count  int // workers
	three  bool
	on     string // how members name the server
	faults []fault
	run    string
	asked  map[string]bool // decisions that were answered
}

func newRound(t *trial, seed int64) *round {
	rng := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // a seed that can be given again is the point
	dir := filepath.Join(t.dir, fmt.Sprint(seed))
	r := &round{
		Fleet: fleet.New(dir, t.divisi), seed: seed, limit: t.limit, job: newJob(rng, dir), count: 2 + rng.IntN(2),
		three: t.three, on: fleet.Hub,
	}
	r.faults, r.asked = drawFaults(rng, r.count, r.three), map[string]bool{}
	return r
}

// errSlow reports that the run had not ended when the time was up.
var errSlow = errors.New("the run has not ended")

// play plays the round, and removes what it made where all is as it must be.
func (r *round) play(ctx context.Context) line {
	begin := time.Now()
	err := r.attempt(ctx)
	l := line{seed: r.seed, took: time.Since(begin), verdict: verdictOK, what: describe(r.faults)}
	switch {
	case err == nil:
		err = os.RemoveAll(r.Dir)
	case errors.Is(err, errSlow):
		l.verdict = verdictSlow
	}
	if err != nil && l.verdict == verdictOK {
		l.verdict = verdictWrong
	}
	if err != nil {
		l.why = err.Error()
	}
	return l
}

func (r *round) attempt(ctx context.Context) error {
	if err := r.Make(); err != nil {
		return err
	}
	if err := r.job.write(ctx); err != nil {
		return err
	}
	before, err := r.job.state(ctx)
	if err != nil {
		return err
	}
	start := r.startCluster
	if r.three {
		start = r.startThree
	}
	c, err := start(ctx, r.count)
	if c == nil {
		return err
	}
	defer c.release()
	if err == nil {
		err = c.carry(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.check(ctx, before); err != nil {
		return err
	}
	return errors.Join(c.end(), c.checkLogs())
}

// carry submits the run and waits for its end, while the faults happen.
func (c *cluster) carry(ctx context.Context) error {
	data, err := c.Command(ctx, "author", "run", "--plan", c.job.plan, "--role", c.job.role, "--repo", c.job.repo,
		"--trust-repo", "--yes", "--on-doubt", "ask", "--on", c.on, "--detach")
	var started struct {
		Run string `json:"run"`
	}
	if err == nil {
		err = json.Unmarshal(data, &started)
	}
	if err != nil {
		return err
	}
	c.run = started.Run
	c.notef("submitted %s", c.run)
	inner, stop := context.WithCancel(ctx)
	happened := make(chan error, 1)
	go func() { happened <- c.happen(inner, c.faults) }()
	err = c.wait(ctx)
	stop()
	return errors.Join(err, <-happened)
}

// wait waits until the run has ended, and answers what a person is asked.
func (c *cluster) wait(ctx context.Context) error {
	end := time.Now().Add(c.limit)
	for time.Now().Before(end) && ctx.Err() == nil {
		s, err := c.show(ctx)
		if err == nil {
			if s.ended() {
				c.notef("%s: %s", s.State, s.Reason)
				return nil
			}
			c.decide(ctx, s)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		if err := c.revive(); err != nil {
			return err
		}
	}
	return errors.Join(errSlow, ctx.Err())
}

// decide accepts what is asked, from another state directory than the one that has submitted.
func (r *round) decide(ctx context.Context, s *shown) {
	for _, d := range s.Decisions {
		if r.asked[d.ID] || d.Kind != "patch" { // a person is also asked about tasks that no worker takes for now
			continue
		}
		_, err := r.Command(ctx, "judge", "decide", r.run, d.ID, "accept", "--on", r.on)
		r.asked[d.ID] = err == nil // else it is tried again
		r.notef("decided %s: %v", d.ID, err)
	}
}

// notef adds a line to the round's own log.
func (r *round) notef(format string, args ...any) {
	f, err := os.OpenFile(filepath.Join(r.Dir, "round.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // the table has what matters
	}
	fmt.Fprintf(f, "%s "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
	_ = f.Close() // as above
}
