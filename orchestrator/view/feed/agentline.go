package feed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

const (
	maxArgs = 8   // arguments of a call in its line
	maxArg  = 120 // characters of one
)

// agentLine words an event of an agent or its worker.
func agentLine(e *contextscope.Event) Line {
	switch e.Kind {
	case contextscope.KindStarted:
		return startedLine(e, data[wire.Started](e))
	case contextscope.KindProgress:
		return progressLine(e, data[wire.Progress](e))
	case contextscope.KindUsage:
		return usageLine(data[wire.Spent](e))
	case contextscope.KindReceipt:
		return receiptLine(e, data[spec.Receipt](e))
	case contextscope.KindResult:
		return resultLine(e, data[spec.Result](e))
	case contextscope.KindError:
		return reported(e, Bad, fault(data[spec.Fault](e)))
	case contextscope.KindSteering:
		return of(e, Plain, "received the message of %s: %s", data[wire.Steered](e).From, said(e))
	case contextscope.KindControl:
		return nudgeLine(e, data[wire.Nudge](e))
	case contextscope.KindRequest:
		return requestLine(e, data[wire.Request](e))
	case contextscope.KindCalls:
		return Line{More: callStates(data[wire.Calls](e)), Fold: true}
	case contextscope.KindCompaction:
		return Line{More: "older turns were compacted", Fold: true}
	case contextscope.KindTurn:
		return Line{More: said(e), Tone: Plain}
	case contextscope.KindUser:
		if e.Agent == "" {
			return sentence(Plain, "%s writes to %s: %s", e.Author, e.Task, said(e))
		}
	}
	return Line{More: said(e)}
}

// of words the activity of an agent.
func of(e *contextscope.Event, tone Tone, format string, args ...any) Line {
	return Line{By: view.Name(e.Agent), Text: fmt.Sprintf(format, args...), Tone: tone}
}

// reported words an event about an agent.
func reported(e *contextscope.Event, tone Tone, what string) Line {
	return Line{By: view.Name(e.Agent) + ":", Text: what, Tone: tone}
}

func fault(f spec.Fault) string {
	if f.Class == "" {
		return f.Message
	}
	return f.Class + ": " + f.Message
}

// said is an event's content in words: its texts, calls and responses, without the model's thoughts.
func said(e *contextscope.Event) string {
	if e.Content == nil {
		return ""
	}
	var say []string
	for _, p := range e.Content.Parts {
		if s := partText(p); s != "" {
			say = append(say, s)
		}
	}
	return strings.Join(say, " ")
}

func partText(p *genai.Part) string {
	switch {
	case p == nil || p.Thought:
		return ""
	case p.FunctionCall != nil:
		return fmt.Sprintf("→ %s(%s)", p.FunctionCall.Name, arguments(p.FunctionCall.Args))
	case p.FunctionResponse != nil:
		return p.FunctionResponse.Name + ": " + arguments(p.FunctionResponse.Response)
	default:
		return p.Text
	}
}

// arguments writes a call's arguments; one alone needs no name.
func arguments(all map[string]any) string {
	var say []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, ok := all[name].(string)
		if !ok {
			value = spec.JSONText(all[name])
		}
		if value = text.Short(value, maxArg); len(all) > 1 {
			value = name + "=" + value
		}
		say = append(say, value)
	}
	return strings.Join(say[:min(len(say), maxArgs)], ", ")
}

// callStates writes the newest state of each call that changed.
func callStates(c wire.Calls) string {
	var order []int
	tools, states := map[int]string{}, map[int]wire.CallState{}
	for _, change := range c.Changes {
		if _, seen := states[change.Call]; !seen {
			order = append(order, change.Call)
		}
		tools[change.Call] = cmp.Or(change.Tool, tools[change.Call])
		states[change.Call] = change.State
	}
	say := make([]string, len(order))
	for i, n := range order {
		say[i] = fmt.Sprintf("%s %s", cmp.Or(tools[n], fmt.Sprintf("call %d", n+1)), states[n])
	}
	return strings.Join(say, ", ")
}

func startedLine(e *contextscope.Event, d wire.Started) Line {
	if d.Delivery > 1 {
		return of(e, Warn, "is given out again, to worker %s (delivery %d)", e.Worker, d.Delivery)
	}
	return Line{More: cmp.Or(e.Worker, "a worker") + " began", Tone: Plain, Fold: true}
}

func usageLine(u wire.Spent) Line {
	if u.Reserved != nil {
		return Line{More: fmt.Sprintf("asks %s, with %s tokens reserved", u.Model, text.Tokens(u.Reserved.Total())), Fold: true}
	}
	cached := ""
	if u.Cached > 0 {
		cached = fmt.Sprintf(" (%s cached)", text.Tokens(u.Cached))
	}
	said := fmt.Sprintf("%s in%s, %s out", text.Tokens(u.Prompt), cached, text.Tokens(u.Output+u.Thoughts))
	if u.Estimated {
		said += ", estimated"
	}
	return Line{More: said, Fold: true}
}

// nudgeLine words a limit that an agent reached, or that it repeats itself; other notes of the runtime are details.
func nudgeLine(e *contextscope.Event, n wire.Nudge) Line {
	switch n.Reason {
	case wire.ReasonLimit:
		return of(e, Warn, "has one turn left to submit its result: %s", n.Class)
	case wire.ReasonLoop:
		return of(e, Warn, "repeats itself: %s", n.Detail)
	case wire.ReasonJudged:
		if sure := cmp.Or(n.Second, n.Confidence); sure != nil {
			return Line{More: fmt.Sprintf("judged to be in a circle with %v: %s", *sure, n.Detail)}
		}
		return Line{More: "no judge could decide whether it makes progress"}
	case wire.ReasonStopped:
		if n.Class == wire.FaultForeign {
			return Line{More: "is left to another worker"}
		}
		if n.Class == wire.FaultMachine {
			return Line{More: "is left to another worker: the machine of this one lacks something"}
		}
		return Line{More: "stops here; it continues with the run"}
	case wire.ReasonMachine:
		return Line{More: "breaks off, and is not at fault: the machine lacks " + n.Lack()}
	case wire.ReasonTools:
		return Line{More: "the tools of its MCP servers are noted", Fold: true}
	default:
		return Line{More: said(e)}
	}
}

