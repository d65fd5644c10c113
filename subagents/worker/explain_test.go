package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// explained is the site of an agent that does everything which changes its requests.
type explained struct {
	*site

	seed   uint64
	turns  int
	model  *modeltest.Recorder
	client model.Model
	dig    *probe
	memory *memory.Memory
	// kinds counts the events of all attempts.
	kinds map[contextscope.Kind]int
	// lose is told when the worker may be lost.
	lose chan struct{}
}

const snapshotJSON = `{"overall_goal": "Dig.", "key_knowledge": "stone", "file_system_state": "a.txt sub/b.txt big.txt", ` +
	`"recent_actions": "dug", "current_plan": [{"status": "todo", "text": "dig on"}]}`

var explainedRole = spec.Role{
	Name: "digger", Executor: spec.ExecutorModel, Writes: true, Model: "m",
	Instruction: "You dig for {goal} in turn {turn}, with {tokens_left} left, on task {task}.",
	Tools:       []string{"dig", spec.ToolWriteFile, spec.ToolRunCommand, spec.ToolLoadArtifact, spec.ToolLoadMemory},
	ToolOutput:  map[string]spec.ToolOutput{"dig": {Policy: spec.OutputSummarize, Limit: 6_000}},
	Context:     spec.ContextRules{DropAfter: 9},
	Limits:      spec.Limits{Turns: 70, Tokens: 5_000_000, Tool: spec.Duration(20 * time.Minute)},
}

func newExplained(t *testing.T, seed uint64, turns int) *explained {
	t.Helper()
	e := &explained{site: newSite(t), seed: seed, turns: turns, dig: digTool(), lose: make(chan struct{}, 1)}
	e.kinds, e.model = map[contextscope.Kind]int{}, modeltest.NewRecorder(e.play)
	e.client = e.model
	repo := t.TempDir()
	for i := range 4 {
		path := filepath.Join(repo, filepath.FromSlash(memory.Place), fmt.Sprintf("note%d.md", i))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "# Stone %d\n\nPlace %d has stone and sand at depth %d.\n", i, i, i), 0o600))
	}
	var problems []memory.Problem
	var err error
	e.memory, problems, err = memory.Open(t.Context(), memory.Options{Repo: repo})
	require.NoError(t, err)
	require.Empty(t, problems)
	return e
}

var anHandle = regexp.MustCompile(`artifact:[^": \\]+`)

// dice are the same for the same request, however often it is made.
func (e *explained) dice(m model.Meta) *rand.Rand {
	return rand.New(rand.NewPCG(e.seed, uint64(m.Attempt)<<32|uint64(m.Turn)))
}

// play does one of everything.
func (e *explained) play(req *model.Request) ([]*genai.Part, *model.Error) {
	d := e.dice(req.Meta)
	if d.IntN(8) == 0 {
		select {
		case e.lose <- struct{}{}:
		default:
		}
	}
	text := func(s string) []*genai.Part { return []*genai.Part{{Text: s}} }
	switch req.Meta.Purpose {
	case "compaction":
		if d.IntN(3) == 0 {
			return text("I would rather not."), nil
		}
		return text(snapshotJSON), nil
	case "summary":
		if d.IntN(2) == 0 {
			return nil, &model.Error{Class: model.Overloaded, Message: "busy"}
		}
		return text("stone, mostly"), nil
	}
	turn := req.Meta.Turn
	call := func(name string, args map[string]any) []*genai.Part {
		p := genai.NewPartFromFunctionCall(name, args)
		p.ThoughtSignature = fmt.Appendf(nil, "signature <%d>", turn)
		return []*genai.Part{{Text: fmt.Sprintf("Turn %d & on.", turn), Thought: turn%2 == 0}, p}
	}
	if turn >= e.turns {
		return call(spec.ToolSubmitResult, map[string]any{
			"summary": "dug", "constraints": []any{item(1, true, "")},
		}), nil
	}
	if turn%4 == 0 {
		e.steer(req.Meta, fmt.Sprintf("look at <place> %d", turn))
	}
	switch n := d.IntN(20); {
	case turn%3 == 0 && n < 3:
		return nil, &model.Error{Class: model.Truncated, Message: "cut"}
	case turn%3 == 0 && n < 6:
		return nil, &model.Error{Class: model.TooLong, Message: "too long"}
	case n < 7:
		return text("I think."), nil
	case n < 8:
		return call(spec.ToolWriteFile, map[string]any{"path": "big.txt", "content": strings.Repeat("long ", 256<<10/5+1)}), nil
	case n < 10:
		return call(spec.ToolWriteFile, map[string]any{"path": "a.txt", "content": fmt.Sprintf("turn %d\n", turn)}), nil
	case n < 12:
		return call(spec.ToolLoadMemory, map[string]any{"query": "stone sand"}), nil
	case n < 15:
		handle := cmp.Or(anHandle.FindString(modeltest.AsSent(req)), contextscope.EventHandle(1+d.IntN(60)))
		return append(call(spec.ToolLoadArtifact, map[string]any{"handle": handle}),
			call(spec.ToolLoadArtifact, map[string]any{"handle": contextscope.EventHandle(2 + d.IntN(40))})...), nil
	default:
		return append(call("dig", map[string]any{"n": d.IntN(9_000)}), call("dig", map[string]any{"n": d.IntN(300)})...), nil
	}
}

