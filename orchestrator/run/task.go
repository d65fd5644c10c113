package run

import (
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Task is one task of the plan, with its state.
type Task struct {
	Task spec.Task
	// command is its own one while its role has another.
	command []string

	Plan  int
	State TaskState
	// Reason explains its state; Faults are the ends of its failed attempts, oldest first.
	Reason string
	Faults []AttemptFault
	// Attempt is the newest attempt's number; Verify that of the newest attempt of its tester.
	Attempt int
	Verify  int
	// Result is the newest attempt's accepted result, Commit its commit on the integration branch.
	Result *spec.Result
	// Queued is when the patch of the newest attempt came into the landing queue; zero while it has not.
	Queued time.Time
	// Part is below 0 while it is tested with some others alone, since it was in a batch that failed; the lowest part is next.
	Part int
	// Suspected is the knowledge about it since then.
	Suspected Suspected
	Commit    string
	Landed    Landed
	// Dropped is its role in its newest batch that was dropped: one that is made again has the same to say.
	Dropped Landed
	// LandedAt is when it landed; zero while it has not.
	LandedAt time.Time
	VerifyR  *spec.Result
	// Named are the entries of its files that a person or the master wrote: none of a shard's, which a rule found, none that an
	// agent asked for.
	Named []string
	// Parent is the task whose agent asked for this one, and Depth how many agents are above it; "" and 0 for planned ones.
	Parent string
	Depth  int
	// Grant is the most tokens that all of it may use, as its parent's limit allows; 0 for no such bound.
	Grant int
	// Choice is the place of the newest attempt among its role's executors and models, Next that of the next one.
	Choice, Next Choice
	// Handovers are the times that its agent gave it to another role, oldest first.
	Handovers []Handover
	// Doubts are why its patches were held, and Revisions how it was changed, oldest first. Fresh is how many of its faults are
	// older than the newest revision, and Revised its newest attempt then. Model is the model of its attempts where a revision
	// chose one.
	Doubts    []Doubt
	Revisions []Revision
	Fresh     int
	Revised   int
	Model     string
	// Unprovable is set where it waits in the queue with a patch that has a part which no gate can prove.
	Unprovable bool
	// Silences is how many times more its patch silences a checker, where no person was asked.
	Silences int
	// Red is the newest run of its tests without the change; nil for none.
	Red *Red
	// Trial is the experiment that its patch waits for, Tried the one that its newest patch waited for before; nil for none.
	Trial *Trial
	Tried *Trial
	// Waited is set where an attempt of its command was not counted, since it was last revised: what the command needs may have
	// been away.
	Waited bool
	// Forgotten is why it is parked: the gates fail in files that no task may change; nil otherwise.
	Forgotten *Forgotten
	// EndedPos is where in the log it ended; 0 while it has not.
	EndedPos uint64
	// place is its place in the plan order.
	place int
	// After are the tasks and templates that must be over before this one starts.
	After []string
	// Drops are the tasks that it takes out again; none for most.
	Drops []string
	// Head is the merged change set that its attempts start from; empty for the integration head. Kept are its patches in there.
	Head string
	Kept []Kept
	// Rounds are those of a template by finding, oldest first. Before counts them when it was revised last.
	Rounds []Round
	Before int
}

// Suspected is the evidence of failed batches about a patch.
type Suspected struct {
	// Tree failed with it, and it may be why; empty for none. Without are trees that failed since then without it.
	Tree    string
	Without []string
	// Out reports that its part fails if the one before it does not; Right that a batch without it failed too. Refuted is set
	// with the first such batch that it was left out of, and stays: what comes back after it stays in the search.
	Out, Right, Refuted bool
	// Odds are how likely it is the wrong one of those that were weighed with it; 0 where they were not.
	Odds float64
}

// Kept is a patch of an earlier attempt, which the later ones of a change set are built on. OnSet reports that it was made on the
// merged set.
type Kept struct {
	Attempt int
	Patch   *spec.Patch
	OnSet   bool
}

// Patches are all that a task of a change set has changed: what is kept of earlier attempts, and the newest one's patch.
func (t *Task) Patches() []Kept {
	if t.Result == nil || t.Result.Patch == nil || t.Result.Attempt != t.Attempt {
		return t.Kept
	}
	return append(slices.Clone(t.Kept), Kept{t.Attempt, t.Result.Patch, t.Head != ""})
}

// WriteSet bounds the writes of a task's attempts: what earlier ones made, and the next are built on, is its own.
func (t *Task) WriteSet(protected []string) spec.WriteSet {
	w := t.Task.WriteSet(protected)
	for _, k := range t.Kept {
		if len(w.Files) > 0 {
			w.Files = slices.Concat(w.Files, k.Patch.Created)
		}
	}
	return w
}

// Changes are the files that the patches of a task change.
func (t *Task) Changes() []string {
	var files []string
	for _, k := range t.Patches() {
		files = append(files, k.Patch.Files...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Handover is an attempt that gave its task to another role.
type Handover struct {
	Attempt int
	// Role is that of the attempt; Brief its message to the next one, Patch its work.
	Role  string
	Brief string
	Patch *spec.Patch
}

// AttemptFault is how one attempt failed.
type AttemptFault struct {
	Attempt int
	// Choice is its place among the choices of its role.
	Choice  Choice
	Fault   spec.Fault
	Patch   *spec.Patch
	Summary string
	// Forgotten are its failures in files that no task may change; nil for none.
	Forgotten *Forgotten
}

// Elsewhere reports whether it failed only in files that no task may change: the patch may be right.
func (a *AttemptFault) Elsewhere() bool { return a.Forgotten != nil && a.Forgotten.Only }

// Work is something on the queue: a task, its tester, a batch, setup, the baseline or the final gates.
type Work struct {
	ID       string
	Role     string
	Attempts map[int]*Attempt
	Last     int
	// Batch is the batch that it tests, also once that has ended; nil for all other work.
	Batch *Batch
}

// Attempt is one attempt, folded from the log.
type Attempt struct {
	Attempt int
	Role    string
	// Pos is where in the log it was dispatched, StartedPos where its newest delivery began.
	Pos, StartedPos uint64
	// Open counts its requests without an answer. Stopped is set when its agent stopped at a turn boundary, Void when its
	// task was cancelled.
	Open          int
	Stopped, Void bool
	// Given is set where a person made its patch, Carried where it is one that has landed in another run.
	Given, Carried bool
	// Lacks reports what the machine lacked when its newest delivery was interrupted; nil for nothing.
	Lacks *wire.Nudge
	// Delegates counts the tasks with a model that its newest turn asks for. Tokens is its limit where its task has a grant; 0
	// for none.
	Delegates, Tokens int
	// Epoch is that of the conductor that dispatched it.
	Epoch int
	Head  string
	// Assignment is the object that holds its assignment; empty where a person made its patch.
	Assignment string
	// Group is the template with whose other shards it may share a process; empty for none.
	Group string
	// InFirst and Not are those of its dispatch. Barred reports that its newest delivery is with a worker which must not do it.
	InFirst bool
	Not     []string
	Barred  bool
	// Owner is the worker that has it.
	wire.Owner

	Started bool
	Doing   string
	// Steps are the newest plan that its agent keeps of its own work.
	Steps []spec.Step
	// Saved are the artifacts that its agent gave a name, the newest of each.
	Saved []contextscope.Listed
	Usage spec.Usage
	// Calls are the paid model calls, oldest first. Unmetered counts the deliveries whose coding agent ended without figures;
	// metered reports that the newest one has some.
	Calls     []Call
	Unmetered int
	metered   bool
	// reserved are its calls under way, by name.
	reserved map[string]reserved
	Turns    int
	Result   *spec.Result
	// ResultPos is the result's position in the log.
	ResultPos uint64
	Receipts  []spec.Receipt
	// Dispatched, Began and Ended are unix milliseconds, for reports; 0 when unknown. Seen is when its worker wrote last.
	Dispatched, Began, Ended, Seen int64
	// Quota is until when the newest quota is used up that a call of it met.
	Quota time.Time
	// busy sums its activities; turned is when the turn whose calls run came, from the run's creation on, 0 while none run; down
	// is how long no process had held the run when it was dispatched.
	busy, turned, asked, down time.Duration
	// Life is when it was dispatched, began and ended on the run's clock, zero where it has not; Spans is what it did.
	Life  struct{ Dispatched, Began, Ended time.Duration }
	Spans []Span
}

// Call is one usage event of an attempt, with the id of its price row, or with the cost that a program stated. Model is empty
// where it was the agent's own, and where a program does not name it.
type Call struct {
	Price, Tier string
	Usage       spec.Usage
	Cost        spec.Money
	Model       string
}

// At is an attempt of the work; nil for none, and for no work.
func (w *Work) At(n int) *Attempt {
	if w == nil {
		return nil
	}
	return w.Attempts[n]
}

// Newest is the newest attempt of the work; nil for none, and for no work.
func (w *Work) Newest() *Attempt {
	if w == nil {
		return nil
	}
	return w.Attempts[w.Last]
}

// Outstanding reports whether an attempt of the work is on the queue or with a worker.
func (w *Work) Outstanding() bool {
	a := w.Newest()
	return a != nil && a.Result == nil && !a.Void
}

// Redispatch is the newest attempt as it was dispatched.
func (w *Work) Redispatch() Dispatch {
	a := w.Attempts[w.Last]
	return Dispatch{
		Task: w.ID, Attempt: w.Last, Role: w.RoleAt(w.Last), Head: a.Head, Tokens: a.Tokens, Assignment: a.Assignment,
		Group: a.Group,
	}
}

// Waits reports whether all that the work's agent does is wait for others.
func (w *Work) Waits() bool { return w.Outstanding() && w.Newest().Open > 0 }

// Ended reports whether a task will not change any more.
func (t *Task) Ended() bool {
	switch t.State {
	case TaskDone, TaskLanded, TaskDropped, TaskParked, TaskSkipped, TaskCancelled:
		return true
	default:
		return false
	}
}

// Handover is how the task was last transferred to another role; nil when it was not. untried reports whether no attempt
// has failed since. An attempt that was interrupted without its fault, by a spent budget or a refused key, is repeated from
// the same work.
func (t *Task) Handover() (h *Handover, untried bool) {
	if len(t.Handovers) == 0 {
		return nil, false
	}
	h = &t.Handovers[len(t.Handovers)-1]
	return h, len(t.Faults) == 0 || t.Faults[len(t.Faults)-1].Attempt <= h.Attempt
}

// GivenUp reports whether a task ended without success.
func (t *Task) GivenUp() bool { return t.State == TaskParked || t.State == TaskCancelled }

// Choice is a place among the choices of a role: the executors of its chain, then, where the last of them is a model, the
// stronger models of its alias.
type Choice struct {
	At int `json:"at"`
	// Uses names the executor, or the alias of the stronger model, and Why what led to it; both are empty at the beginning.
	Uses string `json:"uses,omitempty"`
	Why  string `json:"why,omitempty"`
}

// String is the choice in words; "" for the beginning of the choices.
func (p Choice) String() string {
	if p.Uses == "" {
		return ""
	}
	return p.Uses + ": " + p.Why
}

// roleOf returns the role of a task, with the model that a revision chose.
func (s *Spec) roleOf(t *Task) spec.Role {
	role := s.Roles[t.Task.Role]
	if t.Model != "" {
		role.UseModel(t.Model)
	}
	return role
}

// Choices names the places of the choices of a task's role.
func (s *Spec) Choices(t *Task) []string {
	r := s.roleOf(t)
	choices := r.Executors()
	if len(choices) > 0 && choices[len(choices)-1] == spec.ExecutorModel {
		choices = append(choices, s.Project.Stronger(r.Model)...)
	}
	return choices
}

// RoleOn returns the role of a task as the attempts at a place of its choices have it: with one executor, and one model. The last
// place stays for all places behind it.
func (s *Spec) RoleOn(t *Task, at int) spec.Role {
	role, choices := s.roleOf(t), s.Choices(t)
	if len(choices) == 0 {
		return role
	}
	at = min(at, len(choices)-1)
	executors := role.Executors()
	role.Executor, role.Chain = executors[min(at, len(executors)-1)], nil
	if at >= len(executors) {
		role.UseModel(choices[at])
	}
	return role
}

// Callees are the roles that the agents of a role can name, sorted.
func (s *Spec) Callees(role *spec.Role) []string {
	if len(role.Delegates) > 0 {
		return slices.Sorted(slices.Values(role.Delegates))
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Roles)), func(name string) bool {
		return name == spec.RoleMaster || name == spec.RoleTester
	})
}

// Made is the role of a task's newest attempt, with the executor and the model that it had.
func (s *Spec) Made(t *Task, works Works) spec.Role {
	if works.ByPerson(t) {
		return spec.Role{Name: spec.Person, Executor: spec.Person}
	}
	return s.RoleOn(t, t.Choice.At)
}

// Spends reports whether a role uses a model, its own or that of a coding agent which prints its usage, and with it tokens.
func (s *Spec) Spends(role string) bool {
	r := s.Roles[role]
	return r.Runs(spec.ExecutorModel) || r.Usage != ""
}

// Writes reports whether any task of a plan changes files.
func (s *Spec) Writes(plan PlanData) bool {
	changes := func(t *spec.Task) bool { role := s.Roles[t.Role]; return role.ChangesFiles() }
	return slices.ContainsFunc(plan.Tasks, func(t spec.Task) bool { return changes(&t) }) ||
		slices.ContainsFunc(plan.Later, func(l Later) bool { return changes(&l.Task) })
}
