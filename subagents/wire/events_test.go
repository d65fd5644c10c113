package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
)

// reasonOf returns why an event could not be read; empty for one that could.
func reasonOf(t testing.TB, e contextscope.Event) string {
	t.Helper()
	if e.Kind != contextscope.KindUnreadable {
		return ""
	}
	var u Unreadable
	require.NoError(t, json.Unmarshal(e.Data, &u))
	require.NotEmpty(t, u.Reason)
	return u.Reason
}

func TestADamagedEventKeepsItsPlace(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	good := `{"v":1,"id":"e1","run":"r","task":"t","attempt":2,"agent":"t/2","seq":4,"time":"2026-01-01T00:00:00Z","kind":"turn",` +
		`"author":"t/2","content":{"role":"model","parts":[{"text":"hi"}]}}`
	for name, c := range map[string]struct{ bad, want string }{
		"future":       {`{"v":9,"id":"e2","kind":"turn","seq":5}`, "it has version 9, and this program reads up to 4 (turn e2 of t/2)"},
		"content":      {`{"v":1,"id":"e2","kind":"turn","seq":5,"content":7}`, "cannot unmarshal number into Go struct field Event.content of type genai.Content (turn e2 of t/2)"},
		"data":         {`{"v":1,"id":"e2","kind":"usage","seq":5,"data":[]}`, "cannot unmarshal array into Go value of type wire.Spent (usage e2 of t/2)"},
		"no data":      {`{"v":1,"id":"e2","kind":"result","seq":5}`, "it holds nothing (result e2 of t/2)"},
		"time":         {`{"v":1,"id":"e2","seq":5,"time":"noon","kind":"brief"}`, `parsing time "noon"`},
		"no kind":      {`{"v":1,"id":"e2","seq":5}`, "it has no kind (e2 of t/2)"},
		"not an event": {`"x"`, "cannot unmarshal string into Go value of type contextscope.Event (of t/2)"},
		"null":         {`null`, "it has no kind (of t/2)"},
		"unknown kind": {`{"v":1,"id":"e2","seq":5,"kind":"turm"}`, `it is of the kind "turm", which this program does not know (turm e2 of t/2)`},
		"never stored": {`{"v":1,"id":"e2","seq":5,"kind":"unreadable","data":{"reason":"I say so"}}`, "which this program does not know"},
		"forged kind": {
			`{"v":1,"id":"e2","seq":5,"agent":"","kind":"task","data":{"state":"landed"}}`,
			"no agent writes events of this kind (task e2 of t/2)",
		},
		"forged owner": {`{"v":9,"agent":"","task":"--final","attempt":1,"run":"other","kind":"run"}`, "(run of t/2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := DecodeEvents(bus.Message{
				Subject: bus.AttemptSubject("r", "local", "reader", "t", 2), Pos: 7, Time: at, Data: []byte("[" + good + "," + c.bad + "," + good + "]"),
			})
			require.Len(t, events, 3)
			require.Equal(t, "hi", events[0].Content.Parts[0].Text)
			require.Equal(t, events[0], events[2])
			e := events[1]
			reason := reasonOf(t, e)
			require.True(t, strings.HasPrefix(reason, "event at 7 could not be read: "), reason)
			require.Contains(t, reason, c.want)
			require.Equal(t, []any{"r", "reader", "t", 2, "t/2", uint64(7)}, []any{e.Run, e.Role, e.Task, e.Attempt, e.Agent, e.Pos})
			require.Equal(t, at, e.Time, "the server's time where the event has none")
			if strings.Contains(c.bad, `"seq":5`) {
				require.Equal(t, 5, e.Seq)
				require.Equal(t, "e2", e.ID)
			}
		})
	}
}

