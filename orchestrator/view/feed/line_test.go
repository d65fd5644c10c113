package feed

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// TestDetails: what a terminal leaves out, a display with a row for every event shows.
func TestDetails(t *testing.T) {
	t.Parallel()
	sure, zero := 0.8, spec.Budget{}
	wait := "a plan"
	red := spec.Receipt{Gate: "test", Verdict: spec.VerdictFail, Signatures: []string{"a", "b", "c", "d"}, TimedOut: true, Duration: time.Minute}
	green := spec.Receipt{Gate: "test", Verdict: spec.VerdictPass, Tests: 412, Duration: 9 * time.Second}
	narrowed, whole := green, green
	narrowed.Since, whole.Whole = "c0", "map prints nothing"
	done := spec.Result{
		Status: spec.StatusDone, Patch: &spec.Patch{Added: 3, Deleted: 1, Files: []string{"a.go"}}, Plan: &spec.Plan{Tasks: make([]spec.Task, 2)},
		Handoff: spec.Handoff{Summary: "moved"},
	}
	failed := done
	failed.Status, failed.Error = "failed", &spec.Fault{Class: "failed", Message: "failed: no"}
	calls := wire.Calls{Changes: []wire.Change{
		{Call: 1, State: "queued"}, {Call: 0, Tool: "grep", State: "running"}, {Call: 0, State: "done"},
	}}
	for name, c := range map[string]struct {
		kind contextscope.Kind
		data any
		want Line
	}{
		"start":         {contextscope.KindStarted, wire.Started{Delivery: 1}, Line{More: "w1 began", Tone: Plain, Fold: true}},
		"next delivery": {contextscope.KindStarted, wire.Started{Delivery: 2}, Line{By: "one/1", Text: "is given out again, to worker w1 (delivery 2)", Tone: Warn}},
		"progress":      {contextscope.KindProgress, wire.Progress{Doing: "reads"}, Line{More: "reads", Fold: true}},
		"usage":         {contextscope.KindUsage, spec.Usage{Prompt: 9100, Cached: 6400, Output: 400, Thoughts: 10}, Line{More: "9.1k in (6.4k cached), 410 out", Fold: true}},
		"red gate":      {contextscope.KindReceipt, red, Line{By: "one/1:", Text: "gate test: fail, timed out (4 failures: a, b, c)", More: "1m00s", Tone: Bad}},
		"green gate":    {contextscope.KindReceipt, green, Line{More: "gate test: pass; 9s, 412 tests", Tone: Good, Fold: true}},
		"narrowed gate": {contextscope.KindReceipt, narrowed, Line{More: "gate test: pass; 9s, 412 tests, on what changed", Tone: Good, Fold: true}},
		"gate in full":  {contextscope.KindReceipt, whole, Line{More: "gate test: pass; 9s, 412 tests, in full: map prints nothing", Tone: Good, Fold: true}},
		"first red":     {contextscope.KindRun, run.Data{Final: []spec.Receipt{red}, FirstRed: 3}, Line{Text: "final gates: test fail; first red after batch 3", Tone: Bad}},
		"result":        {contextscope.KindResult, done, Line{More: "done; +3 −1 in 1 file; asks for 2 tasks; moved", Tone: Good}},
		"failed result": {contextscope.KindResult, failed, Line{By: "one/1", Text: "ended: failed: no", Cause: "no", More: "+3 −1 in 1 file; asks for 2 tasks; moved", Tone: Bad}},
		"error":         {contextscope.KindError, spec.Fault{Class: "model", Message: "no"}, Line{By: "one/1:", Text: "model: no", Tone: Bad}},
		"calls":         {contextscope.KindCalls, calls, Line{More: "call 2 queued, grep done", Fold: true}},
		"compaction":    {contextscope.KindCompaction, nil, Line{More: "older turns were compacted", Fold: true}},
		"limit":         {contextscope.KindControl, wire.Nudge{Reason: wire.ReasonLimit, Class: "turns"}, Line{By: "one/1", Text: "has one turn left to submit its result: turns", Tone: Warn}},
		"judged":        {contextscope.KindControl, wire.Nudge{Reason: wire.ReasonJudged, Confidence: &sure, Detail: "ls"}, Line{More: "judged to be in a circle with 0.8: ls"}},
		"no judge":      {contextscope.KindControl, wire.Nudge{Reason: wire.ReasonJudged}, Line{More: "no judge could decide whether it makes progress"}},
		"stopped":       {contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped}, Line{More: "stops here; it continues with the run"}},
		"tools":         {contextscope.KindControl, wire.Nudge{Reason: wire.ReasonTools}, Line{More: "the tools of its MCP servers are noted", Fold: true}},
		"answer":        {contextscope.KindAnswer, wire.Answer{Task: "one-x", Status: spec.StatusDone}, Line{More: "one-x done", Tone: Plain, Fold: true}},
		"dispatch":      {contextscope.KindRun, run.Data{Dispatch: &run.Dispatch{Task: run.BaselineTask}}, Line{More: "baseline is on the queue", Tone: Plain, Fold: true}},
		"wait":          {contextscope.KindRun, run.Data{Wait: &wait, Budget: &zero}, Line{Text: "run is waiting for a plan; budget is now 0 tokens", Tone: Warn}},
		"paused":        {contextscope.KindRun, run.Data{State: run.Running, Reason: "paused: no space"}, Line{Text: "run is running: paused: no space", Tone: Warn}},
		"crew":          {contextscope.KindRun, run.Data{Crew: run.Crew{"w": {}}}, Line{More: "run event: its fields have the details", Tone: Plain, Fold: true}},
		"unreadable":    {contextscope.KindUnreadable, wire.Unreadable{Reason: "damaged"}, Line{Text: "damaged", Tone: Bad}},
		"unknown":       {"other", nil, Line{More: "other event: its fields have the details", Fold: true}},
		"broken data":   {contextscope.KindProgress, 7, Line{More: "progress event: its fields have the details", Fold: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(c.data)
			require.NoError(t, err)
			e := contextscope.Event{Run: "r1", Task: "one", Attempt: 1, Agent: "one/1", Worker: "w1", Kind: c.kind, Data: raw}
			require.Equal(t, []Line{c.want}, Lines(&e))
		})
	}
}

