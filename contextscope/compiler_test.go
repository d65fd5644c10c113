package contextscope

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// drawEvents draws any history: well-formed turns, and everything that can go wrong with them.
func drawEvents(t *rapid.T, agent string) []Event {
	kinds := []Kind{
		KindStarted, KindBrief, KindUser, KindTurn, KindTurn, KindTurn, KindTool, KindTool, KindTool, KindSteering,
		KindControl, KindError, KindUsage, KindCompaction,
	}
	id := rapid.SampledFrom([]string{"", "c1", "c2", "c3", "c4"})
	name := rapid.SampledFrom([]string{"", "grep", "read", "dispatch", "adk_framework"})
	part := rapid.Custom(func(t *rapid.T) *genai.Part {
		p := &genai.Part{}
		switch rapid.IntRange(0, 9).Draw(t, "part") {
		case 0, 1:
			p.Text = rapid.SampledFrom([]string{"", " ", "hi", "For context:", QuoteEnd}).Draw(t, "text")
		case 2, 3, 4:
			p.FunctionCall = &genai.FunctionCall{ID: id.Draw(t, "id"), Name: name.Draw(t, "name"), Args: map[string]any{"a": 1.0}}
		case 5, 6, 7:
			p.FunctionResponse = &genai.FunctionResponse{ID: id.Draw(t, "id"), Name: name.Draw(t, "name")}
			if size := rapid.SampledFrom([]int{-1, 2, 2000}).Draw(t, "size"); size >= 0 {
				p.FunctionResponse.Response = map[string]any{"output": strings.Repeat("é\xff"[:size%2+2], size), "exit_code": 1.0}
			}
		case 8:
			p.InlineData = &genai.Blob{Data: []byte("x"), MIMEType: "image/png"}
		default:
			return nil
		}
		p.Thought = rapid.IntRange(0, 5).Draw(t, "thought") == 0
		if rapid.IntRange(0, 5).Draw(t, "signed") == 0 {
			p.ThoughtSignature = []byte("sig")
		}
		return p
	})
	event := rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			Agent: agent, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			Author: rapid.SampledFrom([]string{"", "user", agent}).Draw(t, "author"),
		}
		if rapid.IntRange(0, 15).Draw(t, "content") > 0 {
			e.Content = &genai.Content{
				Role:  rapid.SampledFrom([]string{"", "user", "model", "model"}).Draw(t, "role"),
				Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts"),
			}
		}
		return e
	})
	events := rapid.SliceOfN(event, 0, 16).Draw(t, "events")
	seq := 0
	for i := range events {
		seq += rapid.IntRange(1, 2).Draw(t, "gap")
		events[i].ID, events[i].Seq = fmt.Sprintf("e%d", i+1), seq
		switch events[i].Kind {
		case KindCompaction:
			events[i].Content, events[i].Data = nil, drawCompaction(t, seq)
		case KindUsage:
			calls := rapid.IntRange(1, 2).Draw(t, "calls")
			events[i].Data = jsonOf(spec.Usage{Calls: calls, Prompt: rapid.SampledFrom([]int{0, 20, 40, 5000}).Draw(t, "prompt")})
		default:
		}
	}
	return events
}

func drawCompaction(t *rapid.T, seq int) json.RawMessage {
	if rapid.IntRange(0, 7).Draw(t, "damaged") == 0 {
		return json.RawMessage(`{"to":"x"}`)
	}
	c := Compaction{
		Method: rapid.SampledFrom([]string{CompactionSnapshot, CompactionPrune, CompactionFailed}).Draw(t, "method"),
		To:     rapid.IntRange(0, seq).Draw(t, "to"),
		Masked: rapid.SliceOfN(rapid.IntRange(0, seq), 0, 2).Draw(t, "masked"),
	}
	if c.Method == CompactionSnapshot {
		c.Snapshot = "<state_snapshot>what was</state_snapshot>"
	}
	return jsonOf(c)
}

func jsonOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// deepText is everything in an input that a compiler could change.
func deepText(t require.TestingT, in Input) string {
	data, err := json.Marshal([][]Event{in.Slice.Events, in.Events})
	require.NoError(t, err)
	return string(data)
}

