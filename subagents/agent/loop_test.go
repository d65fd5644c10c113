package agent

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// circle is an answer that says one sentence again and again, in small pieces.
func circle(thought bool) modeltest.Step {
	var s modeltest.Step
	for _, word := range strings.SplitAfter(strings.Repeat("Let me look at the file once more, to be sure of it. ", 40), " ") {
		s.Parts = append(s.Parts, &genai.Part{Text: word, Thought: thought})
	}
	return s
}

func TestAnAnswerThatGoesRoundInACircleIsBrokenOff(t *testing.T) {
	t.Parallel()
	for name, thought := range map[string]bool{"text": false, "thought": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &modeltest.Script{Steps: []modeltest.Step{circle(thought), modeltest.Submits("ok")}}
			a := testAgent(t, journaltest.New(), s)
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status)
			require.Equal(t, "brief error usage control turn usage calls tool", kinds(a.Journal.Events()), "it is not in the history")
			require.Contains(t, content.Text(s.Sent()[1].Contents[len(s.Sent()[1].Contents)-1]), "Let me look at the file once more")
		})
	}
}

func TestTheSecondCircleEndsAnAgentAlsoAfterAResume(t *testing.T) {
	t.Parallel()
	steps := []modeltest.Step{circle(false), modeltest.CallsTool("read", nil), circle(true)}
	m := journaltest.New()
	whole := testAgent(t, m, &modeltest.Script{Steps: steps}, echo("read", true))
	want, err := whole.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "loop", want.Error.Class)
	require.Contains(t, want.Error.Message, "after a warning too")
	for k := range len(m.Messages) {
		cut := journaltest.New()
		cut.SetFailAfter(k)
		_, err := testAgent(t, cut, &modeltest.Script{Steps: steps}, echo("read", true)).Run(t.Context())
		require.ErrorIs(t, err, journaltest.ErrDown)
		cut.SetFailAfter(-1)
		got, err := testAgent(t, cut, &modeltest.Script{Steps: steps}, echo("read", true)).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got, k)
	}
}

func TestTheRepeatThatCompletesALoopIsNotExecuted(t *testing.T) {
	t.Parallel()
	ran, polls := 0, 0
	same := &probe{"read", true, func(context.Context, tool.Call) tool.Result { ran++; return tool.Text("as before") }}
	poll := &probe{"poll", true, func(context.Context, tool.Call) tool.Result { polls++; return tool.Text(fmt.Sprint(polls)) }}
	again := modeltest.CallsTool("read", map[string]any{"text": "x"})
	s := &modeltest.Script{Steps: []modeltest.Step{again, again, again, again, again, modeltest.Submits("ok")}}
	r, err := testAgent(t, journaltest.New(), s, same).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, 4, ran)
	require.Contains(t, lastResponse(s.Sent()[5])["error"], "You repeat the same calls. The loop, as data")
	steps := make([]modeltest.Step, 0, 13)
	for range 12 {
		steps = append(steps, modeltest.CallsTool("poll", nil))
	}
	r, err = testAgent(t, journaltest.New(), &modeltest.Script{Steps: append(steps, modeltest.Submits("ok"))}, poll).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, 12, polls, "a result that changes is no loop")
}

// jury answers questions to judges by the model that is asked, and everything else like the script.
type jury struct {
	modeltest.Script

	opinions map[string]string
	asked    []string
	// judges is called when a question is answered; it may be nil.
	judges func()
}