func (e *explained) steer(m model.Meta, text string) {
	data, err := json.Marshal(wire.Control{ID: text, Verb: wire.ControlSteer, From: "user:ada", Task: m.Task, Text: text})
	require.NoError(e.t, err)
	require.NoError(e.t, e.bus.Publish(e.t.Context(), bus.ControlSubject(m.Run), data))
}

func digTool() *probe {
	return &probe{"dig", true, func(_ context.Context, c tool.Call) tool.Result {
		n, _ := c.Args["n"].(float64)
		r := tool.Text(strings.Repeat(fmt.Sprintf("stone and <sand> at %v\n", n), int(n)/10+1))
		r.Output["exit_code"], r.Output["places"] = int(n), []string{"here", "<there>"}
		return r
	}}
}

// kept is a memory without a bus between.
type kept struct{ *memory.Memory }

func (k kept) Refresh(ctx context.Context) (bool, error) {
	if _, err := k.Memory.Refresh(ctx); err != nil {
		return false, err
	}
	notes, err := k.List(ctx)
	return len(notes) > 0, err
}

// work starts a worker whose clock runs fast, so that it tells its progress often.
func (e *explained) work() *Worker {
	e.t.Helper()
	var ticks atomic.Int64
	w := NewWorker(Config{
		Bus: e.bus, Name: "w", Model: e.client, Mirror: e.mirror, Pool: e.pool, Parallel: 2, Roles: []string{"digger", "tester"},
		Caches: sandbox.Caches{Dir: filepath.Join(e.dir, "caches")}, Environments: newEnvironments(e.t, e.dir), Environ: os.Environ(), Temp: e.t.TempDir(),
		Tools: func(*wire.Assignment) []tool.Tool { return []tool.Tool{e.dig} }, Memory: kept{e.memory}, Log: zerolog.Nop(),
		Clock: func() time.Time { return time.Unix(1_800_000_000+ticks.Add(1), 0).UTC() },
	})
	require.NoError(e.t, w.Start(e.t.Context()))
	e.t.Cleanup(w.Stop)
	return w
}

// losing carries an attempt out, and loses its workers on the way.
func (e *explained) losing(a *wire.Assignment) spec.Result {
	e.t.Helper()
	got := make(chan spec.Result, 1)
	w := e.work()
	go func() { got <- e.result(a) }()
	for lost := 0; ; {
		select {
		case <-e.lose:
			if lost++; lost <= 2 {
				w.Stop()
				w = e.work()
			}
		case r := <-got:
			w.Stop()
			return r
		}
	}
}

// check compares every turn with what was sent.
func (e *explained) check(a *wire.Assignment) {
	e.t.Helper()
	x, err := Explain(e.t.Context(), e.bus, e.mirror, a, []tool.Tool{e.dig})
	require.NoError(e.t, err)
	last, err := x.Turn(e.t.Context(), 0)
	require.NoError(e.t, err)
	own, _, err := journal.ReadSession(e.t.Context(), e.bus, bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, a.Attempt))
	require.NoError(e.t, err)
	for i := range own {
		e.kinds[own[i].Kind]++
	}
	for turn := 1; turn <= last.Turns; turn++ {
		seen, err := x.Turn(e.t.Context(), turn)
		require.NoError(e.t, err)
		sent, ok := e.model.Sent[seen.Sent.Meta]
		require.True(e.t, ok, "turn %d has the number of no request: %+v", turn, seen.Sent.Meta)
		require.Equal(e.t, sent, modeltest.AsSent(seen.Sent), "turn %d of %s", turn, a.Agent())
		require.Contains(e.t, sent, "at most 1200", "a command may take as long as a tool")
	}
	if seen, err := x.Turn(e.t.Context(), last.Turns+1); err == nil {
		require.NotNil(e.t, seen.Fault, "its last call failed")
	} else {
		require.ErrorIs(e.t, err, agent.ErrNoTurn, "it has ended: nothing will be sent")
	}
}

