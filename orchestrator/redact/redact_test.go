package redact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/redact"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func of(kind contextscope.Kind, author string, data any, parts ...*genai.Part) contextscope.Event {
	e := wire.Draft(kind, data)
	e.V, e.ID, e.Run, e.Task, e.Author = contextscope.EventVersion, "e1", "r", "t", author
	if len(parts) > 0 {
		e.Content = &genai.Content{Role: genai.RoleUser, Parts: parts}
	}
	return e
}

// shown is an event behind a redactor, as JSON.
func shown(t *testing.T, e contextscope.Event) string {
	t.Helper()
	data, err := json.Marshal(redact.New("r", []byte("s")).Event(e))
	require.NoError(t, err)
	return string(data)
}

// TestEachKindShowsWhatIsListed has, for each kind of event, what a viewer is shown of it, and what not.
func TestEachKindShowsWhatIsListed(t *testing.T) {
	t.Parallel()
	failed := &spec.Fault{Class: wire.FaultGate, Message: "SECRET", Detail: "SECRET", Signatures: []string{"SECRET"}, Output: "SECRET"}
	limit := &spec.Fault{Class: wire.FaultTurns, Message: "30 turns", Detail: "SECRET"}
	receipt := spec.Receipt{
		Gate: "check", Command: []string{"make"}, ExitCode: 7, Verdict: "fail", Tail: "SECRET", Output: "SECRET", Whole: "SECRET",
		Signatures: []string{"test: SECRET"}, Paths: map[string][]string{"SECRET": {"SECRET"}}, Hidden: []string{"*", "SECRET"},
	}
	call := &genai.Part{FunctionCall: &genai.FunctionCall{Name: spec.ToolWriteFile, Args: map[string]any{"path": "a.go", "content": "SECRET"}}}
	mcp := &genai.Part{FunctionCall: &genai.FunctionCall{Name: "mcp_x_y", Args: map[string]any{"text": "SECRET"}}}
	answer := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "read_file", Response: map[string]any{"output": "SECRET"}}}
	said, thought, given := &genai.Part{Text: "I look"}, &genai.Part{Text: "SECRET", Thought: true}, &genai.Part{Text: "SECRET"}
	handoff := spec.Handoff{Summary: "I am done", Output: json.RawMessage(`"SECRET"`)}
	out, what := spec.Handoff{Summary: "SECRET", Deviations: []string{"SECRET"}}, "the words"
	for name, c := range map[string]struct {
		e    contextscope.Event
		want []string
	}{
		"started": {of(contextscope.KindStarted, "t/1", wire.Started{Delivery: 2}), []string{`"delivery":2`}},
		"brief":   {of(contextscope.KindBrief, "user", nil, given), []string{`"content"`}},
		"turn":    {of(contextscope.KindTurn, "t/1", wire.Turn{Model: "m", Recall: []contextscope.Recalled{{Text: "SECRET"}}}, said, thought, call, mcp), []string{"I look", "a.go", "mcp_x_y", `"model":"m"`}},
		"tool":    {of(contextscope.KindTool, "t/1", wire.Tooled{Failed: 3, Kept: []contextscope.Listed{{Handle: "output-SECRET", What: "SECRET"}, {Handle: "artifact/r/plan@1", Name: "plan"}}, Loads: []wire.Load{{Object: "SECRET"}}, Steps: []spec.Step{{Text: "step"}}, End: &wire.End{Handoff: handoff}}, answer, given), []string{"read_file", "c1", `"failed":3`, "artifact/r/plan@1", "step", "I am done"}},
		"wakes": {func() contextscope.Event {
			e := of(contextscope.KindUser, "user", nil, given)
			e.Agent = "t/1"
			return e
		}(), nil},
		"message":    {of(contextscope.KindUser, "user:ada", nil, said), []string{"I look"}},
		"told":       {of(contextscope.KindUser, "conductor", nil, given), nil},
		"compaction": {of(contextscope.KindCompaction, "t/1", contextscope.Compaction{Method: "snapshot", To: 9, Snapshot: "SECRET", Kept: []string{"SECRET"}, Fault: failed}), []string{`"to":9`, "snapshot"}},
		"steering":   {of(contextscope.KindSteering, "t/1", wire.Steered{ID: "m1"}, given), []string{"m1"}},
		"calls":      {of(contextscope.KindCalls, "t/1", wire.Calls{Turn: 4, Changes: []wire.Change{{Tool: "search", State: "error", Note: "SECRET"}}}), []string{`"turn":4`, "search"}},
		"request":    {of(contextscope.KindRequest, "t/1", wire.Request{ID: "q", Kind: "ask", Question: "May I?"}), []string{"May I?"}},
		"control":    {of(contextscope.KindControl, "t/1", wire.Nudge{Reason: "loop", Class: "calls", Detail: "SECRET", Strike: 1}, given), []string{"loop", "calls"}},
		"tools":      {of(contextscope.KindControl, "t/1", wire.ServerTools{Reason: "tools", Object: "SECRET"}), []string{"tools"}},
		"error":      {of(contextscope.KindError, "t/1", wire.Unanswered{Fault: *failed, Recall: []contextscope.Recalled{{Text: "SECRET"}}}), []string{"gate"}},
		"usage":      {of(contextscope.KindUsage, "t/1", wire.Spent{Usage: spec.Usage{Prompt: 77}, Price: "p@1"}), []string{"77", "p@1"}},
		"progress":   {of(contextscope.KindProgress, "t/1", wire.Progress{Doing: "SECRET"}), []string{"not shown"}},
		"waits":      {of(contextscope.KindProgress, "t/1", wire.Progress{Doing: "waiting", Wait: &spec.Wait{For: spec.WaitQuota, Model: "m"}}), []string{"waiting", "quota"}},
		"receipt":    {of(contextscope.KindReceipt, "t/1", receipt), []string{"make", `"exit_code":7`, `"verdict":"fail"`, `"test: `, `"*"`}},
		"result":     {of(contextscope.KindResult, "t/1", spec.Result{Status: "failed", Handoff: handoff, Usage: spec.Usage{Calls: 2}, Error: failed, Receipts: []spec.Receipt{receipt}, Patch: &spec.Patch{Commit: "abc", Added: 5}}), []string{"I am done", "abc", `"added":5`, "gate"}},
		"printed":    {of(contextscope.KindResult, "t/1", spec.Result{Status: "done", Handoff: out, Error: limit}), []string{"30 turns", "not shown"}},
		"answer":     {of(contextscope.KindAnswer, "conductor", wire.Answer{Request: "q", Handoff: out, Fault: failed, Text: what, From: "user:ada"}), []string{what, "user:ada"}},
		"run": {of(contextscope.KindRun, "conductor", run.Data{
			State: run.Stopped, Reason: "the repository is not ready: SECRET", Baseline: []spec.Receipt{receipt}, Final: []spec.Receipt{receipt},
			Other: &run.Other{Environment: "e", Baseline: map[string]spec.Receipt{"check": receipt}, Lacks: []string{"SECRET"}},
			Flaky: map[string][]string{"check": {"test: SECRET"}}, Names: map[string]string{"check": "SECRET"}, Unverified: "no test ran: SECRET",
			Missing: []string{`gate "SECRET"`}, Notices: []string{"SECRET"}, Spec: &run.Spec{Goal: "a goal", Outputs: "SECRET"},
		}), []string{"the repository is not ready", "make", "a goal", `"concealed":true`, "no test ran"}},
		"notice": {of(contextscope.KindRun, "conductor", run.Data{Notices: []string{"worker a left"}}), []string{"worker a left"}},
		"held": {of(contextscope.KindRun, "conductor", run.Data{Decision: &run.Decided{Kind: "template", Hold: &run.Hold{
			Template: "all", Shape: "SECRET", Message: "SECRET", Shards: 3,
		}}}), []string{"all", `"shards":3`}},
		"decision": {of(contextscope.KindRun, "conductor", run.Data{Decision: &run.Decided{Answer: run.Answer{Text: what, By: "user:ada"}}}), []string{what, "user:ada"}},
		"plan for forgotten files": {of(contextscope.KindPlan, "conductor", run.PlanData{
			By: "user:ada", Forgotten: true, Joins: map[string][]string{"f": {"t"}},
			Tasks: []spec.Task{{ID: "f", Brief: "SECRET", Files: []string{what}, ChangeSet: "f"}},
		}), []string{what, `"f":["t"]`}},
		"plan":    {of(contextscope.KindPlan, "conductor", run.PlanData{By: "file", Tasks: []spec.Task{{ID: "t", Brief: what}}}), []string{what}},
		"pending": {of(contextscope.KindTask, "conductor", run.TaskData{State: "pending", Reason: "SECRET", Fault: failed}), []string{"gate: (not shown to viewers)"}},
		"parked":  {of(contextscope.KindTask, "conductor", run.TaskData{State: "parked", Reason: "failed 3 of 3 attempts: SECRET", Fault: failed}), []string{"failed 3 of 3 attempts: (not"}},
		"limit":   {of(contextscope.KindTask, "conductor", run.TaskData{State: "pending", Reason: "30 turns", Fault: limit}), []string{"30 turns"}},
		"doubt": {of(contextscope.KindTask, "conductor", run.TaskData{State: "held", Reason: `its judge reports "SECRET"`, Doubt: &run.Doubt{
			Evidence: []string{`its judge reports "SECRET"`}, Missing: map[string]string{"check": "SECRET"},
		}, Red: &run.Red{Failed: []string{"SECRET"}}}), []string{"its judge reports"}},
		"landing":    {of(contextscope.KindLanding, "conductor", run.LandingData{Batch: 8, State: "landed", Tasks: []run.Landed{{Task: "t", Added: 5, Unverified: "x: SECRET"}}, Gone: map[string]string{"check": "SECRET"}, Receipts: []spec.Receipt{receipt}, Unverified: "x: SECRET"}), []string{`"batch":8`, `"added":5`, "make"}},
		"unreadable": {of(contextscope.KindUnreadable, "t/1", wire.Unreadable{Reason: "SECRET", Kind: "turn"}), []string{"turn"}},
		"unknown":    {of("later", "t/1", map[string]string{"text": "SECRET"}, given), []string{"later"}},
		"new field":  {of(contextscope.KindUsage, "t/1", map[string]any{"calls": 1, "text": "SECRET"}), []string{`"calls":1`}},
	} {
		got := shown(t, c.e)
		require.NotContains(t, got, "SECRET", name)
		for _, want := range c.want {
			require.Contains(t, got, want, name)
		}
	}
}

