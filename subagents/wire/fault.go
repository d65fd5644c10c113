package wire

import "divisi/internal/model"

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
	FaultVerdict    = "verdict"
	FaultBudget     = "budget"
	FaultInternal   = "internal"
	FaultAssignment = "assignment"
	FaultCancelled  = "cancelled"
	FaultEmpty      = "empty"
	FaultConflict   = "conflict"
	// Another attempt mends neither of these: no request of the role can hold the task, or its inputs lack what the role's
	// instruction names.
	FaultTooBig   = "too_big"
	FaultInput    = "input"
	FaultSnapshot = "snapshot" // a compaction's summary was not one
	// FaultModel begins the class of a failed model call; the class of the model's error follows.
	FaultModel       = "model_"
	FaultAuth        = FaultModel + string(model.Auth)
	FaultRateLimited = FaultModel + string(model.RateLimited)
	FaultOverloaded  = FaultModel + string(model.Overloaded)
	FaultStalled     = FaultModel + string(model.Stalled)
	FaultUnavailable = FaultModel + string(model.Unavailable)
)