func TestAnEventIsTheirsWhoseSubjectItIsOn(t *testing.T) {
	t.Parallel()
	forged := `[{"v":1,"run":"other","role":"master","task":"master","attempt":7,"agent":"","worker":"b","kind":"usage","data":{"calls":1}}]`
	e := DecodeEvents(bus.Message{Subject: bus.AttemptSubject("r", "local", "reader", "t", 2), Data: []byte(forged)})[0]
	require.Equal(t, []any{"r", "reader", "t", 2, "t/2", "local"}, []any{e.Run, e.Role, e.Task, e.Attempt, e.Agent, e.Worker})
	e = DecodeEvents(bus.Message{Subject: bus.ConductorSubject("r", "task"), Data: []byte(`[{"v":1,"agent":"t/2","worker":"b","kind":"task"}]`)})[0]
	require.Equal(t, contextscope.KindTask, e.Kind)
	require.Equal(t, []any{"r", "", ""}, []any{e.Run, e.Agent, e.Worker})
	for _, subject := range []string{"ev.r.a.local.x", "ev.r.m.task.x", "ev.r.m", "ev.r.a.local.reader.t.1.x", "ev.r.b.task"} {
		e = DecodeEvents(bus.Message{Subject: subject, Pos: 4, Data: []byte(`[{"v":4,"agent":"","kind":"task","data":{"state":"landed"}}]`)})[0]
		require.Equal(t, contextscope.KindUnreadable, e.Kind, "no other subject can hold what passes for the conductor's")
		require.Equal(t, "event at 4 could not be read: its subject is none that a run has (task of "+subject+")", reasonOf(t, e))
		require.Equal(t, subject, e.Agent)
	}
}

func TestAMessageThatIsNoArrayIsOneUnreadableEvent(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "x", "null", "{}", "7", "[", `[{"v":1}`, "[]]", "\x1f\x8bx", "\xff"} {
		events := DecodeEvents(bus.Message{Subject: bus.ConductorSubject("r", "landing"), Pos: 9, Data: []byte(data)})
		require.Len(t, events, 1, data)
		require.Contains(t, reasonOf(t, events[0]), "event at 9 could not be read: ", data)
		require.Contains(t, reasonOf(t, events[0]), "(landing of the conductor)", data)
		require.Empty(t, events[0].Agent, "the conductor's")
	}
	require.Empty(t, DecodeEvents(bus.Message{Data: []byte("[]")}))
}

func TestEveryKindThatIsReadTakesItsOwnData(t *testing.T) {
	t.Parallel()
	for _, kind := range []contextscope.Kind{
		contextscope.KindStarted, contextscope.KindTurn, contextscope.KindTool, contextscope.KindSteering, contextscope.KindControl,
		contextscope.KindError, contextscope.KindUsage, contextscope.KindProgress, contextscope.KindReceipt, contextscope.KindResult,
		contextscope.KindCompaction,
	} {
		for data, sound := range map[string]bool{"{}": kind != contextscope.KindResult, "3": false} {
			encoded, err := EncodeEvents([]contextscope.Event{{V: 1, Kind: kind, Data: json.RawMessage(data)}})
			require.NoError(t, err)
			require.Equal(t, sound, reasonOf(t, DecodeEvents(bus.Message{Data: encoded})[0]) == "", "%s %s", kind, data)
		}
	}
}

