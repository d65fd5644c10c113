package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Take puts an answer into the log, and returns what becomes of it when the run acts on it. It is refused with a
// *request.RefusedError where the decision has an answer or is closed, is about another attempt by now, or has no such option.
// The number of a proposal stands for it. What is reserved for a person is refused to a program that acts for one, also
// where it was not open yet when the program's server looked.
func Take(s *run.State, a run.Answer) ([]run.Action, string, error) {
	given, outcome, err := take(s, a)
	if err != nil {
		return nil, "", err
	}
	return []run.Action{decided(given)}, outcome, nil
}

func take(s *run.State, a run.Answer) (*run.Decided, string, error) {
	if err := request.Over(&s.Agenda); err != nil {
		return nil, "", err
	}
	if given := s.Decisions.Given(a.ID); given != nil && !given.Closed {
		return nil, "", request.Refusedf("%s has an answer: %s", a.ID, said(given))
	}
	all := All(s)
	if at := groupOf(all, subject(a.ID)); at >= 0 && a.ID == ownID(s.Tasks.ByID[subject(a.ID)]) {
		if given := s.Decisions.Given(all[at].ID); given != nil {
			return nil, "", request.Refusedf("%s has an answer: %s", given.Answer.ID, said(given))
		}
	}
	d, err := find(s, Open(s), a)
	if err != nil {
		return nil, "", err
	}
	if d.Reserved && wire.ByProgram(a.By) {
		return nil, "", request.Refusedf("%s is for a person, not for a program: %s", d.ID, d.Why)
	}
	if a.Text, err = proposed(&d, a.Text); err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(d.Options, func(o run.Option) bool { return o.Name == a.Option })
	switch {
	case at < 0:
		return nil, "", request.Refusedf("%s is no answer to %s: it is one of %s",
			strconv.Quote(text.Line(a.Option)), d.ID, names(&d))
	case !utf8.ValidString(a.Text):
		return nil, "", request.Refusedf("the answer to %s is not UTF-8 text", d.ID)
	case len(a.Text) > request.MaxMessage:
		return nil, "", request.Refusedf("the answer to %s has %d bytes; at most %d are allowed",
			d.ID, len(a.Text), request.MaxMessage)
	case d.Options[at].NeedsText && strings.TrimSpace(a.Text) == "":
		return nil, "", request.Refusedf("%s needs a text", a.Option)
	case a.Text != "" && !d.Options[at].NeedsText && !Reasoned(a.Option):
		return nil, "", request.Refusedf("%s takes no text", a.Option)
	case a.Of != "" && !slices.Contains(d.Tasks, a.Of):
		return nil, "", request.Refusedf("%s is not about %s", d.ID, strconv.Quote(text.Line(a.Of)))
	case a.Of == "" && d.Options[at].NeedsText && len(d.Tasks) > 1:
		task, words, _ := strings.Cut(a.Text, ": ")
		named := slices.Contains(d.Tasks, task) && strings.TrimSpace(words) != ""
		if !named && ofGroup(&d) && s.Tasks.ByID[task] == nil { // it is for all
			break
		}
		if !named {
			return nil, "", request.Refusedf("%s is about the patches of %s: begin the text with the one that it is for, as "+
				"%s: why", d.ID, text.Some(d.Tasks, maxNamed), d.Tasks[0])
		}
		a.Of, a.Text = task, words
	}
	if ofGroup(&d) && a.Of != "" { // the others wait for no answer that is for one
		d = member(s, &d, a.Of)
		a.ID, a.Of = d.ID, ""
	}
	_, outcome, err := of(d.Kind).carry(s, &d, a)
	if err != nil {
		return nil, "", err
	}
	return &run.Decided{Kind: d.Kind, About: d.About, Plan: d.Planned, Answer: a, With: meant(&d, a)}, outcome, nil
}

// meant are the tasks that the answer to a decision about several patches is for; none where that is about one.
func meant(d *run.Decision, a run.Answer) []string {
	switch {
	case d.Kind != run.DecideUnlike && d.Kind != run.DecideUnread && !ofGroup(d):
		return nil
	case a.Of != "":
		return []string{a.Of}
	}
	return d.Tasks
}

// Reasoned reports whether an option that needs no text takes one, as the reason.
func Reasoned(option string) bool { return option == run.Skip || option == run.Park }