func (j *jury) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	if req.Meta.Purpose != purposeJudge {
		return j.Script.Generate(ctx, req)
	}
	j.asked = append(j.asked, fmt.Sprintf("%s %d", req.Model, req.Meta.Turn))
	one := &modeltest.Script{Steps: []modeltest.Step{modeltest.Says(j.opinions[req.Model])}}
	own := *req
	own.Meta.Turn = 1
	return func(yield func(model.Event, error) bool) {
		for ev, err := range one.Generate(ctx, &own) {
			if ev.Result != nil && j.judges != nil {
				j.judges()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func TestAJudgeIsAskedWhetherALongSessionGetsOn(t *testing.T) {
	t.Parallel()
	sure, unsure := `{"analysis": "It reads file after file to no end.", "confidence": 0.95}`, `{"analysis": "Slow.", "confidence": 0.5}`
	for name, tt := range map[string]struct {
		cheap, own string
		asked      []string
		class      string
	}{
		"both are sure":   {sure, "```json\n" + sure + "\n```", []string{"cheap 30", "m 30", "cheap 36", "m 36"}, wire.FaultLoop},
		"the second not":  {sure, unsure, []string{"cheap 30", "m 30", "cheap 40", "m 40", "cheap 50", "m 50"}, wire.FaultTurns},
		"the first not":   {unsure, sure, []string{"cheap 30", "cheap 40", "cheap 50"}, wire.FaultTurns},
		"no answer":       {"certainly!", sure, []string{"cheap 30", "cheap 40", "cheap 50"}, wire.FaultTurns},
		"the other fails": {sure, "", []string{"cheap 30", "m 30", "cheap 36", "m 36", "cheap 42", "m 42", "cheap 48", "m 48"}, wire.FaultTurns},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &jury{opinions: map[string]string{"cheap": tt.cheap, "m": tt.own}}
			for i := range 60 {
				j.Steps = append(j.Steps, modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(i)}))
			}
			a := testAgent(t, journaltest.New(), &j.Script, echo("read", true))
			a.Model, a.Bounds.Turns = j, 53
			own := spec.Model{Name: "m", PriceIn: 1, PriceOut: 2}
			a.Assignment.Project.Models = map[string]spec.Model{"cheap": {Name: "cheap", PriceIn: 1, PriceOut: 2}, "default": own}
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.class, r.Error.Class, r.Error.Message)
			require.Equal(t, tt.asked, j.asked)
			var spent int
			for _, e := range a.Journal.Events() {
				if e.Kind != contextscope.KindUsage {
					continue
				}
				row := "m=" // of the role's model
				if strings.Contains(string(e.Data), `"model":"cheap"`) {
					row = "cheap="
				}
				require.Contains(t, string(e.Data), fmt.Sprintf(`"price":%q`, row), "each call is logged with its price")
				if strings.Contains(string(e.Data), `"model"`) {
					spent++
				}
			}
			require.Equal(t, len(tt.asked), spent, "what a judge costs is counted")
		})
	}
}

func TestTheCallsOfOneTurnAreNoMoreThanOneStrike(t *testing.T) {
	t.Parallel()
	many := manyCalls("read", "read", "read", "read", "read", "read", "read", "read", "read", "read", "read", "read")
	for _, p := range many.Parts {
		p.FunctionCall.Args = map[string]any{"text": "x"}
	}
	r, err := testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{many, modeltest.Submits("ok")}}, echo("read", true)).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status, "it was told, and did something else")
	r, err = testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{many, many, modeltest.Submits("ok")}}, echo("read", true)).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, wire.FaultLoop, r.Error.Class, "it was told, and went on")
}

func TestWhatAJudgeCostCountsAlsoWhenTheAgentIsCancelledMeanwhile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	j := &jury{opinions: map[string]string{"cheap": `{"analysis": "a", "confidence": 0.95}`}}
	for i := range 40 {
		j.Steps = append(j.Steps, modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(i)}))
	}
	j.judges = func() { cancel(&limit.CancelledError{Reason: "enough"}) }
	a := testAgent(t, journaltest.New(), &j.Script, echo("read", true))
	a.Model, a.Bounds.Turns = j, 40
	a.Assignment.Project.Models = map[string]spec.Model{"cheap": {Name: "cheap"}}
	r, err := a.Run(ctx)
	require.NoError(t, err)
	require.Equal(t, spec.StatusCancelled, r.Status)
	paid := 0
	for _, e := range a.Journal.Events() {
		if strings.Contains(string(e.Data), `"model":"cheap"`) {
			paid++
		}
	}
	require.Equal(t, 1, paid)
}
