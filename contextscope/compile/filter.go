package compile

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// sweep takes the results of old turns out of the history: a turn's when more than age turns came after its results.
type sweep struct {
	name string
	age  int
	// drops reports which tools' results go.
	drops func(tool string) bool
}

// sweep runs the sweeps that the role's rules ask for, and reports what each did.
func (t *transcript) sweep() []contextscope.Trace {
	var out []contextscope.Trace
	rules := &t.in.Role.Context
	if len(rules.DropTools) > 0 {
		drops := func(tool string) bool { return slices.Contains(rules.DropTools, tool) }
		out = append(out, sweep{name: "drop_tools", drops: drops}.run(t))
	}
	if rules.DropAfter > 0 {
		drops := func(string) bool { return true }
		out = append(out, sweep{name: "drop_after", age: rules.DropAfter, drops: drops}.run(t))
	}
	return out
}

// run never takes from the newest turn, which can still get results. The first turn that is too young holds the later ones up.
func (s sweep) run(t *transcript) contextscope.Trace {
	var done []string
	for i := 0; i < len(t.marks)-1 && len(t.turns)-t.marks[i].seen > s.age; i++ {
		m := &t.marks[i]
		if len(m.results) == 0 {
			continue
		}
		c, changed := compaction.MaskContent(t.contents[m.content+1], func(part *genai.Part) (*genai.Part, bool) {
			src, original := t.originOf(m, part)
			if src < 0 || !s.drops(part.FunctionResponse.Name) {
				return part, false
			}
			if id := t.label(src); len(done) == 0 || done[len(done)-1] != id {
				done = append(done, id)
			}
			m := compaction.Mask(original, t.events[src].Seq, 0)
			t.made[m] = Origin{Processor: s.name, Event: t.label(src)}
			return m, true
		})
		if changed {
			t.replace(m.content+1, c)
		}
	}
	what := fmt.Sprintf("results of %d events are shown as handles", len(done))
	if s.age > 0 {
		what += fmt.Sprintf(": they are more than %d turns old", s.age)
	} else {
		what += ": a turn has seen them"
	}
	return contextscope.Trace{Processor: s.name, What: what, Events: done}
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

// lastTrace reports what the rule of the newest turns left out.
func (t *transcript) lastTrace() contextscope.Trace {
	gone := max(0, len(t.turns)-t.in.Role.Context.Last)
	what := fmt.Sprintf("the newest %d turns; %d older ones are left out, steering stays", t.in.Role.Context.Last, gone)
	return contextscope.Trace{Processor: "last", What: what}
}