// proposed replaces the number of an answer that an agent proposes by that answer.
func proposed(d *run.Decision, answer string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(answer))
	switch {
	case err != nil || len(d.Choices) == 0 || slices.Contains(d.Choices, answer):
		return answer, nil
	case n < 1 || n > len(d.Choices):
		return "", request.Refusedf("%s proposes the answers 1 to %d: give one of these numbers, or an answer in words",
			d.About, len(d.Choices))
	}
	return d.Choices[n-1], nil
}

// TakeBack takes back an answer that the run has not acted on, and returns what is open again. Of one that stands for others it
// also ends that, whatever it has answered. The error is a *request.RefusedError.
func TakeBack(s *run.State, id, by string) ([]run.Action, string, error) {
	if err := request.Over(&s.Agenda); err != nil {
		return nil, "", err
	}
	given := s.Decisions.Given(id)
	open := All(s)
	at := slices.IndexFunc(open, func(d run.Decision) bool { return d.ID == id })
	switch {
	case given != nil && !given.Closed && (at >= 0 || !given.Answer.NotBefore.IsZero()): // a group has another id with each patch
		back := *given
		back.Back = "taken back by " + by
		outcome := id + " is open again"
		if at >= 0 {
			outcome += ": " + open[at].Text
		}
		if given.Kind == run.DecideAct {
			outcome = "not done: " + open[at].Text
		}
		return []run.Action{run.SetRun(run.Data{Decision: &back, Standing: s.Standing.Fallen(id, back.Back)})}, outcome, nil
	case s.Standing.Of(id) != nil:
		return []run.Action{run.SetRun(run.Data{Standing: s.Standing.Fallen(id, "taken back by "+by)})},
			"the answer to " + id + " stands for no other decision any more; answered decisions stay answered", nil
	case at >= 0:
		return nil, "", request.Refusedf("%s has no answer that could be taken back", id)
	case given != nil:
		return nil, "", request.Refusedf("the answer to %s cannot be taken back, because the run has acted on it: %s",
			id, closed(s, id))
	}
	_, err := find(s, Open(s), run.Answer{ID: id})
	return nil, "", err
}

// Carry acts on the oldest answer that the run has not acted on, and does not hold back. One that does not fit any more is given
// back with a notice: the decision is open again, if there is still one. That also ends an answer whose last event a kill took.
func Carry(s *run.State, now time.Time) []run.Action {
	due, _ := s.Decisions.Next(now)
	if due == nil {
		return nil
	}
	end := *due
	var actions []run.Action
	d, err := find(s, All(s), end.Answer)
	if err == nil {
		actions, _, err = of(d.Kind).carry(s, &d, end.Answer)
	}
	if err != nil {
		end.Back = err.Error()
		return []run.Action{run.SetRun(run.Data{
			Decision: &end, Standing: s.Standing.Fallen(end.Answer.ID, end.Back), Notices: []string{
				fmt.Sprintf("the answer to %s, %s, is over: %s", end.Answer.ID, said(&end), end.Back),
			},
		})}
	}
	if end.Kind != run.DecideAct {
		end.With = nil // each has its own event
	}
	if end.Closed = true; !slices.ContainsFunc(actions, func(a run.Action) bool { return ends(a, end.Answer.ID) }) {
		actions = append(actions, decided(&end))
	}
	if (3*len(end.Answer.Text)+1000)*len(actions) > wire.MaxMessage { // what a kill leaves of many is carried out after it
		return actions
	}
	return []run.Action{run.Together{Actions: actions}}
}

// ends reports whether an action is the event that closes a decision. Each patch of a group has one of its own too.
func ends(a run.Action, id string) bool {
	event, _ := a.(run.Append)
	switch data := event.Data.(type) {
	case run.Data:
		return data.Decision != nil && data.Decision.Closed
	case run.TaskData:
		return data.Decision != nil && data.Decision.Closed && data.Decision.Answer.ID == id
	case wire.Answer:
		return true
	}
	return false
}

func decided(d *run.Decided) run.Action { return run.SetRun(run.Data{Decision: d}) }

