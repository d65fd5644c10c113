package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// going is a run with a task that was parked and another one, and then, at a position behind it, what follows.
func going() (events []contextscope.Event, old uint64) {
	fault := spec.Fault{Class: "gate", Message: "red"}
	events = []contextscope.Event{
		event(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a"}, {ID: "b"}}}),
		event(contextscope.KindTask, "a", run.TaskData{State: run.TaskParked, Reason: "red", Fault: &fault}),
		event(contextscope.KindTask, "b", run.TaskData{State: run.TaskParked, Reason: "red", Fault: &fault}),
	}
	for i := range events {
		events[i].Pos = uint64(i + 1)
	}
	return events, 2
}

// Who resumes a run has read its log: it begins with what is new, and the cause of a failure is in the first new line about it.
func TestARunThatGoesOnBeginsWithWhatIsNew(t *testing.T) {
	t.Parallel()
	events, old := going()
	var out bytes.Buffer
	c := New(Options{Out: &out, Zone: time.UTC})
	c.Known(old, "./divisi watch r")
	c.Handle(events)
	require.NoError(t, c.Close())
	require.NotContains(t, out.String(), "a is parked")
	require.Equal(t, 1, strings.Count(out.String(), "run r goes on: 1 pending, 1 parked · 0s · 0 tokens; all before: ./divisi watch r\n"), out.String())
	require.Contains(t, out.String(), "b is parked: gate: red\n")
}

func TestATerminalBeginsWithWhatIsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(t, 160)
		c := New(Options{Out: screen, TTY: true, Width: screen.size})
		events, old := going()
		c.Known(old, "./divisi watch r")
		c.Handle(events)
		pass(redrawPause)
		require.Contains(t, screen.text(), "run r goes on: 1 pending, 1 parked")
		require.NotContains(t, screen.text(), "a is parked")
		require.Contains(t, screen.text(), "b is parked: gate: red")
		require.NoError(t, c.Close())
	})
}

// A program gets the whole log of a run that continues.
func TestJSONIsWholeWhereARunGoesOn(t *testing.T) {
	t.Parallel()
	events, old := going()
	var out bytes.Buffer
	c := New(Options{Out: &out, JSON: true})
	c.Known(old, "./divisi watch r")
	c.Handle(events)
	require.NoError(t, c.Close())
	require.Equal(t, len(events), strings.Count(out.String(), fmt.Sprintf("%q:", "pos")))
}
