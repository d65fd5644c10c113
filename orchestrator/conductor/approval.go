package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// ErrNotApproved reports that the plan was not approved.
var ErrNotApproved = errors.New("the plan was not approved")

// Proposal is a plan that a person is asked about. Source is the same before templates were expanded. Refused is set where the
// plan that the person made of it in the answer before is not taken, for its Problems or because it could not be read.
type Proposal struct {
	Plan     run.PlanData
	Source   spec.Plan
	Refused  bool
	Problems []spec.Problem
}

// Answer is a person's answer about a plan: Yes, or a Comment that sends it back to the master, or Edited, the plan in its
// place; Faulty reports that not all of them could be read. With none of them the run stops; Stop is why.
type Answer struct {
	Yes     bool
	Comment string
	Edited  *spec.Plan
	Faulty  bool
	Stop    string
}

// answer is the answer about a plan, counted from 1, as the decision with an id showed it.
type answer struct {
	Answer

	plan int
	id   string
	err  error
}

// asking is the current question to a person.
type asking struct {
	// plan is counted from 1; 0 for none. The question is about the decision about it, as the person sees it.
	plan int
	// refused and problems are of the next question: see Proposal.
	refused  bool
	problems []spec.Problem

	question
}

// question is what a person is asked about now, and ends the question. held is set for an answer that the run holds back.
type question struct {
	id   string
	held bool
	end  context.CancelCauseFunc
}

// answeredError is why a question has ended: it was answered elsewhere, or is another one by now.
type answeredError struct{ why string }

func (e *answeredError) Error() string { return e.why }

// begin returns the context of a question.
func (q *question) begin(ctx context.Context, id string, held bool) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	*q = question{id, held, end}
	return ctx
}

// over ends a question.
func (q *question) over(why error) {
	if q.end != nil {
		q.end(why)
	}
	*q = question{}
}

// recall ends the questions that are not open any more.
func (c *asker) recall(s *run.State) []run.Action {
	for _, q := range []*question{&c.question, &c.asked.question} {
		given := s.Decisions.Given(q.id)
		open := given == nil && slices.ContainsFunc(decision.Open(s), func(d run.Decision) bool { return d.ID == q.id })
		if q.held {
			open = given != nil && !given.Closed && !given.Answer.NotBefore.IsZero()
		}
		if q.id == "" || open {
			continue
		}
		why := q.id + " is not open any more"
		if given != nil {
			why = fmt.Sprintf("%s is answered: %s by %s", q.id, given.Answer.Option, given.Answer.By)
		}
		q.over(&answeredError{why})
	}
	return nil
}

// asker asks a person.
type asker struct {
	*record

	// asked is the plan that a person is asked about. deciding is set while it is about another decision, shown has those that
	// the person was asked about. answers delivers what an answer leads to, askers counts the goroutines that wait.
	asked    asking
	deciding bool
	question question
	shown    map[string]bool
	answers  chan func(context.Context) error
	askers   sync.WaitGroup
}

// askApproval proposes to show a plan that writes to a person, once, and not before the master has read the messages to it.
func (c *asker) askApproval(s *run.State) []run.Action {
	at := s.Plans.ToApprove()
	if at < 0 || c.asked.plan == at+1 || s.MasterHasMail() || decision.OfPlan(&s.Agenda, &s.Agents, at) == "" {
		return nil
	}
	if c.cfg.Approve == nil {
		return []run.Action{run.Fail{Err: fmt.Errorf("%w: a person has to approve it", ErrNotApproved)}}
	}
	return []run.Action{run.Approve{Plan: at}}
}

// approve shows a plan. The answer comes back on a channel; readers continue meanwhile.
func (c *Conductor) approve(ctx context.Context, at int) {
	shown := Proposal{
		Plan: c.st.Plans.Now(at, &c.st.Tasks), Source: plan.Source(&c.st.Agenda, c.st.Works, at),
		Refused: c.asked.refused, Problems: c.asked.problems,
	}
	id := decision.OfPlan(&c.st.Agenda, &c.st.Agents, at)
	c.asked = asking{plan: at + 1}
	asked := c.asked.begin(ctx, id, false)
	c.askers.Go(func() {
		said, err := c.cfg.Approve(asked, shown)
		if cause := context.Cause(asked); err != nil && errors.As(cause, new(*answeredError)) {
			err = cause
		}
		c.deliver(ctx, func(ctx context.Context) error {
			if c.asked.id == id {
				c.asked.over(nil)
			}
			return c.decided(ctx, answer{said, at + 1, id, err})
		})
	})
}

// deliver has the conductor's goroutine act on an answer.
func (c *asker) deliver(ctx context.Context, act func(context.Context) error) {
	select {
	case c.answers <- act:
	case <-ctx.Done():
	}
}

// decide proposes to ask a person about the first decision that the person was not asked about. Plans are asked about apart: a
// person can edit them.
func (c *asker) decide(s *run.State) []run.Action {
	if c.cfg.Decide == nil || c.deciding {
		return nil
	}
	for _, d := range decision.ForPerson(s) {
		if d.Kind != run.DecidePlan && !c.shown[d.ID] {
			return []run.Action{askDecision{Decision: d}}
		}
	}
	return nil
}