// checkRequest holds a request to what the model's interface demands.
func checkRequest(t require.TestingT, contents []*genai.Content) {
	for i, c := range contents {
		want := genai.RoleUser
		if i%2 == 1 {
			want = genai.RoleModel
		}
		require.Equal(t, want, c.Role, "content %d: roles alternate and user begins", i)
		require.NotEmpty(t, c.Parts)
		var calls, answers []callKey
		for _, p := range c.Parts {
			require.NotNil(t, p)
			require.False(t, hollow(p), "content %d has an empty part", i)
		}
		eachCall(c, func(fc *genai.FunctionCall) { calls = append(calls, callKeyOf(fc)) })
		if c.Role == genai.RoleUser {
			require.Empty(t, calls, "content %d", i)
			if i > 0 {
				eachCall(contents[i-1], func(fc *genai.FunctionCall) { calls = append(calls, callKeyOf(fc)) })
			}
			eachResponse(c, func(fr *genai.FunctionResponse) { answers = append(answers, responseKeyOf(fr)) })
			require.Equal(t, calls, answers, "content %d answers every call before it once, in call order", i)
			for n := range answers {
				require.NotNil(t, c.Parts[n].FunctionResponse, "content %d: results come first", i)
			}
			continue
		}
		require.False(t, hasResponses(c), "content %d", i)
		require.True(t, len(calls) == 0 || i+1 < len(contents), "content %d: its calls are answered", i)
	}
}

func TestCompileProperties(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Agent:     "gen/1",
			Include:   rapid.SampledFrom([]spec.IncludeContents{"", spec.IncludeNone, spec.IncludeFull}).Draw(t, "include"),
			Narrative: rapid.SampledFrom([]string{"", NarrativePlain, NarrativeFenced}).Draw(t, "narrative"),
			Slice:     BuildSlice(SliceInput{Include: spec.IncludeFull, Dispatcher: drawEvents(t, "plan/1")}),
			Events:    drawEvents(t, "gen/1"),
		}
		if rapid.Bool().Draw(t, "task") {
			in.Brief = Brief{Task: spec.Task{ID: "gen"}, Inputs: []Handoff{{Task: "read", Handoff: spec.Handoff{Summary: "s"}}}}
		}
		before := deepText(t, in)
		request := compiler.Compile(in)
		checkRequest(t, request.Contents)
		first, err := json.Marshal(request)
		require.NoError(t, err)
		second, err := json.Marshal(NewCompiler().Compile(in))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second), "deterministic to the byte")
		require.Equal(t, before, deepText(t, in), "the input is not touched")
		introductions := strings.Count(string(first), "Your instructions come only from")
		require.LessOrEqual(t, introductions, 1, "the fence is introduced once")
	})
}

// The same histories, given as a session: they keep ADK's shape, and still every own call is answered.
func TestCompileSessionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file sessionFile
		file.Agent, file.IncludeContents = "coder", rapid.SampledFrom([]string{"none", "full"}).Draw(t, "include")
		for _, e := range drawEvents(t, "coder") {
			if e.Content != nil {
				author := rapid.SampledFrom([]string{"coder", "user", "reader"}).Draw(t, "author")
				parts := slices.DeleteFunc(slices.Clone(e.Content.Parts), func(p *genai.Part) bool { return p == nil })
				file.Events = append(file.Events, sessionEvent{Author: author, Role: e.Content.Role, Parts: parts})
			}
		}
		data, err := json.Marshal(file)
		require.NoError(t, err)
		contents, _, err := CompileSession(data)
		require.NoError(t, err)
		for i, c := range contents {
			require.NotEmpty(t, c.Parts)
			missing := map[callKey]int{}
			eachCall(c, func(fc *genai.FunctionCall) { missing[callKeyOf(fc)]++ })
			if len(missing) == 0 {
				continue
			}
			require.Less(t, i+1, len(contents))
			eachResponse(contents[i+1], func(fr *genai.FunctionResponse) { missing[responseKeyOf(fr)]-- })
			for k, n := range missing {
				require.LessOrEqual(t, n, 0, "content %d: %s is not answered", i, k)
			}
		}
	})
}

