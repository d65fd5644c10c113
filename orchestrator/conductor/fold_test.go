package conductor

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// foldedKinds are the kinds of events that a log can have: those of the conductor, then the workers'.
var foldedKinds = slices.Concat(contextscope.OfConductor, []contextscope.Kind{
	contextscope.KindUser, contextscope.KindUnreadable,
	contextscope.KindStarted, contextscope.KindTurn, contextscope.KindTool, contextscope.KindCalls, contextscope.KindRequest,
	contextscope.KindSteering, contextscope.KindControl, contextscope.KindError, contextscope.KindCompaction,
	contextscope.KindUsage, contextscope.KindProgress, contextscope.KindReceipt, contextscope.KindResult, contextscope.KindBrief,
})

// begunState is a run with an active task whose attempt asked for something.
func begunState(t *testing.T) *run.State {
	t.Helper()
	st := run.NewState()
	for i, e := range []struct {
		kind  contextscope.Kind
		agent string
		data  string
	}{
		{contextscope.KindRun, "", `{"state":"running","spec":{"run":"r1","base":"b","project":{"gates":[{"name":"g"}]}}}`},
		{contextscope.KindPlan, "", `{"by":"file","tasks":[{"id":"t1","role":"reader"},{"id":"t2","role":"reader","after":["t1"]}]}`},
		{contextscope.KindTask, "", `{"state":"running","dispatch":{"task":"t1","role":"reader","attempt":1}}`},
		{contextscope.KindRequest, "t1/1", `{"id":"q1","kind":"delegate"}`},
	} {
		require.NoError(t, st.Apply(&contextscope.Event{
			V: 1, Kind: e.kind, Agent: e.agent, Task: "t1", Attempt: 1, Pos: uint64(i + 1), Data: json.RawMessage(e.data),
		}))
	}
	return st
}

// Whatever an event of the log holds, folding it is an error that names the event, or a state that can be shown and decided on.
func FuzzFold(f *testing.F) {
	for kind, data := range []string{
		`{"state":"stopped","epoch":2,"dispatch":{"task":"--baseline","attempt":1}}`, `{"by":"master","request":"q1","tasks":[{"id":"t3"}]}`,
		`{"state":"verifying","role":"x","dispatch":{"task":"t1--verify","attempt":-1}}`, `{"state":"testing","batch":1}`,
		`{"request":"q1","granted":["a"]}`, `{"head":"h","doing":"open","mark":{"id":"c"}}`, `{}`, `{"reason":"r"}`,
		`{"delivery":1}`, `{"model":"m"}`, `{}`, `{}`, `{"id":"q2"}`, `{"id":"m"}`, `{"reason":"stopped"}`, `{"class":"c"}`, `{}`,
		`{"prompt":5}`, `{"wait":{"for":"quota","model":"m"}}`, `{"gate":"g"}`, `{"status":"done","patch":{"files":["a"]}}`, `null`,
	} {
		f.Add(uint8(kind), "t1", 1, []byte(data))
		f.Add(uint8(kind), "master", 0, []byte("null"))
	}
	f.Fuzz(func(t *testing.T, kind uint8, task string, attempt int, data []byte) {
		e := contextscope.Event{
			V: 1, ID: "e9", Kind: foldedKinds[int(kind)%len(foldedKinds)], Task: task, Attempt: attempt, Time: time.Unix(1, 0), Data: data,
		}
		direct := e
		direct.Pos = 9
		st := begunState(t)
		if err := st.Apply(&direct); err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("event e9 at 9 (%s)", e.Kind))
		}
		shown(st)

		raw, err := json.Marshal([]contextscope.Event{e})
		if err != nil {
			return // no JSON
		}
		st = begunState(t)
		for _, subject := range []string{bus.ConductorSubject("r1", string(e.Kind)), bus.AttemptSubject("r1", "local", "reader", "t1", 1)} {
			read := eventlog.Events(bus.Message{Subject: subject, Pos: 10, Data: raw})
			for i := range read {
				require.NoError(t, st.Apply(&read[i]), "what cannot be read of a log is an event of its own")
				if read[i].Kind == contextscope.KindUnreadable {
					var u wire.Unreadable
					require.NoError(t, json.Unmarshal(read[i].Data, &u))
				}
			}
		}
		shown(st)
	})
}

// shown asks a state for what views and the conductor ask it.
func shown(st *run.State) {
	view.Of(st)
	phase.Over(st)
	st.Queue.AtWork()
	st.Queue.Waiting()
	st.OpenRequests(&st.Tasks)
	phase.Resumed(&st.Agenda)
	st.Quotas.UsedUp(time.Unix(2, 0))
}
