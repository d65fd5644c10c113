package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

func TestAnAnswerAboutAPatchIsWorded(t *testing.T) {
	t.Parallel()
	yes := &run.Answer{Option: run.Accept, By: "user:ada"}
	for want, c := range map[string]struct {
		doubt run.Doubt
		state run.TaskState
	}{
		"open":                                 {run.Doubt{}, run.TaskHeld},
		"none: the task is parked":             {run.Doubt{}, run.TaskParked},
		"accepted by user:ada":                 {run.Doubt{Answer: yes, Size: true}, run.TaskLanded},
		"noted: size alone rejects no patch":   {run.Doubt{Answer: &run.Answer{Option: run.Accept, By: run.ByPolicy}, Size: true}, run.TaskLanded},
		"rejected by policy":                   {run.Doubt{Answer: &run.Answer{By: run.ByPolicy}}, run.TaskParked},
		"rejected by user:ada: keep the tests": {run.Doubt{Answer: &run.Answer{By: "user:ada", Text: "keep the tests"}}, run.TaskPending},
	} {
		require.Equal(t, want, Ruling(&c.doubt, c.state))
	}
}
