// Package act lists the acts of people and programs on a run. An act has one file: its arguments, and an entry with who may do
// it, on which runs, how it is undone, and its effect. The input of an effect are the arguments and the state of the run, its
// output are actions and a sentence. What offers acts (the command line, the page, tools, requests of other machines) reads this
// table.
package act

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"divisi/internal/spec"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Args are the arguments of an act: a struct of this package, whose tags declare them. json names a field, without omitempty
// where it has to be given, and jsonschema describes it.
type Args interface {
	// Act is the name of the act.
	Act() string
}

// Caller is the kind of caller of an act, by its rights.
type Caller uint8

// The callers.
const (
	Local  Caller = 1 << iota // a process of the machine that has the run
	Owner                     // a person, as the server of the run vouches
	Viewer                    // who may read
	Worker                    // a machine that works for runs
)

// Standing is whether a process has a run, and whether the run can go on.
type Standing uint8

// The standings.
const (
	Running Standing = 1 << iota // a process conducts it
	AtRest                       // it can be resumed
	Ended                        // it is done, parked or cancelled
)

// Door is where an act is offered.
type Door uint8

// The doors.
const (
	Command Door = 1 << iota // a command of its own
	API                      // the API of the page
	Page                     // a button of the page
	Tools                    // the tools of clients that act for a person
	Inside                   // none: a part of Divisi asks it of a run
)

// Entry is an act in the table.
type Entry struct {
	Name string
	// Help describes it in one sentence.
	Help string
	// Called is the command that does it, and Label its button; left out, they are made of its name. Key is its key of the
	// terminal board, "" for none.
	Called, Label, Key string
	// Warn is what a person has to know before, in place of Help; WarnTask where a task is meant. Fits reports whether it is of
	// use now, for a task, or for the run, which is nil. Next is what it is for, where it is the step that comes next.
	Warn, WarnTask string
	Fits           func(s *run.State, t *run.Task) bool
	Next           func(s *run.State, t *run.Task) string
	// Who may do it, and On which runs.
	Who Caller
	On  Standing
	// Holds has the run hold it back for a while where a person has sent it by hand.
	Holds bool
	// Undo is the act that undoes it, "" for none; Until is how long that is possible, "" for always.
	Undo, Until string
	// Loses has a program ask a person first: what is lost does not come back.
	Loses bool
	// Doors offer it; 0 for all. NoTool are the arguments that no tool takes.
	Doors  Door
	NoTool []string
	// Insists are arguments that may be left out, and that a person is not let leave out.
	Insists []string
	// Args are its arguments, none of them given; Schema describes them.
	Args   Args
	Schema func() *jsonschema.Schema

	takes   func() *jsonschema.Schema // Schema, made once
	read    func(args, with json.RawMessage) (Args, error)
	with    func(Args) any
	propose effect
}

// effect proposes what an act does to a run for the person by: actions, and what becomes of it in a sentence. The error is a
// *request.RefusedError where it cannot be done.
type effect func(ctx context.Context, h Hands, s *run.State, a Args, by string) ([]run.Action, string, error)

// Hands give a few acts access to the conductor besides the state.
type Hands interface {
	// Now is the time of the conductor.
	Now() time.Time
	// Tree is the tree at the head of the integration branch.
	Tree() plan.Tree
	// Signed reports that a person has signed the plan, roles and settings of the run: they stay.
	Signed() bool
	// Shape is that of the patch of a decision; "" for none.
	Shape(ctx context.Context, decision string) (string, error)
	// Isolate puts a worker into quarantine, and returns what follows.
	Isolate(ctx context.Context, q run.Quarantine) (string, error)
}

// table has all acts by name.
var table = map[string]*Entry{}

