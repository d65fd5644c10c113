// Package slice freezes what a task inherits from upstream. Its input are the decision record and the sessions of other agents;
// its output is a Slice, the same bytes under the same digest for all tasks of one dispatch. It never stores a slice and never
// reads a log.
package slice

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// sliceVersion is the version of the encoded form of a slice.
const sliceVersion = 1

// dispatchTool is the tool with which a master hands tasks out.
const dispatchTool = "dispatch"

// Slice is the frozen inheritance of a task from upstream, made at dispatch. The same slice has the same bytes and the same
// digest wherever it is encoded, so siblings share one object.
type Slice struct {
	// DecisionRecord is verbatim and never trimmed.
	DecisionRecord string
	// Events are the words, prompts and tool results of upstream agents, without thoughts and signatures.
	Events []contextscope.Event
	// Left counts the events that were trimmed, oldest first.
	Left int
}

// encodedSlice is the slice at rest.
type encodedSlice struct {
	V              int                  `json:"v"`
	DecisionRecord string               `json:"decision_record,omitempty"`
	Left           int                  `json:"left,omitempty"`
	Events         []contextscope.Event `json:"events,omitempty"`
}

// Encode returns the slice's bytes and their SHA-256 digest in hex. It fails only on contents that JSON cannot hold.
func (s Slice) Encode() ([]byte, string, error) {
	data, err := json.Marshal(encodedSlice{sliceVersion, s.DecisionRecord, s.Left, s.Events})
	if err != nil {
		return nil, "", fmt.Errorf("encode slice of %d events: %w", len(s.Events), err)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Slice, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var e encodedSlice
	if err := dec.Decode(&e); err != nil {
		return Slice{}, fmt.Errorf("decode slice: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Slice{}, fmt.Errorf("decode slice: more after its end, at byte %d", dec.InputOffset())
	}
	if e.V != sliceVersion {
		return Slice{}, fmt.Errorf("decode slice: version %d, want %d", e.V, sliceVersion)
	}
	for i := range e.Events {
		e.Events[i].Read()
	}
	return Slice{DecisionRecord: e.DecisionRecord, Events: e.Events, Left: e.Left}, nil
}

// Input is the input of a slice.
type Input struct {
	// Include none yields the decision record alone.
	Include        spec.IncludeContents
	DecisionRecord string
	// Dispatcher is the session of the agent that dispatched the task, or of the delegating agent; where several attempts
	// carried it on, all of theirs.
	Dispatcher []contextscope.Event
	// Call is the id of the call that dispatched the task: the session counts up to it, without it. Empty means the
	// newest call of dispatch; a session without one counts whole.
	Call string
	// Inputs are the accepted sessions of the tasks in `inputs`, in plan order; an input task/artifact brings none. The call
	// that ended each is left out, because the brief has what it handed over.
	Inputs [][]contextscope.Event
	// Last keeps the newest turns of each session; 0 keeps all.
	Last int
	// MaxTokens is the cap on the whole slice in estimated tokens (bytes/4); 0 means none.
	MaxTokens int
}

// Build freezes what a task inherits. Sessions are cut where every call has its result, and the whole is trimmed
// once, oldest first.
func Build(in Input) Slice {
	s := Slice{DecisionRecord: in.DecisionRecord}
	if in.Include != spec.IncludeFull {
		return s
	}
	upstream := contextscope.Session(in.Dispatcher).Numbered()
	if in.Call != "" {
		upstream = upstream.BeforeCall(in.Call)
	} else {
		upstream = upstream.Before(dispatchTool)
	}
	s.Events = frozen(s.Events, upstream, in.Last)
	for _, input := range in.Inputs {
		s.Events = frozen(s.Events, withoutEnd(input), in.Last)
	}
	return s.trimmed(in.MaxTokens)
}

// frozen appends what a session hands on: the newest snapshot stands for what it was made of.
func frozen(events []contextscope.Event, session contextscope.Session, last int) []contextscope.Event {
	for _, e := range compacted(session).Spoken().Closed().Last(last) {
		content := bare(e.Content)
		if content == nil {
			continue
		}
		events = append(events, contextscope.Event{
			V: e.V, ID: e.ID, Run: e.Run, Task: e.Task, Attempt: e.Attempt, Agent: e.Agent, Role: e.Role,
			Seq: e.Seq, Time: e.Time.Round(0).UTC(), Kind: e.Kind, Author: e.Author, Content: content,
		})
	}
	return events
}

// bare is a content without thoughts and signatures; nil when nothing visible is left.
func bare(c *genai.Content) *genai.Content {
	stripped := content.Keep(c, func(p *genai.Part) bool {
		return !p.Thought && (len(p.ThoughtSignature) == 0 || content.Visible(content.Unsigned(p)))
	})
	if stripped == nil || content.Empty(&genai.Content{Role: genai.RoleUser, Parts: stripped.Parts}) {
		return nil
	}
	parts := make([]*genai.Part, len(stripped.Parts))
	for i, p := range stripped.Parts {
		parts[i] = content.Unsigned(p)
	}
	return &genai.Content{Role: c.Role, Parts: parts}
}

// trimmed drops events, oldest first, until the rest fits. The decision record counts but is never cut.
func (s Slice) trimmed(maxTokens int) Slice {
	if maxTokens <= 0 {
		return s
	}
	room, keep := maxTokens-content.TokensOf(len(s.DecisionRecord)), len(s.Events)
	for keep > 0 && room >= content.Tokens(s.Events[keep-1].Content) {
		room -= content.Tokens(s.Events[keep-1].Content)
		keep--
	}
	if keep > 0 {
		kept := contextscope.Session(s.Events[keep:]).WithoutLeadingResults()
		s.Left, s.Events = len(s.Events)-len(kept), kept
	}
	return s
}

// compacted returns the session with its newest snapshot, as one event that its agent noted, in place of the events that it
// stands for; steering stays. Descendants inherit it, so that no model summarises the same events twice.
func compacted(s contextscope.Session) contextscope.Session {
	h := compaction.HorizonOf(s)
	if h.Snapshot == "" {
		return s
	}
	note := s[h.By]
	note.Author, note.Data = note.Agent, nil
	note.Content = genai.NewContentFromText(noted+h.Snapshot, genai.RoleModel)
	out := contextscope.Session{note}
	for i, e := range s {
		if e.Kind != contextscope.KindCompaction && (i >= h.Covered || e.Kind == contextscope.KindSteering) {
			out = append(out, e)
		}
	}
	return out
}

// noted opens a snapshot that another agent inherits.
const noted = "My notes on everything before this:\n"

// withoutEnd returns the session without the call with which its agent ended, and the result of that call; what it said with
// them stays.
func withoutEnd(s contextscope.Session) contextscope.Session {
	turn := s.LastTurn()
	out := slices.Clone(s)
	for i := max(0, turn); i < len(out); i++ {
		if out[i].Content == nil || out[i].Kind != contextscope.KindTurn && out[i].Kind != contextscope.KindTool {
			continue
		}
		out[i].Content = content.Keep(out[i].Content, func(p *genai.Part) bool {
			return (p.FunctionCall == nil || !ends(p.FunctionCall.Name)) &&
				(p.FunctionResponse == nil || !ends(p.FunctionResponse.Name))
		})
	}
	return slices.DeleteFunc(out, func(e contextscope.Event) bool { return e.Kind == contextscope.KindTurn && e.Content == nil })
}

// ends reports whether an agent ends with a tool, and hands over what the call holds.
func ends(tool string) bool { return tool == spec.ToolSubmitResult || tool == spec.ToolTransfer }
