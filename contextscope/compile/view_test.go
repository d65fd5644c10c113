package compile

import (
	"encoding/json"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/narrative"
	"divisi/contextscope/pairing"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

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

// oldHistory is the pairing that a transcript must come to, written down naively: all of it, from the start.
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

// However the events come in, the request is the same, and it is what the pairing of everything gives.
func TestViewIsTheSameHoweverEventsCome(t *testing.T) {
	t.Parallel()
	compiler := NewCompiler()
	rapid.Check(t, func(t *rapid.T) {
		in, events := drawInput(t), sessiontest.DrawEvents(t, "gen/1")
		before := textOf(t, events)
		steps := compiler.View(in)
		for n := range len(events) + 1 {
			if n > 0 {
				steps.Append(events[n-1])
			}
			if rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
				continue
			}
			tail := drawTail(t)
			request := steps.Compile(tail)
			sessiontest.CheckRequest(t, request.Contents)
			got, tokens := textOf(t, request), steps.Tokens()

			in.Events = events[:n]
			at1 := compiler.View(in)
			require.Equal(t, got, textOf(t, at1.Compile(tail)), "opened on %d events", n)
			require.Equal(t, tokens, at1.Tokens())
			anew := compiler.View(in)
			anew.own.stale, anew.own.usage = true, steps.own.usage
			require.Equal(t, got, textOf(t, anew.Compile(tail)), "paired anew, after %d events", n)
			require.Equal(t, got, textOf(t, steps.Compile(tail)), "compiling changes nothing")
		}
		require.Equal(t, before, textOf(t, events), "the events are not touched")
	})
}

func TestViewGivesWhatThePairingGives(t *testing.T) {
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
