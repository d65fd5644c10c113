package conductor_test

import (
	"context"
	"slices"
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
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

func asks(question string, options ...any) geminitest.Answer {
	args := map[string]any{"question": question}
	if len(options) > 0 {
		args["options"] = options
	}
	return calls(callOf(spec.ToolAsk, args))
}

func dispatches(tasks ...any) geminitest.Answer {
	return calls(callOf(spec.ToolDispatch, map[string]any{"tasks": tasks}))
}

func TestTheMasterIsWokenByAQuestionAndAnswersIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("asker", spec.ToolWriteFile, spec.ToolAsk), agentRole("scout", spec.ToolReadFile))
	})
	said := r.play(parts{
		"master/1": {dispatches(
			map[string]any{"id": "one", "role": "asker", "brief": "b", "files": []any{"f00.txt"}},
			map[string]any{"id": "two", "role": "scout", "brief": "b"},
		)},
		"master/2": {calls(callOf("send", map[string]any{"task": "one", "text": "Call it Label."})), {Text: "I wait."}},
		"master/3": {submits("all done")},
		"one":      {asks("What shall it be called?", "Label", "Name"), writes("f00.txt", "Label\n"), submits("named it")},
	})
	answered := make(chan struct{})
	said.hold = func(q geminitest.Request) {
		switch { // the other task ends only after the question was answered
		case q.Task == "one" && q.Turn == 2:
			close(answered)
		case q.Task == "two":
			<-answered
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one"}, r.landed())
	woken := said.at("master/2/1")
	require.Contains(t, woken, "one asks:")
	require.Contains(t, woken, "What shall it be called?")
	require.Contains(t, woken, "Label")
	require.Contains(t, woken, "2 tasks continue meanwhile")
	require.NotContains(t, woken, "have ended since your last turn")
	require.Contains(t, said.at("master/2/2"), "answers the question of one/1")
	require.Contains(t, said.at("one/1/2"), "Call it Label.")
	require.Contains(t, said.at("one/1/2"), "master/2")
	require.Contains(t, said.at("master/3/1"), "All tasks have ended. 2 have ended since your last turn.")
}

// A master that says it is done while others are at work, or while they end, is called again with what it has not seen.
func TestSlowAMasterIsNotDoneBeforeItHasSeenEverything(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{"at work": "two", "ended meanwhile": "master"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(2), func(s *run.Spec) {
				addRoles(s, agentRole("asker", spec.ToolAsk), agentRole("scout", spec.ToolReadFile))
			})
			said := r.play(parts{
				"master/1": {dispatches(
					map[string]any{"id": "one", "role": "asker", "brief": "b"},
					map[string]any{"id": "two", "role": "scout", "brief": "b"},
				)},
				"master/2": {calls(callOf("send", map[string]any{"task": "one", "text": "Yes."})), submits("that was all")},
				"master/3": {submits("now it is")},
				"one":      {asks("Is it?"), submits("it is")},
			})
			released := make(chan struct{})
			said.hold = func(q geminitest.Request) {
				switch {
				case q.Task == "two": // else it could end before the master is told of the question
					<-released
				case q.Task == "master" && q.Attempt == 2 && q.Turn == 2 && hold == "master":
					close(released)
					r.until(func(st *run.State) bool {
						return st.Tasks.ByID["one"] != nil && st.Tasks.ByID["one"].Ended() && st.Tasks.ByID["two"].Ended()
					}, "both end")
				}
			}
			if hold == "two" {
				go func() {
					defer close(released)
					r.until(func(st *run.State) bool { return st.Master.Woken >= 2 }, "the master's second turn ends")
				}()
			}
			st := r.run(t.Context())
			require.Equal(t, run.Parked, st.Status, "its tasks read only: "+st.Reason)
			require.Equal(t, 1, said.count("master/3/1"))
			require.Contains(t, said.at("master/3/1"), "All tasks have ended. 2 have ended since your last turn.")
		})
	}
}

func TestAPersonAnswersOnALivingRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Parallel = 1
		addRoles(s, agentRole("asker", spec.ToolAsk), agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "asker", Brief: "b"}, spec.Task{ID: "two", Role: "scout", Brief: "b"})
	})
	said := r.play(parts{"one": {asks("May I?"), submits("was allowed")}})
	cfg := r.config()
	cfg.Interactive = true
	defer r.worker(t.Context())()
	ended := make(chan *run.State, 1)
	go func() {
		st, err := r.conduct(t.Context(), cfg)
		if err != nil {
			panic(err)
		}
		ended <- st
	}()
	r.until(func(st *run.State) bool {
		return len(decision.ForPerson(st)) == 1 && st.Tasks.ByID["two"].State == run.TaskDone
	}, "the other task ran meanwhile, with room for one")
	st, err := eventlog.Fold(t.Context(), r.bus, "r1")
	require.NoError(t, err)
	open := view.Of(st).Decisions
	require.Len(t, open, 1)
	require.Equal(t, run.DecideQuestion, open[0].Kind)
	require.Contains(t, open[0].Text, "May I?")
	text, err := askFor(t.Context(), r.bus, "r1", act.Send{Task: "one", Text: "You may."}, "")
	require.NoError(t, err)
	require.Equal(t, "answers the question of one/1: May I?", text)
	st = chantest.Next(t, ended)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("one/1/2"), "You may.")
	require.Contains(t, said.at("one/1/2"), "user")
	require.NotContains(t, said.at("one/1/2"), "ada", "no model reads the name of a person")
	require.Equal(t, wire.Person("ada"), st.Requests.ByID[st.Requests.Order[0]].Answer.From)
}

// A person at the terminal is asked about each decision once, one after the other: one is left for later and answered elsewhere, one
// answer comes when the agent asks something else already.
func TestAPersonIsAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Parallel = 3
		addRoles(s, agentRole("asker", spec.ToolAsk))
		s.Plan = planOf(spec.Task{ID: "one", Role: "asker", Brief: "b"}, spec.Task{ID: "two", Role: "asker", Brief: "b"},
			spec.Task{ID: "late", Role: "asker", Brief: "b"})
	})
	said := r.play(parts{
		"one": {asks("May I?"), submits("was allowed")}, "two": {asks("May I too?"), submits("was allowed")},
		"late": {asks("Now?"), asks("And then?"), submits("was told")},
	})
	var asked []string
	cfg := r.config()
	cfg.Interactive = true
	answers := func(task, words string) {
		_, err := askFor(t.Context(), r.bus, "r1", act.Send{Task: task, Text: words}, "")
		if err != nil {
			panic(err)
		}
	}
	cfg.Decide = func(_ context.Context, d run.Decision) (act.Decide, error) {
		asked = append(asked, d.About)
		said := act.Decide{Decision: d.ID, Attempt: d.Attempt, Option: run.Reply}
		switch d.About {
		case "one":
			said.Text = "You may."
			return said, nil
		case "two": // left for later
			go answers("two", "You too.")
			return act.Decide{}, nil
		}
		if strings.Contains(d.Text, "And then?") {
			said.Text = "Stop."
			return said, nil
		}
		answers("late", "Yes.")
		r.until(func(st *run.State) bool {
			return slices.ContainsFunc(decision.Open(st), func(d run.Decision) bool { return strings.Contains(d.Text, "And then?") })
		}, "it asks something else")
		said.Text = "No."
		return said, nil
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.ElementsMatch(t, []string{"one", "two", "late", "late"}, asked)
	require.Contains(t, said.at("one/1/2"), "You may.")
	require.Contains(t, said.at("two/1/2"), "You too.")
	require.Contains(t, said.at("late/1/2"), "Yes.")
	require.Contains(t, said.at("late/1/3"), "Stop.")
	require.NotContains(t, said.at("late/1/3"), "No.")
}

// until waits for a state of the run in the log.
func (r *rig) until(ok func(st *run.State) bool, why string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	st := run.NewState()
	for b, err := range (eventlog.Log{Bus: r.bus, Run: r.spec.Run}).Tail(ctx, 0) {
		require.NoError(r.t, err)
		for i := range b.Events {
			require.NoError(r.t, st.Apply(&b.Events[i]))
		}
		if ok(st) {
			return
		}
	}
	require.FailNow(r.t, why)
}

// do does an act to a run that no process executes.
func (r *rig) do(a act.Args) (string, error) {
	c, err := conductor.New(r.t.Context(), r.config())
	require.NoError(r.t, err)
	out, err := c.Do(r.t.Context(), a, "")
	return out.Text, err
}

// askFor asks the conductor of a run, as another process does.
func askFor(ctx context.Context, b *bus.Bus, id string, a act.Args, by string) (string, error) {
	q, err := act.NewRequest(a, by)
	if err != nil {
		return "", err
	}
	out, err := conductor.Ask(ctx, b, id, q)
	return out.Text, err
}

func TestARunWithoutAnybodyStopsForAnAnswerAndGoesOnWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolDelegate), agentRole("asker", spec.ToolAsk))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
	said := r.play(parts{
		"one":           {calls(delegates("asker", "b")), submits("done")},
		"one-asker-1-0": {asks("Which one?"), submits("that one")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Stopped, st.Status)
	require.True(t, strings.HasPrefix(st.Reason, "waits for an answer to one-asker-1-0/1: Which one?"), st.Reason)

	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.config())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Stopped, st.Status, "no person has answered")

	text, err := r.do(act.Send{Task: "one-asker-1-0", Text: "The second."})
	require.NoError(t, err)
	require.Equal(t, "answers the question of one-asker-1-0/1: Which one?", text)
	defer r.worker(t.Context())()
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("one-asker-1-0/1/2"), "The second.")
	require.Equal(t, 1, said.count("one-asker-1-0/1/1"), "the question was paid once")
}

