package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestWhatARunWaitsFor(t *testing.T) {
	t.Parallel()
	open := []Reported{{Decision: Decision{Text: "a plan", Decider: "master"}}, {Decision: Decision{Text: "a patch", Decider: run.ByPerson}}}
	answered := []Reported{{Decision: Decision{Text: "a patch", Decider: run.ByPerson, Answer: &run.Answer{}}}}
	used := []spec.Wait{{For: "quota", Model: "m", Until: time.Unix(9, 0)}}
	for name, c := range map[string]struct {
		r        Report
		on, what string
	}{
		"running":  {Report{State: run.Running}, "", ""},
		"ended":    {Report{State: run.Parked, Reason: "2 parked", Decisions: open}, "", ""},
		"line":     {Report{State: run.Running, Line: "a bad plan", Decisions: open}, OnPerson, "the line is stopped: a bad plan"},
		"decision": {Report{State: run.Running, Decisions: open}, OnDecision, "a patch"},
		"answered": {Report{State: run.Running, Decisions: answered}, "", ""},
		"approval": {Report{State: run.Running, Wait: "approval of the plan"}, OnDecision, "approval of the plan"},
		"question": {Report{State: run.Stopped, Reason: run.ReasonWaits + "an answer"}, OnDecision, "an answer"},
		"stopped":  {Report{State: run.Stopped, Reason: "stopped by a person"}, OnPerson, "stopped by a person"},
		"paused":   {Report{State: run.Running, Reason: run.ReasonHalt + "the disk is full"}, OnMachine, "the disk is full"},
		"until":    {Report{State: run.Stopped, Reason: "a quota", Quotas: used}, OnQuota, used[0].String()},
		"quota":    {Report{State: run.Running, Quotas: used}, OnQuota, used[0].String()},
	} {
		on, what := c.r.Awaits()
		require.Equal(t, []string{c.on, c.what}, []string{on, what}, name)
	}
}