// A notice says something, whatever its event does.
func TestALineWithANoticeIsToldWhole(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(run.Data{Notices: []string{"n"}})
	require.NoError(t, err)
	lines := Lines(&contextscope.Event{Kind: contextscope.KindRun, Data: raw})
	require.Equal(t, []bool{true, false}, []bool{lines[0].Fold, lines[1].Fold})
}

func TestWhatTheRunTellsIsNotToldTwice(t *testing.T) {
	t.Parallel()
	ended := func(task string, status spec.Status, class string) string {
		raw, err := json.Marshal(spec.Result{Status: status, Error: &spec.Fault{Class: class, Message: "no"}})
		require.NoError(t, err)
		return Lines(&contextscope.Event{Task: task, Agent: task + "/1", Kind: contextscope.KindResult, Data: raw})[0].Text
	}
	require.Empty(t, ended(run.FlakesTask, spec.StatusCancelled, wire.FaultCancelled), "a batch takes its place")
	require.Empty(t, ended(run.SetupTask, spec.StatusFailed, wire.FaultSetup), "it is why the run stops")
	require.NotEmpty(t, ended(run.FlakesTask, spec.StatusFailed, wire.FaultInternal))
	require.NotEmpty(t, ended(run.SetupTask, spec.StatusFailed, wire.FaultInternal), "it is tried again")
	require.NotEmpty(t, ended("one", spec.StatusCancelled, wire.FaultCancelled))
}

func TestTurnsAreWorded(t *testing.T) {
	t.Parallel()
	for want, parts := range map[string][]*genai.Part{
		"I look. → grep(x)": {
			{Text: "hm", Thought: true}, {Text: "I look."}, {FunctionCall: &genai.FunctionCall{Name: "grep", Args: map[string]any{"q": "x"}}},
		},
		`→ edit(n=1, path=a.go)`: {{FunctionCall: &genai.FunctionCall{Name: "edit", Args: map[string]any{"path": "a.go", "n": 1}}}},
		"edit: ok":               {{FunctionResponse: &genai.FunctionResponse{Name: "edit", Response: map[string]any{"output": "ok"}}}},
		"turn event: its fields have the details": nil,
	} {
		e := contextscope.Event{Kind: contextscope.KindTurn, Agent: "one/1", Content: &genai.Content{Parts: parts}}
		require.Equal(t, []Line{{More: want, Tone: Plain, Fold: parts == nil}}, Lines(&e))
	}
	for tone, name := range map[Tone]string{Quiet: "quiet", Plain: "plain", Good: "good", Warn: "warn", Bad: "bad"} {
		require.Equal(t, name, tone.String())
	}
}

func TestWhatBecomesOfABatch(t *testing.T) {
	t.Parallel()
	three := []run.Landed{{Task: "a"}, {Task: "b"}, {Task: "c"}}
	for want, data := range map[string]run.LandingData{
		"batch 3 testing: a, b, c":                                                  {State: run.LandingTesting, Tasks: three},
		"batch 3 landed: a, b, c":                                                   {State: run.LandingLanded, Tasks: three},
		"batch 3 did not pass its gates, which run once more: a, b, c":              {State: run.LandingRed, Tasks: three},
		"batch 3 did not pass its gates; testing its 3 changes in 2 parts: a, b, c": {State: run.LandingSplit, Tasks: three, Parts: [][]string{{"a", "b"}, {"c"}}},
		"batch 3 did not pass its gates; testing 2 of its 3 changes again: a, b, c": {State: run.LandingSplit, Tasks: three, Parts: [][]string{{"a", "b"}}},
		"batch 3 did not pass its gates: a":                                         {State: run.LandingSplit, Tasks: three[:1]},
		"batch 3, change set s, did not pass its gates: a, b, c":                    {State: run.LandingSplit, Tasks: three, Set: "s"},
		"batch 3 is dropped: its 3 changes will be tested again: a, b, c":           {State: run.LandingDropped, Tasks: three},
		"batch 3 is dropped: its 1 change will be tested again: a":                  {State: run.LandingDropped, Tasks: three[:1]},
	} {
		data.Batch = 3
		require.Equal(t, want, landingLine(data).Text)
	}
}

func TestWhatIsHeldBackSaysUntilWhen(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 30, 12, 57, 51, 0, time.Local)
	a := run.Answer{ID: "held-26", Option: "skip", Text: "no use", By: "user:ada", NotBefore: until}
	require.Equal(t, "user:ada asks for three: skip: no use; held back until 12:57:51",
		decisionLine(&run.Decided{Kind: run.DecideAct, With: []string{"three"}, Answer: a}))
	a.Option, a.Text = "accept", ""
	require.Equal(t, "user:ada answers the patch held-26: accept; held back until 12:57:51",
		decisionLine(&run.Decided{Kind: run.DecidePatch, Answer: a}))
}
