package conductor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// send is what a person does while the run continues.
func (r *rig) send(task, text string) (string, error) {
	return askFor(r.t.Context(), r.bus, "r1", act.Send{Task: task, Text: text}, "")
}

func TestAMessageReachesWhoIsAtWorkWhoWaitsAndNobodyWhoHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "true")
		addRoles(s, agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(
			spec.Task{ID: "first", Role: "scout", Brief: "b"},
			spec.Task{ID: "runs", Role: "scout", Brief: "b", DependsOn: []string{"first"}},
			spec.Task{ID: "waits", Role: "scout", Brief: "b", DependsOn: []string{"runs"}},
			spec.Task{ID: "cmd", Role: "mod", Brief: "b", DependsOn: []string{"waits"}},
		)
	})
	reads := calls(callOf(spec.ToolReadFile, map[string]any{"path": "f00.txt"}))
	said := r.play(parts{"first": {submits("f")}, "runs": {reads, submits("r")}, "waits": {submits("w")}})
	said.hold = func(q geminitest.Request) {
		if q.Task != "runs" || q.Turn != 1 {
			return
		}
		for task, want := range map[string]string{
			"runs": "runs/1 receives it at its next turn", "waits": "waits receives it when its next attempt begins",
		} {
			text, err := r.send(task, "Mind the "+task+".")
			if err != nil || text != want {
				panic(text)
			}
		}
		for task, want := range map[string]string{
			"first": "first has ended and is done", "cmd": "runs a command, not a model", "": "has a plan file and no master",
			"frist": `did you mean "first"?`,
		} {
			_, err := r.send(task, "Anybody?")
			require.ErrorAs(t, err, new(*request.RefusedError))
			require.ErrorContains(t, err, want)
		}
		_, err := r.send("runs", " ")
		require.ErrorContains(t, err, "empty")
		_, err = r.send("runs", strings.Repeat("x", 32<<10+1))
		require.ErrorContains(t, err, "at most 32768 are allowed")
	}
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason) // a task changed nothing
	require.NotContains(t, said.at("runs/1/1"), "Mind the runs.")
	require.Contains(t, said.at("runs/1/2"), "Mind the runs.")
	require.Contains(t, said.at("waits/1/1"), "Mind the waits.")
	for _, task := range view.Of(st).Tasks {
		switch task.ID {
		case "runs":
			require.Equal(t, []run.Receipt{{Agent: "runs/1", Turn: 2}}, task.Messages[0].Receipts)
		case "waits":
			require.Equal(t, []run.Receipt{{Agent: "waits/1", Turn: 1}}, task.Messages[0].Receipts)
		}
	}
}

// A message that was kept before the worker died is told to who continues, once; and the next attempt is told it again.
func TestAMessageOutlivesWorkersAndAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q bad f00.txt; then echo 'error: it is bad'; exit 1; fi"}
		addRoles(s, agentRole("hand", spec.ToolWriteFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}})
	})
	said := r.play(parts{
		"one/1": {writes("f00.txt", "bad\n"), submits("first")}, "one/2": {writes("f00.txt", "good\n"), submits("second")},
	})
	r.killedAt(said, func(q geminitest.Request) bool { return q.Attempt == 1 && q.Turn == 1 })
	text, err := r.do(act.Send{Task: "one", Text: "Keep it short."})
	require.NoError(t, err)
	require.Equal(t, "one/1 receives it at its next turn", text)
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("one/1/2"), "Keep it short.")
	require.Contains(t, said.at("one/2/1"), "Keep it short.")
	var agents []string
	for _, receipt := range st.Messages.All[0].Receipts {
		agents = append(agents, receipt.Agent)
	}
	require.Equal(t, []string{"one/1", "one/2"}, agents)
}

func TestAMessageToTheMasterWakesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { addRoles(s, agentRole("scout", spec.ToolReadFile)) })
	reads := calls(callOf(spec.ToolReadFile, map[string]any{"path": "f00.txt"}))
	said := r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "one", "role": "scout", "brief": "b"})},
		"master/2": {calls(callOf("send", map[string]any{"task": "one", "text": "Leave the vendor directory out."})), {Text: "I told it."}},
		"master/3": {submits("done")},
		"one":      {reads, submits("read it")},
	})
	told := make(chan struct{})
	said.hold = func(q geminitest.Request) {
		switch {
		case q.Task == "one" && q.Turn == 1:
			text, err := r.send("", "Not the vendor directory, please.")
			require.NoError(t, err)
			require.Equal(t, "message delivered; the master reads it in its next turn", text)
			<-told
		case q.Task == "master" && q.Attempt == 2 && q.Turn == 2:
			close(told)
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, "its tasks read only: "+st.Reason)
	require.Contains(t, said.at("master/2/1"), "A person writes to you:")
	require.Contains(t, said.at("master/2/1"), "Not the vendor directory, please.")
	require.Contains(t, said.at("master/2/2"), "one/1 receives it at its next turn")
	require.Contains(t, said.at("one/1/2"), "Message of master/2:")
	require.Contains(t, said.at("one/1/2"), "Leave the vendor directory out.")
	require.Empty(t, st.Messages.All[0].Receipts, "what it was woken with it is not told again")
	_, err := r.do(act.Send{Text: "Anybody?"})
	require.ErrorContains(t, err, "is over: parked")
}

func TestAPausedRunComesToATurnBoundaryAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Parallel = 2
		addRoles(s, agentRole("hand", spec.ToolWriteFile))
		s.Roles["mod"] = command("mod", "while [ ! -e "+t.TempDir()+"/../go ]; do sleep 0.02; [ -e f02.txt ] && break; done; echo new > f02.txt")
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "two", Role: "mod", Brief: "b", Files: []string{"f02.txt"}},
			spec.Task{ID: "late", Role: "hand", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
	said := r.play(parts{
		"one":  {writes("f00.txt", "new\n"), submits("one")},
		"late": {writes("f01.txt", "new\n"), submits("late")},
	})
	said.hold = func(q geminitest.Request) {
		if q.Task == "one" && q.Turn == 1 {
			text, err := askFor(t.Context(), r.bus, "r1", act.Pause{}, "")
			require.NoError(t, err)
			require.Contains(t, text, "pausing after")
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Stopped, st.Status)
	require.Equal(t, "paused by a person", st.Reason)
	require.Equal(t, 1, said.count("one/1/1"))
	require.Zero(t, said.count("one/1/2"), "it stopped at its boundary")
	require.True(t, st.Works["one"].Attempts[1].Stopped)
	require.Zero(t, said.count("late/1/1"), "nothing was begun")
	require.NotNil(t, st.Works.Settled("two"), "a command goes on to its end")

	said.hold = nil
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.ElementsMatch(t, []string{"one", "two", "late"}, r.landed())
	require.Equal(t, 1, said.count("one/1/1"), "its finished turn was not paid again")
}

func TestAMessageThatCameTooLateIsToldPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("hand", spec.ToolWriteFile), agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "two", Role: "scout", Brief: "b"},
		)
	})
	said := r.play(parts{"one": {writes("f00.txt", "new\n"), submits("one")}, "two": {submits("two")}})
	said.hold = func(q geminitest.Request) {
		text := map[string]string{"one/1": "In time.", "one/2": "Keep the old name\nas an alias.", "two/1": "Look again."}
		if m := text[q.Task+"/"+string(rune('0'+q.Turn))]; m != "" {
			_, err := r.send(q.Task, m)
			require.NoError(t, err)
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.ElementsMatch(t, []string{
		`one is landed, and no agent of it received "Keep the old name as an alias.": it came too late. If the result is not enough, start another run`,
		`two is done, and no agent of it received "Look again.": it came too late. If the result is not enough, start another run`,
	}, st.Notices)
}

// controls are what the conductor says to the agents of the run from now on.
func (r *rig) controls(ctx context.Context) <-chan wire.Control {
	out := make(chan wire.Control, 100)
	stop, err := r.bus.Subscribe(ctx, bus.ControlSubject("r1"), func(m bus.Message, _ func([]byte) error) {
		var c wire.Control
		if json.Unmarshal(m.Data, &c) == nil {
			out <- c
		}
	})
	require.NoError(r.t, err)
	r.t.Cleanup(stop)
	return out
}

// A worker whose machinery fails says nothing to the bus, which gives the task out again after a while; here it does so at once.
func TestAPauseEndsWithAnAttemptThatBreaksOffMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("hand", spec.ToolWriteFile))
		s.Parallel = 1
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "late", Role: "hand", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
	said := r.play(parts{"one": {writes("f00.txt", "new\n"), submits("one")}, "late": {submits("late")}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	told, ended := r.controls(ctx), make(chan *run.State)
	go func() {
		st, err := r.conduct(ctx, r.config())
		if err != nil {
			st = nil
		}
		ended <- st
	}()
	a, d := r.firstOf(ctx, "hand")
	text, err := r.send("one", "Mind the gap.")
	require.NoError(t, err)
	require.Equal(t, "one/1 receives it at its next turn", text)
	chantest.Next(t, told)
	require.NoError(t, r.append(ctx, a, contextscope.KindStarted, wire.Started{Delivery: 1, Time: time.Now()}))
	chantest.Next(t, told) // it is said again to who has begun: the conductor has seen that it did
	text, err = askFor(ctx, r.bus, "r1", act.Pause{}, "")
	require.NoError(t, err)
	require.Equal(t, "pausing after the current turn of 1 active agent", text)
	require.NoError(t, d.Nak(ctx))
	defer r.worker(ctx)()
	st := chantest.Next(t, ended)
	require.NotNil(t, st)
	require.Equal(t, "paused by a person", st.Reason)
	require.Equal(t, 2, st.Works["one"].Attempts[1].Delivery)
	require.Zero(t, said.count("late/1/1"), "nothing was begun")
}

// firstOf takes the first task of a role off the queue, after what the run's testers have to do before.
func (r *rig) firstOf(ctx context.Context, role string) (*wire.Assignment, *bus.Delivery) {
	r.t.Helper()
	testers, err := r.bus.Queue(ctx, spec.RoleTester, bus.QueueOptions{Run: "r1"})
	require.NoError(r.t, err)
	baseline, err := testers.Next(ctx)
	require.NoError(r.t, err)
	r.handle(ctx, baseline, r.passes)
	q, err := r.bus.Queue(ctx, role, bus.QueueOptions{Run: "r1"})
	require.NoError(r.t, err)
	d, err := q.Next(ctx)
	require.NoError(r.t, err)
	var queued wire.Assignment
	require.NoError(r.t, json.Unmarshal(d.Data, &queued))
	a, err := wire.Unseal(ctx, r.bus, queued.Object)
	require.NoError(r.t, err)
	return a, d
}
