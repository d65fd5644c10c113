package compile

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"divisi/contextscope"
	"divisi/contextscope/narrative"
	"divisi/contextscope/pairing"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"
)

// view is one agent's input, which a test changes between requests.
type view struct {
	*Compiler

	in Input
}

func open(in Input) *view { return &view{NewCompiler(), in} }

func (v *view) append(events ...contextscope.Event) { v.in.Events = append(v.in.Events, events...) }

func (v *view) compile(tail Tail) contextscope.Request {
	v.in.Tail = tail
	return v.Compile(v.in)
}

func (v *view) tokens() int { return v.Tokens(v.in) }

// drawInput draws an agent with everything that the history's form depends on.
func drawInput(t *rapid.T) Input {
	in := Input{
		Agent:   "gen/1",
		Include: rapid.SampledFrom([]spec.IncludeContents{"", spec.IncludeNone, spec.IncludeFull}).Draw(t, "include"),
		Window:  rapid.SampledFrom([]int{0, 100, 400, 1000, 1 << 20}).Draw(t, "window"),
	}
	if rapid.Bool().Draw(t, "task") {
		in.Brief = Brief{Task: spec.Task{ID: "gen"}, Inputs: []Handoff{{Task: "read", Handoff: spec.Handoff{Summary: "s"}}}}
	}
	rules := &in.Role.Context
	rules.Last = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "last")
	rules.DropTools = rapid.SampledFrom([][]string{nil, nil, {"grep"}}).Draw(t, "drop tools")
	rules.DropAfter = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "drop after")
	return in
}

func drawTail(t *rapid.T) Tail {
	if rapid.Bool().Draw(t, "no tail") {
		return Tail{}
	}
	return Tail{
		Recall:    []contextscope.Recalled{{Name: "n1", Text: "a note"}},
		Artifacts: []contextscope.Listed{{Handle: "a@1", Bytes: 7}, {Handle: "b@1"}},
		Loaded:    []Loaded{{Handle: "a@1", Text: narrative.QuoteEnd}},
		Values:    []Value{{Name: "turn", Text: "3"}},
		Reminders: []string{"be quick"},
	}
}

// oldHistory is the pairing that a history must come to, written down naively: all of it, from the start.
func oldHistory(in Input) []*genai.Content {
	pair := &pairing.Pairing{Label: func(int) string { return "" }}
	var items []pairing.Item
	for i := range in.Events {
		if it := ownItem(&in.Events[i], i, pair); it.Content != nil {
			items = append(items, it)
		}
	}
	items = pair.DropOrphans(items)
	if in.Include == spec.IncludeNone {
		if start := currentTurn(items, in.Events); start > 0 {
			items = items[start:]
		}
	}
	var d draft
	for _, it := range pair.Settle(pair.History(pair.DropOrphans(items))) {
		d.add(it.Content)
	}
	return d.contents
}

func textOf(t require.TestingT, v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(data)
}

// Whatever the history, the request is what the interface takes, the same input gives the same bytes, and nothing is touched.
func TestAnyHistoryCompiles(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Events, in.Tail = sessiontest.DrawEvents(t, "gen/1"), drawTail(t)
		before := textOf(t, in.Events)
		request, origins := compiler.Explain(in)
		sessiontest.CheckRequest(t, request.Contents)
		require.Len(t, origins, len(request.Contents))
		require.Equal(t, textOf(t, request), textOf(t, NewCompiler().Compile(in)))
		require.Equal(t, before, textOf(t, in.Events), "the events are not touched")
		in.Tail, in.Window = Tail{}, 0
		require.Equal(t, compiler.Compile(in).Tokens, compiler.Tokens(in))
	})
}

func TestHistoryIsWhatThePairingGives(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Agent: "gen/1", Include: rapid.SampledFrom([]spec.IncludeContents{spec.IncludeNone, spec.IncludeFull}).Draw(t, "i")}
		for _, e := range sessiontest.DrawEvents(t, "gen/1") {
			if e.Kind != contextscope.KindCompaction {
				in.Events = append(in.Events, e)
			}
		}
		want := oldHistory(in)
		got := compiler.Compile(in).Contents
		require.Len(t, got, len(want))
		if len(want) > 0 {
			require.Equal(t, textOf(t, want), textOf(t, got))
		}
	})
}
