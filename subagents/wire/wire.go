// Package wire holds what crosses the bus between the conductor and the workers: assignments, the data of the events that
// workers append, and the fault classes. Its input and output are these values and their bytes. It never sends a byte and
// decides nothing.
package wire

import (
	"strconv"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// The headers and words of the bus protocol.
const (
	// ControlCancel ends an attempt at once.
	ControlCancel = "cancel"
	// ControlStop lets every agent of the run stop at its next boundary.
	ControlStop = "stop"
)

// Assignment is one attempt of one task, sealed: everything that a worker needs to carry it out.
type Assignment struct {
	Run      string       `json:"run"`
	Task     spec.Task    `json:"task"`
	Role     spec.Role    `json:"role"`
	Project  spec.Project `json:"project"`
	Attempt  int          `json:"attempt"`
	Delivery int          `json:"delivery"`
	Goal     string       `json:"goal,omitempty"`
	// DecisionRecord goes verbatim to every writer.
	DecisionRecord string `json:"decision_record,omitempty"`
	// Head is the integration commit that the attempt starts from.
	Head string `json:"head"`
	// Base reports whether the tree is the base commit's, with no patch in it: its gates are the baseline.
	Base bool `json:"base,omitempty"`
	// Idle reports whether nothing waits for what the gates find.
	Idle bool `json:"idle,omitempty"`
	// Patch is the object of a tester's proof: put on a clean tree, its gates run.
	Patch *spec.Patch `json:"patch,omitempty"`
	// Since is the commit that a batch is built on: gates that can be narrowed are, to what changed since; empty for in full.
	Since string `json:"since,omitempty"`
	// Passage is the commit at which the passage of a batch begins; empty for none.
	Passage string `json:"passage,omitempty"`
	// Baseline maps a gate's name to its receipt on the base commit.
	Baseline map[string]spec.Receipt `json:"baseline,omitempty"`
	// Others are the baselines of other environments whose proofs count, by environment.
	Others map[string]map[string]spec.Receipt `json:"others,omitempty"`
	// BaselineFollows is set where the baseline was not known yet: a run event of the conductor will have it.
	BaselineFollows bool `json:"baseline_follows,omitempty"`
	// Not are the workers that leave the attempt to others, where there is another one.
	Not []string `json:"not,omitempty"`
	// Slice is the object-store name of the frozen upstream events; empty for none.
	Slice string `json:"slice,omitempty"`
	// Inputs are the handoffs and artifacts that the task asked for, in the order of its inputs.
	Inputs []Input `json:"inputs,omitempty"`
	// Prior are the ends of the attempts before this one, oldest first, bounded.
	Prior []Prior `json:"prior,omitempty"`
	// Continues names the earlier agents whose sessions this one continues with (master only), oldest first.
	Continues []int `json:"continues,omitempty"`
	// Message is the user event that wakes a continued session: all reasons since its last turn.
	Message string `json:"message,omitempty"`
	// Start is left by the attempt before, where that transferred the task: the work tree begins with it, on its base, Head.
	Start *spec.Patch `json:"start,omitempty"`
	// Roles are those that delegate and transfer can name, for agents with one of them.
	Roles []Callee `json:"roles,omitempty"`
	// From is the position in the log behind which messages to the agent begin; those before it a master was told when it woke.
	From uint64 `json:"from,omitempty"`
	// Environment is the id of what lies below the work tree; empty for none. Setup is a command that makes it, run by a tester
	// before its gates.
	Environment string   `json:"environment,omitempty"`
	Setup       []string `json:"setup,omitempty"`
	// Group is the template with whose other shards it may share a process; empty for none.
	Group string `json:"group,omitempty"`
	// Object is the object-store name of the sealed assignment. On the queue it stands for everything but run, task, attempt and
	// group.
	Object string `json:"object,omitempty"`
	// Signature is the conductor's, of what is on the queue.
	Signature []byte `json:"signature,omitempty"`
}

// Agent returns the identity of the agent that carries the assignment out.
func (a *Assignment) Agent() string { return AgentID(a.Task.ID, a.Attempt) }

// AgentID names one attempt of one task: task/attempt.
func AgentID(task string, attempt int) string { return task + "/" + strconv.Itoa(attempt) }

// Baseline is read by workers from the run events of the conductor: the receipts of the gates on the base commit.
type Baseline struct {
	Receipts []spec.Receipt `json:"baseline,omitempty"`
}

// Input is one upstream handoff, or one artifact of it and nothing else.
type Input struct {
	Task     string                 `json:"task"`
	Role     string                 `json:"role"`
	Handoff  spec.Handoff           `json:"handoff,omitzero"`
	Artifact *contextscope.Artifact `json:"artifact,omitempty"`
}

// Prior is how an earlier attempt ended and what it had changed.
type Prior struct {
	Attempt int        `json:"attempt"`
	Fault   spec.Fault `json:"fault"`
	Summary string     `json:"summary,omitempty"`
	Diff    string     `json:"diff,omitempty"`
	// Kept reports that the attempt starts with what that one had changed.
	Kept bool `json:"kept,omitempty"`
}

// Started is the data of the event that opens a delivery.
type Started struct {
	Delivery int       `json:"delivery"`
	Time     time.Time `json:"time"`
	// Notes reports that the memory had notes, for a role with tools of the memory.
	Notes bool `json:"notes,omitempty"`
}

// Progress is the data of a progress event: what an agent is doing, in a few words.
type Progress struct {
	Doing string `json:"doing"`
	// Wait is set where a call of a model waits, or another model is asked.
	Wait *spec.Wait `json:"wait,omitempty"`
}
