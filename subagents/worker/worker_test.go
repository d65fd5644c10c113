package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestWorkerBringsAModelsWorkToAPatch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := &modeltest.Script{Steps: []modeltest.Step{writesFile("new.txt", "hello\n"), modeltest.Submits("wrote it")}}
	w := s.work(m, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, "wrote it", r.Handoff.Summary)
	require.Equal(t, []string{"new.txt"}, r.Patch.Files)
	require.Equal(t, s.head, r.Patch.Base)
	require.Equal(t, 2, r.Usage.Calls)
	require.Equal(t, 1, r.Delivery)
	pack, err := s.bus.Get(t.Context(), r.Patch.Pack)
	require.NoError(t, err)
	require.NoError(t, s.mirror.Import(t.Context(), pack))
	require.NoError(t, git.CheckPatch(t.Context(), s.mirror, *r.Patch, func(string, bool) bool { return true }))
	s.settled(w)
}

func TestWorkerStopsAndAnotherGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := &modeltest.Script{Steps: []modeltest.Step{writesFile("new.txt", "kept\n"), modeltest.Submits("all of it")}}
	hold := make(chan struct{})
	reached := make(chan struct{})
	first := &modeltest.Script{Steps: []modeltest.Step{writesFile("new.txt", "kept\n"), {Hang: true}}, Each: func(turn int) {
		if turn == 1 {
			close(reached)
			<-hold
		}
	}}
	w := s.work(first, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	chantest.Next(t, reached)
	close(hold)
	w.Stop()
	s.work(m, "generator")
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.GreaterOrEqual(t, r.Delivery, 2, "a worker that stops may be given its own task back once more")
	require.Equal(t, []string{"new.txt"}, r.Patch.Files, "what the first delivery wrote is there")
	require.Equal(t, map[int]int{1: 1}, m.Answered, "the first turn is not asked for again")
	require.Equal(t, 2, r.Usage.Calls, "both deliveries count")
}

func TestWorkerFinishesWhatIsFinished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("once")}}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	s.result(a)
	s.settled(w)
	second := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("twice")}}
	w = s.work(second, "generator")
	s.enqueue(a)
	marker := s.assignment(writer, "t2")
	s.enqueue(marker)
	s.result(marker)
	require.Equal(t, "once", s.result(a).Handoff.Summary)
	require.Len(t, second.Sent(), 1, "only the marker")
	s.settled(w)
}

func TestWorkerTerminatesWhatIsNoAssignment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "bad"), "bad", []byte("{")))
	require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "empty"), "empty", []byte("{}")))
	w := s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	s.result(a)
	s.settled(w)
}

func TestWorkerRefusesWhatNobodyCanCarryOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "generator")
	tests := map[string]func(a *wire.Assignment){
		"executor": func(a *wire.Assignment) { a.Role.Executor = "magic" },
		"tool":     func(a *wire.Assignment) { a.Role.Tools = []string{"no_such_tool"} },
		"model":    func(*wire.Assignment) {},
		"head":     func(a *wire.Assignment) { a.Head = strings.Repeat("0", 40) },
		"secret":   func(a *wire.Assignment) { a.Project.Env = []string{"MY_TOKEN"} },
		"pack":     func(a *wire.Assignment) { a.Patch = &spec.Patch{Commit: strings.Repeat("1", 40), Pack: "nowhere"} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(writer, name)
			change(a)
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, spec.StatusFailed, r.Status)
			require.Equal(t, "assignment", r.Error.Class, r.Error.Message)
		})
	}
}

func TestWorkerReadsWhatWasSealedAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}, "generator")
	a := s.assignment(writer, "t1")
	name, data, err := a.Seal()
	require.NoError(t, err)
	require.NoError(t, s.bus.Put(t.Context(), name, data))
	other := s.assignment(writer, "t2")
	changed, _, err := other.Seal()
	require.NoError(t, err)
	require.NoError(t, s.bus.Put(t.Context(), changed, data))
	for i, q := range []wire.Assignment{
		{Run: "r1", Task: spec.Task{ID: "t2"}, Attempt: 1, Object: changed}, // not what its name says
		{Run: "r1", Task: spec.Task{ID: "t2"}, Attempt: 1, Object: name},    // another attempt's
		{Run: "r1", Task: spec.Task{ID: "t2"}, Attempt: 1, Object: "assignment-0"},
		{Run: "r1", Task: spec.Task{ID: "t1"}, Attempt: 1, Object: name},
	} {
		short, err := json.Marshal(q)
		require.NoError(t, err)
		id := fmt.Sprint(i)
		require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "t"+id), id, short))
	}
	require.Equal(t, spec.StatusDone, s.result(a).Status)
	require.Eventually(t, func() bool {
		queued, err := s.bus.Queued(t.Context(), bus.TaskFilter("r1"))
		require.NoError(t, err)
		return len(queued) == 0
	}, time.Minute, time.Millisecond, "the others were thrown away")
	for m, err := range s.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		require.Contains(t, m.Subject, ".t1.", "nothing else was begun")
	}
}