// plant fills each text of a value with a secret, but for the fields that are named.
func plant(v reflect.Value, but []string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("SECRET")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), but)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Type() == reflect.TypeFor[json.RawMessage]() {
				v.SetBytes([]byte(`"SECRET"`))
			}
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0), but)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, but)
		plant(value, but)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("SECRET"))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(but, f.Name) {
				plant(v.Field(i), but)
			}
		}
	default:
	}
}

// TestNoTextOfWhatWasPrintedIsLeft plants a secret in every text of what workers write of tools and gates. What is left out are
// names of gates, commands, workers, models, trees and files, and what an agent says in its own words.
func TestNoTextOfWhatWasPrintedIsLeft(t *testing.T) {
	t.Parallel()
	names := []string{
		"Gate", "Command", "Worker", "Agent", "Tree", "Environment", "Since", "Verdict", "Kind", "Class", "Reason", "Tool", "ID", "State",
		"Task", "Status", "LimitHit", "Patch", "Plan", "Steps", "Derived", "Copies", "Shared", "Method", "Trigger", "Model", "Name", "Path", "Grade",
	}
	spoken := append([]string{"Handoff"}, names...)
	for kind, into := range map[contextscope.Kind]any{
		contextscope.KindReceipt: new(spec.Receipt), contextscope.KindTool: new(wire.Tooled), contextscope.KindResult: new(spec.Result),
		contextscope.KindCalls: new(wire.Calls), contextscope.KindControl: new(wire.Nudge), contextscope.KindError: new(wire.Unanswered),
		contextscope.KindCompaction: new(contextscope.Compaction), contextscope.KindProgress: &struct{ wire.Progress }{},
	} {
		but := names
		if kind == contextscope.KindTool {
			but = spoken
		}
		if kind == contextscope.KindProgress {
			but = append([]string{"Wait"}, names...)
		}
		plant(reflect.ValueOf(into).Elem(), but)
		e := of(kind, "t/1", into)
		require.Contains(t, string(e.Data), "SECRET", kind)
		e.Content = &genai.Content{Parts: []*genai.Part{{}}}
		plant(reflect.ValueOf(e.Content.Parts[0]).Elem(), []string{"ID", "Name", "FunctionCall", "ToolCall", "ToolResponse"})
		require.NotContains(t, shown(t, e), "SECRET", kind)
	}
}

