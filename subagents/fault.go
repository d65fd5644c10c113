package subagents

import (
	"divisi/internal/model"
	"divisi/internal/spec"
)

// The classes of fault that the runtime gives. They decide what the conductor does next.
const (
	faultTurns      = "limit_turns"
	faultTokens     = "limit_tokens"
	faultTime       = "limit_time"
	faultIdle       = "limit_idle"
	faultCall       = "limit_call"
	faultToolCalls  = "limit_tool_calls"
	faultLoop       = "loop"
	faultNoResult   = "no_result"
	faultWriteSet   = "write_set"
	faultRemaining  = "remaining" // files of a shard still match its rule
	faultCommand    = "command"
	faultGate       = "gate"
	faultSetup      = "setup"
	faultVerdict    = "verdict"
	faultBudget     = "budget"
	faultInternal   = "internal"
	faultAssignment = "assignment"
	faultCancelled  = "cancelled"
	faultModel      = "model_"
	faultEmpty      = "empty"
)

// maxDiscarded is how many answers in a row are discarded before the attempt fails.
const maxDiscarded = 3

// policy is what becomes of an attempt when a model call fails with a class.
type policy struct {
	// retry asks again, with a nudge, up to maxDiscarded times; once asks again one time, with the request healed.
	retry  bool
	once   bool
	status spec.Status
	class  string
}

// policies has one line a class of model error. Waiting for rate limits is the model's own; what still comes through is final.
var policies = map[string]policy{
	string(model.Truncated):     {retry: true, status: spec.StatusFailed, class: faultModel + "truncated"},
	string(model.MalformedCall): {retry: true, status: spec.StatusFailed, class: faultModel + "malformed_call"},
	string(model.Cancelled):     {retry: true, status: spec.StatusFailed, class: faultModel + "cancelled"},
	faultEmpty:                  {retry: true, status: spec.StatusFailed, class: faultModel + "empty"},
	faultIdle:                   {retry: true, status: spec.StatusTimedOut, class: faultIdle},
	faultCall:                   {retry: true, status: spec.StatusTimedOut, class: faultCall},
	faultLoop:                   {retry: true, status: spec.StatusFailed, class: faultLoop},
	string(model.Invalid):       {once: true, status: spec.StatusFailed, class: faultModel + "invalid"},
	string(model.Blocked):       {status: spec.StatusFailed, class: faultModel + "blocked"},
	string(model.Auth):          {status: spec.StatusFailed, class: faultModel + "auth"},
	string(model.TooLong):       {status: spec.StatusFailed, class: faultModel + "too_long"},
	string(model.OverBudget):    {status: spec.StatusBlocked, class: faultBudget},
	string(model.RateLimited):   {status: spec.StatusBlocked, class: faultModel + "rate_limited"},
	string(model.Overloaded):    {status: spec.StatusBlocked, class: faultModel + "overloaded"},
	string(model.Stalled):       {status: spec.StatusBlocked, class: faultModel + "stalled"},
	string(model.Unavailable):   {status: spec.StatusBlocked, class: faultModel + "unavailable"},
}

// tries is how many answers in a row may fail with the class before the attempt ends.
func (p policy) tries() int {
	switch {
	case p.retry:
		return maxDiscarded
	case p.once:
		return 2
	}
	return 1
}

// policyOf returns the line of a class; one that nobody knows is final.
func policyOf(class string) policy {
	if p, ok := policies[class]; ok {
		return p
	}
	return policy{status: spec.StatusFailed, class: faultModel + class}
}
