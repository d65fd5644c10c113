// Package orchestrator carries out runs for the program that embeds it: a goal or a plan on one repository, by agents in work
// trees of their own, proven by gates, landed on one new branch. It takes the documented formats as bytes (docs/plan.md,
// docs/roles.md) and yields the events of a run's log as the documented JSON (docs/log.md). It never changes the repository
// but for that branch, prints nothing, and logs to the zerolog logger of its context. It needs git in PATH, reads the keys of
// models from the environment, and on Linux starts this program again as the first process of each confined command; on other
// systems commands run with the rights of this process.
package orchestrator

import (
	"context"
	"encoding/json"

	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/subagents/wire"
)

// Machine is what this process brings to a run that it carries out.
type Machine struct {
	StateDir       string // has runs, caches and memory; one directory serves many runs
	Record, Replay string // directories: keep the exchanges with models, or answer from kept ones
	Strict         bool   // start only where commands can be fully confined
	Elsewhere      bool   // agents and gates are carried out by other processes, see Work; the run needs a NATS server

	// Approve decides about the plan of a master, on a goroutine of its own. It is nil where no person can be asked. While it is
	// set, the run waits for Send to answer its agents' questions.
	Approve     func(ctx context.Context, q Approval) (Answer, error)
	AutoApprove bool // every plan is approved, and Approve is not called

	// Decide answers what only a person can, but for plans. It is called once for each decision, one after the other, on a
	// goroutine of its own, and returns when ctx ends. It may be nil: Run.Decide answers too.
	Decide func(ctx context.Context, d Decision) (Choice, error)

	// OnDoubt is what happens to a patch that acceptance doubts and no master decides about: ask, reject or accept. "" is ask
	// where Approve is set or Review, else reject.
	OnDoubt string

	// Notice is called with what a person should read at once and no event holds, also by Wait and Close, which it must not
	// call. A code, as CodeOf returns one, is about what to do next; "" is none. It may be nil.
	Notice func(text, code string)

	held    func() error // Config.Held of the conductor
	members bool         // Config.Members of it
	// runsCommands reports whether this machine runs commands for a run that was submitted.
	runsCommands bool
	// admits returns why the person who signed a run may not have it conducted; nil for all.
	admits func(*wire.Warrant) error
	// asked is told what the run was asked, and by whom; nil for no one.
	asked func(by string, q *conductor.Request, err error)
}

// Approval is a plan that a person is asked about.
type Approval struct {
	Run     string          // its id
	Dir     string          // the run's directory: what a person writes there goes with the run
	Plan    json.RawMessage // the event plan
	File    File            // the same as a plan file, its templates not expanded: what a person can edit
	Refused error           // what is wrong with the Plan of the answer before, which File then is; nil else
}

// Decision is what must be decided before some of the work goes on: a plan, a question of an agent, a held patch or template.
type Decision struct {
	Run, ID  string          // an answer names the ID
	Kind     string          // plan, question, patch, test or template
	About    string          // the task or the template; "" for the run
	Attempt  int             // of the task; 0 where none is meant
	Text     string          // what is to be decided, in a line
	Evidence []string        // why, a sentence each; foreign text in it is quoted
	Choices  []string        // what an agent proposes as answers to its question
	Patches  []Patch         // what is to be judged; none where it is about no patch
	Plan     json.RawMessage `json:",omitempty"`
	Options  []Option
	Suggests string // the name of an option; "" for none
	Decider  string // policy, master or person; a person may always answer
	Why      string // it is theirs to decide
	Reserved bool   `json:",omitempty"` // a person answers it alone, and no program for that person
	Blocks   int    // tasks that wait for it
	Alike    string // the same for decisions that one answer may be for; "" for one that stands alone
}

// Option is a way to answer: what it Does ends a sentence that begins with its Name. NeedsText reports that it needs a text.
type Option struct {
	Name, Does string
	NeedsText  bool
}

// Choice is the answer to a decision: the name of an option and the text that it needs. Without an option it stays open.
type Choice struct {
	Option, Text string
	Task         string // whose patch is meant, where the decision is about several
	Alike        bool   // it also accepts each other patch of the run that is alike, held now or later
}

// Patch is what the newest attempt of a task has changed.
type Patch struct {
	Task  string
	Files []string
	Diff  string // as git prints it, text of the repository
	Fault string // why the patch cannot be shown; "" where it is
}

