package run

import (
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/forecast"
)

// Status is the state of a run.
type Status string

// The states of a run. The last four are ends; stopped can be resumed.
const (
	Created   Status = "created"
	Preflight Status = "preflight" // setup
	Planning  Status = "planning"  // the master surveys and plans; absent with a plan file
	Running   Status = "running"   // tasks are dispatched, verified, landed
	Final     Status = "final"     // final gates on the integration head
	Done      Status = "done"      // every task done or landed, final gates no redder than the baseline
	Parked    Status = "parked"    // ended with parked tasks or redder gates
	Stopped   Status = "stopped"   // by a person, a signal or the budget; resume continues it
	Cancelled Status = "cancelled" // by a person, for good
)

// TaskState is the state of a task.
type TaskState string

// The states of a task. The last six are ends; a parked or cancelled task can be opened again.
const (
	TaskPending   TaskState = "pending"   // waits for dependencies, its write set, or a cap
	TaskRunning   TaskState = "running"   // an attempt is on the queue or with a worker
	TaskVerifying TaskState = "verifying" // its patch is with a judge, or its tests are tried
	TaskHeld      TaskState = "held"      // its patch waits for a decision
	TaskAccepted  TaskState = "accepted"  // its patch waits in the landing queue
	TaskLanding   TaskState = "landing"   // its patch is in a batch that is being tested
	TaskDone      TaskState = "done"      // ended well without a patch
	TaskLanded    TaskState = "landed"    // its commit is on the integration branch
	TaskDropped   TaskState = "dropped"   // landed, and taken out again: what depends on it is given up
	TaskParked    TaskState = "parked"    // given up, with a reason; the run continues
	TaskSkipped   TaskState = "skipped"   // given up as not needed: its dependents go on as after done
	TaskCancelled TaskState = "cancelled"
)

