package eventlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/console"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// damagedLog is a run's log to which tests append what they like.
type damagedLog struct {
	t    *testing.T
	bus  *bus.Bus
	last map[string]uint64
}

func newDamagedLog(t *testing.T) *damagedLog {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return &damagedLog{t: t, bus: b, last: map[string]uint64{}}
}

func (l *damagedLog) append(subject, data string) {
	pos, err := l.bus.Append(l.t.Context(), subject, []byte(data), l.last[subject])
	require.NoError(l.t, err)
	l.last[subject] = pos
}

func (l *damagedLog) conductor(kind contextscope.Kind, task string, data any) {
	raw, err := json.Marshal(data)
	require.NoError(l.t, err)
	encoded, err := wire.EncodeEvents([]contextscope.Event{{V: contextscope.EventVersion, ID: "e", Run: "r1", Task: task, Kind: kind, Data: raw}})
	require.NoError(l.t, err)
	l.append(bus.ConductorSubject("r1", string(kind)), string(encoded))
}

func (l *damagedLog) begun() {
	l.conductor(contextscope.KindRun, "", run.Data{
		State: run.Created, Spec: &run.Spec{Run: "r1", Goal: "g", Base: "b"},
	})
	l.conductor(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "t1", Role: "reader"}}})
	l.conductor(contextscope.KindTask, "t1", run.TaskData{
		State: run.TaskRunning, Dispatch: &run.Dispatch{Task: "t1", Role: "reader", Attempt: 1},
	})
}

// shown is what somebody sees who watches the log.
func (l *damagedLog) shown() string {
	var out bytes.Buffer
	c := console.New(console.Options{Out: &out, Zone: time.UTC})
	for b, err := range (eventlog.Log{Bus: l.bus, Run: "r1"}).Read(l.t.Context(), 0) {
		require.NoError(l.t, err)
		c.Handle(b.Events)
	}
	require.NoError(l.t, c.Close())
	return out.String()
}

func TestALogWithADamagedMessageOfAnAgentIsFolded(t *testing.T) {
	t.Parallel()
	l := newDamagedLog(t)
	l.begun()
	l.append(bus.AttemptSubject("r1", "local", "reader", "t1", 1), `{"agent":"","kind":"run"`)
	l.append(bus.AttemptSubject("r1", "local", "reader", "t1", 1),
		`[{"v":7,"kind":"turn"},{"v":1,"task":"t1","attempt":1,"agent":"t1/1","kind":"usage","data":{"calls":1,"prompt":5}}]`)
	l.conductor(contextscope.KindTask, "t1", run.TaskData{State: run.TaskDone})

	st, err := eventlog.Fold(t.Context(), l.bus, "r1")
	require.NoError(t, err)
	require.Equal(t, run.TaskDone, st.Tasks.ByID["t1"].State, "what comes after it is read")
	require.Equal(t, 5, st.Usage.Prompt, "and what stands beside it")
	require.Empty(t, st.Unread)
	require.Equal(t, []string{
		"event at 4 could not be read: unexpected end of JSON input (of t1/1)",
		"event at 5 could not be read: it has version 7, and this program reads up to 4 (turn of t1/1)",
	}, st.Notices)
	require.Equal(t, st.Notices, view.Of(st).Notices)
	require.Equal(t, l.last[bus.ConductorSubject("r1", "task")], st.ConductorPos, "no message of an agent counts as the conductor's")
	for _, notice := range st.Notices {
		require.Contains(t, l.shown(), " "+notice+"\n")
	}
	session, err := assign.Session(t.Context(), l.bus, "r1", "reader", "t1", 1)
	require.NoError(t, err)
	require.Len(t, session, 3)
	require.Empty(t, contextscope.Session(session).Spoken(), "no model hears of it")

	_, err = conductor.New(t.Context(), conductor.Config{Bus: l.bus, Run: "r1"})
	require.NoError(t, err, "an agent's event that is lost is work done again, and no harm")
}

