package wire

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// The classes of fault that end an attempt. They decide what the conductor does next; nothing reads a fault's words.
const (
	FaultTurns      = "limit_turns"
	FaultTokens     = "limit_tokens"
	FaultTime       = "limit_time"
	FaultIdle       = "limit_idle"
	FaultCall       = "limit_call"
	FaultToolCalls  = "limit_tool_calls"
	FaultLoop       = "loop"
	FaultNoResult   = "no_result"
	FaultWriteSet   = "write_set"
	FaultRemaining  = "remaining" // files of a shard still match its rule
	FaultCommand    = "command"
	FaultGate       = "gate"
	FaultSetup      = "setup"
	FaultOutdated   = "outdated" // the baseline is of another environment
	FaultForeign    = "foreign"  // the worker had no baseline of its environment; with receipts it has made one
	FaultMachine    = "machine"  // several machines lacked the same for it, each in turn
	FaultVerdict    = "verdict"
	FaultRejected   = "rejected"   // the master, a person or the policy of the run decided against a held patch
	FaultProof      = "proof"      // the tests of a task do not fail without the change
	FaultConstraint = "constraint" // a judge reports that a constraint is not kept
	FaultBudget     = "budget"
	FaultInternal   = "internal"
	FaultAssignment = "assignment"
	FaultTree       = "tree" // no work tree can hold the commit
	FaultCancelled  = "cancelled"
	FaultEmpty      = "empty"
	FaultConflict   = "conflict"
	// FaultTooBig and FaultInput stay in every attempt: no request of the role can hold the task, or its inputs lack what the
	// role's instruction names.
	FaultTooBig   = "too_big"
	FaultInput    = "input"
	FaultSnapshot = "snapshot" // a compaction's summary was refused
	// FaultModel begins the class of a failed model call; the class of the model's error follows.
	FaultModel       = "model_"
	FaultAuth        = FaultModel + "auth"
	FaultUncounted   = FaultModel + "uncounted" // the use of the day could not be changed
	FaultRateLimited = FaultModel + "rate_limited"
	FaultOverloaded  = FaultModel + "overloaded"
	FaultStalled     = FaultModel + "stalled"
	FaultUnavailable = FaultModel + "unavailable"
)

// Failed is the result of an attempt that failed.
func Failed(class, message, detail string) spec.Result {
	return spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: class, Message: message, Detail: detail}}
}

// ChangedByThen introduces, at the end of a fault's detail, the diff of what a command that failed had changed.
const ChangedByThen = "\nWhat it had changed by then:\n"

// maxRefused is how many refused paths a fault lists.
const maxRefused = 20

// Refuse returns the fault of a patch that touches what it may not, or nil.
func Refuse(set spec.WriteSet, patch *spec.Patch) *spec.Fault {
	if patch == nil {
		return nil
	}
	var reasons []string
	for _, name := range patch.Files {
		if why := set.RefuseChange(name, slices.Contains(patch.Created, name)); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	message := reasons[0]
	if more := len(reasons) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more of %d changed files)", more, len(patch.Files))
	}
	return &spec.Fault{Class: FaultWriteSet, Message: message, Detail: Bounded(reasons)}
}

// Bounded writes the first of the lines, and how many more there are.
func Bounded(lines []string) string { return strings.Join(text.Few(lines, maxRefused), "\n") }

// StillMatches reports the places where files of a shard match its rule after the task.
func StillMatches(left []string) string {
	return fmt.Sprintf("what its match names is still in %s of the task's files, the first is %s",
		text.Count(len(left), "place"), left[0])
}
