package conductor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

const (
	// maxPage bounds the messages of one answer, in bytes: in JSON they are a third larger, and have to fit into a message of
	// the bus. perMessage is what one takes beside its data.
	maxPage, perMessage = 512 << 10, 512
)

// Read reads of the log what a worker elsewhere asks for, where it may have that: see mayRead. It may be called from any
// goroutine while Run is under way.
func (c *Conductor) Read(ctx context.Context, worker string, q wire.Reading) (p wire.Page, err error) {
	if q.Filter != bus.ConductorSubject(c.cfg.Run, string(contextscope.KindRun)) {
		err = c.within(ctx, func(context.Context) error {
			if err := c.counts(worker); err != nil {
				return err
			}
			return mayRead(c.st, &q)
		})
	}
	if err != nil {
		return p, err
	}
	p.Next = q.From
	room := maxPage
	for m, err := range c.cfg.Bus.Read(ctx, q.Filter, q.From) {
		var shows bool
		if err == nil {
			shows, err = show(&q, &m)
		}
		if err != nil {
			return wire.Page{}, fmt.Errorf("read %s for worker %s: %w", q.Filter, worker, err)
		}
		if p.Next, p.Skip = m.Pos+1, 0; !shows {
			continue
		}
		had := 0
		if m.Pos == q.From {
			had = min(q.Skip, len(m.Data))
		}
		if room -= perMessage; room <= 0 {
			p.Next, p.More = m.Pos, true
			break
		}
		data := m.Data[had:]
		if p.More = len(data) > room; p.More {
			data = data[:room]
			p.Next, p.Skip = m.Pos, had+room
		}
		p.Messages = append(p.Messages, wire.Stored{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Data: data})
		if room -= len(data); p.More {
			break
		}
	}
	return p, nil
}

// mayRead refuses what is not of an attempt that was dispatched and has not ended. Of such an attempt a worker may read the
// session, the messages to its task and the answers to its requests; the master continues the sessions of its attempts
// before. Each worker that the run counts on may be given such an attempt.
func mayRead(s *run.State, q *wire.Reading) error {
	w, agent := s.Works[q.Task], wire.AgentID(q.Task, q.Attempt)
	switch a := w.At(q.Attempt); {
	case a == nil || a.Role == "":
		return request.Refusedf("run %s has given out no attempt %.80s", s.Spec.Run, agent)
	case a.Result != nil:
		return request.Refusedf("attempt %s has ended", agent)
	}
	for _, kind := range []contextscope.Kind{contextscope.KindUser, contextscope.KindAnswer} {
		if q.Filter == bus.ConductorSubject(s.Spec.Run, string(kind)) {
			return nil
		}
	}
	for n := q.Attempt; n == q.Attempt || n > 0 && q.Task == run.MasterTask; n-- {
		if q.Filter == bus.AttemptFilter(s.Spec.Run, w.RoleAt(n), q.Task, n) {
			return nil
		}
	}
	return request.Refusedf("%.200q is nothing that a worker with attempt %s reads", q.Filter, agent)
}

// show leaves of a message what a worker may have, and reports whether that is anything: a session stays as it is, of the
// conductor's messages the events are left that are for the attempt.
func show(q *wire.Reading, m *bus.Message) (shows bool, err error) {
	if m.Subject != q.Filter { // of a worker: those of the conductor are read by their subjects
		return true, nil
	}
	var out []contextscope.Event
	for _, e := range eventlog.Events(*m) {
		switch e.Kind {
		case contextscope.KindUser:
			if e.Task == q.Task {
				out = append(out, e)
			}
		case contextscope.KindAnswer:
			var a wire.Answer
			if json.Unmarshal(e.Data, &a) == nil && strings.HasPrefix(a.Request, wire.AgentID(q.Task, q.Attempt)+"/") {
				out = append(out, e)
			}
		case contextscope.KindRun:
			var d run.Data
			if json.Unmarshal(e.Data, &d) == nil && (d.Setup != "" || d.State != "" || d.Baseline != nil) {
				part := wire.Draft(e.Kind, run.Data{State: d.State, Setup: d.Setup, Baseline: d.Baseline})
				part.V, part.ID, part.Run, part.Time = e.V, e.ID, e.Run, e.Time
				out = append(out, part)
			}
		default:
		}
	}
	if len(out) == 0 {
		return false, nil
	}
	m.Data, err = wire.EncodeEvents(out)
	return true, err
}