// Data is the data of a run event (contextscope.KindRun). Only what changed is set, except on the first one.
type Data struct {
	State  Status `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Spec is set once, on the run's first event.
	Spec *Spec `json:"spec,omitempty"`
	// Baseline is set once, and again where its environment was not that of later gates: one receipt a gate.
	Baseline []spec.Receipt `json:"baseline,omitempty"`
	// Other is set for each other environment in which the gates ran on the base commit.
	Other *Other `json:"other,omitempty"`
	// Flaky is set when the gates have run twice on the base commit: by gate, the failures that one of the runs had alone.
	Flaky map[string][]string `json:"flaky,omitzero"`
	// Names is set with it: by gate, the object with the tests that passed in the second of these runs.
	Names map[string]string `json:"names,omitempty"`
	// Known is set when gates are red on the integration head because of what has landed: their receipts there, by gate.
	Known map[string]spec.Receipt `json:"known,omitempty"`
	// Outage is set when a batch begins to wait, since its gates are red without its patches too.
	Outage *Outage `json:"outage,omitempty"`
	// Unverified is set with the baseline: why nothing that lands is proven; and at the end: why not all of it is.
	Unverified string `json:"unverified,omitempty"`
	// AllowUnverified is set when a resume allows to land what is not proven.
	AllowUnverified bool `json:"allow_unverified,omitempty"`
	// AllowUnread is set when a resume allows to land files that no gate reads.
	AllowUnread bool `json:"allow_unread,omitempty"`
	// Gate is set when a person adds a gate to the run, and when one that was added is none any more.
	Gate *AddedGate `json:"gate,omitempty"`
	// OnDoubt is set when a resume changes what is done about doubts.
	OnDoubt string `json:"on_doubt,omitempty"`
	// Final holds the final gates' receipts on the integration head.
	Final []spec.Receipt `json:"final,omitempty"`
	// FirstRed is set with them where one is red: the number of the first landed batch after which it is.
	FirstRed int `json:"first_red,omitempty"`
	// Missing are set with them, one sentence a gate: the tests of the base commit that did not run there, and that no landed
	// patch explains.
	Missing []string `json:"missing,omitempty"`
	// Twin is set after them in a run that compares.
	Twin *Twin `json:"twin,omitempty"`
	// Epoch counts the conductors that have held the run; each begins with an event that raises it.
	Epoch int `json:"epoch,omitempty"`
	// Setup is set when a conductor has taken over: the sealed object that the workers of the run are made of from then on.
	Setup string `json:"setup,omitempty"`
	// Decision is set when something became of a decision.
	Decision *Decided `json:"decision,omitempty"`
	// Standing is set when an answer comes to stand for later decisions too, or stands for them no more.
	Standing *StandingAnswer `json:"standing,omitempty"`
	// Unlike is set, by task, when edits of landed shards turn out to be made by no other shard of their templates.
	Unlike map[string][]Unlike `json:"unlike,omitempty"`
	// Budget is set when a person changes it.
	Budget *spec.Budget `json:"budget,omitempty"`
	// BudgetDay is set when a person changes that of the day, Day when another day has begun, when its budget is another, and
	// when more percent of it are told to be spent. What the day before forbade is over.
	BudgetDay *spec.Budget `json:"budget_day,omitempty"`
	Day       *Day         `json:"day,omitempty"`
	// Said is set when so many percent of the budget are told to be spent, Exhausted when it allows nothing more, to the reason.
	// Both are over with another budget.
	Said      int    `json:"said,omitempty"`
	Exhausted string `json:"exhausted,omitempty"`
	// File, Roles and Project are set when a retry read changed files: the plan, the roles that differ, and the whole project.
	File    *spec.Plan           `json:"file,omitempty"`
	Roles   map[string]spec.Role `json:"roles,omitempty"`
	Project *spec.Project        `json:"project,omitempty"`
	// Head is the integration head, and Ref the published ref, on the last event of a run.
	Head string `json:"head,omitempty"`
	Ref  string `json:"ref,omitempty"`
	// Dispatch is set when setup, the baseline, its second run or the final gates are put on the queue (tasks --setup,
	// --baseline, --flakes or --again, --head and --final). Void is set when the second run is given up: its id.
	Dispatch *Dispatch `json:"dispatch,omitempty"`
	Void     string    `json:"void,omitempty"`
	// Wait is set when the run begins to wait for a person, to what it waits for, and to "" when it no longer does.
	Wait *string `json:"wait,omitempty"`
	// Line is set when a person stops the line, to the reason, and to "" when it starts again.
	Line *string `json:"line,omitempty"`
	// Keys are set where workers have other keys than before.
	Keys map[string][]byte `json:"keys,omitempty"`
	// Crew is set, to all of it, when workers elsewhere join or leave, and with each epoch of a run whose workers are elsewhere.
	Crew Crew `json:"crew,omitzero"`
	// Away is set with Crew, to all of it, when a worker leaves because of what its machine lacks, and when it is back or gone.
	Away map[string]string `json:"away,omitempty"`
	// At is set, to the environment of a worker, where that has told it and no receipt has.
	At map[string]string `json:"at,omitempty"`
	// Quarantine is set when a person puts a worker into quarantine, Reproved when a second proof of a batch ends without gates.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	Reproved   *Reproved   `json:"reproved,omitempty"`
	// Unserved is set, to all of it, when the roles change that no worker serves.
	Unserved map[string]Unserved `json:"unserved,omitzero"`
	// Made is set, where another machine can take the run over, before other events refer to a commit that the conductor made.
	Made Made `json:"made,omitzero"`
	// Notices are for the people who watch, such as that commands are not confined on this machine.
	Notices []string `json:"notices,omitempty"`
	Own     Own      `json:"own,omitzero"`
}

// Made is a commit, and the object with a pack of what leads to it from what was made before.
type Made struct {
	Commit string `json:"commit"`
	Pack   string `json:"pack"`
}

// Own sums the conductor's own work since its event before: with patches and their files, to seal assignments, to merge and to
// move branches, and to append to the log and the queue.
type Own struct {
	Git     time.Duration `json:"git_ns,omitempty"`
	Seal    time.Duration `json:"seal_ns,omitempty"`
	Landing time.Duration `json:"landing_ns,omitempty"`
	Log     time.Duration `json:"log_ns,omitempty"`
}

// Author is a name and an address for commits.
type Author struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Spec is the order for a run: goal, repository, roles, limits. It changes only where a retry reads changed files.
type Spec struct {
	Run string `json:"run"`
	// Program is the version of Divisi that began the run.
	Program string `json:"program"`
	// Keys are the public keys of the workers, by name: receipts that none of them signed prove nothing.
	Keys map[string][]byte `json:"keys,omitempty"`
	Goal string            `json:"goal"`
	// Repo is the top level of the user's checkout, Base the commit the run starts from, Branch its branch's name or empty.
	Repo   string `json:"repo"`
	Base   string `json:"base"`
	Branch string `json:"branch,omitempty"`
	// Author is who lands: the user, by their settings; the zero value where these do not tell, and in runs of older programs.
	Author Author `json:"author,omitzero"`
	// Submodules are the places of the repository's submodules, which no task may write.
	Submodules []string `json:"submodules,omitempty"`
	// Environment is the id of what was taken from the checkout; empty where setup makes the environment, or there is none.
	Environment string `json:"environment,omitempty"`
	// Derived are places of it that are made from tracked files.
	Derived []string `json:"derived,omitempty"`
	// Copies are the directories of the tree whose packages it has a copy of.
	Copies []string `json:"copies,omitempty"`
	// Missing lists things that trees lack because the checkout does not have them, each with the command that gets it.
	Missing []string `json:"missing,omitempty"`
	// Programs tells of programs of the gates that are others for commands than for the user's shell: nothing is proven then.
	Programs []string `json:"programs,omitempty"`
	// Plan is the plan file's content; nil where a master plans.
	Plan        *spec.Plan           `json:"plan,omitempty"`
	Project     spec.Project         `json:"project"`
	Roles       map[string]spec.Role `json:"roles"`
	Parallel    int                  `json:"parallel"`
	Budget      spec.Budget          `json:"budget,omitzero"`
	AutoApprove bool                 `json:"auto_approve,omitempty"`
	// AllowUnverified lets changes land that no gate can prove.
	AllowUnverified bool `json:"allow_unverified,omitempty"`
	// AllowUnread lets changes land that no gate reads as their kind needs.
	AllowUnread bool `json:"allow_unread,omitempty"`
	// Added are the gates that were added to the run, in their order: those that count are among the project's too.
	Added []AddedGate `json:"-"`
	// FreshBaseline has the gates run on the base commit though an earlier run has kept what they found.
	FreshBaseline bool `json:"fresh_baseline,omitempty"`
	// Reprove is how many of a hundred batches that workers elsewhere have proven are proven a second time, by another one.
	Reprove float64 `json:"reprove,omitempty"`
	// OnDoubt decides about a doubt that the master did not decide: ask (also where it is empty), reject or accept. With Review a
	// person sees each patch before it lands.
	OnDoubt string `json:"on_doubt,omitempty"`
	Review  bool   `json:"review,omitempty"`
	// Detected reports whether the gates were detected, and not written down.
	Detected bool `json:"detected,omitempty"`
	// Proposed is the setup that the repository's files show to be needed, where the project has none.
	Proposed []string `json:"proposed,omitempty"`
	// CI is what the repository's continuous integration checks; nil where no file of it says, and in runs of older programs.
	CI *CI `json:"ci,omitempty"`
	// Trial is a run that ends with its baseline: it tries setup and gates, and changes nothing.
	Trial bool `json:"trial,omitempty"`
	// Twin is a run that compares its final gates with the user's own shell.
	Twin bool `json:"twin,omitempty"`
	// Moves is the run whose landed work this one moves onto its base, Reverts the one whose work it takes out.
	Moves   string `json:"moves,omitempty"`
	Reverts string `json:"reverts,omitempty"`
	// Carried are the patches with which tasks of the plan begin, by task: what another run has landed, as it is on this base.
	Carried map[string]*spec.Patch `json:"carried,omitempty"`
	// Habits are what tasks used in earlier runs.
	Habits []forecast.Habit `json:"habits,omitempty"`
	// Outputs is the directory with the whole output of gates and setup that failed; empty where the run keeps none.
	Outputs string `json:"outputs,omitempty"`
	// Concealed reports that this is the log as a viewer is shown it: its host has checked the signatures of receipts, which
	// cannot be checked again.
	Concealed bool      `json:"concealed,omitempty"`
	Created   time.Time `json:"created"`
}

// ByFile is the author of a plan that came from a plan file.
const ByFile = "file"

// PlanData is the data of a plan event: an expansion that nothing expands again.
type PlanData struct {
	// By is ByFile, or the agent whose dispatch call, or request, this is.
	By string `json:"by"`
	// Request is the id of the request that became this one task; empty for plans.
	Request string `json:"request,omitempty"`
	// Follows is the id of a refused request for more to write whose missing change is this one task; it has none where nothing
	// can follow.
	Follows string `json:"follows,omitempty"`
	// Drop is set where this one task takes others out; By is then the person who asked for it.
	Drop *Drop `json:"drop,omitempty"`
	// Replaces is the place, from 1, of the plan that a person edited before it was approved: this one takes its place. Edited is
	// what the person wrote, before templates were expanded.
	Replaces       int         `json:"replaces,omitempty"`
	Edited         *spec.Plan  `json:"edited,omitempty"`
	DecisionRecord string      `json:"decision_record,omitempty"`
	Tasks          []spec.Task `json:"tasks"`
	// Later are the templates that expand when what they depend on has landed. Expands is set where the tasks are the shards of
	// one of them, and Beyond where these may use more tokens than its plan said.
	Later   []Later `json:"later,omitempty"`
	Expands string  `json:"expands,omitempty"`
	Beyond  bool    `json:"beyond,omitempty"`
	// Round is set where that is one by finding.
	Round *Round `json:"round,omitempty"`
	// Forgotten reports that the tasks are for files that no task could change: their briefs quote gates. Joins are tasks that
	// were parked, by the change set of a new task that they join.
	Forgotten bool                `json:"forgotten,omitempty"`
	Joins     map[string][]string `json:"joins,omitempty"`
	// Notes are for the person who approves the plan, such as the protected files that shards leave out.
	Notes []string `json:"notes,omitempty"`
	// LeftOut are the files that templates match and whose shards may not change them.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// Overlaps are pairs of tasks whose write sets meet; they take turns.
	Overlaps []Overlap `json:"overlaps,omitempty"`
	// Ceiling is the most tokens that the tasks may use, all attempts counted; 0 when no model takes part.
	Ceiling int `json:"ceiling,omitempty"`
	// Likely is what the tasks are estimated to use; nil where nothing is known, and in what is no plan.
	Likely *forecast.Estimate `json:"likely,omitempty"`
	// Agents counts the tasks of coding agents whose use nothing tells yet: what these spend is in neither of the above.
	Agents map[string]int `json:"agents,omitempty"`
	// Grant is the most tokens that the one task of a request may use, with all its attempts and testers and what it has others
	// do; 0 where the agent that asked has no limit.
	Grant int `json:"grant,omitempty"`
}

// TaskData is the data of a task event (contextscope.KindTask); the event's Task and Attempt name the attempt.
type TaskData struct {
	State TaskState `json:"state"`
	// Reason explains the states pending (again), parked and cancelled.
	Reason string `json:"reason,omitempty"`
	// Dispatch is set with state running and verifying: the attempt that was put on the queue.
	Dispatch *Dispatch `json:"dispatch,omitempty"`
	// Fault is shown to the next attempt; set with state pending (again) or parked.
	Fault *spec.Fault `json:"fault,omitempty"`
	// Forgotten is set with a fault where the gates fail in files that no task may change.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
	// Choice is set with a fault and state pending: the place of the next attempt among the choices of its role,
	// where that changes.
	Choice *Choice `json:"choice,omitempty"`
	// Role is set when the task was handed over, with state pending: the role of its attempts from now on.
	Role string `json:"role,omitempty"`
	// Head is set with state pending for a task of a change set: the commit that its attempts start from, the merged set. Kept
	// reports that the commit has what the task changed so far.
	Head string `json:"head,omitempty"`
	Kept bool   `json:"kept,omitempty"`
	// Red is set with state accepted for tests that are run without the change, with the dispatch, and when they have failed.
	Red *Red `json:"red,omitempty"`
	// Again is set when an attempt does not count and is repeated: one of the master, or with state pending one of a command that
	// failed so soon that what it needs may be away. That has a fault while it waits, and none when it may run.
	Again bool `json:"again,omitempty"`
	// Doubt is set with state held; Decision, about the patch, with the state that follows: running where the patch continues.
	Doubt    *Doubt   `json:"doubt,omitempty"`
	Decision *Decided `json:"decision,omitempty"`
	// Silences is set with states verifying and accepted: how many times more the patch silences a checker.
	Silences int `json:"silences,omitempty"`
	// Trial is set with state verifying where an experiment with the tests of the patch is to be made, and with its dispatch.
	Trial *Trial `json:"trial,omitempty"`
	// Revision is set when the task begins again, from any state but landing and the good ends: with state pending, or with
	// accepted where its patch only waits for its change set.
	Revision *Revision `json:"revision,omitempty"`
	// Given is set with state running and the dispatch where the attempt is a person's: its patch. It has no other result, and no
	// worker gets it.
	Given *spec.Patch `json:"given,omitempty"`
	Own   Own         `json:"own,omitzero"`
}

// Dispatch is one attempt put on the queue.
type Dispatch struct {
	// Task is the id on the queue: the task's own, that of its judge, <task>--verify, of its tests alone or an experiment with
	// them, <task>--red, or of a batch, --batch-<number>.
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Role    string `json:"role"`
	Head    string `json:"head"`
	// Uses names the executor or the stronger model that took over, with the reason; empty for the first of the role.
	Uses string `json:"uses,omitempty"`
	// Tokens is the attempt's limit where it is what is left of its task's grant; 0 where the task's limits hold.
	Tokens int `json:"tokens,omitempty"`
	// Assignment is the object-store name of the sealed assignment.
	Assignment string `json:"assignment,omitempty"`
	// Gates are those of a batch; empty where the task names them.
	Gates []string `json:"gates,omitempty"`
	// Since is the commit that a batch is built on: gates with {affected} are narrowed to what changed since; empty for in full.
	Since string `json:"since,omitempty"`
	// Mends are the red gates that a batch mends, Through those that may be red in the passage that it is a part of.
	Mends   []string `json:"mends,omitempty"`
	Through []string `json:"through,omitempty"`
	// Group is the template with whose other shards the attempt may share a process; empty for none.
	Group string `json:"group,omitempty"`
	// InFirst has gates run in the environment of the baseline, while one of its workers is there: those at the end of the
	// run, and those of a change set, whose tests have to fail without it and to pass with it in one environment.
	InFirst bool `json:"in_first,omitempty"`
	// Not are the workers that leave it to another one: they have proven the same before. Where no other one is there they do it,
	// unless it is a second proof.
	Not []string `json:"not,omitempty"`
}

// The states of a batch.
const (
	LandingTesting = "testing" // its chain of commits is with a tester
	LandingLanded  = "landed"  // the integration branch moved
	LandingRed     = "red"     // its gates failed, and are run once more: it may be a flake
	LandingSplit   = "split"   // its gates failed: its tasks are tested in parts, or the only one goes back
	LandingDropped = "dropped" // what it is built on did not land, or something else did: its tasks wait again
	LandingLed     = "led"     // it is in a passage, and the integration branch stays
	LandingSealed  = "sealed"  // the gates of a passage are green: all of it is one merge commit of the integration branch
)

// LandingData is the data of a landing event.
type LandingData struct {
	// Batch counts the run's batches from 1.
	Batch int `json:"batch"`
	// State is testing, landed, red, split, dropped, led or sealed.
	State string `json:"state"`
	// Old and Head are the commit that it is built on, and its last one; Tree is the tree of that.
	Old  string `json:"old"`
	Head string `json:"head"`
	Tree string `json:"tree,omitempty"`
	// Set is the change set that the batch is; empty for patches that may land one without the other.
	Set string `json:"set,omitempty"`
	// Mends are the red gates that its tasks mend, Through those that may be red in the passage that it is a part of.
	Mends   []string `json:"mends,omitempty"`
	Through []string `json:"through,omitempty"`
	Tasks   []Landed `json:"tasks"`
	// Parts are set with state split: the tasks that are tested apart, the first ones first.
	Parts [][]string `json:"parts,omitempty"`
	// Search is set with it: what the failures tell of the tasks.
	Search *Search `json:"search,omitempty"`
	// Limit is how many tasks the next batches may hold; 0 where that stays as it is.
	Limit int `json:"limit,omitempty"`
	// Unverified is set with state landed: why what landed is not proven; empty when it is. It is set with state dropped where
	// commits are made again that have to say so.
	Unverified string `json:"unverified,omitempty"`
	// Better is set in the same way: what is left of the failures of the gates that the batch mends in part.
	Better string `json:"better,omitempty"`
	// Gone is set where patches take tests away: by gate, the object with all tests that landed patches took away.
	Gone map[string]string `json:"gone,omitempty"`
	// Receipts are the batch's gates.
	Receipts []spec.Receipt `json:"receipts,omitempty"`
	// Dispatch is set with state testing: the tester's attempt on the queue (task --batch-<number>).
	Dispatch *Dispatch `json:"dispatch,omitempty"`
	Own      Own       `json:"own,omitzero"`
}

// Ended reports whether the run has ended; a stopped one can be resumed.
func (s Status) Ended() bool {
	return s == Done || s == Parked || s == Stopped || s == Cancelled
}
