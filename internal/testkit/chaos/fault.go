package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fault is something that happens to one process, at a moment after the run was submitted, for a time; forever where that is 0.
type fault struct {
	what, whom string
	at, lasts  time.Duration
}

// String is the fault in the table.
func (f fault) String() string {
	s := fmt.Sprintf("%s %s at %.1f", f.what, f.whom, f.at.Seconds())
	if f.lasts > 0 {
		s += fmt.Sprintf(" for %.1f", f.lasts.Seconds())
	}
	return s
}

// lastFault is when the last fault begins.
const lastFault = 12 * time.Second

// natsName and hostName are processes of a cluster.
func natsName(i int) string { return fmt.Sprintf("nats%d", i) }
func hostName(i int) string { return fmt.Sprintf("serve%d", i) }

// drawFaults draws what happens in a round. No two faults of one process are at once. One worker stays; of three servers, two.
func drawFaults(rng *rand.Rand, workers int, three bool) (out []fault) {
	busy := map[string]time.Duration{}
	gone := 0
	for range 2 + rng.IntN(4) {
		f := fault{what: "kill", whom: "serve", at: time.Duration(rng.Int64N(int64(lastFault)))}
		f.lasts = time.Duration(100+rng.IntN(5000)) * time.Millisecond
		kind := rng.IntN(9)
		if kind > 1 {
			f.whom = workerName(rng.IntN(workers))
		}
		switch kind {
		case 0, 2: // a kill
		case 3:
			if gone < workers-1 && rng.IntN(2) == 0 {
				f.lasts = 0
				gone++
			}
		case 8:
			f.what, f.whom = "restart", "serve" // in order
		case 1, 4:
			f.what = "stop"
		case 5: // beyond wire.PresentFor
			f.what, f.lasts = "stop", 16*time.Second+time.Duration(rng.IntN(4000))*time.Millisecond
		case 6:
			f.what = "freeze"
		case 7:
			f.what = "cut"
		}
		one := f.whom // what has one fault at a time
		if three {
			one = f.spread(rng)
		}
		if f.at < busy[one] {
			f.at = busy[one]
		}
		busy[one] = f.at + f.lasts + time.Second
		if f.lasts == 0 {
			busy[one] = time.Hour
		}
		if f.at <= 2*lastFault {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return out
}

// spread turns a fault of one server into one of three servers and two hosts.
func (f *fault) spread(rng *rand.Rand) (one string) {
	switch {
	case f.what == "freeze" || f.what == "cut":
		f.whom, f.what = natsName(rng.IntN(servers)), "kill"
		if rng.IntN(2) == 0 {
			f.what = "stop"
		}
		return natsName(0) // two servers are needed
	case f.whom == "serve":
		f.whom = hostName(rng.IntN(2))
	}
	return f.whom
}

func describe(faults []fault) string {
	if len(faults) == 0 {
		return "nothing"
	}
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.String()
	}
	return strings.Join(out, ", ")
}

// step is the begin or the end of a fault.
type step struct {
	fault

	when time.Duration
	over bool
}

// happen does what the faults say until ctx ends; then what has begun is ended at once.
func (c *cluster) happen(ctx context.Context, faults []fault) error {
	var steps []step
	for _, f := range faults {
		steps = append(steps, step{f, f.at, false})
		if f.lasts > 0 {
			steps = append(steps, step{f, f.at + f.lasts, true})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.when, b.when) })
	begin, begun := time.Now(), map[fault]bool{}
	for _, s := range steps {
		wait := time.NewTimer(time.Until(begin.Add(s.when)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		if !s.over && ctx.Err() != nil || s.over && !begun[s.fault] {
			continue
		}
		begun[s.fault] = true
		c.notef("%s over=%t", s.fault, s.over)
		if err := c.do(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) do(s step) error {
	p, line := c.find(s.whom)
	switch s.what {
	case "kill", "restart":
		if s.over {
			return p.Start()
		}
		if s.what == "restart" {
			return p.End(endTime)
		}
		p.Kill()
	case "stop":
		if s.over {
			p.Signal(syscall.SIGCONT)
		} else {
			p.Signal(syscall.SIGSTOP)
		}
	default:
		line.Set(!s.over && s.what == "freeze", !s.over && s.what == "cut")
	}
	return nil
}