// TestACallIsExplainedByWhatAnsweredIt has the service refuse the signatures of one call, and a fallback answer the next; the last
// one is not answered.
func TestACallIsExplainedByWhatAnsweredIt(t *testing.T) {
	t.Parallel()
	e := newExplained(t, 0, 0)
	last := ""
	e.model.Play = func(req *model.Request) ([]*genai.Part, *model.Error) {
		last = modeltest.AsSent(req)
		signed := slices.ContainsFunc(req.Contents, func(c *genai.Content) bool {
			return slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return string(p.ThoughtSignature) == "signature" })
		})
		switch turn := req.Meta.Turn; {
		case turn == 2 && signed:
			return nil, model.FromStatus(400, nil, []byte(`{"error":{"code":400,"message":"Corrupted thought signature."}}`))
		case turn == 3 && req.Model == "m":
			return nil, &model.Error{Class: model.Overloaded, Message: "busy"}
		case turn == 4:
			return nil, &model.Error{Class: model.Blocked, Message: "withheld"}
		}
		p := genai.NewPartFromFunctionCall("dig", map[string]any{"n": 7})
		p.ThoughtSignature = []byte("signature")
		return []*genai.Part{p}, nil
	}
	e.client = model.New(e.model, model.Policy{Retry: model.Retry{Tries: 1, First: time.Millisecond, Max: time.Millisecond}})
	e.work()
	a := e.assignment(explainedRole, "t1")
	a.Project.Models = map[string]spec.Model{
		"m": {Name: "m", Window: 16_000, MaxOutput: 1_000, Fallback: []string{"n"}}, spec.ModelCheap: {Name: "small"},
		"n": {Name: "second", Window: 9_000, MaxOutput: 500, Thinking: "LOW"},
	}
	e.enqueue(a)
	require.Equal(t, spec.StatusFailed, e.result(a).Status)

	x, err := Explain(t.Context(), e.bus, e.mirror, a, []tool.Tool{e.dig})
	require.NoError(t, err)
	for turn, name := range []string{"m", "m", "second"} {
		seen, err := x.Turn(t.Context(), turn+1)
		require.NoError(t, err)
		require.Equal(t, name, seen.Model)
		require.Equal(t, map[string]int{"m": 15_000, "second": 8_500}[name], seen.Window)
		require.Equal(t, e.model.Sent[seen.Sent.Meta], modeltest.AsSent(seen.Answered), "turn %d", turn+1)
		require.Nil(t, seen.Fault)
	}
	seen, err := x.Turn(t.Context(), 4)
	require.NoError(t, err)
	require.Equal(t, "withheld", seen.Fault.Message)
	require.Equal(t, last, modeltest.AsSent(seen.Sent.For(seen.Sent.Fallback[0])), "its own model rests")
	require.Contains(t, last, "has stone and sand at depth", "with what the memory had")
	_, err = x.Turn(t.Context(), 5)
	require.ErrorIs(t, err, agent.ErrNoTurn)
}

// TestSlowATurnIsExplainedByTheVeryRequestThatWasSent lets an agent do all that changes its requests, loses its worker on the way,
// and wakes its session again.
func TestSlowATurnIsExplainedByTheVeryRequestThatWasSent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			e := newExplained(t, seed, 40)
			var paid spec.Usage
			a := e.assignment(explainedRole, "t1")
			a.Goal, a.Task.Constraints = "gold & <silver>", []string{"keep it"}
			a.Project.Models = map[string]spec.Model{
				"m": {Name: "m", Window: 16_000, MaxOutput: 1_000}, spec.ModelCheap: {Name: "small", Window: 100_000},
			}
			for attempt := 1; attempt <= 3; attempt++ {
				a.Attempt = attempt
				e.enqueue(a)
				r := e.losing(a)
				e.check(a)
				paid = paid.Add(r.Usage)
				a.Continues, a.Message = append(a.Continues, attempt), "go on"
			}
			require.Equal(t, e.model.Paid, paid, "each call is in the log once")
			for _, kind := range []contextscope.Kind{
				contextscope.KindCompaction, contextscope.KindError, contextscope.KindSteering, contextscope.KindControl,
			} {
				require.GreaterOrEqual(t, e.kinds[kind], 3, kind)
			}
			require.Greater(t, e.kinds[contextscope.KindStarted], 3, "workers were lost")
		})
	}
}

// TestACancelIsKeptWhateverIsBeingTold cancels an attempt in the first of two calls. That the second is told of when all is
// over must not keep the result out of the log.
func TestACancelIsKeptWhateverIsBeingTold(t *testing.T) {
	t.Parallel()
	e := newExplained(t, 0, 0)
	e.dig.run = func(ctx context.Context, _ tool.Call) tool.Result {
		data, err := json.Marshal(wire.Control{Verb: wire.ControlCancel, Text: "enough"})
		require.NoError(t, err)
		require.NoError(t, e.bus.Publish(ctx, bus.ControlSubject("r1"), data))
		<-ctx.Done()
		return tool.Failed("cancelled")
	}
	e.model.Play = func(*model.Request) ([]*genai.Part, *model.Error) {
		return []*genai.Part{
			genai.NewPartFromFunctionCall("dig", nil),
			genai.NewPartFromFunctionCall(spec.ToolWriteFile, map[string]any{"path": "a.txt", "content": "x"}),
		}, nil
	}
	e.work()
	a := e.assignment(explainedRole, "t1")
	e.enqueue(a)
	require.Equal(t, spec.StatusCancelled, e.result(a).Status)
}