func TestWorkerHearsControl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	reached := make(chan struct{}, 2)
	m := &modeltest.Script{Steps: []modeltest.Step{{Hang: true}}, Each: func(int) { reached <- struct{}{} }}
	s.work(m, "generator")
	a, b := s.assignment(writer, "t1"), s.assignment(writer, "t2")
	s.enqueue(a)
	s.enqueue(b)
	chantest.Next(t, reached)
	chantest.Next(t, reached)
	cancel := func(c wire.Control) {
		data, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), data))
	}
	require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), []byte("not a message")))
	cancel(wire.Control{Verb: wire.ControlCancel, Task: "t2", Text: "enough"})
	r := s.result(b)
	require.Equal(t, spec.StatusCancelled, r.Status)
	require.Contains(t, r.Error.Message, "enough")
	cancel(wire.Control{Verb: wire.ControlCancel})
	require.Equal(t, spec.StatusCancelled, s.result(a).Status)
}

func TestWorkerTurnsAPanicIntoAFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}, Each: func(int) { panic("boom") }}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, "internal", r.Error.Class)
	require.Contains(t, r.Error.Message, "boom")
}

func TestWorkerGivesPoisonUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	q, err := s.bus.Queue(t.Context(), "generator", bus.QueueOptions{AckWait: time.Minute, MaxDeliver: maxDeliveries + 3})
	require.NoError(t, err)
	for range maxDeliveries {
		d, err := q.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, d.Nak(t.Context()))
	}
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}
	w := s.work(m, "generator")
	r := s.result(a)
	require.Equal(t, "internal", r.Error.Class)
	require.Empty(t, m.Sent())
	s.settled(w)
}

func TestWorkerContinuesAMastersSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dispatch := &probe{spec.ToolDispatch, false, func(context.Context, tool.Call) tool.Result {
		r := tool.Text("dispatched")
		r.Ends, r.Plan = true, &spec.Plan{Tasks: []spec.Task{{ID: "x", Role: "reader", Brief: "look"}}}
		return r
	}}
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool(spec.ToolDispatch, nil)}}
	w := s.work(m, "master")
	w.cfg.Tools = func(*wire.Assignment) []tool.Tool { return []tool.Tool{dispatch} }
	role := spec.Role{Name: "master", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolDispatch}}
	first := s.assignment(role, "master")
	first.Task.IncludeContents = spec.IncludeNone
	s.enqueue(first)
	require.NotNil(t, s.result(first).Plan)

	second := s.assignment(role, "master")
	second.Attempt, second.Continues, second.Message = 2, []int{1}, "all have ended"
	s.enqueue(second)
	s.result(second)
	contents := m.Sent()[1].Contents
	require.Len(t, contents, 3)
	require.NotNil(t, contents[1].Parts[0].FunctionCall)
	require.Equal(t, genai.RoleUser, contents[2].Role)
	require.Equal(t, "dispatched", contents[2].Parts[0].FunctionResponse.Response["output"])
	require.Equal(t, "all have ended", contents[2].Parts[1].Text)
}

func TestWorkerKeepsALongAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := NewWorker(Config{
		Bus: s.bus, Mirror: s.mirror, Pool: s.pool, Parallel: 1, Roles: []string{"tester"}, AckWait: 300 * time.Millisecond,
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches")}, Environments: newEnvironments(t, s.dir), Environ: os.Environ(), Temp: t.TempDir(), Log: zerolog.Nop(),
	})
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(w.Stop)
	// The second one waits for room all the while, and keeps its place too.
	var all []*wire.Assignment
	for _, id := range []string{"t1", "t2"} {
		a := s.assignment(testerRole, id)
		a.Project.Gates = []spec.Gate{{Name: "slow", Command: []string{"sleep", "1"}}}
		s.enqueue(a)
		all = append(all, a)
	}
	for _, a := range all {
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status, "%v", r.Error)
		require.Equal(t, 1, r.Delivery)
		starts := 0
		for e := range s.tail(t.Context(), a) {
			if e.Kind == contextscope.KindStarted {
				starts++
			}
			if e.Kind == contextscope.KindResult {
				break
			}
		}
		require.Equal(t, 1, starts)
	}
}

func TestAgentsNeverKeepAProofFromRunning(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, proven := make(chan struct{}), make(chan struct{})
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}, Each: func(int) { close(begun); <-proven }}
	w := NewWorker(Config{
		Bus: s.bus, Mirror: s.mirror, Pool: s.pool, Model: m, Parallel: 1, Roles: []string{"generator", "tester"},
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches")}, Environments: newEnvironments(t, s.dir), Environ: os.Environ(), Temp: t.TempDir(), Log: zerolog.Nop(),
	})
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(w.Stop)
	agent := s.assignment(writer, "t1")
	s.enqueue(agent)
	chantest.Next(t, begun)
	proof := s.assignment(testerRole, "--baseline")
	proof.Project.Gates = []spec.Gate{{Name: "g", Command: []string{"true"}}}
	s.enqueue(proof)
	require.Equal(t, spec.StatusDone, s.result(proof).Status)
	close(proven)
	require.Equal(t, spec.StatusDone, s.result(agent).Status)
}

func TestWorkerThatWasOvertakenLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("too late")}, Each: func(int) {
		last, err := s.bus.Last(t.Context(), bus.AttemptFilter("r1", "generator", "t1", 1))
		require.NoError(t, err)
		data, err := wire.EncodeEvents([]contextscope.Event{wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 7})})
		require.NoError(t, err)
		_, err = s.bus.Append(t.Context(), last.Subject, data, last.Pos)
		require.NoError(t, err)
	}}
	w := s.work(m, "generator")
	s.enqueue(a)
	for e := range s.tail(t.Context(), a) {
		var started wire.Started
		if e.Kind == contextscope.KindStarted && json.Unmarshal(e.Data, &started) == nil && started.Delivery == 7 {
			break
		}
	}
	w.Stop()
	events, _, err := journal.ReadSession(t.Context(), s.bus, bus.AttemptFilter("r1", "generator", "t1", 1))
	require.NoError(t, err)
	require.Equal(t, "started brief started", kinds(events))
}

func TestWorkerStopsARunAtABoundary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	var w *Worker
	m := &modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "x\n"), modeltest.Submits("ok")}}
	m.Each = func(turn int) {
		if turn == 0 {
			w.router.hand(w.router.runs["r1"], []byte(`{"verb": "stop"}`))
		}
	}
	w = s.work(m, "generator")
	s.enqueue(a)
	for e := range s.tail(t.Context(), a) {
		if e.Kind == contextscope.KindControl {
			break
		}
	}
	s.settled(w)
	m.Each = nil
	s.work(m, "generator")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, []string{"a.txt"}, r.Patch.Files)
	require.Equal(t, map[int]int{0: 1, 1: 1}, m.Answered)
}

func TestWorkerStopMayComeFirstAndTwice(t *testing.T) {
	t.Parallel()
	w := NewWorker(Config{Log: zerolog.Nop()})
	w.Stop()
	w.Stop()
	s := newSite(t)
	running := s.work(nil, "tester")
	require.Error(t, running.Start(t.Context()), "it runs")
	running.Stop()
	running.Stop()
}

func FuzzDecodeAssignment(f *testing.F) {
	f.Add([]byte(`{"run": "r", "task": {"id": "t"}, "role": {"name": "reader"}, "attempt": 1}`))
	f.Add([]byte(`{"run": "r", "task": {"id": "t"}, "attempt": 1, "object": "o"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decodeAssignment(data)
		if err != nil {
			require.ErrorIs(t, err, errBadMessage)
			return
		}
		require.NotEmpty(t, a.Run)
		require.NotEmpty(t, a.Task.ID)
		require.Positive(t, a.Attempt)
	})
}