// FuzzRedactor: whatever the data of an event is, the text of a tool's answer and of an unknown field is not shown.
func FuzzRedactor(f *testing.F) {
	f.Add("tool", `{"end":{"handoff":{"output":"x"}},"x":"y"}`)
	f.Add("receipt", `{"tail":"x","signatures":["x",1,null],"hidden":{"a":"b"}}`)
	f.Add("run", `[{"spec":"x"}]`)
	f.Add("later", `"text"`)
	f.Fuzz(func(t *testing.T, kind, data string) {
		if !json.Valid([]byte(data)) {
			t.Skip()
		}
		e := contextscope.Event{Kind: contextscope.Kind(kind), Content: &genai.Content{Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{Response: map[string]any{"output": "S3CRET"}}}, nil,
		}}}
		for _, name := range []string{"text", "output", "loads", "snapshot", "recall", "note", "paths", "positions"} {
			e.Data = json.RawMessage(fmt.Sprintf(`{%q:"S3CRET","tail":"S3CRET","message":"S3CRET","detail":"S3CRET","more":%s}`, name, data))
			got := shown(t, e)
			for _, own := range []string{"request"} { // an agent's own words
				if kind == own || kind == "answer" {
					return
				}
			}
			require.NotContains(t, got, "S3CRET")
		}
		e.Data = json.RawMessage(data)
		shown(t, e)
	})
}
