package conductor_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

func transfers(role, brief string) geminitest.Answer {
	return calls(callOf(spec.ToolTransfer, map[string]any{"role": role, "brief": brief}))
}

func transferRig(t *testing.T) *rig {
	return newRig(t, files(3), func(s *run.Spec) {
		addRoles(s, agentRole("first", spec.ToolWriteFile, spec.ToolTransfer), agentRole("second", spec.ToolWriteFile, spec.ToolTransfer),
			agentRole("scout", spec.ToolReadFile, spec.ToolTransfer))
		s.Plan = planOf(spec.Task{ID: "one", Role: "first", Brief: "b", Files: []string{"f00.txt", "f01.txt"}})
	})
}

func TestATaskIsHandedOverWithItsSessionAndItsTree(t *testing.T) {
	t.Parallel()
	r := transferRig(t)
	said := r.play(parts{
		"one/1": {
			calls(geminitest.Call{Name: spec.ToolWriteFile, Args: map[string]any{"path": "f00.txt", "content": "by the first\n"}}),
			transfers("second", "The rest is yours."),
		},
		"one/2": {transfers("first", "back"), transfers("scout", "read it"), writes("f01.txt", "by the second\n"), submits("both")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one"}, r.landed())
	require.Equal(t, "by the first\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt"))
	require.Equal(t, "by the second\n", sh(t, r.checkout.Top, "git show divisi/r1:f01.txt"))
	task := st.Tasks.ByID["one"]
	require.Equal(t, 2, task.Attempt)
	require.Empty(t, task.Faults, "a transfer is no failed attempt")
	require.Equal(t, "second", task.Task.Role)
	begins := said.at("one/2/1")
	require.Contains(t, begins, "You are second.")
	require.Contains(t, begins, "transferred to you by one/1, of role first")
	require.Contains(t, begins, "The rest is yours.")
	require.Contains(t, begins, "[one/1]", "the session is narrated")
	require.Contains(t, begins, "is in your work tree")
	require.Contains(t, said.at("one/2/2"), "this would be a cycle")
	require.Contains(t, said.at("one/2/3"), "role scout writes nothing")
	roles := map[string]int{}
	for _, role := range view.Of(st).Roles {
		roles[role.Role] = role.Usage.Calls
	}
	require.Equal(t, map[string]int{"first": 2, "second": 4}, roles, "each role has its own calls")
}

// What was handed over stands on the commit that it began from: what landed meanwhile is not undone by it.
func TestAHandoverKeepsWhatLandedMeanwhile(t *testing.T) {
	t.Parallel()
	r := transferRig(t)
	r.spec.Plan.Tasks = append(r.spec.Plan.Tasks, spec.Task{ID: "zero", Role: "second", Brief: "b", Files: []string{"f02.txt"}})
	said := r.play(parts{
		"one/1": {writes("f00.txt", "by the first\n"), transfers("second", "The rest is yours.")},
		"one/2": {writes("f01.txt", "by the second\n"), submits("both")},
		"zero":  {writes("f02.txt", "meanwhile\n"), submits("done")},
	})
	said.hold = func(q geminitest.Request) {
		if q.Task == "one" && q.Attempt == 1 && q.Turn == 2 {
			r.until(func(st *run.State) bool {
				return st.Tasks.ByID["zero"] != nil && st.Tasks.ByID["zero"].State == run.TaskLanded
			}, "the other lands")
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"zero", "one"}, r.landed())
	for file, text := range map[string]string{"f00.txt": "by the first\n", "f01.txt": "by the second\n", "f02.txt": "meanwhile\n"} {
		require.Equal(t, text, sh(t, r.checkout.Top, "git show divisi/r1:"+file))
	}
}

// The transfer is in the log before the attempt ends: killed in between, it happens once.
func TestATransferSurvivesAKill(t *testing.T) {
	t.Parallel()
	r := transferRig(t)
	said := r.play(parts{
		"one/1": {writes("f00.txt", "by the first\n"), transfers("second", "The rest is yours.")},
		"one/2": {writes("f01.txt", "by the second\n"), submits("both")},
	})
	r.killedAt(said, func(q geminitest.Request) bool { return q.Attempt == 2 })
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, "by the first\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt"))
	require.Equal(t, 2, st.Tasks.ByID["one"].Attempt)
}

