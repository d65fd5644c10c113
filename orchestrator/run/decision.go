package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// Decision must be answered by the policy of the run, the master or a person before some of the work continues. The rest of the
// run continues meanwhile. It is the same from the rule that opens it to the button that answers it: a rule sets what the run
// decides by, package view what a person sees besides, and who can read them the patches. Its JSON is that of the page.
type Decision struct {
	Run string `json:"run,omitempty"`
	// ID is the same each time the decision is listed, and no other's.
	ID   string       `json:"id"`
	Kind DecisionKind `json:"kind" jsonschema:"plan, question, patch, test, unlike, scope, template, worker, reproof or unread."`
	// About is the task or the template; "" for the run, as a plan is. Attempt is the task's attempt; 0 where none is meant.
	About   string `json:"about,omitempty" jsonschema:"The task or the template."`
	Attempt int    `json:"attempt,omitempty"`
	// Text describes the decision in a line; Evidence is why, a sentence each. Foreign text in them is quoted.
	Text     string   `json:"text"`
	Evidence []string `json:"evidence,omitempty"`
	// Choices are the answers that an agent proposes to its question.
	Choices []string `json:"choices,omitempty" jsonschema:"What an agent proposes as answers to its question."`
	Options []Option `json:"options,omitempty"`
	// Suggests is the name of the option that needs no attention to be safe; "" for none.
	Suggests string `json:"suggests,omitempty"`
	// Decider is the one who decides, Why the reason. A person may always answer.
	Decider string `json:"decider" jsonschema:"Who decides if you do not: policy, master or person."`
	Why     string `json:"why,omitempty"`
	// Reserved reports that a person answers it alone, and no program for that person: it is about what is trusted, or protects a
	// promise that a person sees each patch.
	Reserved bool `json:"reserved,omitempty" jsonschema:"A person answers it; this server refuses to."`
	// Blocks counts the tasks that wait for it.
	Blocks int `json:"blocks" jsonschema:"How many tasks wait for it."`
	// Tasks are those whose newest patches it is about. Template is the one that About is a shard of; Added and Deleted count the
	// lines of the patches.
	Tasks    []string `json:"tasks,omitempty"`
	Template string   `json:"template,omitempty"`
	Added    int      `json:"added,omitempty"`
	Deleted  int      `json:"deleted,omitempty"`
	// Patches are those of the Tasks, Files all that they change. Alike is the same for decisions that one answer may be for; ""
	// for one that stands alone.
	Patches []Patch  `json:"patches,omitempty"`
	Files   []string `json:"files,omitempty"`
	Alike   string   `json:"alike,omitempty"`
	// Plan is one that waits for approval, the Planned one of the run.
	Plan    json.RawMessage `json:"plan,omitempty"`
	Planned int             `json:"-"`
	// Brief is that of the task, Record the decision record of its plan, and Before what was decided about its earlier patches.
	Brief  string `json:"brief,omitempty"`
	Record string `json:"record,omitempty"`
	Before []Said `json:"before,omitempty"`
	// Answer is one that the run has not acted on.
	Answer *Answer `json:"answer,omitempty"`
	// Pos is where in the log it began, Since when, in unix milliseconds.
	Pos   uint64 `json:"-"`
	Since int64  `json:"since,omitempty"`
}

// Key names a decision and the attempt that it is about: another patch is another attempt.
func (d *Decision) Key() string { return fmt.Sprintf("%s/%d", d.ID, d.Attempt) }

