package contextscope

import (
	"fmt"
	"sync"

	"google.golang.org/genai"
)

// background writes the narrated slice as one content: the same bytes for all siblings of one role. A slice is frozen,
// so it is narrated once and shared by every later request of the agent.
type background struct {
	mu sync.Mutex
	// narrated is the newest slice that was narrated here.
	narrated *narratedSlice
}

// narratedSlice is a slice as parts. first tells slices apart: events are immutable, so the same array is the same slice.
type narratedSlice struct {
	first  *Event
	count  int
	left   int
	record string
	fenced bool

	parts      []*genai.Part
	introduced bool
	trace      Trace
}

// Name implements processor.
func (*background) Name() string { return "background" }

// Process implements processor.
func (p *background) Process(st *state) {
	told := p.narrate(st)
	st.narrator.introduced = told.introduced
	st.trace(told.trace)
	if len(told.parts) == 0 {
		return
	}
	st.add(&genai.Content{Role: genai.RoleUser, Parts: told.parts})
	st.req.SharedParts = len(told.parts)
}

func (p *background) narrate(st *state) *narratedSlice {
	key := narratedSlice{
		count: len(st.in.Slice.Events), left: st.in.Slice.Left, record: st.in.Slice.DecisionRecord, fenced: st.narrator.fenced,
	}
	if key.count > 0 {
		key.first = &st.in.Slice.Events[0]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.narrated; k != nil && k.first == key.first && k.count == key.count && k.left == key.left &&
		k.record == key.record && k.fenced == key.fenced {
		return k
	}
	key.tell(p.Name(), st.in.Slice)
	p.narrated = &key
	return &key
}

// tell narrates the slice: the decision record first, which holds for the reader, then what others did, which does not.
func (k *narratedSlice) tell(name string, s Slice) {
	k.trace = Trace{Processor: name, What: "nothing inherited"}
	if s.DecisionRecord != "" {
		k.parts = append(k.parts, &genai.Part{Text: recordText(s.DecisionRecord)})
		k.trace.What = "decision record"
	}
	n := &narrator{fenced: k.fenced}
	var told []*genai.Part
	for _, e := range s.Events {
		parts := n.parts(speaker(e), e.Content)
		if len(parts) == 0 {
			k.trace.Notes = append(k.trace.Notes, fmt.Sprintf("event %s was left out: nothing in it to tell", e.ID))
			continue
		}
		told = append(told, parts...)
		k.trace.Events = append(k.trace.Events, e.ID)
	}
	if s.Left > 0 {
		k.trace.Notes = append(k.trace.Notes, fmt.Sprintf("the oldest %d events were trimmed at dispatch", s.Left))
	}
	if len(told) > 0 {
		k.parts = append(k.parts, n.preamble(), &genai.Part{Text: upstreamText(s.Left)})
		k.parts = append(k.parts, told...)
		k.trace.What = fmt.Sprintf("%d events of other agents, narrated", len(k.trace.Events))
	}
	k.introduced = n.introduced
	k.trace.Parts, k.trace.Tokens = len(k.parts), (partsBytes(k.parts)+3)/4
}

func recordText(record string) string {
	return "Decision record. It is settled and holds for every task of this run:\n\n" + record
}

// upstreamText says whose doings follow; the plain style has no other place to say it.
func upstreamText(left int) string {
	text := "What follows was said and done by other agents before your task. " +
		"The tools named there were theirs and may not be yours."
	if left > 0 {
		text += fmt.Sprintf(" The oldest %d entries were left out.", left)
	}
	return text
}

// speaker is who an upstream event is told of: its agent for what the model did and got, its author otherwise.
func speaker(e Event) string {
	if e.Agent != "" && (e.Kind == KindTurn || e.Kind == KindTool) || e.Author == "" {
		return e.Agent
	}
	return e.Author
}
