package compact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// scripted makes a compactor whose model gives the steps of a script, one a request.
func scripted(t *testing.T, steps ...string) (*Compactor, *modeltest.Scripted) {
	t.Helper()
	m, err := modeltest.FromYAML("rules: [{purpose: compaction, steps: [" + strings.Join(steps, ", ") + "]}]")
	require.NoError(t, err)
	t.Cleanup(func() { require.Empty(t, m.Violations()) })
	return New(Config{Model: m, ModelName: model.DefaultModel}), m
}

func text(answer string) string { return "{text: " + quoteYAML(answer) + "}" }

func TestSnapshotIsAskedForCheckedAndRecorded(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(10)
	c, m := scripted(t, text(goodAnswer))
	rec, usage, err := c.Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.Equal(t, contextscope.MethodSnapshot, rec.Method)
	require.Equal(t, model.DefaultModel, rec.Model)
	require.False(t, rec.Repaired)
	require.Contains(t, rec.Snapshot, "\"kind\": \"changed_file\",\n\"text\": \"a.go\"")
	require.NotContains(t, rec.Snapshot, "Let me see")
	require.Equal(t, 1, usage.Calls)
	require.Positive(t, usage.Total())
	require.Len(t, m.Requests(), 1)
}

func TestASmallModelSeesTheHistoryToo(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(10)
	m, err := modeltest.FromYAML("rules: [{purpose: compaction, steps: [" + text(goodAnswer) + "]}]")
	require.NoError(t, err)
	asked := &keeping{Model: m}
	_, _, err = New(Config{Model: asked, ModelName: "small", Window: 12_000}).Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.Contains(t, asked.newest.Contents[0].Parts[0].Text, "the agent called read_file")
	require.EqualValues(t, 3_000, asked.newest.Config.MaxOutputTokens)
}

// keeping is a model that keeps its newest request.
type keeping struct {
	model.Model

	newest *model.Request
}

func (k *keeping) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	k.newest = req
	return k.Model.Generate(ctx, req)
}

func TestARefusedSnapshotIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	forgetful := strings.Replace(goodJSON, "a.go: edited", "nothing", 1)
	for name, first := range map[string]string{
		"no JSON": text("I cannot do that."), "missing path": text(forgetful),
		"inflated": text(strings.Replace(goodJSON, "b.go", strings.Repeat("very ", 4000), 1)),
		"cut":      "{fault: max_tokens, text: " + quoteYAML(goodJSON) + "}",
		"calls":    "{calls: [{name: read_file}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &session{}
			s.grow(10)
			c, _ := scripted(t, first, text(goodAnswer))
			rec, usage, err := c.Snapshot(t.Context(), s.job(t), meta())
			require.NoError(t, err)
			require.Equal(t, contextscope.MethodSnapshot, rec.Method)
			require.True(t, rec.Repaired)
			require.Equal(t, 2, usage.Calls, "both answers are paid")

			c, m := scripted(t, first, first, text(goodAnswer))
			rec, usage, err = c.Snapshot(t.Context(), s.job(t), meta())
			require.NoError(t, err)
			require.Equal(t, contextscope.MethodFailed, rec.Method)
			require.Equal(t, wire.FaultSnapshot, rec.Fault.Class)
			require.NotEmpty(t, rec.Fault.Detail)
			require.Equal(t, 2, usage.Calls)
			require.Len(t, m.Requests(), 2, "and no third time")
		})
	}
}

func TestARepairIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(10)
	m, err := modeltest.FromYAML(fmt.Sprintf(`rules:
  - {purpose: compaction, steps: [{text: %s}]}
  - {purpose: compaction, turn: 2, match: 'the changed file "a.go" is not named', steps: [{text: %s}]}`,
		quoteYAML(strings.Replace(goodJSON, "a.go: edited", "", 1)), quoteYAML(goodJSON)))
	require.NoError(t, err)
	rec, _, err := New(Config{Model: m, ModelName: model.DefaultModel}).Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.True(t, rec.Repaired)
	require.Empty(t, m.Violations())
}

