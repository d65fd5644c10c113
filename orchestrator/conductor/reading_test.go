package conductor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// shows is a conductor whose loop does nothing but answer. Attempts one/1 and two/2 of it are outstanding, two/1 has ended, and so
// has master/1, with which master/2 continues.
func shows(t *testing.T) *Conductor {
	t.Helper()
	c, _ := listening(t)
	ctx := t.Context()
	given := func(task, role string, attempt int) {
		d := run.Dispatch{Task: task, Attempt: attempt, Role: role}
		require.NoError(t, c.append(ctx, run.Append{Data: run.Data{Dispatch: &d}}))
	}
	ended := func(task, role string, attempt int) {
		c.session(t, "w1", role, task, attempt, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1}),
			wire.Draft(contextscope.KindResult, spec.Result{
				Task: task, Attempt: attempt, Delivery: 1, Status: spec.StatusDone, Handoff: spec.Handoff{Summary: "done"},
			}))
		require.NotNil(t, c.st.Works.Attempt(task, attempt).Result)
	}
	given("one", "hand", 1)
	given("two", "hand", 1)
	ended("two", "hand", 1)
	given("two", "hand", 2)
	given(run.MasterTask, spec.RoleMaster, 1)
	ended(run.MasterTask, spec.RoleMaster, 1)
	given(run.MasterTask, spec.RoleMaster, 2)
	require.NoError(t, c.append(ctx, run.Append{Data: run.Data{Quarantine: &run.Quarantine{Worker: "bad", From: 1}}}))
	go func() {
		for {
			select {
			case act := <-c.enlists:
				if err := act(ctx); err != nil {
					panic(err) // a worker that asks ends no run
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return c
}

// session appends events of a worker to an attempt, and folds them.
func (c *Conductor) session(t *testing.T, who, role, task string, attempt int, events ...contextscope.Event) {
	t.Helper()
	for i := range events {
		events[i].V, events[i].ID, events[i].Seq = contextscope.EventVersion, "a", i+1
	}
	data, err := wire.EncodeEvents(events)
	require.NoError(t, err)
	m := bus.Message{Subject: bus.AttemptSubject("r1", who, role, task, attempt), Data: data}
	m.Pos = c.stores(t, m.Subject, data)
	for _, e := range wire.DecodeEvents(m) {
		require.NoError(t, c.fold(&e))
	}
}

func (c *Conductor) stores(t *testing.T, subject string, data []byte) uint64 {
	t.Helper()
	var newest uint64
	last, err := c.cfg.Bus.Last(t.Context(), subject)
	require.NoError(t, err)
	if last != nil {
		newest = last.Pos
	}
	pos, err := c.cfg.Bus.Append(t.Context(), subject, data, newest)
	require.NoError(t, err)
	return pos
}

func TestAWorkerReadsOfTheLogWhatItsAttemptNeeds(t *testing.T) {
	t.Parallel()
	c := shows(t)
	ofOne, ofTwo := bus.AttemptFilter("r1", "hand", "one", 1), bus.AttemptFilter("r1", "hand", "two", 2)
	user, answers := bus.ConductorSubject("r1", "user"), bus.ConductorSubject("r1", "answer")
	for what, q := range map[string]wire.Reading{
		"the session of an outstanding attempt": {Filter: ofOne, Task: "one", Attempt: 1},
		"that of another worker's":              {Filter: ofTwo, Task: "two", Attempt: 2},
		"messages":                              {Filter: user, Task: "one", Attempt: 1},
		"answers":                               {Filter: answers, Task: "one", Attempt: 1},
		"setups":                                {Filter: bus.ConductorSubject("r1", "run")},
		"what the master goes on with":          {Filter: bus.AttemptFilter("r1", spec.RoleMaster, run.MasterTask, 1), Task: run.MasterTask, Attempt: 2},
		"from beyond the end":                   {Filter: ofOne, Task: "one", Attempt: 1, From: 1 << 40},
	} {
		p, err := c.Read(t.Context(), "w1", q)
		require.NoError(t, err, what)
		require.GreaterOrEqual(t, p.Next, q.From, what)
		require.False(t, p.More, what)
	}
	for what, of := range map[string]struct {
		why string
		q   wire.Reading
	}{
		"no attempt":                    {"no attempt /0", wire.Reading{Filter: ofOne}},
		"an attempt that was not given": {"no attempt one/2", wire.Reading{Filter: ofOne, Task: "one", Attempt: 2}},
		"a task that is not there":      {"no attempt nine/1", wire.Reading{Filter: ofOne, Task: "nine", Attempt: 1}},
		"an attempt that has ended":     {"two/1 has ended", wire.Reading{Filter: bus.AttemptFilter("r1", "hand", "two", 1), Task: "two", Attempt: 1}},
		"the answers to it":             {"two/1 has ended", wire.Reading{Filter: answers, Task: "two", Attempt: 1}},
		"another attempt of the task":   {"nothing that", wire.Reading{Filter: bus.AttemptFilter("r1", "hand", "two", 1), Task: "two", Attempt: 2}},
		"another task":                  {"nothing that", wire.Reading{Filter: ofTwo, Task: "one", Attempt: 1}},
		"another role":                  {"nothing that", wire.Reading{Filter: bus.AttemptFilter("r1", "tester", "one", 1), Task: "one", Attempt: 1}},
		"another run":                   {"nothing that", wire.Reading{Filter: bus.AttemptFilter("r2", "hand", "one", 1), Task: "one", Attempt: 1}},
		"the setups of another run":     {"nothing that", wire.Reading{Filter: bus.ConductorSubject("r2", "run"), Task: "one", Attempt: 1}},
		"the messages of another run":   {"nothing that", wire.Reading{Filter: bus.ConductorSubject("r2", "user"), Task: "one", Attempt: 1}},
		"the whole run":                 {"nothing that", wire.Reading{Filter: bus.RunFilter("r1"), Task: "one", Attempt: 1}},
		"all of the conductor":          {"nothing that", wire.Reading{Filter: bus.ConductorFilter("r1"), Task: "one", Attempt: 1}},
		"all sessions":                  {"nothing that", wire.Reading{Filter: "ev.r1.a.>", Task: "one", Attempt: 1}},
		"the plan":                      {"nothing that", wire.Reading{Filter: bus.ConductorSubject("r1", "plan"), Task: "one", Attempt: 1}},
		"the tasks":                     {"nothing that", wire.Reading{Filter: bus.ConductorSubject("r1", "task"), Task: "one", Attempt: 1}},
		"more than the master's":        {"nothing that", wire.Reading{Filter: ofOne, Task: run.MasterTask, Attempt: 2}},
	} {
		_, err := c.Read(t.Context(), "w1", of.q)
		require.ErrorAs(t, err, new(*request.RefusedError), what)
		require.ErrorContains(t, err, of.why, what)
	}
	_, err := c.Read(t.Context(), "bad", wire.Reading{Filter: ofOne, Task: "one", Attempt: 1})
	require.ErrorContains(t, err, "worker bad is in quarantine")
}

// all reads page after page, and checks that each fits into a message of the bus.
func all(t *testing.T, c *Conductor, q wire.Reading) (whole []wire.Stored, pages int) {
	t.Helper()
	cut := false
	for more := true; more; pages++ {
		p, err := c.Read(t.Context(), "w1", q)
		require.NoError(t, err)
		answer, err := json.Marshal(p)
		require.NoError(t, err)
		require.Less(t, len(answer), bus.MaxData*9/10)
		for i, m := range p.Messages {
			if cut && i == 0 {
				whole[len(whole)-1].Data = append(whole[len(whole)-1].Data, m.Data...)
			} else {
				whole = append(whole, m)
			}
		}
		cut = p.Skip > 0
		q.From, q.Skip, more = p.Next, p.Skip, p.More
	}
	return whole, pages
}

// A session comes byte for byte, whatever is in it: the fence of who continues is at the position of its newest message.
func TestALongSessionIsReadInPages(t *testing.T) {
	t.Parallel()
	c := shows(t)
	subject := bus.AttemptSubject("r1", "w1", "hand", "one", 1)
	c.stores(t, subject, bytes.Repeat([]byte{0, 255}, bus.MaxData/2))
	for n := range 1500 {
		c.stores(t, subject, fmt.Appendf(nil, "garbage %d", n))
	}
	c.stores(t, bus.AttemptSubject("r1", "w2", "hand", "two", 2), []byte("another's"))
	c.stores(t, subject, nil)
	c.stores(t, subject, bytes.Repeat([]byte("x"), maxPage-perMessage))
	c.stores(t, subject, bytes.Repeat([]byte("y"), bus.MaxData))
	c.stores(t, subject, nil)
	filter := bus.AttemptFilter("r1", "hand", "one", 1)
	got, pages := all(t, c, wire.Reading{Filter: filter, Task: "one", Attempt: 1})
	require.Greater(t, pages, 5)
	i := 0
	for m, err := range c.cfg.Bus.Read(t.Context(), filter, 0) {
		require.NoError(t, err)
		require.Equal(t, m.Subject, got[i].Subject)
		require.Equal(t, m.Pos, got[i].Pos)
		require.True(t, m.Time.Equal(got[i].Time))
		require.True(t, bytes.Equal(m.Data, got[i].Data), i)
		i++
	}
	require.Len(t, got, i)
	p, err := c.Read(t.Context(), "w1", wire.Reading{Filter: filter, Task: "one", Attempt: 1, From: got[0].Pos, Skip: 1 << 40})
	require.NoError(t, err)
	require.Empty(t, p.Messages[0].Data, "there is no more of it")
}

// Of the conductor's events a worker is shown those for its attempt.
func TestAWorkerIsShownWhatIsForItsAttempt(t *testing.T) {
	t.Parallel()
	c := shows(t)
	ctx := t.Context()
	for _, task := range []string{"one", "two", "one"} {
		require.NoError(t, c.write(ctx, run.Write{Task: task, From: wire.Person("ada"), Text: "to " + task}))
	}
	for _, id := range []string{"one/1/a", "two/2/a", "one/11/a", "one/1/b"} {
		require.NoError(t, c.append(ctx, run.Append{Data: wire.Answer{Request: id, Text: id}}))
	}
	require.NoError(t, c.append(ctx, run.Append{Data: run.Data{
		Setup: "setup-1", Baseline: []spec.Receipt{{Gate: "g"}}, Notices: []string{"secret"}, Spec: &c.st.Spec,
	}}))
	require.NoError(t, c.append(ctx, run.Append{Data: run.Data{Notices: []string{"secret"}}}))
	texts := func(kind contextscope.Kind) (out []string) {
		got, _ := all(t, c, wire.Reading{Filter: bus.ConductorSubject("r1", string(kind)), Task: "one", Attempt: 1})
		for _, m := range got {
			for _, e := range wire.DecodeEvents(bus.Message{Subject: m.Subject, Pos: m.Pos, Data: m.Data, Time: m.Time}) {
				require.Equal(t, kind, e.Kind)
				require.Empty(t, e.Agent)
				switch kind {
				case contextscope.KindUser:
					out = append(out, textOf(e.Content))
				case contextscope.KindAnswer:
					var a wire.Answer
					require.NoError(t, json.Unmarshal(e.Data, &a))
					out = append(out, a.Text)
				default:
					out = append(out, string(e.Data))
				}
			}
		}
		return out
	}
	require.Equal(t, []string{"to one", "to one"}, texts(contextscope.KindUser))
	require.Equal(t, []string{"one/1/a", "one/1/b"}, texts(contextscope.KindAnswer))
	runs := texts(contextscope.KindRun)
	require.JSONEq(t, `{"state":"running"}`, runs[0])
	require.Contains(t, runs[1], `"setup":"setup-1"`)
	require.Contains(t, runs[1], `"gate":"g"`)
	require.NotContains(t, fmt.Sprint(runs), "secret")
	require.NotContains(t, fmt.Sprint(runs), "spec")
	require.Len(t, runs, 2)
}

func textOf(c *genai.Content) string { return c.Parts[0].Text }

// Who waits is told that there is more, and no one else.
func TestWhoWaitsForAnAnswerIsWoken(t *testing.T) {
	t.Parallel()
	c := shows(t)
	c.session(t, "w1", "hand", "one", 1, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1}),
		wire.Draft(contextscope.KindRequest, wire.Request{ID: "one/1/a", Kind: wire.RequestAsk}))
	heard := make(chan wire.Control, 8)
	stop, err := c.cfg.Bus.Subscribe(t.Context(), bus.ControlSubject("r1"), func(m bus.Message, _ func([]byte) error) {
		var said wire.Control
		if json.Unmarshal(m.Data, &said) == nil {
			heard <- said
		}
	})
	require.NoError(t, err)
	defer stop()
	tell := func(data any) {
		require.NoError(t, c.append(context.WithoutCancel(t.Context()), run.Append{Data: data}))
	}
	tell(run.Data{Setup: "of a run whose workers are here"})
	c.workers = elsewhere{c.roster}
	tell(wire.Answer{Request: "one/1/a", Text: "so"})
	tell(run.Data{Notices: []string{"nothing for workers"}})
	tell(run.Data{Setup: "setup-2"})
	require.Equal(t, wire.Control{Verb: wire.ControlRead, Task: "one", Attempt: 1}, chantest.Next(t, heard))
	require.Equal(t, wire.Control{Verb: wire.ControlRead}, chantest.Next(t, heard))
	require.Empty(t, heard)
}
