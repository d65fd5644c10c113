package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/journal"
	"divisi/subagents/tool/files"
	"divisi/subagents/tool/team"
	"divisi/subagents/wire"
)

// Answers is the part of the bus that has the conductor's answers.
type Answers interface {
	// Read yields the messages of subject from position from on, oldest first, and ends; Tail goes on with what comes, until ctx
	// ends. An error is yielded once, last.
	Read(ctx context.Context, subject string, from uint64) iter.Seq2[bus.Message, error]
	Tail(ctx context.Context, subject string, from uint64) iter.Seq2[bus.Message, error]
}

// Requests puts what an agent asks of others into its session, and waits for the answers in the log of the conductor. Nothing
// else carries them, so that an agent that was lost continues waiting where it was. It is safe for concurrent use.
type Requests struct {
	journal *journal.Journal
	answers Answers
	subject string
	agent   string

	mu       sync.Mutex
	answered map[string]bool
	// begun are the requests, in their order, whose tasks run or ran in the background; arrived are the ends of those that no
	// boundary has taken, and read is where in the log the next ones may be.
	begun     []string
	arrived   []wire.Answer
	read      uint64
	delegated spec.Usage
	granted   []string
	unlocked  []string
}

// OpenRequests finds what became of the requests of earlier deliveries.
func OpenRequests(ctx context.Context, answers Answers, j *journal.Journal, a *wire.Assignment) (*Requests, error) {
	r := &Requests{
		journal: j, answers: answers, subject: bus.ConductorSubject(a.Run, string(contextscope.KindAnswer)), agent: a.Agent(),
		answered: map[string]bool{},
	}
	var mine []string
	for _, e := range j.Events() {
		if q, ok := requestOf(&e); ok {
			mine, r.read = append(mine, q.ID), cmp.Or(r.read, e.Pos)
		}
	}
	if len(mine) == 0 {
		return r, nil
	}
	return r, r.follow(ctx, mine)
}

// requestOf reads a request event; ok is false for any other.
func requestOf(e *contextscope.Event) (q wire.Request, ok bool) {
	return q, e.Kind == contextscope.KindRequest && json.Unmarshal(e.Data, &q) == nil
}

func answersIn(m bus.Message) []wire.Answer {
	var out []wire.Answer
	for _, e := range wire.DecodeEvents(m) {
		var a wire.Answer
		if e.Kind == contextscope.KindAnswer && json.Unmarshal(e.Data, &a) == nil {
			out = append(out, a)
		}
	}
	return out
}

// Request implements team.Requester. The call's id is the same in every delivery, and so is the request's.
func (r *Requests) Request(ctx context.Context, call string, q wire.Request) (wire.Answer, error) {
	q.ID = r.agent + "/" + call
	pos, err := r.put(ctx, q)
	if err != nil {
		return wire.Answer{}, err
	}
	for m, err := range r.answers.Tail(ctx, r.subject, pos) {
		if err != nil {
			return wire.Answer{}, fmt.Errorf("wait for the answer to %s: %w", q.ID, err)
		}
		for _, a := range answersIn(m) {
			if a.Request == q.ID {
				r.note(a)
				return a, nil
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return wire.Answer{}, err
	}
	return wire.Answer{}, errors.New("the log of the answers has ended")
}

var _ team.Requester = (*Requests)(nil)

// put makes sure that the request is in the log, once, and returns its position.
func (r *Requests) put(ctx context.Context, q wire.Request) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.journal.Events()
	for i := range slices.Backward(events) {
		if had, ok := requestOf(&events[i]); ok && had.ID == q.ID {
			return events[i].Pos, nil
		}
	}
	stored, err := r.journal.Append(ctx, wire.Draft(contextscope.KindRequest, q))
	if err != nil {
		return 0, err
	}
	return stored[0].Pos, nil
}

// note books an answer, once.
func (r *Requests) note(a wire.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered[a.Request] {
		return
	}
	had := slices.Contains(r.begun, a.Request)
	if a.Begun {
		if !had {
			r.begun = append(r.begun, a.Request)
		}
		return
	}
	if r.answered[a.Request] = true; had {
		r.arrived = append(r.arrived, a)
	}
	r.delegated = r.delegated.Add(a.Usage)
	r.granted, r.unlocked = append(r.granted, a.Granted...), append(r.unlocked, a.Unlocked...)
}

// Delegated is the use of others for the agent. It is in their own accounts already, and counts against the agent's limit.
func (r *Requests) Delegated() spec.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delegated
}

// Scope bounds the writes of the attempt: its task's write set, with what was granted to earlier deliveries.
func (r *Requests) Scope(set spec.WriteSet) *files.Scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := files.NewScope(set)
	s.Grow(r.granted, r.unlocked)
	return s
}
