package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Take carries out an answer, and returns what becomes of it. It is refused with a *request.RefusedError where the decision is
// not open any more, is about another attempt by now, or has no such option: nothing is done then.
func Take(s *run.State, a run.Answer) ([]run.Action, string, error) {
	d, err := find(s, a)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(d.Options, func(o run.Option) bool { return o.Name == a.Option })
	switch {
	case at < 0:
		return nil, "", request.Refusedf("%s is no answer to %s: it is one of %s",
			strconv.Quote(text.Line(a.Option)), d.ID, names(&d))
	case d.Options[at].Words && strings.TrimSpace(a.Text) == "":
		return nil, "", request.Refusedf("%s needs a text", a.Option)
	case a.Of != "" && !slices.Contains(d.Patches, a.Of):
		return nil, "", request.Refusedf("%s is not about %s", d.ID, a.Of)
	}
	return carry(s, &d, a)
}

// find returns the open decision that an answer is for.
func find(s *run.State, a run.Answer) (run.Decision, error) {
	open := Open(s)
	if at := slices.IndexFunc(open, func(d run.Decision) bool { return d.ID == a.ID }); at >= 0 {
		d := open[at]
		if a.Attempt > 0 && a.Attempt != d.Attempt {
			return d, request.Refusedf("%s is about attempt %d of %s, not %d: see that one first",
				d.ID, d.Attempt, d.About, a.Attempt)
		}
		return d, nil
	}
	about, _, _ := strings.Cut(a.ID, "@")
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

// closed returns how a decision ended; "" for one that the run never had.
func closed(s *run.State, which string) string {
	for _, t := range s.Tasks.ByID {
		for i := range t.Doubts {
			if d := &t.Doubts[i]; id(t.Task.ID, d.Pos) == which {
				return d.Decision(t.State)
			}
		}
	}
	about, _, _ := strings.Cut(which, "@")
	for _, h := range s.Templates.HoldsOf(about) {
		if id(about, h.Pos) == which {
			return h.Answer + " by " + h.By
		}
	}
	for _, q := range s.Requests.ByID {
		if id(q.AskedBy(), q.Pos) != which {
			continue
		}
		if q.Answer != nil {
			return "answered by " + q.Answer.From
		}
		return q.Agent() + " does not wait for it"
	}
	if strings.HasPrefix(which, "plan-") && len(s.Plans.All) > 0 {
		return "the plan was answered, or changed"
	}
	return ""
}

// carry carries out an answer that fits its decision.
func carry(s *run.State, d *run.Decision, a run.Answer) (actions []run.Action, becomes string, err error) {
	task := cmp.Or(a.Of, d.About)
	switch a.Option {
	case Yes:
		if s.MasterHasMail() {
			return nil, "", request.Refusedf("the master has a message to read first: the plan is shown again after its turn")
		}
		return []run.Action{run.SetRun(run.Data{Approved: true, Plans: d.Plan + 1})}, "the plan starts", nil
	case Change:
		return request.SendBack(s, d.Plan, a.Text, a.By)
	case Grant, Refuse:
		at := slices.IndexFunc(s.OpenRequests(), func(q *run.Request) bool { return q.Pos == d.Pos })
		q := s.OpenRequests()[at] // it is open: the decision is made of it
		if a.Option == Grant {
			return request.Grant(s, q, a.By)
		}
		actions, becomes = request.Deny(q, a.Text, a.By)
		return actions, becomes, nil
	case Skip:
		actions, _, err = request.Skip(s, []string{task}, run.Revision{By: a.By}, cmp.Or(a.Text, "by a person"))
		return actions, task + " is skipped", err
	case Park:
		actions, err = request.Cancel(s, task, a.Text, a.By)
		return actions, "the tasks of " + task + " that wait are parked", err
	case Accept:
		actions, err = request.Accept(s, task, a.By)
		if d.Kind == run.DecideTemplate {
			return actions, "the tasks of " + task + " go on", err
		}
		return actions, "the patch of " + task + " goes on", err
	default:
		return request.Send(s, task, a.Text, a.By)
	}
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

// TakeAbout carries out an answer to the decision about a task or a template whose options have it. The error is a
// *request.RefusedError.
func TakeAbout(s *run.State, about string, a run.Answer) ([]run.Action, string, error) {
	for _, d := range Open(s) {
		if d.About == about && slices.ContainsFunc(d.Options, func(o run.Option) bool { return o.Name == a.Option }) {
			a.ID = d.ID
			return Take(s, a)
		}
	}
	actions, err := request.Accept(s, about, a.By) // which tells why not
	return actions, "", err
}
