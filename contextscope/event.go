package contextscope

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// Kind is the kind of an event. The set is closed and versioned.
type Kind string

// EventVersion is the format of logs that this program writes, and the only one that it reads.
const EventVersion = 4

// The kinds of event. The first block is written by agents, the second by the conductor.
const (
	KindStarted    Kind = "started"    // a delivery of an attempt began (wire.Started)
	KindBrief      Kind = "brief"      // the task as it was put to the agent (content: user)
	KindUser       Kind = "user"       // a person's or the conductor's message that starts a turn (content: user)
	KindTurn       Kind = "turn"       // a model's answer, verbatim (content: model)
	KindCalls      Kind = "calls"      // how the states of a turn's calls changed (wire.Calls)
	KindRequest    Kind = "request"    // what an agent asks of the conductor: delegate, transfer, ask, scope (wire.Request)
	KindTool       Kind = "tool"       // all results of a turn's calls, in call order (content: user)
	KindSteering   Kind = "steering"   // a message to a running agent (content: user)
	KindControl    Kind = "control"    // a reminder or nudge by the runtime (content: user)
	KindError      Kind = "error"      // a discarded turn or a failed call (spec.Fault)
	KindCompaction Kind = "compaction" // a snapshot that stands for a range
	KindUsage      Kind = "usage"      // what a call cost (spec.Usage)
	KindProgress   Kind = "progress"   // what an agent is doing (wire.Progress)
	KindReceipt    Kind = "receipt"    // one gate run (spec.Receipt)
	KindResult     Kind = "result"     // the end of an attempt (spec.Result)

	KindRun     Kind = "run"     // a run's transition (run.Data)
	KindPlan    Kind = "plan"    // an expanded plan (run.PlanData)
	KindTask    Kind = "task"    // a task's transition (run.TaskData)
	KindAnswer  Kind = "answer"  // what became of an agent's request (wire.Answer)
	KindLanding Kind = "landing" // a batch that moved the integration branch (run.LandingData)
	KindPull    Kind = "pull"    // a pull request of the run, before and after writes to its forge (run.PullData)

	// KindUnreadable is never stored: it stands for an event that its reader could not read (wire.Unreadable).
	KindUnreadable Kind = "unreadable"
)

// OfConductor lists the kinds that the conductor writes, and no agent.
var OfConductor = []Kind{KindRun, KindPlan, KindTask, KindLanding, KindAnswer, KindPull}

// Event is one typed, immutable fact in a run's log.
type Event struct {
	V   int    `json:"v"`
	ID  string `json:"id"`
	Run string `json:"run"`
	// Task and Attempt name the agent's work; both are empty on the conductor's own events unless they concern a task.
	Task    string `json:"task,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Agent is task/attempt: the identity whose session this event belongs to. Empty for the conductor.
	Agent string `json:"agent,omitempty"`
	Role  string `json:"role,omitempty"`
	// Worker is the one on whose subject an agent's event is; set when read.
	Worker string `json:"worker,omitempty"`
	// Seq counts in its session from 1.
	Seq int `json:"seq"`
	// Pos is the position of the message that carried the event in the run's log; set when read.
	Pos  uint64    `json:"pos,omitempty"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Author is user, the identity of a person, conductor, or an agent's identity.
	Author string `json:"author"`
	// Content is the turn, exactly as genai marshals it, where the event is one.
	Content *genai.Content  `json:"content,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Read completes an event that was read from JSON: a call without arguments, and a result without content, is an empty object,
// which JSON has left out.
func (e *Event) Read() {
	if e.Content == nil {
		return
	}
	for _, p := range e.Content.Parts {
		if p != nil && p.FunctionCall != nil && p.FunctionCall.Args == nil {
			p.FunctionCall.Args = map[string]any{}
		}
		if p != nil && p.FunctionResponse != nil && p.FunctionResponse.Response == nil {
			p.FunctionResponse.Response = map[string]any{}
		}
	}
}

// handlePrefix begins the handle of an event.
const handlePrefix = "event:"

// EventHandle names an event of the agent's own session, for load_artifact.
func EventHandle(seq int) string { return handlePrefix + strconv.Itoa(seq) }

// ParseEventHandle reads what EventHandle wrote, and nothing else.
func ParseEventHandle(text string) (seq int, ok bool) {
	digits, ok := strings.CutPrefix(text, handlePrefix)
	if !ok {
		return 0, false
	}
	seq, err := strconv.Atoi(digits)
	return seq, err == nil && seq > 0 && strconv.Itoa(seq) == digits
}

// RenderEvent is an event as text, whole: what was said, calls with their arguments, and results with real line breaks.
// Thoughts are left out.
func RenderEvent(e Event) string {
	if e.Content == nil {
		return string(e.Data)
	}
	var pieces []string
	for _, p := range e.Content.Parts {
		if head, body := content.PartText(p); head != "" {
			pieces = append(pieces, head+"\n"+body)
		} else if body != "" {
			pieces = append(pieces, body)
		}
	}
	return strings.Join(pieces, "\n\n")
}