// TestEveryFaultEndsInAFailedRecord takes all faults that the fake server knows, at the first request and at the repair.
func TestEveryFaultEndsInAFailedRecord(t *testing.T) {
	t.Parallel()
	for _, fault := range geminitest.Faults() {
		for _, steps := range [][]string{
			{fmt.Sprintf("{fault: %q}", fault), fmt.Sprintf("{fault: %q}", fault)},
			{text("no"), fmt.Sprintf("{fault: %q}", fault)},
		} {
			t.Run(fault, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := &session{}
					s.grow(10)
					c, _ := scripted(t, steps...)
					job := s.job(t)
					rec, _, err := c.Snapshot(t.Context(), job, meta())
					require.NoError(t, err)
					require.Equal(t, contextscope.MethodFailed, rec.Method, "%+v", rec)
					require.Equal(t, job.To, rec.To)
					require.NotEmpty(t, rec.Fault.Class)
					require.NotEmpty(t, rec.Fault.Message)
				})
			})
		}
	}
}

func TestAModelThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		s.grow(10)
		c, _ := scripted(t, "{fault: hang}")
		began := time.Now()
		rec, _, err := c.Snapshot(t.Context(), s.job(t), meta())
		require.NoError(t, err)
		require.Equal(t, wire.FaultTime, rec.Fault.Class)
		require.Equal(t, defaultTime, time.Since(began))
	})
}

func TestAStoppedAgentRecordsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		s.grow(10)
		c, _ := scripted(t, "{fault: hang}")
		stop := errors.New("the run stops")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		rec, _, err := c.Snapshot(ctx, s.job(t), meta())
		require.ErrorIs(t, err, stop)
		require.Zero(t, rec)
	})
}

func TestMaterialIsCutToTheCompactionModelsWindow(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(100)
	m := modeltest.New(geminitest.Options{KeepBodies: true, Handle: func(geminitest.Request) geminitest.Answer {
		return geminitest.Answer{Text: goodAnswer}
	}})
	c := New(Config{Model: m, ModelName: model.DefaultModel, Window: 8000, MaxOutput: 1000})
	_, _, err := c.Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.Len(t, m.Requests(), 1)
	require.Contains(t, string(m.Requests()[0].Body), "are left out: they do not fit")
	require.LessOrEqual(t, m.Requests()[0].BytesIn, 8000*4)
}

// wasteful is a model whose good answer came after a discarded try.
type wasteful struct{}

func (wasteful) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Result: &model.Result{
			Content: genai.NewContentFromText(goodAnswer, genai.RoleModel),
			Usage:   spec.Usage{Calls: 1, Output: 3}, Wasted: spec.Usage{Calls: 1, Prompt: 5},
		}}, nil)
	}
}

func TestDiscardedTriesArePaidToo(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(10)
	_, usage, err := New(Config{Model: wasteful{}, ModelName: "m"}).Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.Equal(t, spec.Usage{Calls: 2, Prompt: 5, Output: 3}, usage)
}

// TestOverHTTP asks the strict server through the real client, retries and all.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	script, err := geminitest.Parse([]byte(`rules:
  - {purpose: compaction, task: t, steps: [
      {fault: "503", times: 1, thought: "hm", text: ` + quoteYAML("no") + `, chunk: 7}, {text: ` + quoteYAML(goodAnswer) + `, chunk: 9}]}
  - {purpose: compaction, task: bad, steps: [{fault: safety}]}`))
	require.NoError(t, err)
	server := geminitest.Start(t, geminitest.Options{Script: script})
	g, err := model.NewGemini(t.Context(), model.Options{APIKey: "k", BaseURL: server.URL})
	require.NoError(t, err)
	defer g.Close()
	c := New(Config{Model: model.New(g, model.Policy{Retry: model.Retry{First: time.Millisecond}}), ModelName: model.DefaultModel})
	s := &session{}
	s.grow(10)
	rec, usage, err := c.Snapshot(t.Context(), s.job(t), meta())
	require.NoError(t, err)
	require.Equal(t, contextscope.MethodSnapshot, rec.Method)
	require.True(t, rec.Repaired)
	require.Equal(t, 2, usage.Calls)

	bad := meta()
	bad.Task = "bad"
	rec, usage, err = c.Snapshot(t.Context(), s.job(t), bad)
	require.NoError(t, err)
	require.Equal(t, wire.FaultModel+string(model.Blocked), rec.Fault.Class)
	require.NotEqual(t, spec.Usage{}, usage, "a withheld answer is paid")
}