// The attempt after a failed one starts from the newest head, with the narrated session and without the tree.
func TestAFailureAfterATransferStartsAnew(t *testing.T) {
	t.Parallel()
	r := transferRig(t)
	r.spec.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q bad f00.txt; then echo 'error: it is bad'; exit 1; fi"}
	said := r.play(parts{
		"one/1": {writes("f00.txt", "bad\n"), transfers("second", "The rest is yours.")},
		"one/2": {writes("f01.txt", "new\n"), submits("both")},
		"one/3": {writes("f01.txt", "new\n"), submits("the second file alone")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, "old\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt"))
	require.Contains(t, said.at("one/3/1"), "[one/1]")
	require.Contains(t, said.at("one/3/1"), "it is bad")
	require.NotContains(t, said.at("one/3/1"), "is in your work tree")
	require.Contains(t, said.at("one/3/1"), "is NOT in your work tree")
}

// The key is refused in the attempt after a handover: that is not its failure, and the one after it has the work all the same, on
// the commit that it began from, whatever landed meanwhile.
func TestAHandoverOutlivesAnAttemptThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	r := transferRig(t)
	r.spec.Plan.Tasks = append(r.spec.Plan.Tasks, spec.Task{ID: "zero", Role: "second", Brief: "b", Files: []string{"f02.txt"}})
	var refused atomic.Bool
	refused.Store(true)
	begins := make(chan string, 1)
	play := parts{
		"one/1": {writes("f00.txt", "by the first\n"), transfers("second", "The rest is yours.")},
		"one/3": {writes("f01.txt", "by the second\n"), submits("both")}, "zero/1": {writes("f02.txt", "meanwhile\n"), submits("done")},
	}
	r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		switch {
		case q.Attempt == 2 && refused.Load():
			r.until(func(st *run.State) bool {
				return st.Tasks.ByID["zero"] != nil && st.Tasks.ByID["zero"].State == run.TaskLanded
			}, "the other lands")
			return geminitest.Answer{Fault: "wrong_key"}
		case q.Attempt == 3 && q.Turn == 1:
			begins <- q.Text()
		}
		steps := play[fmt.Sprintf("%s/%d", q.Task, q.Attempt)]
		return steps[min(q.Turn, len(steps))-1]
	}})
	stop := r.worker(t.Context())
	_, err := r.conduct(t.Context(), r.config())
	stop()
	require.ErrorIs(t, err, recovery.ErrAuth)
	refused.Store(false)
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, chantest.Next(t, begins), "is in your work tree")
	require.Empty(t, st.Tasks.ByID["one"].Faults)
	require.Equal(t, r.spec.Base, st.Works["one"].Attempts[3].Head)
	for file, text := range map[string]string{"f00.txt": "by the first\n", "f01.txt": "by the second\n", "f02.txt": "meanwhile\n"} {
		require.Equal(t, text, sh(t, r.checkout.Top, "git show divisi/r1:"+file))
	}
}

// An agent ends with the transfer that it was granted; a second one of the same turn would be another role than the one it is
// told.
func TestOneTransferOfATurnIsGranted(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("first", spec.ToolWriteFile, spec.ToolTransfer), agentRole("second", spec.ToolWriteFile),
			agentRole("third", spec.ToolWriteFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "first", Brief: "b", Files: []string{"f00.txt"}})
	})
	r.play(parts{
		"one/1": {calls(transfers("second", "to second").Calls[0], transfers("third", "to third").Calls[0])},
		"one/2": {submits("done")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason) // the task changed nothing
	require.Len(t, st.Requests.Order, 2)
	granted, refused := st.Requests.ByID[st.Requests.Order[0]], st.Requests.ByID[st.Requests.Order[1]]
	require.Empty(t, granted.Answer.Refused)
	require.Equal(t, "your task goes to "+granted.Role+" already", refused.Answer.Refused)
	require.Equal(t, granted.Role, st.Tasks.ByID["one"].Task.Role)
	require.Equal(t, granted.Brief, st.Tasks.ByID["one"].Handovers[0].Brief)
	require.Equal(t, granted.Brief, st.Works["one"].Attempts[1].Result.Handoff.Summary, "the agent ended with the same")
}

// A child that reads has no files: as one that writes it could write all that its parent holds.
func TestAChildThatReadsDoesNotBecomeOneThatWritesBesideItsParent(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("scout", spec.ToolReadFile, spec.ToolTransfer),
			agentRole("hand", spec.ToolWriteFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}})
	})
	said := r.play(parts{
		"one":           {calls(delegates("scout", "b")), writes("f00.txt", "by one\n"), submits("done")},
		"one-scout-1-0": {transfers("hand", "write it"), submits("said what is to be changed")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("one-scout-1-0/1/2"), "an agent above you locks its own while it waits")
	require.Equal(t, "scout", st.Tasks.ByID["one-scout-1-0"].Task.Role)
	require.Equal(t, []string{"one"}, r.landed())
}
