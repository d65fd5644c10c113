package feed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Tone is how urgent a line is, the least first. A display makes it a colour.
type Tone int

// The tones. A quiet line is part of the work's detail; a bad one is a failure.
const (
	Quiet Tone = iota
	Plain
	Good
	Warn
	Bad
)

// String returns the tone's name.
func (t Tone) String() string { return [...]string{"quiet", "plain", "good", "warn", "bad"}[t] }

// Line is an event in words. Its texts may be foreign and long: a display makes them safe.
type Line struct {
	// By names the agent that Text is about; empty where Text is a whole sentence.
	By string
	// Text is empty where the event is not worth a line of a terminal.
	Text string
	// More is added by a display that has a row for every event.
	More string
	Tone Tone
	// Cause is the end of Text that reports why something failed; empty for other lines. Why is what a task was parked for beside
	// it.
	Cause string
	Why   string
	// Decide reports that the line is about a decision of a person.
	Decide bool
	// Fold reports that the event says nothing to a person by itself: it is a step of work that goes well, and the lines
	// around it tell more.
	Fold bool
}

// String returns the line without its details.
func (l Line) String() string {
	if l.By == "" {
		return l.Text
	}
	return l.By + " " + l.Text
}

func sentence(tone Tone, format string, args ...any) Line {
	return Line{Text: fmt.Sprintf(format, args...), Tone: tone}
}

// Lines words an event: a line for the event itself, then one for each notice in it.
func Lines(e *contextscope.Event) []Line {
	lines := []Line{lineOf(e)}
	if l := &lines[0]; l.Text == "" && l.More == "" {
		l.Fold, l.More = true, string(e.Kind)+" event: its fields have the details"
	}
	if e.Kind == contextscope.KindRun {
		for _, n := range data[run.Data](e).Notices {
			lines = append(lines, sentence(Warn, "note: %s", n))
		}
	}
	return lines
}

// data reads an event's data; data that does not fit its kind reads as empty.
func data[T any](e *contextscope.Event) T {
	var d T
	if json.Unmarshal(e.Data, &d) != nil {
		var none T
		return none
	}
	return d
}

func lineOf(e *contextscope.Event) Line {
	switch e.Kind {
	case contextscope.KindRun:
		return runLine(data[run.Data](e))
	case contextscope.KindPlan:
		return planLine(data[run.PlanData](e))
	case contextscope.KindTask:
		return taskLine(e, data[run.TaskData](e))
	case contextscope.KindLanding:
		return landingLine(data[run.LandingData](e))
	case contextscope.KindPull:
		return pullLine(data[run.PullData](e))
	case contextscope.KindUnreadable:
		return sentence(Bad, "%s", data[wire.Unreadable](e).Reason)
	case contextscope.KindAnswer:
		return answerLine(e, data[wire.Answer](e))
	default:
		return agentLine(e)
	}
}

