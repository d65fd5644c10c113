package console

import (
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// tone says what a line is: it becomes a colour, and a bad line is shown at once also above the live part.
type tone int

const (
	plain tone = iota
	good
	warn
	bad
)

// line is one noteworthy event in words.
type line struct {
	text string
	tone tone
}

// linesOf says an event in words; one that is not worth a line of its own has none.
func linesOf(e *contextscope.Event) []line {
	var out []line
	add := func(l line) {
		if l.text = safe(l.text); l.text != "" {
			out = append(out, l)
		}
	}
	add(lineOf(e))
	if e.Kind == contextscope.KindRun {
		for _, n := range data[run.Data](e).Notices {
			add(line{"note: " + n, warn})
		}
	}
	return out
}

func lineOf(e *contextscope.Event) line {
	var l line
	switch e.Kind {
	case contextscope.KindRun:
		l = runLine(data[run.Data](e))
	case contextscope.KindPlan:
		l = planLine(data[run.PlanData](e))
	case contextscope.KindTask:
		l = taskLine(e, data[run.TaskData](e))
	case contextscope.KindLanding:
		l = landingLine(data[run.LandingData](e))
	case contextscope.KindReceipt:
		l = receiptLine(e, data[spec.Receipt](e))
	case contextscope.KindResult:
		l = resultLine(e, data[spec.Result](e))
	case contextscope.KindUnreadable:
		l = line{data[wire.Unreadable](e).Reason, bad}
	case contextscope.KindError:
		l = line{fmt.Sprintf("%s: %s", who(e), fault(data[spec.Fault](e))), warn}
	case contextscope.KindSteering:
		l = line{fmt.Sprintf("%s was told the message of %s: %s", who(e), data[wire.Steered](e).From, said(e)), plain}
	case contextscope.KindUser:
		if e.Agent == "" {
			l = line{fmt.Sprintf("%s writes to %s: %s", e.Author, e.Task, said(e)), plain}
		}
	case contextscope.KindControl:
		l = nudgeLine(e, data[wire.Nudge](e))
	case contextscope.KindProgress:
		l = waitLine(e, data[wire.Progress](e))
	case contextscope.KindRequest:
		l = requestLine(e, data[wire.Request](e))
	case contextscope.KindAnswer:
		l = answerLine(e, data[wire.Answer](e))
	case contextscope.KindStarted:
		if d := data[wire.Started](e); d.Delivery > 1 {
			l = line{fmt.Sprintf("%s goes on with worker %s (delivery %d)", who(e), d.Worker, d.Delivery), warn}
		}
	}
	return l
}

// who names an agent; the conductor's own tasks begin with two dashes, which say nothing to a person.
func who(e *contextscope.Event) string { return strings.TrimPrefix(e.Agent, "--") }

func said(e *contextscope.Event) string {
	var b strings.Builder
	if e.Content == nil {
		return ""
	}
	for _, p := range e.Content.Parts {
		b.WriteString(p.Text)
		b.WriteByte(' ')
	}
	return b.String()
}

func fault(f spec.Fault) string {
	if f.Class == "" {
		return f.Message
	}
	return f.Class + ": " + f.Message
}

func runLine(d run.Data) line {
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	l := line{tone: runTone(d)}
	if d.Spec != nil {
		add("goal: %s", d.Spec.Goal)
	}
	if d.State != "" {
		add("run is %s%s", d.State, because(d.Reason))
	}
	if d.Wait != nil && *d.Wait != "" {
		add("run is waiting for %s", *d.Wait)
	}
	if d.Approved {
		add("the plan was approved")
	}
	if d.Baseline != nil {
		add("baseline: %s", verdicts(d.Baseline))
	}
	if d.Unverified != "" && !d.State.Ended() {
		add("unverified: %s", d.Unverified)
	}
	if d.Final != nil {
		add("final gates: %s", verdicts(d.Final))
	}
	if d.Budget != nil {
		add("budget is now %s tokens", tokens(*d.Budget))
	}
	if d.Epoch > 1 {
		add("conductor %d took over", d.Epoch)
	}
	if d.Ref != "" {
		what := ""
		if d.Unverified != "" {
			what = "unverified "
		}
		add("published %s%s", what, d.Ref)
	}
	l.text = strings.Join(say, "; ")
	return l
}

func runTone(d run.Data) tone {
	for _, r := range d.Final {
		if r.Verdict == spec.VerdictFail {
			return bad
		}
	}
	switch {
	case d.State == run.Done:
		return good
	case d.State == run.Parked:
		return bad
	case d.State.Ended(), d.Unverified != "", d.Wait != nil && *d.Wait != "":
		return warn
	default:
		return plain
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func verdicts(list []spec.Receipt) string {
	var say []string
	for _, r := range list {
		say = append(say, r.Gate+" "+r.Verdict)
	}
	if len(say) == 0 {
		return "no gates"
	}
	return strings.Join(say, ", ")
}

func planLine(d run.PlanData) line {
	say := fmt.Sprintf("plan: %s from %s", plural(len(d.Tasks), "task"), d.By)
	if len(d.Overlaps) > 0 {
		say += ", " + plural(len(d.Overlaps), "overlap")
	}
	if d.Ceiling > 0 {
		say += fmt.Sprintf(", at most %s tokens", tokens(d.Ceiling))
	}
	for _, n := range d.Notes {
		say += "; " + n
	}
	return line{say, plain}
}

func taskLine(e *contextscope.Event, d run.TaskData) line {
	why := because(d.Reason)
	if d.Fault != nil {
		why = because(fault(*d.Fault))
	}
	switch d.State {
	case run.TaskParked:
		return line{e.Task + " is parked" + why, bad}
	case run.TaskUnverified:
		return line{e.Task + " is unverified" + why, warn}
	case run.TaskPending:
		if d.Fault == nil {
			return line{e.Task + " is pending" + why, plain}
		}
		return line{e.Task + " goes back" + why, warn}
	case run.TaskRunning, run.TaskVerifying:
		if d.Dispatch != nil {
			return line{fmt.Sprintf("%s is %s (%s, attempt %d)", e.Task, d.State, d.Dispatch.Role, d.Dispatch.Attempt), plain}
		}
	case run.TaskDone, run.TaskLanded, run.TaskProven:
		return line{fmt.Sprintf("%s is %s%s", e.Task, d.State, why), good}
	}
	return line{fmt.Sprintf("%s is %s%s", e.Task, d.State, why), plain}
}

func landingLine(d run.LandingData) line {
	var names []string
	for _, t := range d.Tasks {
		names = append(names, t.Task)
	}
	if n := len(names); n > 6 {
		names = append(names[:6:6], fmt.Sprintf("and %d more", n-6))
	}
	state := d.State
	if d.Unverified != "" {
		state += " unverified"
	}
	l := line{text: fmt.Sprintf("batch %d %s: %s", d.Batch, state, strings.Join(names, ", "))}
	switch d.State {
	case run.LandingLanded:
		if l.tone = good; d.Unverified != "" {
			l.tone = warn
		}
	case run.LandingRed:
		l.tone = bad
	case run.LandingSplit:
		l.tone = warn
	}
	return l
}

// nudgeLine tells of an agent that reached a limit or repeats itself; what else the runtime says to it is no news.
func nudgeLine(e *contextscope.Event, n wire.Nudge) line {
	switch n.Reason {
	case wire.ReasonLimit:
		return line{fmt.Sprintf("%s has one turn left to hand in: %s", who(e), n.Class), warn}
	case wire.ReasonLoop:
		return line{fmt.Sprintf("%s repeats itself: %s", who(e), n.Detail), warn}
	}
	return line{}
}

// waitLine tells what an agent's model is waited for, once: of the tries that follow the live part tells.
func waitLine(e *contextscope.Event, p wire.Progress) line {
	if w := p.Wait; w != nil && w.Try <= 2 {
		return line{who(e) + ": " + w.String(), warn}
	}
	return line{}
}

// receiptLine tells of red gates only: green ones are in the bars.
func receiptLine(e *contextscope.Event, r spec.Receipt) line {
	if r.Verdict == spec.VerdictPass || r.Verdict == spec.VerdictBaseline {
		return line{}
	}
	say := fmt.Sprintf("%s: gate %s: %s", who(e), r.Gate, r.Verdict)
	if r.TimedOut {
		say += ", timed out"
	}
	if n := len(r.Signatures); n > 0 {
		say += fmt.Sprintf(" (%s: %s)", plural(n, "failure"), strings.Join(r.Signatures[:min(n, 3)], ", "))
	}
	return line{say, warn}
}

// resultLine tells of failures only: what went well is told by the task's next state.
func resultLine(e *contextscope.Event, r spec.Result) line {
	if r.Status == spec.StatusDone || r.Status == "" {
		return line{}
	}
	if e.Task == run.BaselineTask && len(r.Receipts) > 0 {
		return line{} // red before is nobody's failure; the run's next state tells it
	}
	why := ""
	if r.Error != nil {
		f := *r.Error
		if f.Class == string(r.Status) {
			f.Class, f.Message = "", strings.TrimPrefix(strings.TrimPrefix(f.Message, f.Class), ": ")
		}
		why = because(fault(f))
	}
	return line{fmt.Sprintf("%s ended: %s%s", who(e), r.Status, why), warn}
}
