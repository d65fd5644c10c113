package sessiontest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"divisi/contextscope"

	"google.golang.org/genai"
)

// Log builds a session; each event is numbered from 1.
type Log struct {
	Agent  string
	Events []contextscope.Event
}

func (l *Log) add(kind contextscope.Kind, author, role string, parts ...*genai.Part) *Log {
	n := len(l.Events) + 1
	l.Events = append(l.Events, contextscope.Event{
		V: contextscope.EventVersion, ID: "e" + strconv.Itoa(n), Seq: n, Agent: l.Agent, Kind: kind, Author: author,
		Content: &genai.Content{Role: role, Parts: parts},
	})
	return l
}

// Turn adds a model's turn.
func (l *Log) Turn(parts ...*genai.Part) *Log {
	return l.add(contextscope.KindTurn, l.Agent, genai.RoleModel, parts...)
}

// Tool adds results.
func (l *Log) Tool(parts ...*genai.Part) *Log {
	return l.add(contextscope.KindTool, l.Agent, genai.RoleUser, parts...)
}

// User adds a message that starts a turn.
func (l *Log) User(text string) *Log {
	return l.add(contextscope.KindUser, "user", genai.RoleUser, Say(text))
}

// Steer adds a message to the running agent.
func (l *Log) Steer(text string) *Log {
	return l.add(contextscope.KindSteering, "user", genai.RoleUser, Say(text))
}

// Nudge adds a reminder by the runtime.
func (l *Log) Nudge(text string) *Log {
	return l.add(contextscope.KindControl, "conductor", genai.RoleUser, Say(text))
}

// Brief adds the task.
func (l *Log) Brief(text string) *Log {
	return l.add(contextscope.KindBrief, "conductor", genai.RoleUser, Say(text))
}

// Say is a part with words.
func Say(text string) *genai.Part { return &genai.Part{Text: text} }

// Think is a signed thought.
func Think(text string) *genai.Part {
	return &genai.Part{Text: text, Thought: true, ThoughtSignature: []byte("s")}
}

// Call is a call with one argument.
func Call(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: map[string]any{"n": id}}}
}

// Result is a result with an output.
func Result(id, name, value string) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{"output": value}}}
}

// IDs lists the ids of events.
func IDs(events []contextscope.Event) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

// JSON writes the data of an event.
func JSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Texts lists the texts of parts.
func Texts(parts []*genai.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}

// Work adds a turn with a call, and its result.
func (l *Log) Work(i, size int) *Log {
	id := fmt.Sprintf("c%d", i)
	l.Turn(Say("looking at it"), Call(id, "read")).Tool(Result(id, "read", strings.Repeat("x", size)))
	return l
}

// Session is a log of so many events, each turn with a call and its result.
func Session(agent string, n, size int) *Log {
	l := &Log{Agent: agent}
	for i := 0; len(l.Events) < n; i++ {
		l.Work(i, size)
	}
	for i := range l.Events {
		l.Events[i].Seq = i + 1
	}
	return l
}

// Data adds an event that has data and no content.
func (l *Log) Data(kind contextscope.Kind, v any) *Log {
	l.add(kind, "", "")
	e := &l.Events[len(l.Events)-1]
	e.Content, e.Data = nil, JSON(v)
	return l
}
