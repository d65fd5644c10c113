package compile

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// turnMark is a turn of the history: where it stands in the request, and the events of its results.
type turnMark struct {
	// content is the place of the model's content in the request; the next one holds the results.
	content int
	src     int
	results []int
	// seen is how many turns came before the newest of its results.
	seen int
}

// sweep takes the results of old turns out of the history, the oldest first: a turn's when more than age turns came after
// its results.
type sweep struct {
	name string
	age  int
	// drops says which tools' results go.
	drops func(tool string) bool
	// next is the first turn that has not come to its age; it holds the later ones up, so that the order is that of turns.
	next int
	// done are the ids of the events with results that went.
	done []string
}

// sweeps are those that a role's rules ask for.
func sweeps(dropTools []string, dropAfter int) []*sweep {
	var out []*sweep
	if len(dropTools) > 0 {
		out = append(out, &sweep{
			name: "drop_tools", drops: func(tool string) bool { return slices.Contains(dropTools, tool) },
		})
	}
	if dropAfter > 0 {
		out = append(out, &sweep{name: "drop_after", age: dropAfter, drops: func(string) bool { return true }})
	}
	return out
}

func (s *sweep) reset() { s.next, s.done = 0, s.done[:0] }

// run sweeps what has come to its age by now; never the newest turn, which can still get results.
func (s *sweep) run(t *transcript) {
	for ; s.next < len(t.marks)-1; s.next++ {
		m := &t.marks[s.next]
		if len(t.turns)-m.seen <= s.age {
			return
		}
		if len(m.results) == 0 {
			continue
		}
		c, changed := compaction.MaskContent(t.contents[m.content+1], func(part *genai.Part) (*genai.Part, bool) {
			src, original := t.originOf(m, part)
			if src < 0 || !s.drops(part.FunctionResponse.Name) {
				return part, false
			}
			s.note(t.label(src))
			m := compaction.Mask(original, t.events[src].Seq, 0)
			t.made[m] = Origin{Processor: s.name, Event: t.label(src)}
			return m, true
		})
		if changed {
			t.replace(m.content+1, c)
		}
	}
}

func (s *sweep) note(id string) {
	if n := len(s.done); n == 0 || s.done[n-1] != id {
		s.done = append(s.done, id)
	}
}

func (s *sweep) trace() contextscope.Trace {
	what := fmt.Sprintf("results of %d events are shown as handles", len(s.done))
	if s.age > 0 {
		what += fmt.Sprintf(": they are more than %d turns old", s.age)
	} else {
		what += ": a turn has seen them"
	}
	return contextscope.Trace{Processor: s.name, What: what, Events: s.done[:len(s.done):len(s.done)]}
}

// originOf finds the event of a turn's result, with the part as it came; -1 for a placeholder.
func (t *transcript) originOf(m *turnMark, part *genai.Part) (int, *genai.Part) {
	key := content.ResponseKey(part.FunctionResponse)
	for _, src := range slices.Backward(m.results) {
		for _, p := range t.events[src].Content.Parts {
			if p != nil && p.FunctionResponse != nil && content.ResponseKey(p.FunctionResponse) == key {
				return src, p
			}
		}
	}
	return -1, nil
}

// lastTurns is where the newest n turns begin: after the turn before them. Zero n takes everything.
func (t *transcript) lastTurns(n int) int {
	if n <= 0 || len(t.turns) <= n {
		return 0
	}
	return t.turns[len(t.turns)-n-1] + 1
}

// lastTrace says what the rule of the newest turns left out.
func (t *transcript) lastTrace() contextscope.Trace {
	gone := max(0, len(t.turns)-t.in.Role.Context.Last)
	what := fmt.Sprintf("the newest %d turns; %d older ones are left out, steering stays", t.in.Role.Context.Last, gone)
	return contextscope.Trace{Processor: "last", What: what}
}