// All are all acts, by name.
func All() []*Entry {
	return slices.SortedFunc(maps.Values(table), func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns an act; nil for none of that name.
func Find(name string) *Entry { return table[name] }

// prepared are arguments with a part that the process which asks makes for a person: no door takes it.
type prepared interface{ with() any }

// define puts an act with an effect that is a function of the state alone into the table. Without an effect, the process that is
// asked does it, and no conductor is asked.
func define[A Args](e Entry, propose func(s *run.State, a A, by string) ([]run.Action, string, error)) *Entry {
	if propose == nil {
		return defineWith[A](e, nil)
	}
	return defineWith(e, func(_ context.Context, _ Hands, s *run.State, a A, by string) ([]run.Action, string, error) {
		return propose(s, a, by)
	})
}

// defineWith puts an act into the table whose effect needs the conductor.
func defineWith[A Args](
	e Entry, propose func(ctx context.Context, h Hands, s *run.State, a A, by string) ([]run.Action, string, error),
) *Entry {
	var none A
	e.Name, e.Args, e.Schema = none.Act(), none, spec.Schema[A]
	e.takes = sync.OnceValue(e.Schema)
	e.Label = cmp.Or(e.Label, strings.ToUpper(e.Name[:1])+strings.ReplaceAll(e.Name[1:], "_", " "))
	e.Called = cmp.Or(e.Called, strings.ReplaceAll(e.Name, "_", "-"))
	if e.Doors == 0 {
		e.Doors = Command | API | Page | Tools
	}
	e.read = func(args, with json.RawMessage) (Args, error) {
		var a A
		err := decode(args, &a)
		p, is := any(&a).(prepared)
		if err == nil && len(with) > 0 {
			if !is {
				return nil, request.Refusedf("%s takes nothing that is prepared", Public(e.Name))
			}
			err = decode(with, p.with())
		}
		if err != nil {
			return nil, request.Refusedf("the arguments of %s cannot be read: %v", Public(e.Name), err)
		}
		return a, nil
	}
	e.with = func(a Args) any {
		own, _ := a.(A) // its name is that of no other type
		if p, is := any(&own).(prepared); is {
			return p.with()
		}
		return nil
	}
	if propose != nil {
		e.propose = func(ctx context.Context, h Hands, s *run.State, a Args, by string) ([]run.Action, string, error) {
			own, _ := a.(A)
			return propose(ctx, h, s, own, by)
		}
	}
	table[e.Name] = &e
	return &e
}

// May returns why a caller may not do it, as a *request.RefusedError; nil where it may.
func (e *Entry) May(who Caller) error {
	if e.Who&who != 0 {
		return nil
	}
	return request.Refusedf("a %s may not do that: %s", names[who], Public(e.Name))
}

// Public is how a person calls an act, also one that only another version of the program has: by the command that does it.
func Public(name string) string {
	if e := Find(name); e != nil {
		return e.Called
	}
	return strings.ReplaceAll(name, "_", " ")
}

var names = map[Caller]string{Local: "process of this machine", Owner: "person", Viewer: "viewer", Worker: "worker"}

// Conducted reports whether the conductor of the run does it.
func (e *Entry) Conducted() bool { return e.propose != nil }

// Propose returns what an act does to a run for a person, as one message of the log, so that a kill leaves nothing half done, and
// what becomes of it. The error is a *request.RefusedError where it cannot be done.
func Propose(ctx context.Context, h Hands, s *run.State, a Args, by string) (actions []run.Action, out Outcome, err error) {
	held, byHand := a.(Held)
	if byHand {
		a = held.Args
	}
	e := table[a.Act()]
	switch over := request.Over(&s.Agenda); {
	case !e.Conducted():
		return nil, out, request.Refusedf("%s is nothing that a run does", e.Name)
	case over != nil && e.On&Ended == 0:
		return nil, out, over
	}
	if err = check(a); err != nil {
		return nil, out, err
	}
	actions, out.Text, err = e.propose(ctx, h, s, a, by)
	if byHand && err == nil {
		actions, err = out.hold(s, a, by, actions, h.Now().Add(run.HoldBack))
	}
	if len(actions) > 1 {
		actions = []run.Action{run.Together{Actions: actions}}
	}
	return actions, out, err
}
