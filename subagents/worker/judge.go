package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// verdict is submitted by a judge beside its handoff.
type verdict struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`
}

// judge returns the judge of a patch; nil when there is none, or no patch to judge.
func (at *attempt) judge() func(context.Context) (spec.Result, error) {
	if at.assignment.Patch == nil {
		return nil
	}
	switch at.assignment.Role.Executor {
	case spec.ExecutorModel:
		return at.judgeByModel
	case spec.ExecutorCommand:
		return at.judgeByCommand
	default:
		return nil
	}
}

// judgeByCommand has the role's command say pass by exiting with 0.
func (at *attempt) judgeByCommand(ctx context.Context) (spec.Result, error) {
	if err := at.environment(at.audience()); err != nil {
		return spec.Result{}, err
	}
	r, err := at.command().Run(ctx)
	if err == nil && r.Error != nil && r.Error.Class == wire.FaultCommand {
		r.Error.Class = wire.FaultVerdict
	}
	return r, err
}

// judgeByModel has the role's model compare the patch with what was asked for.
func (at *attempt) judgeByModel(ctx context.Context) (spec.Result, error) {
	if err := at.environment(at.audience()); err != nil {
		return spec.Result{}, err
	}
	agent, done, err := at.agent(ctx)
	if err != nil {
		return spec.Result{}, err
	}
	defer done()
	r, err := agent.Run(ctx)
	if err != nil || r.Status != spec.StatusDone {
		return r, err
	}
	return decided(r), nil
}

// decided turns a judge's submission into the attempt's result. A constraint that is not kept has a class of its own: a person
// can accept it. A verdict that contradicts the rest of the submission counts as none.
func decided(r spec.Result) spec.Result {
	r.Patch, r.Plan, r.Final = nil, nil, false
	var v verdict
	if err := json.Unmarshal(r.Handoff.Output, &v); err != nil {
		return failed(r, wire.FaultNoResult, "the judge's verdict could not be read: "+err.Error(), "")
	}
	var broken []string
	for _, c := range r.Handoff.Broken() {
		broken = append(broken, fmt.Sprintf("Not kept: %s (%s)", c.Text, c.Note))
	}
	reasons := slices.Concat(broken, v.Reasons, r.Handoff.Findings)
	switch {
	case v.Verdict == "pass" && len(broken) == 0:
		return r
	case v.Verdict == "pass":
		return failed(r, wire.FaultNoResult, "the judge contradicts itself: it passes the patch and reports: "+broken[0],
			strings.Join(reasons, "\n"))
	case v.Verdict != "fail":
		return failed(r, wire.FaultNoResult, fmt.Sprintf("the judge said neither pass nor fail but %q", v.Verdict), "")
	case len(reasons) == 0:
		return failed(r, wire.FaultNoResult, "the judge contradicts itself: it fails the patch and reports no fault", "")
	case len(broken) > 0:
		return failed(r, wire.FaultConstraint, "its judge reports: "+strings.Join(broken, "; "), strings.Join(reasons, "\n"))
	default:
		return failed(r, wire.FaultVerdict, "the patch is not the requested change: "+r.Handoff.Summary,
			strings.Join(reasons, "\n"))
	}
}

// failed is a judge's result with a fault, and all that it submitted.
func failed(r spec.Result, class, message, detail string) spec.Result {
	r.Status, r.Error = spec.StatusFailed, &spec.Fault{Class: class, Message: message, Detail: detail}
	return r
}