func runLine(d run.Data) Line {
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	l := Line{Tone: runTone(d)}
	if d.Spec != nil {
		add("goal: %s", d.Spec.Goal)
	}
	if d.State != "" {
		add("run is %s%s", d.State, text.Because(d.Reason))
	}
	if d.Line != nil && *d.Line == "" {
		add("the line goes on")
	} else if d.Line != nil {
		add("the line is stopped: %s", *d.Line)
	}
	if d.Wait != nil && *d.Wait != "" {
		add("run is waiting for %s", *d.Wait)
	}
	if d.Decision != nil {
		add("%s", decisionLine(d.Decision))
	}
	if d.Standing != nil && d.Standing.Back != "" {
		add("the answer to %s stands for no other decision any more: %s", d.Standing.ID, text.Line(d.Standing.Back))
	}
	if d.Baseline != nil {
		add("baseline: %s", Verdicts(d.Baseline))
	}
	if d.Unverified != "" && !d.State.Ended() {
		add("unverified: %s", d.Unverified)
	}
	if d.Final != nil {
		add("final gates: %s", Verdicts(d.Final))
		if d.FirstRed > 0 {
			add("first red after batch %d", d.FirstRed)
		}
	}
	if d.Budget != nil {
		add("budget is now %s", d.Budget)
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
	l.Text = strings.Join(say, "; ")
	if d.Void != "" {
		l.More = strings.TrimPrefix(d.Void, "--") + " makes room for a batch, or for the end of the run"
	}
	if d.Dispatch != nil {
		l.More, l.Fold = strings.TrimPrefix(d.Dispatch.Task, "--")+" is on the queue", l.Text == ""
	}
	return l
}

// decisionLine words the outcome of a decision.
func decisionLine(d *run.Decided) string {
	a := d.Answer
	said := decision.By(a.Option, &a)
	if a.Text != "" {
		said += ": " + text.Line(a.Text)
	}
	if !a.NotBefore.IsZero() {
		said += "; held back until " + a.NotBefore.Local().Format(time.TimeOnly)
	}
	switch {
	case d.Kind == run.DecideAct && !d.Closed && d.Back == "":
		return fmt.Sprintf("%s asks for %s: %s", a.By, cmp.Or(strings.Join(text.Few(d.With, 6), ", "), d.About, "the run"), said)
	case d.Hold != nil:
		return fmt.Sprintf("template %s is held: %s", d.Hold.Template, d.Hold.Why())
	case d.Back != "":
		return fmt.Sprintf("the answer to %s does not count any more: %s", a.ID, text.Line(d.Back))
	case d.Closed && d.Kind == run.DecideUnread && len(d.With) > 0:
		return fmt.Sprintf("files that no gate reads: %s by %s for %s", said, a.By, strings.Join(text.Few(d.With, 6), ", "))
	case d.Closed && d.Kind == run.DecidePlan && a.Option == run.Yes:
		return "the plan was approved"
	case d.Closed && d.Kind == run.DecidePlan:
		return "the plan was sent back: " + text.Line(a.Text)
	case d.Closed:
		return fmt.Sprintf("the %s %s is decided by %s: %s", d.Kind, a.ID, a.By, said)
	default:
		return fmt.Sprintf("%s answers the %s %s: %s", a.By, d.Kind, a.ID, said)
	}
}

func runTone(d run.Data) Tone {
	for _, r := range d.Final {
		if r.Verdict == spec.VerdictFail {
			return Bad
		}
	}
	switch {
	case d.State == run.Done:
		return Good
	case d.State == run.Parked:
		return Bad
	case d.State.Ended(), d.Decision != nil && d.Decision.Hold != nil, d.Unverified != "", d.Wait != nil && *d.Wait != "",
		strings.HasPrefix(d.Reason, run.ReasonHalt):
		return Warn
	default:
		return Plain
	}
}

// Verdicts lists gates with their verdicts.
func Verdicts(list []spec.Receipt) string {
	var say []string
	for _, r := range list {
		say = append(say, r.Gate+" "+r.Verdict)
	}
	if len(say) == 0 {
		return "no gates"
	}
	return strings.Join(say, ", ")
}

func planLine(d run.PlanData) Line {
	if len(d.Tasks) == 0 && len(d.Joins) > 0 { // it only has tasks of the run tested as one
		return sentence(Plain, "%s", strings.Join(d.Notes, "; "))
	}
	say := fmt.Sprintf("plan: %s from %s", text.Count(len(d.Tasks), "task"), d.By)
	if d.Round != nil {
		say = fmt.Sprintf("round %d of %s: %s for %s", d.Round.Number, d.Expands, text.Count(len(d.Tasks), "task"),
			text.Count(d.Round.Left, "finding"))
	}
	if d.Replaces > 0 {
		say += ", edited by a person"
	}
	if len(d.Overlaps) > 0 {
		say += ", " + text.Count(len(d.Overlaps), "overlap")
	}
	if d.Ceiling > 0 {
		say += fmt.Sprintf(", at most %s tokens", text.Tokens(d.Ceiling))
	}
	for _, n := range d.Notes {
		say += "; " + n
	}
	return sentence(Plain, "%s", say)
}

// beside is the part of a parked task's reason before the message of its fault.
func beside(d run.TaskData) string {
	if d.Fault == nil || d.Fault.Message == "" {
		return ""
	}
	before, _, found := strings.Cut(d.Reason, ": "+d.Fault.Message)
	if !found {
		return ""
	}
	return before
}

func taskLine(e *contextscope.Event, d run.TaskData) Line {
	cause := d.Reason
	if d.Fault != nil {
		cause = fault(*d.Fault)
	}
	why := text.Because(cause)
	by := ""
	if d.Decision != nil {
		by = ", decided by " + d.Decision.Answer.By
	}
	switch d.State {
	case run.TaskHeld:
		if d.Doubt != nil && d.Doubt.Review {
			return sentence(Plain, "%s waits for review", e.Task)
		}
		if d.Doubt != nil {
			why = text.Because(strings.Join(text.Few(d.Doubt.Evidence, 3), "; "))
		}
		return Line{Text: e.Task + " is held" + why, Tone: Warn, Decide: true}
	case run.TaskParked:
		return Line{Text: e.Task + " is parked" + by + why, Tone: Bad, Cause: cause, Why: beside(d)}
	case run.TaskPending:
		if d.Fault != nil {
			return Line{Text: e.Task + " will be retried" + by + why, Tone: Warn, Cause: cause}
		}
	case run.TaskRunning, run.TaskVerifying:
		if d.Dispatch != nil {
			return sentence(Plain, "%s is %s (%s, attempt %d%s)",
				e.Task, d.State, d.Dispatch.Role, d.Dispatch.Attempt, uses(d.Dispatch))
		}
		if d.Decision != nil {
			return sentence(Good, "the patch of %s was accepted by %s",
				strings.Join(append([]string{e.Task}, d.Decision.With...), ", "), d.Decision.Answer.By)
		}
	case run.TaskDone, run.TaskLanded, run.TaskAccepted:
		return sentence(Good, "%s is %s%s", e.Task, d.State, why)
	}
	return sentence(Plain, "%s is %s%s", e.Task, d.State, why)
}

// uses names the successor of the executor or the model before it.
func uses(d *run.Dispatch) string {
	if d.Uses == "" {
		return ""
	}
	return " uses " + d.Uses
}

// answerLine words the outcome of a request. The ends of tasks have lines of their own.
func answerLine(e *contextscope.Event, a wire.Answer) Line {
	switch {
	case a.Refused != "":
		return sentence(Warn, "%s is refused: %s", e.Task, a.Refused)
	case a.From != "":
		return sentence(Good, "%s answers %s: %s", a.From, e.Task, a.Text)
	case len(a.Granted) > 0:
		return sentence(Good, "%s may write %s too", e.Task, strings.Join(a.Granted, ", "))
	default:
		return Line{More: a.Task + " " + cmp.Or(string(a.Status), a.Text), Tone: Plain, Fold: true}
	}
}
