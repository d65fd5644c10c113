package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/contextscope/pairing"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// deepText is everything in an input that a compiler could change.
func deepText(t require.TestingT, in Input) string {
	data, err := json.Marshal([][]contextscope.Event{in.Slice.Events, in.Events})
	require.NoError(t, err)
	return string(data)
}

func TestCompileProperties(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Agent:     "gen/1",
			Include:   rapid.SampledFrom([]spec.IncludeContents{"", spec.IncludeNone, spec.IncludeFull}).Draw(t, "include"),
			Narrative: rapid.SampledFrom([]string{"", narrative.Plain, narrative.Fenced}).Draw(t, "narrative"),
			Slice:     slice.Build(slice.Input{Include: spec.IncludeFull, Dispatcher: sessiontest.DrawEvents(t, "plan/1")}),
			Events:    sessiontest.DrawEvents(t, "gen/1"),
		}
		if rapid.Bool().Draw(t, "task") {
			in.Brief = Brief{Task: spec.Task{ID: "gen"}, Inputs: []Handoff{{Task: "read", Handoff: spec.Handoff{Summary: "s"}}}}
		}
		before := deepText(t, in)
		request := compiler.Compile(in)
		sessiontest.CheckRequest(t, request.Contents)
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

func TestCompileOrdersTheRequest(t *testing.T) {
	t.Parallel()
	upstream := (&sessiontest.Log{Agent: "read/1"}).User("survey").Turn(sessiontest.Say("found"), sessiontest.Call("c", "grep")).Tool(sessiontest.Result("c", "grep", "3"))
	in := Input{
		Agent: "gen/1", Role: spec.Role{Name: "generator", Instruction: "Change code.", Source: "built-in"},
		Slice: slice.Build(slice.Input{Include: spec.IncludeFull, DecisionRecord: "Foo is Bar", Dispatcher: upstream.Events}),
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
	parts := sessiontest.Texts(r.Contents[0].Parts)
	require.Equal(t, "Decision record. It is settled and holds for every task of this run:\n\nFoo is Bar", parts[0])
	require.Equal(t, narrative.Introduction, parts[1])
	require.Equal(t, "[user] said:\n"+narrative.Quote("survey"), parts[3])
	require.Equal(t, "[read/1] `grep` tool returned result:\n"+narrative.Quote(`{"output":"3"}`), parts[6])
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
	upstream := (&sessiontest.Log{Agent: "plan/1"}).Turn(sessiontest.Say("plan")).Turn(sessiontest.Call("d", "dispatch"))
	slice := slice.Build(slice.Input{Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: upstream.Events})
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
	l := &sessiontest.Log{Agent: "gen/1"}
	l.Brief("Task: gen").Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read")).Tool(sessiontest.Result("a", "read", "1"), sessiontest.Result("b", "read", "2")).
		Steer("use tabs").Turn(sessiontest.Say("ok")).Nudge("submit").Turn(sessiontest.Call("s", "submit"))
	compiler, in := NewCompiler(), Input{Agent: "gen/1", Include: spec.IncludeNone, Brief: Brief{Task: spec.Task{ID: "gen"}}}
	previous := []string{}
	for n := range len(l.Events) + 1 {
		in.Events = l.Events[:n]
		r := compiler.Compile(in)
		sessiontest.CheckRequest(t, r.Contents)
		var lines []string
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				data, err := json.Marshal(p)
				require.NoError(t, err)
				lines = append(lines, c.Role+string(data))
			}
		}
		// A placeholder is the one thing that a later event replaces.
		stable := slices.IndexFunc(previous, func(line string) bool { return strings.Contains(line, pairing.Placeholder) })
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
	l := &sessiontest.Log{Agent: "gen/1"}
	signed := sessiontest.Call("a", "read")
	signed.ThoughtSignature = []byte("s1")
	l.Turn(&genai.Part{Text: "hm", Thought: true}, signed, sessiontest.Call("b", "read")).
		Tool(sessiontest.Result("a", "read", "1"), sessiontest.Result("b", "read", "2"))
	r := NewCompiler().Compile(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	require.Same(t, l.Events[0].Content, r.Contents[1], "shared, not copied")
	require.Same(t, l.Events[1].Content, r.Contents[2])
}

func TestCompileHeals(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "gen/1"}
	l.Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "run")).Tool(sessiontest.Result("b", "run", "2"), sessiontest.Result("zz", "read", "?")).
		Steer("stop").Tool(sessiontest.Result("a", "read", "late")).Turn(sessiontest.Call("c", "run")).User("new work").Turn(sessiontest.Say("one")).Turn(sessiontest.Say("two"))
	r := NewCompiler().Compile(Input{Agent: "gen/1", Events: l.Events})
	sessiontest.CheckRequest(t, r.Contents)
	require.Equal(t, content.Opening, r.Contents[0].Parts[0].Text)
	require.Equal(t, []*genai.Part{sessiontest.Result("a", "read", "late"), sessiontest.Result("b", "run", "2"), sessiontest.Say("stop")}, r.Contents[2].Parts)
	require.Equal(t, pairing.Placeholder, r.Contents[4].Parts[0].FunctionResponse.Response["result"])
	require.Equal(t, "new work", r.Contents[4].Parts[1].Text)
	require.Equal(t, []string{"one", "two"}, sessiontest.Texts(r.Contents[5].Parts))
	require.Equal(t, []string{
		`event e2: merged with 1 later events of results of the same calls`,
		`event e2: the result of call "zz" was left out: no call before it`,
		`event e5: call "c" was never answered: its result is a placeholder`,
	}, r.Trace[4].Notes)
}

func TestCompileNone(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "plan/1"}
	l.Brief("Task: plan").User("old").Turn(sessiontest.Say("old answer")).User("new").Turn(sessiontest.Call("c", "ask")).
		Steer("hint").Nudge("hurry").Tool(sessiontest.Result("c", "ask", "y"))
	compile := func(events []contextscope.Event) contextscope.Request {
		r := NewCompiler().Compile(Input{Agent: "plan/1", Include: spec.IncludeNone, Events: events})
		sessiontest.CheckRequest(t, r.Contents)
		return r
	}
	require.Equal(t, []string{"e4", "e5", "e8", "e6", "e7"}, compile(l.Events).Trace[4].Events,
		"steering and reminders start no turn")
	require.Len(t, compile(l.Events[:3]).Trace[4].Events, 2)
	l.User("are you there?").Tool(sessiontest.Result("c", "ask", "z"))
	require.Contains(t, compile(l.Events).Trace[4].Events, "e5", "a late result brings the turn of its call")
	worker := (&sessiontest.Log{Agent: "gen/1"}).Brief("Task: gen").Turn(sessiontest.Say("a")).Steer("b").Turn(sessiontest.Say("c"))
	require.Equal(t, []string{"e2", "e3", "e4"}, compile(worker.Events).Trace[4].Events, "the brief began the turn")
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
			l := (&sessiontest.Log{Agent: "x/1"}).Turn(sessiontest.Say(fmt.Sprintf("number %d", i)))
			for range 50 {
				slice := slice.Build(slice.Input{Include: spec.IncludeFull, Dispatcher: l.Events})
				r := compiler.Compile(Input{Slice: slice, Narrative: narrative.Plain})
				if got := r.Contents[0].Parts[2].Text; got != fmt.Sprintf("[x/1] said: number %d", i) {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}