// progressLine words a wait for a model once: the live part shows the tries that follow.
func progressLine(e *contextscope.Event, p wire.Progress) Line {
	if w := p.Wait; w != nil && w.Try <= 2 {
		return reported(e, Warn, w.String())
	}
	return Line{More: p.Doing, Fold: true}
}

// receiptLine gives a terminal the red gates only: the bars show the green ones.
// failures are those of a receipt, the first new ones before the others, as the tool printed them.
func failures(r *spec.Receipt) []string {
	var shown []string
	for _, f := range r.Errors {
		shown = append(shown, gate.Shown(r, f.Signature))
	}
	for _, signature := range r.Signatures {
		if !slices.ContainsFunc(r.Errors, func(f spec.Finding) bool { return f.Signature == signature }) {
			shown = append(shown, signature)
		}
	}
	return shown
}

func receiptLine(e *contextscope.Event, r spec.Receipt) Line {
	say := fmt.Sprintf("gate %s: %s", r.Gate, r.Verdict)
	more := text.Span(r.Duration)
	if r.Tests > 0 {
		more += ", " + text.Count(r.Tests, "test")
	}
	if r.Since != "" {
		more += ", on what changed"
	}
	if r.Whole != "" {
		more += ", in full: " + r.Whole
	}
	if r.TimedOut {
		say += ", timed out"
	}
	if n := len(r.Signatures); n > 0 {
		say += fmt.Sprintf(" (%s: %s)", text.Count(n, "failure"), strings.Join(failures(&r)[:min(n, 3)], ", "))
	}
	if r.LetsThrough() {
		return Line{More: say + "; " + more, Tone: Good, Fold: true}
	}
	l := reported(e, Warn, say)
	if l.More = more; r.Verdict == spec.VerdictFail {
		l.Tone = Bad
	}
	return l
}

// resultLine gives a terminal the failures only: a success shows in the task's next state, a red baseline and a setup that
// fails in the run's.
func resultLine(e *contextscope.Event, r spec.Result) Line {
	why := ""
	if r.Error != nil {
		f := *r.Error
		if f.Class == string(r.Status) {
			f.Class, f.Message = "", strings.TrimPrefix(strings.TrimPrefix(f.Message, f.Class), ": ")
		}
		why = text.Because(fault(f))
	}
	more := handedIn(r)
	switch {
	case r.Status == spec.StatusDone:
		return Line{More: strings.Join(append([]string{"done"}, more...), "; "), Tone: Good}
	case r.Status == "", e.Task == run.FlakesTask && r.Status == spec.StatusCancelled, // a batch needs its place
		e.Task == run.SetupTask && run.FaultOf(&r).Class == wire.FaultSetup, run.FaultOf(&r).Class == wire.FaultForeign,
		slices.Contains([]string{run.BaselineTask, run.FlakesTask, run.AgainTask, run.HeadTask}, e.Task) && len(r.Receipts) > 0:
		return Line{More: strings.Join(append([]string{string(r.Status) + why}, more...), "; "), Tone: Plain}
	}
	l := of(e, Bad, "ended: %s%s", r.Status, why)
	l.Cause, l.More = strings.TrimPrefix(why, ": "), strings.Join(more, "; ")
	return l
}

// handedIn lists the parts of a result.
func handedIn(r spec.Result) []string {
	var say []string
	if p := r.Patch; p != nil {
		say = append(say, fmt.Sprintf("+%d −%d in %s", p.Added, p.Deleted, text.Count(len(p.Files), "file")))
	}
	if r.Plan != nil {
		say = append(say, "asks for "+text.Count(len(r.Plan.Tasks), "task"))
	}
	if s := r.Handoff.Summary; s != "" {
		say = append(say, s)
	}
	return say
}

// requestLine words a request of an agent to others. A question is urgent: a person may have to answer it.
func requestLine(e *contextscope.Event, q wire.Request) Line {
	switch q.Kind {
	case wire.RequestAsk:
		options := ""
		if len(q.Options) > 0 {
			options = fmt.Sprintf(" (%s)", strings.Join(q.Options, ", "))
		}
		l := of(e, Warn, "asks: %s%s", q.Question, options)
		l.Decide = true
		return l
	case wire.RequestWait:
		return Line{More: "waits for its tasks in the background"}
	case wire.RequestDelegate:
		return of(e, Plain, "asks for a %s: %s", q.Role, cmp.Or(q.Title, q.Brief))
	case wire.RequestTransfer:
		return of(e, Plain, "hands its task over to %s: %s", q.Role, q.Brief)
	case wire.RequestScope:
		return of(e, Plain, "asks to write %s: %s", strings.Join(q.Paths, ", "), q.Reason)
	case wire.RequestSend:
		return of(e, Plain, "writes to %s", q.Task)
	case wire.RequestRevise:
		return of(e, Plain, "revises %s: %s", q.Task, q.Brief)
	case wire.RequestCancel:
		return of(e, Plain, "cancels %s: %s", q.Task, q.Reason)
	}
	return Line{}
}
