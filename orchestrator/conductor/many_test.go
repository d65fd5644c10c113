package conductor_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// An act on 5,000 tasks is one message of the log, or is refused and changes nothing.
func TestActsOnThousandsOfTasks(t *testing.T) {
	t.Parallel()
	const many = 5000
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, command("mod", "true"))
		s.Plan = planOf()
	})
	var plan run.PlanData
	var ids []string
	for i := range many {
		ids = append(ids, fmt.Sprintf("move-the-handlers-%04d", i))
		plan.Tasks = append(plan.Tasks, spec.Task{ID: ids[i], Role: "mod", Brief: "b", Files: []string{ids[i] + ".go"}})
	}
	events := []contextscope.Event{r.event("", plan)}
	for _, id := range ids {
		events = append(events, r.event(id, run.TaskData{State: run.TaskParked, Reason: "red"}))
	}
	c, err := conductor.New(t.Context(), r.quietly())
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	log := r.messages()
	data, err := wire.EncodeEvents(events)
	require.NoError(t, err)
	subject := bus.ConductorSubject("r1", "plan")
	data, err = wire.Press(subject, data)
	require.NoError(t, err)
	_, err = r.bus.AppendFiltered(t.Context(), subject, bus.ConductorFilter("r1"), data, log[len(log)-1].Pos)
	require.NoError(t, err)
	c, err = conductor.New(t.Context(), r.quietly())
	require.NoError(t, err)
	do := func(a act.Args) error {
		_, err := c.Do(t.Context(), a, "user:ada")
		return err
	}
	one := func(a act.Args, state run.TaskState) {
		t.Helper()
		had := len(r.messages())
		require.NoError(t, do(a), a.Act())
		log := r.messages()
		require.Len(t, log, had+1, a.Act())
		size := len(log[had].Data)
		require.Less(t, size, bus.MaxData)
		t.Logf("%s of %d tasks: %d bytes", a.Act(), many, size)
		require.Len(t, wire.DecodeEvents(log[had]), many)
		for _, id := range ids {
			require.Equal(t, state, c.State().Tasks.ByID[id].State, id)
		}
	}
	noise := make([]byte, 48<<10) // it cannot be compressed
	for i := range noise {
		noise[i] = 'a' + byte(rand.IntN(26))
	}
	for name, reason := range map[string]string{"noise": string(noise), "much": strings.Repeat("x", 60<<10)} {
		had := len(r.messages())
		err := do(act.Skip{Tasks: ids, Reason: reason})
		require.ErrorAs(t, err, new(*request.RefusedError), name)
		require.ErrorContains(t, err, "skip is too large for one message of the log, and nothing of it was done")
		require.Len(t, r.messages(), had, name)
		require.Equal(t, run.TaskParked, c.State().Tasks.ByID[ids[0]].State)
	}
	one(act.Retry{Role: "mod"}, run.TaskPending)
	one(act.Skip{Tasks: ids, Reason: "the files are generated"}, run.TaskSkipped)
}

// event is one of the conductor.
func (r *rig) event(task string, data any) contextscope.Event {
	r.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(r.t, err)
	kind := run.Append{Task: task, Data: data}.Kind()
	return contextscope.Event{
		V: contextscope.EventVersion, ID: r.newID(), Run: "r1", Task: task, Author: "conductor", Time: time.Now(), Kind: kind, Data: raw,
	}
}
