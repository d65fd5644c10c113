package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
)

// Unreadable is the data of an event of kind unreadable, which stands where an event of the log could not be read: every fold
// passes over it, and every view shows its reason.
type Unreadable struct {
	// Reason is a sentence that names the place and reports what is wrong.
	Reason string `json:"reason"`
	// Kind is the kind of the event, where that is known.
	Kind contextscope.Kind `json:"kind,omitempty"`
	// Lost is set where the store is damaged and what was there is lost.
	Lost bool `json:"lost,omitempty"`
}

// EncodeEvents writes the events of one message: a JSON array. It travels as Press leaves it.
func EncodeEvents(events []contextscope.Event) ([]byte, error) {
	data, err := json.Marshal(events)
	if err != nil {
		return nil, fmt.Errorf("encode %d events: %w", len(events), err)
	}
	return data, nil
}

// DecodeEvents reads one message of the log; every event gets the message's position. What cannot be read, because it is damaged
// or of a newer schema than this program's, becomes an event of kind unreadable in its place, so that nothing is lost unseen
// and the others keep theirs. A message that is no array of events is one such event.
func DecodeEvents(m bus.Message) []contextscope.Event {
	if m.Lost != "" {
		e := Draft(contextscope.KindUnreadable, Unreadable{Reason: "the log is damaged: " + m.Lost, Lost: true})
		e.V, e.Pos, e.Time = contextscope.EventVersion, m.Pos, m.Time
		return []contextscope.Event{e}
	}
	data, err := loosen(m.Subject, m.Data)
	if err == nil && crowded(m.Subject, data) {
		err = fmt.Errorf("the message holds more than %d events", maxEvents)
	}
	if err != nil {
		return []contextscope.Event{Unread(m, contextscope.Event{}, err)}
	}
	var events []contextscope.Event
	if err := json.Unmarshal(data, &events); err != nil || events == nil {
		return decodeEach(m, data)
	}
	for i := range events {
		check(m, &events[i], nil)
	}
	return events
}

// decodeEach reads the events of a message one by one, because not all of them are sound.
func decodeEach(m bus.Message, data []byte) []contextscope.Event {
	var each []json.RawMessage
	err := json.Unmarshal(data, &each)
	if err == nil && each == nil {
		err = errors.New("the message holds no events")
	}
	if err != nil {
		return []contextscope.Event{Unread(m, contextscope.Event{}, err)}
	}
	events := make([]contextscope.Event, len(each))
	for i, raw := range each {
		err := json.Unmarshal(raw, &events[i]) // what is sound of it is read even so
		check(m, &events[i], err)
	}
	return events
}

// maxApart is how far the time of an agent's event may be from when the server stored it: a message has the events of seconds.
const maxApart = time.Minute

// check makes an event its subject's, and one that cannot be read, for which err may be the reason, unreadable.
func check(m bus.Message, e *contextscope.Event, err error) {
	e.Pos = m.Pos
	e.Read()
	attribute(m.Subject, e)
	// The clock of a worker is its claim; the server's is the one that all share.
	if apart := m.Time.Sub(e.Time).Abs(); e.Agent != "" && !m.Time.IsZero() && apart > maxApart {
		e.Time = m.Time
	}
	if err == nil && m.Subject != "" && e.Agent == m.Subject {
		err = errors.New("its subject is none that a run has")
	}
	if err == nil {
		err = fault(e)
	}
	if err != nil {
		*e = Unread(m, *e, err)
	}
}

// attribute makes an event that of whose subject it is on, which the bus has checked, whatever is in the event. It returns
// the kind that a subject of the conductor names.
func attribute(subject string, e *contextscope.Event) contextscope.Kind {
	switch part := strings.Split(subject, "."); {
	case len(part) == 4 && part[2] == "m": // as bus.ConductorSubject writes it
		e.Run, e.Agent, e.Worker = part[1], "", ""
		return contextscope.Kind(part[3])
	case bus.OfAttempt(subject):
		e.Run, e.Worker, e.Role, e.Task, e.Agent = part[1], part[3], part[4], part[5], part[5]+"/"+part[6]
		e.Attempt, _ = strconv.Atoi(part[6]) // it is a number
	case subject != "":
		e.Agent = subject // the conductor does not write there
	}
	return ""
}