// find returns the one of some decisions that an answer is for.
func find(s *run.State, open []run.Decision, a run.Answer) (run.Decision, error) {
	about := subject(a.ID)
	group := groupOf(open, about)
	if group >= 0 && a.ID == ownID(s.Tasks.ByID[about]) {
		open = []run.Decision{member(s, &open[group], about)}
	}
	if at := slices.IndexFunc(open, func(d run.Decision) bool { return d.ID == a.ID }); at >= 0 {
		d := open[at]
		if a.Attempt > 0 && a.Attempt != d.Attempt {
			return d, request.Refusedf("%s is about attempt %d of %s, not %d: see that one first",
				d.ID, d.Attempt, d.About, a.Attempt)
		}
		return d, nil
	}
	if group >= 0 {
		return open[group], request.Refusedf("the answer is for %s, and %s about %s has come since: see that one first",
			a.ID, open[group].ID, text.Some(open[group].Tasks, maxNamed))
	}
	if at := slices.IndexFunc(open, func(d run.Decision) bool { return d.About == about && about != "" }); at >= 0 {
		d := open[at]
		shown := a.ID
		if a.Attempt > 0 {
			shown += fmt.Sprintf(" about attempt %d", a.Attempt)
		}
		return d, request.Refusedf("the answer is for %s, and %s about attempt %d has come since: see that one first",
			shown, d.ID, d.Attempt)
	}
	if how := closed(s, a.ID); how != "" {
		return run.Decision{}, request.Refusedf("%s is not open any more: %s", a.ID, how)
	}
	return run.Decision{}, request.Refusedf("run %s has no decision %s; open are: %s", s.Spec.Run,
		strconv.Quote(text.Line(a.ID)), cmp.Or(list(open), "none"))
}

// subject is the task or the template in an id.
func subject(id string) string { return id[:max(0, strings.LastIndexByte(id, '@'))] }

// closed returns how a decision ended; "" for one that the run never had.
func closed(s *run.State, id string) string {
	if d := s.Decisions.Given(id); d != nil && d.Closed {
		return said(d) + now(&s.Tasks, cmp.Or(d.Answer.Of, d.About))
	}
	about := subject(id)
	place, _, _ := strings.Cut(id[min(len(id), len(about)+1):], ".")
	pos, err := strconv.ParseUint(place, 10, 64)
	plan := 0
	switch _, no := fmt.Sscanf(id, "plan-%d.", &plan); {
	case about == "" && no == nil && plan > 0 && plan <= len(s.Plans.All):
		return "the plan was answered, or changed"
	case err == nil && pos <= s.Pos && len(s.Tasks.Members(about)) > 0:
		return "nothing waits for it" + now(&s.Tasks, about)
	}
	return ""
}

// now tells the state of the task that a decision was about; "" where that is none.
func now(tasks *run.Tasks, task string) string {
	t := tasks.ByID[task]
	if t == nil {
		return ""
	}
	return ", and " + task + " is " + string(t.State)
}

// said is an answer in words.
func said(d *run.Decided) string {
	how := By(d.Answer.Option+" by "+d.Answer.By, &d.Answer)
	if d.Answer.Text != "" {
		how += ": " + text.Line(d.Answer.Text)
	}
	return how
}

// names lists the options of a decision.
func names(d *run.Decision) string {
	all := make([]string, len(d.Options))
	for i, o := range d.Options {
		all[i] = o.Name
	}
	return strings.Join(all, ", ")
}

// maxNamed bounds the decisions that a message names.
const maxNamed = 12

// list names decisions.
func list(open []run.Decision) string {
	all := make([]string, len(open))
	for i := range open {
		all[i] = open[i].ID
	}
	return text.Some(all, maxNamed)
}

// TakeAbout takes an answer to the decision about a task, its patch or a template whose options have it; without an option, a
// message to it. It returns no action where there is none. The error is a *request.RefusedError.
func TakeAbout(s *run.State, about string, a run.Answer) ([]run.Action, string, error) {
	for _, d := range append(Open(s), All(s)...) { // of those with an answer only where no other is open: it is refused
		option := cmp.Or(a.Option, of(d.Kind).send)
		one := d.About == about
		if !one && !slices.Contains(d.Tasks, about) ||
			!slices.ContainsFunc(d.Options, func(o run.Option) bool { return o.Name == option }) {
			continue
		}
		a.ID, a.Option = d.ID, option
		switch {
		case ofGroup(&d) && s.Decisions.Given(d.ID) == nil:
			d, one = member(s, &d, about), true
			a.ID = d.ID
		case len(d.Tasks) > 1:
			a.Of = about
		}
		if t := s.Tasks.ByID[about]; !one && a.Attempt > 0 && a.Attempt == t.Attempt {
			a.Attempt = d.Attempt
		}
		return Take(s, a)
	}
	return nil, "", nil
}