// Patch is the change of the newest attempt of a task, as git prints it. Fault is why it cannot be shown.
type Patch struct {
	Task  string   `json:"task"`
	Files []string `json:"files,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	Cut   bool     `json:"cut,omitempty" jsonschema:"The diff is not shown whole: the tool diff shows it."`
	Fault string   `json:"fault,omitempty" jsonschema:"Why the patch cannot be shown."`
}

// Said is the decision about the patch of an attempt.
type Said struct {
	Attempt int    `json:"attempt"`
	Option  string `json:"option"`
	Text    string `json:"text,omitempty"`
	By      string `json:"by,omitempty"`
}

// DecisionID is the id of a decision about a task or a template that began at a position of the log.
func DecisionID(about string, pos uint64) string { return fmt.Sprintf("%s@%d", about, pos) }

// DecisionKind is the subject of a decision.
type DecisionKind string

// The kinds of decisions.
const (
	DecidePlan     DecisionKind = "plan"     // a plan of the master that writes
	DecideQuestion DecisionKind = "question" // of an agent
	DecidePatch    DecisionKind = "patch"    // a held one
	DecideTest     DecisionKind = "test"     // tests of the base commit do not run with a patch
	DecideUnlike   DecisionKind = "unlike"   // patches with edits that no other shard of their templates makes
	DecideTemplate DecisionKind = "template" // its shards fail alike
	DecideScope    DecisionKind = "scope"    // an agent asks to write protected files
	DecideWorker   DecisionKind = "worker"   // no worker serves a role
	DecideReproof  DecisionKind = "reproof"  // of two workers one proves a batch, and one does not
	DecideUnread   DecisionKind = "unread"   // no gate reads files of patches as their kind needs
	DecideBudget   DecisionKind = "budget"   // the budget allows nothing more
	DecideAct      DecisionKind = "act"      // an act of a person that is held back: its answer is given
)

// The names of the options.
const (
	Accept  = "accept" // the patch, or the shards of the template, continue
	Reject  = "reject" // the patch; the next attempt gets the text
	Skip    = "skip"   // the task is given up as not needed
	Reply   = "answer" // a question
	Grant   = "grant"  // the task may write what its agent asks for
	Refuse  = "refuse" // it may not; the agent gets the text
	Revise  = "revise" // the shards begin again with the text in their briefs
	Park    = "park"   // the shards that wait are given up
	StopRun = "stop"   // which can be resumed
	Yes     = "approve"
	Change  = "change" // the master plans again, with the text
	Raise   = "raise"  // the budget is what the text says
	Trust   = "trust"  // the worker that proved a batch first
	// Quarantined is the option to take that worker for lying.
	Quarantined = "quarantine"
	AddGate     = "gate" // the gates that would read the files are added, and prove the patches
)

// Option is a way to answer. NeedsText reports that it needs a text.
type Option struct {
	Name string `json:"name"`
	// Does describes the consequence, as the end of a sentence that begins with the option's name.
	Does      string `json:"does" jsonschema:"The end of a sentence that begins with the name."`
	NeedsText bool   `json:"needs_text,omitempty"`
}

// Who decides.
const (
	ByRule   = "policy"
	ByMaster = "master"
	ByPerson = "person"
)

// Answer is the answer to a decision: the name of an option, with the words that it needs. Attempt is the one that it was given
// for; 0 for whichever is the newest. Of is the task that is meant where the decision is about several patches.
type Answer struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt,omitempty"`
	Option  string `json:"option"`
	Text    string `json:"text,omitempty"`
	Of      string `json:"of,omitempty"`
	By      string `json:"by,omitempty"`
	// Alike has it stand for every other patch that is alike too; Standing is the id of the decision whose answer stood for this
	// one.
	Alike    bool   `json:"alike,omitempty"`
	Standing string `json:"standing,omitempty"`
	// NotBefore holds it back: until then the run does not act on it, and the person can take it back.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// HoldBack is how long the run holds back what a person has sent by hand.
const HoldBack = 10 * time.Second

// Held is how long the run still holds an answer back: never longer than HoldBack.
func (a *Answer) Held(now time.Time) time.Duration {
	return min(max(0, a.NotBefore.Sub(now)), HoldBack)
}

// Decided is the outcome of a decision: a template is held (Hold), an answer has come, the run has acted on it (Closed), or it
// does not count any more (Back). It is closed in the event of what follows: a run event for a plan and a template, that of the
// task for a patch; the answer to a request closes a question and a scope.
type Decided struct {
	Kind  DecisionKind `json:"kind"`
	About string       `json:"about,omitempty"`
	// Plan is the index of the plan that it is about.
	Plan   int    `json:"plan,omitempty"`
	Hold   *Hold  `json:"hold,omitempty"`
	Answer Answer `json:"answer,omitzero"`
	Closed bool   `json:"closed,omitempty"`
	// With are the other tasks of a change set under review, whose patches continue; about unread files all tasks whose do; of an
	// act that skips tasks these; of an answer about several patches that is not closed the tasks that it is for.
	With []string `json:"with,omitempty"`
	// Back is why the answer does not count.
	Back string `json:"back,omitempty"`
	// Pos is where in the log it is.
	Pos uint64 `json:"-"`
}

// Decisions are the answers that count, by the ids of their decisions.
type Decisions map[string]*Decided

// Given is the answer to a decision; nil for none.
func (x Decisions) Given(id string) *Decided { return x[id] }

// Waiting are the answers that the run has not acted on, oldest first.
func (x Decisions) Waiting() []*Decided {
	open := slices.DeleteFunc(slices.Collect(maps.Values(x)), func(d *Decided) bool { return d.Closed })
	slices.SortFunc(open, func(a, b *Decided) int { return int(a.Pos) - int(b.Pos) })
	return open
}

// By is the person who has answered a decision about a task, as long as the run has not acted on it; "" for none.
func (x Decisions) By(task string) string {
	if d := x.For(task); d != nil {
		return d.Answer.By
	}
	return ""
}

// For is the answer of a person to a decision about a task that the run has not acted on; nil for none.
func (x Decisions) For(task string) *Decided {
	for _, d := range x.Waiting() {
		if d.Kind != DecideAct && wire.IsPerson(d.Answer.By) && (d.About == task || slices.Contains(d.With, task)) {
			return d
		}
	}
	return nil
}

// Ahead is by how much a clock is behind the one by which answers are held back: it was put back, or is another machine's.
func (x Decisions) Ahead(now time.Time) (ahead time.Duration) {
	for _, d := range x.Waiting() {
		ahead = max(ahead, d.Answer.NotBefore.Add(-HoldBack).Sub(now))
	}
	return ahead
}

// Next is the oldest answer that the run may act on, nil for none, and how long the first one that it holds back still waits.
func (x Decisions) Next(now time.Time) (due *Decided, wait time.Duration) {
	for _, d := range x.Waiting() {
		switch held := d.Answer.Held(now); {
		case held == 0 && due == nil:
			due = d
		case held > 0 && (wait == 0 || held < wait):
			wait = held
		}
	}
	return due, wait
}

// applyDecided folds what became of a decision, whichever payload tells it: that of the run, that of a task, the answer to a
// request (see answered), or an answer that stands for others too. What follows from an answer is folded with the event that
// closes it.
func (s *State) applyDecided(e *contextscope.Event, d *Decided, stands *StandingAnswer) {
	defer s.Standing.apply(stands) // it is about the decisions after this one
	if d == nil {
		return
	}
	if d.Hold != nil {
		s.Templates.hold(*d.Hold, e.Pos, len(s.Plans.All))
		return
	}
	if d.Back != "" {
		delete(s.Decisions, d.Answer.ID)
		s.Standing.except(d.Answer)
		return
	}
	d.Pos = e.Pos
	if had := s.Decisions[d.Answer.ID]; had != nil && !d.Closed { // it is held back no longer, and is for what it was given for
		d.Pos = had.Pos
	}
	s.Decisions[d.Answer.ID] = d
	if !d.Closed {
		return
	}
	s.Standing.given(d.Answer)
	switch d.Kind {
	case DecidePatch, DecideTest, DecideUnlike, DecideUnread:
		if d.Kind == DecideUnlike {
			s.Tasks.unliked = e.Pos
		}
		s.Tasks.decide(e.Task, d.Answer)
		with := d.Answer // about unread files it is for all of them
		if d.Kind != DecideUnread {
			with = Answer{ID: d.Answer.ID, Option: Accept, By: d.Answer.By}
		}
		for _, id := range d.With {
			if t := s.Tasks.decide(id, with); t != nil {
				s.set(t, TaskRunning, e.Pos)
			}
		}
	case DecideTemplate:
		s.Templates.answer(d.About, d.Answer)
	case DecidePlan:
		if d.Answer.Option == Yes {
			s.Plans.approve(d.Plan + 1)
		} else {
			s.sendBack(e, d.Plan, d.Answer.Text, d.Answer.By)
		}
	}
}

// answered is the decision that the answer to a request closes.
func (q *Request) answered(d wire.Answer) *Decided {
	of := Decided{Kind: DecideQuestion, About: q.AskedBy(), Closed: true, Answer: Answer{
		ID: DecisionID(q.AskedBy(), q.Pos), Attempt: q.Attempt, Option: Reply, Text: cmp.Or(d.Refused, d.Text), By: d.From,
	}}
	if q.Kind == wire.RequestScope {
		of.Kind, of.Answer.Option = DecideScope, Grant
		if d.Refused != "" {
			of.Answer.Option = Refuse
		}
	}
	return &of
}

// StandingAnswer is the answer of a person that accepts every patch of the run that is alike, held now or later.
type StandingAnswer struct {
	// ID is the decision that the person answered, Shape that of its patch.
	ID    string `json:"id"`
	Shape string `json:"shape"`
	By    string `json:"by"`
	// Back is why it stands no more.
	Back string `json:"back,omitempty"`
	// Given counts the other decisions that it was the answer to.
	Given int `json:"-"`
	// not are decisions whose answer by it was taken back: a person decides these.
	not map[string]bool
}

// StandingAnswers are the answers that stand, oldest first.
type StandingAnswers []*StandingAnswer

// Of is the one that was given with the answer to a decision; nil for none.
func (x StandingAnswers) Of(id string) *StandingAnswer {
	for _, a := range x {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// Fallen is that the answer to a decision stands for others no more, and why; nil where it does not.
func (x StandingAnswers) Fallen(id, why string) *StandingAnswer {
	stands := x.Of(id)
	if stands == nil {
		return nil
	}
	return &StandingAnswer{ID: id, Shape: stands.Shape, By: stands.By, Back: why}
}

// For is the oldest one for a decision about a patch of a shape; nil for none.
func (x StandingAnswers) For(id, shape string) *StandingAnswer {
	for _, a := range x {
		if a.Shape == shape && shape != "" && !a.not[id] {
			return a
		}
	}
	return nil
}

// apply folds that an answer stands, or stands no more; nil is neither.
func (x *StandingAnswers) apply(a *StandingAnswer) {
	if a == nil {
		return
	}
	had := x.Of(a.ID)
	switch {
	case a.Back == "" && had == nil:
		a.not = map[string]bool{}
		*x = append(*x, a)
	case a.Back != "" && had != nil:
		*x = slices.DeleteFunc(*x, func(o *StandingAnswer) bool { return o == had })
	}
}

// given folds that the run has acted on an answer.
func (x StandingAnswers) given(a Answer) {
	if by := x.Of(a.Standing); by != nil {
		by.Given++
	}
}

// except folds that an answer does not count.
func (x StandingAnswers) except(a Answer) {
	if by := x.Of(a.Standing); by != nil {
		by.not[a.ID] = true
	}
}
