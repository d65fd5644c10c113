// Package redact removes the output of commands, gates and tools from the log of a run for viewers. Its input are the events of
// one run in their order, its output the same events with what is listed here as harmless, and nothing else: a kind or a field
// that is not listed is left out. It reads no log and sends nothing.
//
//	event ──▶ its envelope (whose it is, when, its kind) ──▶ kept
//	      ├─▶ data: the fields that the table of its kind names ──▶ kept, masked, cut to their head, or Hidden
//	      └─▶ content: what a model or a person says ──▶ kept; what a tool answers, or is put to a model ──▶ Hidden
package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Hidden stands where a viewer is shown no text.
const Hidden = "(not shown to viewers)"

// Redactor conceals the events of one run. It is used by one goroutine.
type Redactor struct {
	run string
	// secret keys the masks: without it no guess can be tried against a mask.
	secret []byte
	// keys are the public ones of the workers, as the events that the redactor has seen tell.
	keys map[string][]byte
}

// New returns the redactor of a run. The masks of two redactors are the same where their secrets are.
func New(run string, secret []byte) *Redactor { return &Redactor{run: run, secret: secret} }

// Learn takes the keys of workers from an event, which Event does too: a redactor that begins in the middle of a log has to know
// those before.
func (v *Redactor) Learn(e *contextscope.Event) {
	var d struct {
		Spec *struct {
			Keys map[string][]byte `json:"keys"`
		} `json:"spec"`
		Keys map[string][]byte `json:"keys"`
	}
	if e.Kind != contextscope.KindRun || json.Unmarshal(e.Data, &d) != nil {
		return // no fold reads keys from what cannot be read
	}
	if d.Spec != nil {
		v.keys = d.Spec.Keys
	}
	if d.Keys != nil {
		v.keys = d.Keys
	}
}

// Signed reports whether an event has receipts that a worker can have signed: their signatures are checked with the keys.
func Signed(e *contextscope.Event) bool {
	return e.Kind == contextscope.KindReceipt || e.Kind == contextscope.KindResult
}

// Event is an event as a viewer is shown it.
func (v *Redactor) Event(e contextscope.Event) contextscope.Event {
	v.Learn(&e)
	out := contextscope.Event{
		V: e.V, ID: e.ID, Run: e.Run, Task: e.Task, Attempt: e.Attempt, Agent: e.Agent, Role: e.Role, Worker: e.Worker,
		Seq: e.Seq, Pos: e.Pos, Time: e.Time, Kind: e.Kind, Author: e.Author, Content: shown(&e),
	}
	if len(e.Data) > 0 {
		out.Data = v.data(e.Kind, e.Data)
	}
	return out
}

// data returns the visible data of an event. What cannot be read is nothing.
func (v *Redactor) data(kind contextscope.Kind, data []byte) json.RawMessage {
	var x any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&x) != nil {
		return nil
	}
	s, known := shapes[kind]
	if !known {
		s = object("", nil)
	}
	out, err := json.Marshal(s(v, x))
	if err != nil {
		return nil
	}
	return out
}

// mask stands for a text: it is the same for the same text, and tells nothing of it.
func (v *Redactor) mask(text string) string {
	h := hmac.New(sha256.New, v.secret)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// receipt returns the visible part of a gate's result. The fold of a viewer takes a receipt with a signature for one that its
// worker has signed: of one that is not, or not by a worker of the run, no signature is left. What is left cannot be checked with
// a key, so that no output can be guessed and then found to be the one that was signed.
func (v *Redactor) receipt(x any) any {
	out, ok := receipts(v, x).(map[string]any)
	if !ok {
		return nil
	}
	var r spec.Receipt
	data, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && wire.Verify(v.run, v.keys, r) == nil {
		sum := sha256.Sum256(r.Signature)
		out["signature"] = sum[:]
	}
	return out
}

// head is a sentence of the conductor up to where it quotes another text: those follow a colon or a quote, or are lines of their
// own.
func head(text string) string {
	at := strings.IndexAny(text, ":\"\n")
	if at < 0 {
		return text
	}
	return strings.TrimSpace(text[:at]) + ": " + Hidden
}

// harmless are the classes of faults whose message is Divisi's alone: it names limits, files and people.
var harmless = map[string]bool{
	wire.FaultTurns: true, wire.FaultTokens: true, wire.FaultTime: true, wire.FaultIdle: true, wire.FaultCall: true,
	wire.FaultToolCalls: true, wire.FaultWriteSet: true, wire.FaultBudget: true, wire.FaultConflict: true,
	wire.FaultTooBig: true, wire.FaultForeign: true, wire.FaultOutdated: true,
}

// because is the reason of a task's state; fault is that of the same event, nil for none.
func because(reason string, fault map[string]any) string {
	class, _ := fault["class"].(string)
	message, _ := fault["message"].(string)
	switch {
	case fault == nil:
		return head(reason)
	case harmless[class]:
		return reason
	case message != "" && strings.HasPrefix(reason, message):
		return class + ": " + Hidden
	}
	return head(reason)
}

// tells reports whether the notices of a run event quote what gates and setup printed: those that come with what they found.
func tells(d map[string]any) bool {
	for _, name := range []string{"baseline", "other", "known", "outage", "flaky", "names", "final"} {
		if d[name] != nil {
			return true
		}
	}
	state, _ := d["state"].(string)
	return state != "" && run.Status(state) != run.Created
}