func TestAnEventOfAWorkerThatDoesNotHaveTheAttemptIsReportedAndNotFolded(t *testing.T) {
	t.Parallel()
	l := newDamagedLog(t)
	l.begun()
	a, b := bus.AttemptSubject("r1", "a", "reader", "t1", 1), bus.AttemptSubject("r1", "b", "reader", "t1", 1)
	l.append(a, `[{"v":4,"kind":"started","data":{"delivery":1}},{"v":4,"kind":"usage","data":{"calls":1,"prompt":1}}]`)
	l.append(b, `[{"v":4,"kind":"started","data":{"delivery":2}}]`)
	l.append(a, `[{"v":4,"kind":"usage","data":{"calls":1,"prompt":2}},{"v":4,"id":"e","kind":"result","worker":"b",`+
		`"data":{"task":"t1","attempt":1,"delivery":1,"status":"done"}}]`)
	l.append(a, `[{"v":4,"kind":"started","data":{"delivery":2}}]`)
	l.append(b, `[{"v":4,"kind":"usage","data":{"calls":1,"prompt":4}}]`)

	st, err := eventlog.Fold(t.Context(), l.bus, "r1")
	require.NoError(t, err)
	require.Nil(t, st.Works.Attempt("t1", 1).Result)
	require.Equal(t, wire.Owner{Worker: "b", Delivery: 2}, st.Works.Attempt("t1", 1).Owner)
	require.Equal(t, 5, st.Usage.Prompt)
	const late = " does not count: worker a wrote it, and the attempt is with worker b"
	require.Equal(t, []string{
		"event at 6" + late + " (usage of t1/1)", "event at 6" + late + " (result e of t1/1)",
		"event at 7 does not count: worker a begins delivery 2 of it, and the newest is 2 (started of t1/1)",
	}, st.Notices)
	for _, notice := range st.Notices {
		require.Contains(t, l.shown(), " "+notice+"\n")
	}
	session, err := assign.Session(t.Context(), l.bus, "r1", "reader", "t1", 1)
	require.NoError(t, err)
	require.Len(t, session, 4)
}

// An attempt is of one role: who writes under another one has no part in it.
func TestAnEventUnderAnotherRoleIsReportedAndNotFolded(t *testing.T) {
	t.Parallel()
	l := newDamagedLog(t)
	l.begun()
	a, b := bus.AttemptSubject("r1", "a", "reader", "t1", 1), bus.AttemptSubject("r1", "b", "generator", "t1", 1)
	l.append(b, `[{"v":4,"kind":"started","data":{"delivery":1}}]`)
	l.append(b, `[{"v":4,"id":"e","kind":"result","data":{"task":"t1","attempt":1,"delivery":1,"status":"done"}}]`)
	l.append(a, `[{"v":4,"kind":"started","data":{"delivery":1}}]`)
	l.append(a, `[{"v":4,"kind":"usage","data":{"calls":1,"prompt":1}}]`)

	st, err := eventlog.Fold(t.Context(), l.bus, "r1")
	require.NoError(t, err)
	require.Nil(t, st.Works.Attempt("t1", 1).Result)
	require.Equal(t, wire.Owner{Worker: "a", Delivery: 1}, st.Works.Attempt("t1", 1).Owner)
	require.Equal(t, 1, st.Usage.Prompt)
	const other = " does not count: it is under the role generator, and the attempt is of the role reader"
	require.Equal(t, []string{
		"event at 4" + other + " (started of t1/1)", "event at 5" + other + " (result e of t1/1)",
	}, st.Notices)
}

func TestNobodyConductsARunWithoutAnEventOfItsConductor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, message, want string }{
		"damaged": {"landing", "garbage", "event at 4 could not be read: invalid character 'g' looking for beginning of value (landing of the conductor)"},
		"newer":   {"task", `[{"v":9,"id":"e9","kind":"task"}]`, "event at 4 could not be read: it has version 9, and this program reads up to 4 (task e9 of the conductor)"},
		"data":    {"run", `[{"v":1,"id":"e9","kind":"run","data":{"epoch":"x"}}]`, "cannot unmarshal string into Go struct field Data.epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newDamagedLog(t)
			l.begun()
			l.append("ev.r1.m."+c.kind, c.message)
			st, err := eventlog.Fold(t.Context(), l.bus, "r1")
			require.NoError(t, err, "it can be looked at")
			require.Len(t, st.Notices, 1)
			require.Contains(t, st.Notices[0], c.want)
			require.Contains(t, l.shown(), " "+st.Notices[0]+"\n")
			_, err = conductor.New(t.Context(), conductor.Config{Bus: l.bus, Run: "r1"})
			require.ErrorContains(t, err, "run r1: "+st.Notices[0]+"; it can be shown, and not continued")
		})
	}
}