// Answer is a person's answer about a plan: without any of the fields the run stops, and asks again when it goes on.
type Answer struct {
	Yes     bool
	Comment string // send the plan back to the master
	Plan    *File  // takes the plan's place, and is asked about in turn
}

// File is a file in a documented format. Its name stands in messages.
type File struct {
	Name string
	Data []byte
}

// Options describe a new run. Goal or Plan is needed.
type Options struct {
	Machine
	Repo             string // a directory of the repository
	Base             string // the commit to start from; "" for the one that is checked out, without changes
	Goal             string // for a master that plans
	Plan             *File
	Roles            []File // beside the built-in ones and the repository's
	Prove            string // batch or each; "" for the project's
	Parallel, Budget int    // agents at once; tokens after which the run stops; 0 for the project's
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
	// Trial runs setup and gates once on the base commit, in place of a goal or a plan, and ends: nothing is changed. Project is
	// used in place of .divisi/divisi.yaml.
	Trial   bool
	Project *File

	// Trust decides about what the repository's files request beyond confined commands without network, before anything of it
	// runs. Start calls it; Resume does not ask again. Without a yes, or when it is nil, the run does not start: ErrNotTrusted.
	Trust func(ctx context.Context, requests []string) (bool, error)
	// Propose decides about a setup that no file names and without which the detected gates cannot run, as the files in why show.
	// requests are those of Trust with it. Without a yes, or when it is nil, the run starts without the setup.
	Propose func(ctx context.Context, setup, why, requests []string) (bool, error)
	// Fetch decides whether objects of the base commit that a partial clone lacks are fetched from its remote, with the git
	// settings and credentials of the account of this process, into StateDir. Without a yes, or when it is nil, the run does
	// not start.
	Fetch func(ctx context.Context, clone PartialClone) (bool, error)
}

// ResumeOptions describe how a stopped or killed run goes on.
type ResumeOptions struct {
	Machine
	Run             string
	Repo            string // where the repository is now; "" for where it was
	Budget          *int   // a new budget for the whole run; 0 for none
	AllowUnverified bool
	AllowUnread     bool
}

// Result is how a run stands.
type Result struct {
	State      string   // done, parked, stopped, cancelled, or what it was when its process ended
	Reason     string   // of the state
	Repo, Ref  string   // the repository and its new branch; Ref is "" for none
	Base, Head string   // the commits that the run started from and that it has come to
	Unverified string   // why nothing that landed is proven; "" when it is
	Missing    string   // which tasks of those that landed cannot be found any more, of Publish; "" for none
	Ended      bool     // which a run that was resumed or killed has not
	Changes    []Change // of the branch against Base, by path; of a run that this process carried out, or Publish
	Proposals  int      // notes of this run for the repository's memory that wait for a person
	Notices    []string // of a recording or a replay
	Next       []Way    // the most useful first
	Report     json.RawMessage
}

// Way is a command of the program divisi, without its global flags, that continues a run or uses its result, and what it is for.
type Way struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// Change is how many lines of a file changed.
type Change struct {
	Path           string
	Added, Deleted int
}

// Start begins a run. It returns once the run's first event is in the log; an error before leaves nothing behind. The run goes on
// until it ends or ctx does, which stops it in order. Without Wait or Close it keeps its log open until the process ends.
func Start(ctx context.Context, o Options) (*Run, error) {
	if o.SendEnvironment {
		return nil, usage.Errorf("SendEnvironment is for a run that is submitted: this one is conducted here")
	}
	if o.Reprove > 0 && !o.Elsewhere {
		return nil, wrong("reprove is for runs whose workers are elsewhere: in one process there is no other worker")
	}
	h, err := prepare(ctx, &o, false)
	if err != nil {
		return nil, err
	}
	return h.begin(ctx, &o)
}

// Preview expands a plan file as Start does, and reports what Start would refuse. It writes only to a temporary directory,
// which it removes. It runs the commands of shard rules, which without the yes of Trust see none of the variables that the
// repository requests.
func Preview(ctx context.Context, o Options) (p Previewed, err error) {
	if o.Plan == nil {
		return p, usage.Errorf("a preview needs a plan: a goal is planned by a model")
	}
	o.Fetch = nil
	h, err := prepare(ctx, &o, true)
	if err != nil {
		return p, err
	}
	return h.preview(ctx, &o)
}

// Resume goes on with a run, as Start does. Its state is computed from its log.
func Resume(ctx context.Context, o ResumeOptions) (*Run, error) { return resume(ctx, &o) }
