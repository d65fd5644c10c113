package conductor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// requestPlan has every kind of request that needs nobody else: children that read and write, a larger write set, a handover.
func requestPlan(s *run.Spec) {
	addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("scout", spec.ToolReadFile),
		agentRole("hand", spec.ToolWriteFile, spec.ToolRequestScope, spec.ToolTransfer),
		agentRole("other", spec.ToolWriteFile))
	s.Plan = planOf(
		spec.Task{ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}},
		spec.Task{ID: "two", Role: "hand", Brief: "b", Files: []string{"f03.txt"}},
	)
}

func requestParts() parts {
	return parts{
		"one": {
			calls(delegates("scout", "look"), delegates("hand", "change", "files", []any{"f01.txt"})),
			writes("f00.txt", "one\n"), submits("done"),
		},
		"one-scout-1-0": {submits("seen")},
		"one-hand-1-1":  {writes("f01.txt", "hand\n"), submits("changed")},
		"two/1": {
			calls(callOf(spec.ToolRequestScope, map[string]any{"paths": []any{"f04.txt"}, "reason": "r"})),
			writes("f04.txt", "two\n"), transfers("other", "the rest"),
		},
		"two/2": {writes("f03.txt", "two\n"), submits("done")},
	}
}

// keepTrees copies the work trees that agents had saved.
func (r *rig) keepTrees(from *rig, log []bus.Message) {
	for _, m := range log {
		for _, e := range wire.DecodeEvents(m) {
			var d wire.Tooled
			if e.Kind != contextscope.KindTool || json.Unmarshal(e.Data, &d) != nil || d.Tree == nil {
				continue
			}
			pack, err := from.bus.Get(r.t.Context(), d.Tree.Pack)
			require.NoError(r.t, err)
			require.NoError(r.t, r.bus.Put(r.t.Context(), d.Tree.Pack, pack))
		}
	}
}

// What the master sends is two events: the message, or the answer to a question, and then what the master is told. Killed between
// them the run sends nothing twice, and what is said twice in the same words is sent twice.
func TestSlowAKillInTheMiddleOfASendSendsNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("asker", spec.ToolWriteFile, spec.ToolAsk), agentRole("hand", spec.ToolWriteFile))
	})
	send := func(task, text string) geminitest.Call {
		return callOf("send", map[string]any{"task": task, "text": text})
	}
	play := parts{
		"master/1": {dispatches(
			map[string]any{"id": "one", "role": "asker", "brief": "b", "files": []any{"f00.txt"}},
			map[string]any{"id": "two", "role": "hand", "brief": "b", "files": []any{"f01.txt"}, "depends_on": []any{"one"}},
		)},
		"master/2": {calls(send("one", "Yes."), send("one", "Yes."), send("two", "Mind the gap.")), {Text: "I wait."}},
		"master/3": {submits("all done")},
		"one": {
			calls(asks("Is it Label?").Calls[0], asks("Is it exported?").Calls[0]), writes("f00.txt", "Label\n"), submits("named it"),
		},
		"two": {writes("f01.txt", "new\n"), submits("done")},
	}
	r.play(play)
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, st.Messages.All, 1)
	var log []bus.Message
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	cuts := 0
	for k, m := range log {
		answers := strings.HasSuffix(m.Subject, "."+string(contextscope.KindAnswer)) && strings.Contains(string(m.Data), `"from":"master/2"`)
		if !answers && !strings.HasSuffix(m.Subject, "."+string(contextscope.KindUser)) {
			continue
		}
		cuts++
		t.Run(fmt.Sprintf("%02d %s", k, m.Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k+1])
			f.keepTrees(r, log[:k+1])
			said := f.play(play)
			defer f.worker(t.Context())()
			st, err := f.conduct(t.Context(), f.quietly())
			require.NoError(t, err)
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Len(t, st.Messages.All, 1)
			require.Len(t, st.Requests.Order, 5)
			for _, id := range st.Requests.Order {
				require.Empty(t, st.Requests.ByID[id].Answer.Refused, id)
			}
			require.NotContains(t, said.at("one/1/2"), "Message of master/2")
		})
	}
	require.Equal(t, 3, cuts, "two answers and a message")
}

func TestSlowAKillBehindAnyAppendAsksNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(5), requestPlan)
	r.play(requestParts())
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"one", "one-hand-1-1", "two"}, want.tasks)
	var log []bus.Message
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	for k := 1; k < len(log); k++ {
		conductors := strings.Contains(log[k-1].Subject, ".m.")
		request := strings.Contains(string(log[k-1].Data), `"kind":"request"`)
		if !conductors && !request && k%7 != 0 || testing.Short() && k%12 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%02d %s", k, log[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k])
			f.keepTrees(r, log[:k])
			f.play(requestParts())
			f.goOn(want)
			st, err := eventlog.Fold(t.Context(), f.bus, "r1")
			require.NoError(t, err)
			require.Len(t, st.Requests.Order, 4, "each was asked once: %v", st.Requests.Order)
			require.Len(t, st.Tasks.Order, 4)
		})
	}
}
