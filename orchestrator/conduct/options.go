package conduct

import (
	"context"
	"encoding/json"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Machine holds the resources of this process for a run that it executes.
type Machine struct {
	StateDir       string // has runs, caches and memory; one directory serves many runs
	Record, Replay string // directories: keep the exchanges with models, or answer from kept ones
	Strict         bool   // start only where commands can be fully confined
	Elsewhere      bool   // agents and gates are executed by other processes, see Work; the run needs a NATS server

	// Approve decides about the plan of a master, on a goroutine of its own. It is nil where no person can be asked. While it is
	// set, the run waits for Send to answer its agents' questions.
	Approve     func(ctx context.Context, q Approval) (Answer, error)
	AutoApprove bool // every plan is approved, and Approve is not called

	// ProveTwin prepares the comparison of a head with the user's own shell; package orchestrator sets it. See twin.Prove.
	ProveTwin func(
		s *run.State, state, mirror string, agreed []string, doing func(string),
	) func(context.Context) (*run.Twin, error)

	// Decide answers what only a person can, but for plans. It is called once for each decision, one after the other, on a
	// goroutine of its own, and returns when ctx ends. It may be nil: Run.Act answers too.
	Decide func(ctx context.Context, d client.Decision) (client.Choice, error)
	// AskHeld asks, as long as the run holds back an answer of Decide, whether it is taken back (undo) or acted on at once (now);
	// ctx ends with the wait. Where it is nil nothing that Decide answers is held back.
	AskHeld func(ctx context.Context, decision string) (undo, now bool, err error)

	// OnDoubt decides about a patch that acceptance doubts and no master decides about: ask, reject or accept. "" is ask where
	// Approve is set or Review, else reject.
	OnDoubt string

	// Notice is called with what a person should read at once and no event holds, also by Wait and Close, which it must not
	// call. A code, as CodeOf returns one, is about what to do next; "" is none. It may be nil.
	Notice func(text, code string)
}

// Approval is a plan that a person is asked about.
type Approval struct {
	Run     string          // its id
	Dir     string          // the run's directory: what a person writes there goes with the run
	Plan    json.RawMessage // the event plan
	File    File            // the same as a plan file, its templates not expanded: what a person can edit
	Refused error           // what is wrong with the Plan of the answer before, which File then is; nil else
}

// Answer is a person's answer about a plan: without any of the fields the run stops, and asks again when it continues.
type Answer struct {
	Yes     bool
	Comment string // send the plan back to the master
	Plan    *File  // takes the plan's place, and is asked about in turn
}

// File is a file in a documented format. Its name is in messages.
type File struct {
	Name string
	Data []byte
}

// Options describe a new run. Goal or Plan is needed.
type Options struct {
	Machine
	Repo  string // a directory of the repository
	Base  string // the commit to start from; "" for the one that is checked out, without changes
	Goal  string // for a master that plans
	Plan  *File
	Roles []File // beside the built-in ones and the repository's
	// Agent is the coding agent that takes the built-in roles, one of spec.CodingAgents; empty leaves them to models.
	Agent    string
	Prove    string      // batch or each; "" for the project's
	Parallel int         // agents at once; 0 for the project's
	Budget   spec.Budget // what the run may use; none for the project's
	// Reprove is how many of a hundred batches that workers elsewhere have proven another worker proves a second time.
	Reprove         float64
	AllowUnverified bool   // land changes that no gate can prove
	AllowUnread     bool   // land files that no gate reads; AllowUnverified does so too
	FreshBaseline   bool   // run the gates on the base commit though an earlier run has kept what they found
	Review          bool   // a person accepts each patch before it lands
	SendEnvironment bool   // of Submit: send what the environment of the project takes from the checkout
	NATS, Login     string // URL of a server, "" for a built-in one; file of credentials for it, which ends in .creds
	// WritePlan takes the plan of the master, as a plan file, in place of Approve. Nothing of it starts: the run stops for the
	// reason that it returns. Resume asks about the plan as usual.
	WritePlan func(ctx context.Context, plan File) (reason string, err error)
	Sample    bool // the repository is one of many samples, which share build caches
	// Trial runs setup and gates once on the base commit, in place of a goal or a plan, and ends: nothing is changed.
	Trial bool
	// Next has the run go on from what another one has landed, in place of Goal and Plan; Base is needed then.
	Next *Succession
	// Gates are those that the run has beside the project's, where that has none of their names. One of the project with the same
	// command gets the name, and the format.
	Gates []spec.Gate
	// Project is used in place of the project file of the repository, and Trust is not asked about what it requests, unless it is
	// Proposed.
	Project  *File
	Proposed bool

	// Trust decides about what the repository's files request beyond confined commands without network, before anything of it
	// runs. Start calls it; Resume does not ask again. Without a yes, or when it is nil, the run does not start:
	// fault.ErrNotTrusted.
	Trust func(ctx context.Context, requests []string) (bool, error)
	// Propose decides about a setup that no file names and without which the detected gates cannot run, as the files in why show.
	// requests are those of Trust with it. Without a yes, or when it is nil, the run starts without the setup.
	Propose func(ctx context.Context, setup, why, requests []string) (bool, error)
	// Twin compares the gates of the final head with a run of setup and gates outside the sandbox, as the user of this process.
	// It decides whether the commands may; without a yes the run does not start. nil for no such comparison.
	Twin func(ctx context.Context, commands []string) (bool, error)
	// Pins decides whether the run may start with programs in other versions than files of the repository name, where the project
	// does not decide. Each conflict tells what to install. Where it is nil the run starts, and tells them.
	Pins func(ctx context.Context, conflicts []string) (bool, error)
	// Fetch decides whether objects of the base commit that a partial clone lacks are fetched from its remote, with the git
	// settings and credentials of the account of this process, into StateDir. Without a yes, or when it is nil, the run does
	// not start.
	Fetch func(ctx context.Context, clone PartialClone) (bool, error)
}

// named is the project file that the options have.
func (o *Options) named() *configs.File {
	if o.Project == nil {
		return nil
	}
	return &configs.File{Name: o.Project.Name, Text: string(o.Project.Data)}
}

// ResumeOptions describe how a stopped or killed run continues.
type ResumeOptions struct {
	Machine
	Run             string
	Repo            string       // where the repository is now; "" for where it was
	Budget          *spec.Budget // a new budget for the whole run; 0 for none
	AllowUnverified bool
	AllowUnread     bool
}

// checkTape refuses a recording of a replay.
func (o *Machine) checkTape() error {
	if o.Record != "" && o.Replay != "" {
		return usage.Wrong("record does not go with a replay, which makes no new exchanges")
	}
	if o.Elsewhere && o.Record+o.Replay != "" {
		return usage.Errorf("a recording is made, and replayed, where the models are called: give Record or Replay to Work")
	}
	return nil
}

// Hosting is a host's knowledge of a run that it conducts for another machine. The zero value is for none.
type Hosting struct {
	Held   func() error                // Config.Held of the conductor
	Caller func(subject string) string // Config.Caller of it
	// RunsCommands reports whether this machine runs commands for a run that was submitted.
	RunsCommands bool
	// Admits returns why the person who signed a run may not have it conducted; nil for all.
	Admits func(*wire.Warrant) error
	// Asked is told what the run was asked, and by whom; nil for no one.
	Asked func(by string, q *act.Request, err error)
}