func TestWhatTheMasterLeavesOpenGoesToAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) { addRoles(s, agentRole("asker", spec.ToolAsk)) })
	said := r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "one", "role": "asker", "brief": "b"})},
		"master/2": {{Text: "I do not know either."}},
		"master/3": {submits("all done")},
		"one":      {asks("Whose is it?"), submits("so it is")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Stopped, st.Status)
	require.Contains(t, st.Reason, "waits for an answer to one/1")
	require.Equal(t, 1, said.count("master/2/1"))
	_, err := r.do(act.Send{Task: "one", Text: "Mine."})
	require.NoError(t, err)
	defer r.worker(t.Context())()
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, "its tasks read only: "+st.Reason)
	require.Contains(t, said.at("master/3/1"), "All tasks have ended")
}

func TestAMasterAsksAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		m := s.Roles[spec.RoleMaster]
		m.Tools = append(m.Tools, spec.ToolAsk)
		s.Roles[spec.RoleMaster] = m
	})
	said := r.play(parts{"master": {asks("Which packages?"), submits("then there is nothing to do")}})
	st := r.run(t.Context())
	require.Equal(t, run.Stopped, st.Status)
	_, err := r.do(act.Send{Text: "None."})
	require.NoError(t, err)
	defer r.worker(t.Context())()
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, "it planned nothing")
	require.Contains(t, said.at("master/1/2"), "None.")
}

func TestAScopeIsGrantedOrRefusedInWords(t *testing.T) {
	t.Parallel()
	scope := func(paths ...any) geminitest.Call {
		return callOf(spec.ToolRequestScope, map[string]any{"paths": paths, "reason": "the caller is there"})
	}
	r := newRig(t, files(4), func(s *run.Spec) {
		s.Project.Protected, s.OnDoubt = []string{"**/*_test.go"}, run.OnDoubtReject
		addRoles(s, agentRole("hand", spec.ToolWriteFile, spec.ToolRequestScope), agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "two", Role: "hand", Brief: "b", Files: []string{"f01.txt"}},
			spec.Task{ID: "any", Role: "hand", Brief: "b"},
		)
	})
	said := r.play(parts{
		"one": {
			writes("f02.txt", "early\n"),
			calls(scope("f02.txt"), scope("f01.txt"), scope("a/x_test.go"), scope("../out"), scope()),
			writes("f02.txt", "new\n"), submits("both"),
		},
		"two": {writes("f01.txt", "new\n"), submits("one")},
		"any": {calls(scope("f03.txt")), submits("nothing")},
	})
	asked := make(chan struct{})
	said.hold = func(q geminitest.Request) {
		switch {
		case q.Task == "one" && q.Turn == 3:
			close(asked)
		case q.Task == "two":
			<-asked
		}
	}
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason) // a task changed nothing
	require.Contains(t, said.at("one/1/2"), "outside this task's write set")
	for _, want := range []string{
		"yours to write from now on: f02.txt", "f01.txt is locked by two", "a/x_test.go is protected", "leaves the repository",
		"no paths were named",
	} {
		require.Contains(t, said.at("one/1/3"), want)
	}
	require.Contains(t, said.at("any/1/2"), "has no write set")
	require.Equal(t, []string{"f00.txt", "f02.txt"}, st.Tasks.ByID["one"].Task.Files)
	require.Equal(t, "new\n", sh(t, r.checkout.Top, "git show divisi/r1:f02.txt"))
	require.Len(t, view.Of(st).Tasks[0].Refused, 4)
}

// What was granted holds for a later delivery too, and for the next attempt.
func TestAGrantOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("hand", spec.ToolWriteFile, spec.ToolRequestScope))
		s.Plan = planOf(spec.Task{ID: "one", Role: "hand", Brief: "b", Files: []string{"f00.txt"}})
	})
	said := r.play(parts{"one": {
		calls(callOf(spec.ToolRequestScope, map[string]any{"paths": []any{"f01.txt"}, "reason": "r"})),
		writes("f01.txt", "new\n"), submits("done"),
	}})
	r.killedAt(said, func(q geminitest.Request) bool { return q.Turn == 2 })
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, "new\n", sh(t, r.checkout.Top, "git show divisi/r1:f01.txt"))
	require.Equal(t, 1, kinds(t, r, "hand", "one", 1)[contextscope.KindRequest])
}
