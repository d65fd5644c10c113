package decision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What can still be skipped when the wait ends is skipped, and a notice names the others.
func TestAHeldSkipSkipsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended   []string
		skipped []string
		notice  string
	}{
		"all":      {nil, []string{"t-0", "t-1", "b"}, ""},
		"one left": {[]string{"t-0", "b"}, []string{"t-1"}, "not skipped: b has ended and is landed: there is nothing to skip"},
		"none": {
			[]string{"t-0", "t-1", "b"}, nil, "is over: t has ended and is landed: there is nothing to skip; b has ended and is landed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := shards(t, 2, nil)
			actions, id, err := decision.Later(l.State, run.Decided{
				With: []string{"t", "b"}, Answer: run.Answer{Option: run.Skip, By: wire.Person("ada")},
			}, time.Time{})
			require.NoError(t, err)
			l.Do(actions)
			for _, task := range c.ended {
				l.Append(task, run.TaskData{State: run.TaskLanded})
			}
			l.Do(decision.Carry(l.State, time.Time{}))
			require.Empty(t, l.Decisions.Waiting())
			require.Equal(t, len(c.skipped) > 0, l.Decisions.Given(id) != nil)
			for _, task := range c.skipped {
				require.Equal(t, run.TaskSkipped, l.Tasks.ByID[task].State, task)
			}
			if c.notice == "" {
				require.Empty(t, l.Notices)
			} else {
				require.Contains(t, l.Notices[len(l.Notices)-1], c.notice)
			}
		})
	}
}