// askDecision asks a person about a decision.
type askDecision struct {
	run.Proposal
	run.Decision
}

func (c *Conductor) ask(ctx context.Context, d run.Decision) {
	c.shown[d.ID] = true
	c.put(ctx, d.ID, false, func(ctx context.Context) (act.Args, error) {
		said, err := c.cfg.Decide(ctx, d)
		switch {
		case err != nil: // it stays open, and can be answered by a request
			return nil, fmt.Errorf("no answer could be read for %s: %w", d.Text, err)
		case said.Option == "":
			return nil, nil
		case c.cfg.AskHeld != nil:
			return act.ByHand(said), nil
		}
		return said, nil
	})
}

// askHeld asks whether an answer is taken back, as long as the run holds it back.
func (c *Conductor) askHeld(ctx context.Context, id string) {
	c.put(ctx, id, true, func(ctx context.Context) (act.Args, error) {
		switch undo, now, err := c.cfg.AskHeld(ctx, id); {
		case err != nil:
			return nil, err
		case undo:
			return act.TakeBack{Decision: id}, nil
		case now:
			return act.Apply{Decision: id}, nil
		}
		return nil, nil
	})
}

// put puts a question to a person, and does what it leads to; nil for nothing.
func (c *Conductor) put(ctx context.Context, id string, held bool, question func(context.Context) (act.Args, error)) {
	c.deciding = true
	asked := c.question.begin(ctx, id, held)
	c.askers.Go(func() {
		a, err := question(asked)
		c.deliver(ctx, func(ctx context.Context) error {
			recalled := errors.As(context.Cause(asked), new(*answeredError))
			c.deciding = false
			c.question.over(nil)
			switch {
			case err == nil && a != nil:
				return c.answered(ctx, a)
			case err != nil && !recalled:
				c.cfg.Log.Warn().Err(err).Msg("a question was not answered")
			}
			return nil
		})
	})
}

// answered does what a person answered on the terminal of this process, and asks whether that is to be undone while it can be. An
// answer about a decision that was decided meanwhile is about nothing else.
func (c *Conductor) answered(ctx context.Context, a act.Args) error {
	if back, is := a.(act.TakeBack); is {
		delete(c.shown, back.Decision)
	}
	out, err := c.Do(ctx, a, "")
	var no *request.RefusedError
	if errors.As(err, &no) {
		return c.append(ctx, run.Append{Data: run.Data{Notices: []string{"your answer was not applied: " + no.Reason}}})
	}
	for _, id := range out.Held {
		c.askHeld(ctx, id)
	}
	return err
}

func (c *Conductor) decided(ctx context.Context, a answer) error {
	switch {
	case errors.As(a.err, new(*answeredError)):
		if c.asked.plan == a.plan {
			c.asked = asking{} // as it is by now it is shown again
		}
		return nil
	case a.err != nil:
		return fmt.Errorf("ask for approval: %w", a.err)
	case decision.OfPlan(&c.st.Agenda, &c.st.Agents, a.plan-1) != a.id:
		return c.outdated(ctx, a.id, a.id+" is not open any more")
	case a.Edited != nil:
		return c.edited(ctx, a)
	case !a.Yes && a.Comment == "":
		return c.stopped(ctx, cmp.Or(a.Stop, "the plan was not approved"))
	}
	said := run.Answer{ID: a.id, Option: run.Yes, By: c.cfg.Person}
	if !a.Yes {
		said.Option, said.Text = run.Change, a.Comment
	}
	actions, _, err := decision.Take(c.st, said)
	var no *request.RefusedError
	if errors.As(err, &no) {
		return c.outdated(ctx, a.id, no.Reason)
	}
	if err != nil {
		return err
	}
	return c.execute(ctx, actions)
}

// outdated passes over an answer to a plan as it is not any more. Where the plan still waits it is shown again.
func (c *asker) outdated(ctx context.Context, id, why string) error {
	if c.asked.id == id || c.asked.id == "" {
		c.asked = asking{}
	}
	return c.append(ctx, run.Append{Data: run.Data{Notices: []string{"the answer to the plan does not count: " + why}}})
}

// edited replaces a plan by what a person made of it, and shows that; where it is invalid, the person is asked again.
func (c *asker) edited(ctx context.Context, a answer) error {
	at := a.plan - 1
	st, err := eventlog.Fold(ctx, c.cfg.Bus, c.cfg.Run)
	if err != nil {
		return err
	}
	st.Withdraw(at) // the edited plan has tasks of the same names
	data, problems, err := plan.Prepare(ctx, *a.Edited, &st.Agenda, st.Works, c.cfg.Tree(c.st.Tip(), c.st.Environment()))
	if err != nil {
		return fmt.Errorf("prepare the edited plan: %w", err)
	}
	data.By, data.Replaces, data.Edited = c.st.Plans.All[at].By, a.plan, a.Edited
	if len(problems) == 0 {
		problems, err = plan.Replaceable(&c.st.Tasks, data)
	}
	c.asked = asking{refused: len(problems) > 0 || a.Faulty, problems: problems}
	if err != nil || c.asked.refused {
		return err
	}
	return c.append(ctx, run.Append{Data: data})
}