// fault reports why this program cannot read an event that is sound JSON.
func fault(e *contextscope.Event) error {
	if e.V > contextscope.EventVersion {
		return fmt.Errorf("it has version %d, and this program reads up to %d", e.V, contextscope.EventVersion)
	}
	if e.Kind == "" {
		return errors.New("it has no kind")
	}
	conductors := slices.Contains(contextscope.OfConductor, e.Kind)
	payload, known := payloads[e.Kind]
	var into any
	if payload != nil {
		into = payload()
	}
	switch {
	case !known && !conductors:
		return fmt.Errorf("it is of the kind %.40q, which this program does not know", e.Kind)
	case conductors && e.Agent != "":
		return errors.New("no agent writes events of this kind")
	case into == nil:
		return spec.Bounds(e)
	case len(e.Data) > 0:
		if err := json.Unmarshal(e.Data, into); err != nil {
			return err
		}
		return faultOfData(e, into)
	case e.Content == nil:
		return errors.New("it holds nothing")
	default:
		return nil
	}
}

// faultOfData reports why what a worker sent is not what it may send; nil for what cannot do harm.
func faultOfData(e *contextscope.Event, data any) error {
	if r, ok := data.(*spec.Result); ok && (r.Task != e.Task || r.Attempt != e.Attempt) {
		return fmt.Errorf("it says that it is of %.80s", AgentID(r.Task, r.Attempt))
	}
	if err := errors.Join(spec.Bounds(e), spec.Bounds(data)); err != nil {
		return err
	}
	checked, ok := data.(interface{ Validate() []spec.Problem })
	if !ok {
		return nil
	}
	if problems := checked.Validate(); len(problems) > 0 {
		return fmt.Errorf("it is not well formed: %s", problems[0].String())
	}
	return nil
}

// payloads make room for the data of an event of an agent by its kind: nil where it has no data.
var payloads = map[contextscope.Kind]func() any{
	contextscope.KindStarted:    empty[Started],
	contextscope.KindTurn:       empty[Turn],
	contextscope.KindTool:       empty[Tooled],
	contextscope.KindCalls:      empty[Calls],
	contextscope.KindRequest:    empty[Request],
	contextscope.KindSteering:   empty[Steered],
	contextscope.KindControl:    empty[Nudge],
	contextscope.KindError:      empty[spec.Fault],
	contextscope.KindCompaction: empty[contextscope.Compaction],
	contextscope.KindUsage:      empty[Spent],
	contextscope.KindProgress:   empty[Progress],
	contextscope.KindReceipt:    empty[spec.Receipt],
	contextscope.KindResult:     empty[spec.Result],
	contextscope.KindBrief:      nil,
	contextscope.KindUser:       nil,
}

func empty[T any]() any { return new(T) }

// Unread makes the event that stands for one that could not be read, from what is legible of it. Whose it is says the message's
// subject.
func Unread(m bus.Message, legible contextscope.Event, why error) contextscope.Event {
	e := contextscope.Event{
		V: contextscope.EventVersion, ID: legible.ID, Run: legible.Run, Task: legible.Task, Attempt: legible.Attempt,
		Agent: legible.Agent, Role: legible.Role, Seq: max(0, legible.Seq), Pos: m.Pos, Time: legible.Time,
		Kind: contextscope.KindUnreadable, Author: legible.Author,
	}
	kind, whose := cmp.Or(attribute(m.Subject, &e), legible.Kind), "the conductor"
	if e.Agent != "" {
		whose = e.Agent
	}
	if e.Time.IsZero() {
		e.Time = m.Time
	}
	what := strings.TrimSpace(string(kind) + " " + e.ID)
	if what != "" {
		what += " "
	}
	verdict := "could not be read"
	if errors.As(why, new(*ForeignError)) {
		verdict = "does not count"
	}
	data, err := json.Marshal(Unreadable{
		Reason: fmt.Sprintf("event at %d %s: %v (%sof %s)", m.Pos, verdict, why, what, whose), Kind: kind,
	})
	if err != nil {
		panic(fmt.Sprintf("marshal two strings: %v", err))
	}
	e.Data = data
	return e
}

// Draft makes an event of a kind with typed data; it panics on data that JSON cannot hold, which is a mistake of the caller.
func Draft(kind contextscope.Kind, data any) contextscope.Event {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("marshal the data of a %s event: %v", kind, err))
	}
	return contextscope.Event{Kind: kind, Data: raw}
}