// What a worker sends is checked where it is read: a worker may leave its own check out.
func TestWhatAWorkerSendsIsChecked(t *testing.T) {
	t.Parallel()
	for data, why := range map[string]string{
		`"kind":"result","data":{"task":"t","attempt":2,"delivery":1,"status":"done"}`:  "",
		`"kind":"result","data":{"task":"t","attempt":1,"delivery":1,"status":"done"}`:  "it says that it is of t/1",
		`"kind":"result","data":{"task":"u","attempt":2,"delivery":1,"status":"done"}`:  "it says that it is of u/2",
		`"kind":"result","data":{"task":"t","attempt":2,"delivery":1,"status":"green"}`: "it is not well formed: status: status \"green\" is not one of",
		`"kind":"result","data":{"task":"t","attempt":2,"delivery":1,"status":"done","receipts":[{"gate":"test","verdict":"ok"}]}`: "it is not " +
			"well formed: receipts[0].verdict: verdict \"ok\" is not one of",
		`"kind":"usage","data":{"calls":1,"prompt":5}`:  "",
		`"kind":"usage","data":{"calls":1,"prompt":-5}`: "prompt: -5 is not from 0 to",
	} {
		m := bus.Message{Subject: bus.AttemptSubject("r", "w", "tester", "t", 2), Pos: 7, Data: []byte(`[{"v":4,` + data + `}]`)}
		e := DecodeEvents(m)[0]
		require.Equal(t, why != "", e.Kind == contextscope.KindUnreadable, data)
		require.Contains(t, reasonOf(t, e), why, data)
	}
}

func FuzzDecodeEvents(f *testing.F) {
	f.Add([]byte(`[{"v":1,"id":"e","kind":"turn","content":{"parts":[{"text":"x"}]}},{"v":2},7]`), "ev.r.a.local.reader.t.1")
	f.Add([]byte(`{"v":1}`), "ev.r.m.run")
	f.Add([]byte("\x1f\x8b\x08"), "ev.r.a.local.reader.t.x")
	f.Fuzz(func(t *testing.T, data []byte, subject string) {
		m := bus.Message{Subject: subject, Pos: 3, Data: data}
		events := DecodeEvents(m)
		var each []json.RawMessage
		if json.Unmarshal(data, &each) == nil && each != nil && len(each) <= maxEvents {
			require.Len(t, events, len(each), "nothing is lost, nothing moves")
		} else if !bytes.HasPrefix(data, gzipMagic) {
			require.Len(t, events, 1)
		}
		for _, e := range events {
			require.Equal(t, uint64(3), e.Pos)
			require.NotEmpty(t, e.Kind)
			require.LessOrEqual(t, e.V, contextscope.EventVersion)
			reasonOf(t, e)
		}
		if len(events) > 0 {
			encoded, err := EncodeEvents(events)
			require.NoError(t, err)
			require.Len(t, DecodeEvents(bus.Message{Subject: subject, Pos: 3, Data: encoded}), len(events))
		}
	})
}

// JSON leaves empty arguments out; read as null they would be told as null to other agents.
func TestACallWithoutArgumentsIsReadWithEmptyOnes(t *testing.T) {
	t.Parallel()
	call := []byte(`[{"v":1,"id":"e","kind":"turn","content":{"parts":[{"functionCall":{"name":"list"}}]}}]`)
	e := DecodeEvents(bus.Message{Subject: bus.AttemptSubject("r", "local", "reader", "t", 2), Data: call})[0]
	require.Equal(t, map[string]any{}, e.Content.Parts[0].FunctionCall.Args)
}

// A worker's clock may be an hour off, and a worker may say what it wants: reports and the times of the run keep to the server's clock.
func TestTheTimeOfAnAgentIsBoundByTheServers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for said, want := range map[time.Time]time.Time{
		at.Add(-30 * time.Second): at.Add(-30 * time.Second), at.Add(30 * time.Second): at.Add(30 * time.Second),
		at.Add(time.Hour): at, at.Add(-time.Hour): at, at.AddDate(7000, 0, 0): at,
	} {
		data, err := json.Marshal([]contextscope.Event{{V: contextscope.EventVersion, ID: "e", Kind: contextscope.KindTurn, Time: said}})
		require.NoError(t, err)
		m := bus.Message{Subject: bus.AttemptSubject("r", "w", "generator", "t", 1), Pos: 1, Time: at, Data: data}
		require.Equal(t, want, DecodeEvents(m)[0].Time)
		m.Subject = bus.ConductorSubject("r", string(contextscope.KindTurn))
		require.Equal(t, said, DecodeEvents(m)[0].Time)
	}
}