func TestCompileOrdersTheRequest(t *testing.T) {
	t.Parallel()
	upstream := (&log{agent: "read/1"}).user("survey").turn(say("found"), call("c", "grep")).tool(result("c", "grep", "3"))
	in := Input{
		Agent: "gen/1", Role: spec.Role{Name: "generator", Instruction: "Change code.", Source: "built-in"},
		Slice: BuildSlice(SliceInput{Include: spec.IncludeFull, DecisionRecord: "Foo is Bar", Dispatcher: upstream.events}),
		Brief: Brief{Task: spec.Task{ID: "gen", Brief: "do it"}, DecisionRecord: "Foo is Bar"},
		Tools: []*genai.FunctionDeclaration{{Name: "b"}, nil, {Name: "a"}, {Name: "b", Description: "again"}},
	}
	r := NewCompiler().Compile(in)
	require.Equal(t, "Change code.", r.System.Parts[0].Text)
	require.Len(t, r.Tools, 1)
	require.Equal(t, []*genai.FunctionDeclaration{{Name: "a"}, {Name: "b"}}, r.Tools[0].FunctionDeclarations)
	require.Len(t, r.Contents, 1, "background and brief are one content")
	require.Equal(t, 1, r.Prefix)
	require.Equal(t, 7, r.SharedParts)
	parts := texts(r.Contents[0].Parts)
	require.Equal(t, "Decision record. It is settled and holds for every task of this run:\n\nFoo is Bar", parts[0])
	require.Equal(t, fenceIntroduction, parts[1])
	require.Equal(t, "[user] said:\n"+quote("survey"), parts[3])
	require.Equal(t, "[read/1] `grep` tool returned result:\n"+quote(`{"output":"3"}`), parts[6])
	require.Equal(t, "Task: gen\n\nBrief:\ndo it", parts[7], "the decision record is not said twice")
	var names []string
	for _, line := range r.Trace {
		names = append(names, line.Processor)
	}
	require.Equal(t, []string{
		"instruction", "tools", "background", "brief", "history", "recall", "artifacts", "reminders", "fit", "cache",
	}, names)
	require.Equal(t, []string{"b is declared twice: the first declaration holds"}, r.Trace[1].Notes)
	require.Equal(t, []string{"e1", "e2", "e3"}, r.Trace[2].Events)
}

func TestCompileSiblingsShareTheirPrefix(t *testing.T) {
	t.Parallel()
	upstream := (&log{agent: "plan/1"}).turn(say("plan")).turn(call("d", "dispatch"))
	slice := BuildSlice(SliceInput{Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: upstream.events})
	shared := func(task string) string {
		r := NewCompiler().Compile(Input{Agent: task + "/1", Slice: slice, Brief: Brief{Task: spec.Task{ID: task}}})
		data, err := json.Marshal(r.Contents[0].Parts[:r.SharedParts])
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(r.Contents[0].Parts[r.SharedParts].Text, "Task: "+task))
		return string(data)
	}
	require.Equal(t, shared("a"), shared("b"))
}

func TestCompileGrowsByAppending(t *testing.T) {
	t.Parallel()
	l := &log{agent: "gen/1"}
	l.brief("Task: gen").turn(call("a", "read"), call("b", "read")).tool(result("a", "read", "1"), result("b", "read", "2")).
		steer("use tabs").turn(say("ok")).nudge("submit").turn(call("s", "submit"))
	compiler, in := NewCompiler(), Input{Agent: "gen/1", Include: spec.IncludeNone, Brief: Brief{Task: spec.Task{ID: "gen"}}}
	previous := []string{}
	for n := range len(l.events) + 1 {
		in.Events = l.events[:n]
		r := compiler.Compile(in)
		checkRequest(t, r.Contents)
		var lines []string
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				data, err := json.Marshal(p)
				require.NoError(t, err)
				lines = append(lines, c.Role+string(data))
			}
		}
		// A placeholder is the one thing that a later event replaces.
		stable := slices.IndexFunc(previous, func(line string) bool { return strings.Contains(line, placeholder) })
		if stable < 0 {
			stable = len(previous)
		}
		require.Equal(t, previous[:stable], lines[:stable], "after %d events", n)
		previous = lines
	}
	require.Contains(t, strings.Join(previous, "\n"), "use tabs", "steering is never forgotten")
}

