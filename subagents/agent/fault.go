package agent

import (
	"cmp"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// maxDiscarded is how many answers in a row are discarded before the attempt fails.
const maxDiscarded = 3

// policy is the consequence for an attempt of a model call that failed with a class.
type policy struct {
	// retry asks again, with a nudge, up to maxDiscarded times; once asks again one time, with the request healed.
	retry  bool
	once   bool
	status spec.Status
	// class is the class of the attempt's fault; empty means wire.FaultModel with the class of the error.
	class string
}

// policies has one line for each class of model error, and for each reason of the agent's own to discard an answer. The model
// client waits for rate limits itself: an error that it returns is final.
var policies = map[string]policy{
	string(model.Truncated):     {retry: true, status: spec.StatusFailed},
	string(model.MalformedCall): {retry: true, status: spec.StatusFailed},
	string(model.Cancelled):     {retry: true, status: spec.StatusFailed},
	wire.FaultEmpty:             {retry: true, status: spec.StatusFailed},
	wire.FaultIdle:              {retry: true, status: spec.StatusTimedOut, class: wire.FaultIdle},
	wire.FaultCall:              {retry: true, status: spec.StatusTimedOut, class: wire.FaultCall},
	wire.FaultLoop:              {retry: true, status: spec.StatusFailed, class: wire.FaultLoop},
	string(model.Invalid):       {once: true, status: spec.StatusFailed},
	string(model.Blocked):       {status: spec.StatusFailed},
	string(model.Auth):          {status: spec.StatusFailed, class: wire.FaultAuth},
	string(model.TooLong):       {status: spec.StatusFailed},
	string(model.OverBudget):    {status: spec.StatusBlocked, class: wire.FaultBudget},
	string(model.Uncounted):     {status: spec.StatusBlocked, class: wire.FaultUncounted},
	string(model.RateLimited):   {status: spec.StatusBlocked, class: wire.FaultRateLimited},
	string(model.Overloaded):    {status: spec.StatusBlocked, class: wire.FaultOverloaded},
	string(model.Stalled):       {status: spec.StatusBlocked, class: wire.FaultStalled},
	string(model.Unavailable):   {status: spec.StatusBlocked, class: wire.FaultUnavailable},
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

// policyOf returns the line of a class; an unknown class is final.
func policyOf(class string) policy {
	p, ok := policies[class]
	if !ok {
		p.status = spec.StatusFailed
	}
	p.class = cmp.Or(p.class, wire.FaultModel+class)
	return p
}