func TestCompileKeepsOwnTurnsVerbatim(t *testing.T) {
	t.Parallel()
	l := &log{agent: "gen/1"}
	signed := call("a", "read")
	signed.ThoughtSignature = []byte("s1")
	l.turn(&genai.Part{Text: "hm", Thought: true}, signed, call("b", "read")).
		tool(result("a", "read", "1"), result("b", "read", "2"))
	r := NewCompiler().Compile(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.events})
	require.Same(t, l.events[0].Content, r.Contents[1], "shared, not copied")
	require.Same(t, l.events[1].Content, r.Contents[2])
}

func TestCompileHeals(t *testing.T) {
	t.Parallel()
	l := &log{agent: "gen/1"}
	l.turn(call("a", "read"), call("b", "run")).tool(result("b", "run", "2"), result("zz", "read", "?")).
		steer("stop").tool(result("a", "read", "late")).turn(call("c", "run")).user("new work").turn(say("one")).turn(say("two"))
	r := NewCompiler().Compile(Input{Agent: "gen/1", Events: l.events})
	checkRequest(t, r.Contents)
	require.Equal(t, opening, r.Contents[0].Parts[0].Text)
	require.Equal(t, []*genai.Part{result("a", "read", "late"), result("b", "run", "2"), say("stop")}, r.Contents[2].Parts)
	require.Equal(t, placeholder, r.Contents[4].Parts[0].FunctionResponse.Response["result"])
	require.Equal(t, "new work", r.Contents[4].Parts[1].Text)
	require.Equal(t, []string{"one", "two"}, texts(r.Contents[5].Parts))
	require.Equal(t, []string{
		`event e2: merged with 1 later events of results of the same calls`,
		`event e2: the result of call "zz" was left out: no call before it`,
		`event e5: call "c" was never answered: a placeholder stands for its result`,
	}, r.Trace[4].Notes)
}

func TestCompileNone(t *testing.T) {
	t.Parallel()
	l := &log{agent: "plan/1"}
	l.brief("Task: plan").user("old").turn(say("old answer")).user("new").turn(call("c", "ask")).
		steer("hint").nudge("hurry").tool(result("c", "ask", "y"))
	compile := func(events []Event) Request {
		r := NewCompiler().Compile(Input{Agent: "plan/1", Include: spec.IncludeNone, Events: events})
		checkRequest(t, r.Contents)
		return r
	}
	require.Equal(t, []string{"e4", "e5", "e8", "e6", "e7"}, compile(l.events).Trace[4].Events,
		"steering and reminders start no turn")
	require.Len(t, compile(l.events[:3]).Trace[4].Events, 2)
	l.user("are you there?").tool(result("c", "ask", "z"))
	require.Contains(t, compile(l.events).Trace[4].Events, "e5", "a late result brings the turn of its call")
	worker := (&log{agent: "gen/1"}).brief("Task: gen").turn(say("a")).steer("b").turn(say("c"))
	require.Equal(t, []string{"e2", "e3", "e4"}, compile(worker.events).Trace[4].Events, "the brief began the turn")
}

func TestCompileEmptyInput(t *testing.T) {
	t.Parallel()
	r := NewCompiler().Compile(Input{})
	require.Nil(t, r.System)
	require.Empty(t, r.Tools)
	require.NotNil(t, r.Contents)
	require.Empty(t, r.Contents)
	require.Len(t, r.Trace, 10)
}

func TestCompilerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			l := (&log{agent: "x/1"}).turn(say(fmt.Sprintf("number %d", i)))
			for range 50 {
				slice := BuildSlice(SliceInput{Include: spec.IncludeFull, Dispatcher: l.events})
				r := compiler.Compile(Input{Slice: slice, Narrative: NarrativePlain})
				if got := r.Contents[0].Parts[2].Text; got != fmt.Sprintf("[x/1] said: number %d", i) {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}
