package conductor_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// asksForApproval makes a run with a role that writes and whose plans a person approves.
func asksForApproval(s *run.Spec) {
	s.AutoApprove = false
	addRoles(s, agentRole("hand", spec.ToolWriteFile))
}

func editParts() parts {
	return parts{
		"master/1": {dispatches(
			map[string]any{"id": "do", "role": "hand", "brief": "old", "files": []any{"f00.txt"}},
			map[string]any{"id": "next", "role": "hand", "brief": "next", "files": []any{"f02.txt"}, "depends_on": []any{"do"}},
		)},
		"master/2": {submits("done")},
		"each-001": {writes("f01.txt", "new\n"), submits("done")},
	}
}

// edits answers as a person who edits the first plan, and then says yes. It returns what it was shown.
func edits(shown *[]conductor.Proposal) func(context.Context, conductor.Proposal) (conductor.Answer, error) {
	template := spec.Task{ID: "each", Role: "hand", Brief: "new", Shard: &spec.Shard{By: "file", Glob: "f01.txt"}}
	return func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		*shown = append(*shown, p)
		switch {
		case p.Plan.Replaces > 0:
			return conductor.Answer{Yes: true}, nil
		case p.Refused:
			return conductor.Answer{Edited: &spec.Plan{Tasks: []spec.Task{template}}}, nil
		}
		return conductor.Answer{Edited: &spec.Plan{Tasks: []spec.Task{{ID: "each", Role: "hnd", Brief: "new"}}}}, nil
	}
}

func TestSlowAPersonEditsAPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), asksForApproval)
	said := r.play(editParts())
	var shown []conductor.Proposal
	cfg := r.quietly()
	cfg.Approve = edits(&shown)
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), cfg)
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"each-001"}, want.tasks)
	require.Equal(t, []string{"each-001"}, st.Tasks.Order, "nothing is left of the plan from before")

	require.Len(t, shown, 3)
	require.Equal(t, "old", shown[0].Source.Tasks[0].Brief)
	require.Contains(t, shown[1].Problems[0].String(), `"hnd"`)
	require.Equal(t, shown[0].Plan, shown[1].Plan)
	require.Equal(t, "master/1", shown[2].Plan.By)
	require.Equal(t, "each", shown[2].Source.Tasks[0].ID, "a template as the person wrote it")
	require.Equal(t, "each-001", shown[2].Plan.Tasks[0].ID)
	require.Equal(t, 2, st.Master.Woken, "an edit is no turn of the master")
	require.Contains(t, said.at("master/2/1"), "A person edited your plan before it was approved. It now reads, as data:")
	require.Zero(t, said.count("do/1/1"))

	var log []bus.Message
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	for k, m := range log {
		if !strings.HasSuffix(m.Subject, "."+string(contextscope.KindPlan)) && !strings.Contains(string(m.Data), `"wait"`) &&
			!strings.Contains(string(m.Data), `"option":"approve"`) {
			continue
		}
		t.Run(fmt.Sprintf("killed behind %02d %s", k, m.Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k+1])
			f.play(editParts())
			var shown []conductor.Proposal
			cfg := f.quietly()
			cfg.Approve = edits(&shown)
			defer f.worker(t.Context())()
			st, err := f.conduct(t.Context(), cfg)
			require.NoError(t, err)
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Equal(t, want, f.outcome(st.Head))
			require.Len(t, st.Plans.Edits, 1)
			require.Equal(t, 2, st.Master.Woken)
		})
	}
}

func TestAnEditMayNotTakeTheNameOfALaterTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), asksForApproval)
	r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "old", "files": []any{"f00.txt"}})},
		"master/2": {dispatches(map[string]any{"id": "later", "role": "hand", "brief": "b", "files": []any{"f01.txt"}, "depends_on": []any{"do"}})},
		"master/3": {submits("done")},
		"do":       {writes("f00.txt", "new\n"), submits("done")},
	})
	cfg, answers := r.quietly(), 0
	edit := func(task spec.Task) conductor.Answer {
		task.Role, task.Brief = "hand", "b"
		return conductor.Answer{Edited: &spec.Plan{Tasks: []spec.Task{task}}}
	}
	cfg.Approve = func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		answers++
		switch answers {
		case 1:
			_, err := r.send("", "Do more.")
			return conductor.Answer{Yes: true}, err
		case 2:
			return edit(spec.Task{ID: "later"}), nil
		case 3:
			require.Contains(t, p.Problems[0].Message, `task id "later" is used by a task of another plan`)
			return edit(spec.Task{ID: "do", DependsOn: []string{"later"}}), nil
		case 4:
			require.Contains(t, p.Problems[0].Message, `there is no task "later"`)
			return edit(spec.Task{ID: "do", Files: []string{"f00.txt"}}), nil
		case 5:
			require.Equal(t, "do", p.Plan.Tasks[0].ID)
			return edit(spec.Task{ID: "renamed", Files: []string{"f00.txt"}}), nil
		default:
			return conductor.Answer{Stop: "enough"}, nil
		}
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, "enough", st.Reason)
	require.Equal(t, []string{"renamed"}, st.Tasks.Order, "what waited for the old name is gone with it")
}

// A message that comes while a plan waits is read by the master before anything of the plan starts, whatever was answered.
func TestSlowAMessageIsReadBeforeThePlanStarts(t *testing.T) {
	t.Parallel()
	more := dispatches(map[string]any{"id": "more", "role": "hand", "brief": "b", "files": []any{"f01.txt"}})
	for name, c := range map[string]struct {
		turn  geminitest.Answer
		kill  bool
		plans []string
	}{
		"the master confirms":     {geminitest.Answer{Text: "It stays."}, false, []string{"do", "do"}},
		"the master adds":         {more, false, []string{"do", "do", "more"}},
		"a kill before the yes":   {geminitest.Answer{Text: "It stays."}, true, []string{"do", "do"}},
		"a kill, the master adds": {more, true, []string{"do", "do", "more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(2), asksForApproval)
			said := r.play(parts{
				"master/1": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "b", "files": []any{"f00.txt"}})},
				"master/2": {c.turn},
				"master/3": {submits("done")},
				"do":       {writes("f00.txt", "new\n"), submits("done")},
				"more":     {writes("f01.txt", "new\n"), submits("done")},
			})
			said.hold = func(q geminitest.Request) {
				if q.Task == "do" && said.count("master/2/1") != 1 {
					panic("the plan started before the master had read the message")
				}
			}
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			var plans []string
			approve := func(ctx context.Context, p conductor.Proposal) (conductor.Answer, error) {
				plans = append(plans, p.Plan.Tasks[0].ID)
				if len(plans) > 1 {
					require.Equal(t, 1, said.count("master/2/1"), "asked before the master had read the message")
					return conductor.Answer{Yes: true}, nil
				}
				_, err := r.send("", "Mind f01.")
				if c.kill {
					kill()
					<-ctx.Done()
				}
				return conductor.Answer{Yes: true}, err
			}
			cfg := r.config()
			cfg.Approve = approve
			stop := r.worker(ctx)
			st, err := r.conduct(ctx, cfg)
			stop()
			require.NoError(t, err)
			if c.kill {
				require.Equal(t, run.Stopped, st.Status)
				cfg = r.config()
				cfg.Approve = approve
				defer r.worker(t.Context())()
				st, err = r.conduct(t.Context(), cfg)
				require.NoError(t, err)
			} else {
				require.Contains(t, strings.Join(st.Notices, "\n"), "the answer to the plan does not count")
			}
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Equal(t, c.plans, plans)
			require.Contains(t, said.at("master/2/1"), "Mind f01.")
			require.Contains(t, said.at("master/2/1"), "Your plan waits for a person's approval and has not started.")
		})
	}
}

// A yes is for what was shown, and for nothing else.
func TestAYesToAPlanThatHasChangedDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), asksForApproval)
	r.play(parts{
		"master/1": {dispatches(
			map[string]any{"id": "do", "role": "hand", "brief": "b", "files": []any{"f00.txt"}},
			map[string]any{"id": "other", "role": "hand", "brief": "b", "files": []any{"f01.txt"}},
		)},
		"do": {writes("f00.txt", "new\n"), submits("done")},
	})
	var shown []int
	cfg := r.quietly()
	cfg.Approve = func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		shown = append(shown, len(p.Plan.Tasks))
		require.Len(t, p.Source.Tasks, len(p.Plan.Tasks))
		var err error
		if len(shown) == 1 {
			_, err = askFor(t.Context(), r.bus, "r1", act.Cancel{Task: "other"}, "")
		}
		return conductor.Answer{Yes: true}, err
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, shown)
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["do"].State)
}

// decidePlan answers the decision about a plan as another process does.
func (r *rig) decidePlan(id string) error {
	_, err := askFor(r.t.Context(), r.bus, "r1", act.Decide{Decision: id, Option: run.Yes}, "")
	return err
}

// untilText waits for an event that has a text.
func (r *rig) untilText(text string) {
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Tail(r.t.Context(), 0) {
		require.NoError(r.t, err)
		for i := range b.Events {
			if strings.Contains(string(b.Events[i].Data), text) {
				return
			}
		}
	}
}

// The prompt still shows the first plan when another process has approved it and the master has made the next one.
func TestAnAnswerToAnOldPlanStartsNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), asksForApproval)
	r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "b", "files": []any{"f00.txt"}})},
		"master/2": {dispatches(map[string]any{"id": "later", "role": "hand", "brief": "b", "files": []any{"f01.txt"}})},
		"master/3": {submits("done")},
		"do":       {writes("f00.txt", "new\n"), submits("done")},
		"later":    {writes("f01.txt", "new\n"), submits("done")},
	})
	cfg, shown := r.quietly(), []string{}
	var mu sync.Mutex
	cfg.Approve = func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		mu.Lock() // a terminal shows one at a time
		defer mu.Unlock()
		shown = append(shown, p.Plan.Tasks[0].ID)
		if len(shown) > 1 {
			return conductor.Answer{Comment: "Leave it out"}, nil
		}
		require.NoError(t, r.decidePlan("plan-1.0"))
		r.untilText(`"id":"later"`)
		return conductor.Answer{Yes: true}, nil
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []string{"do", "later"}, shown)
	require.Contains(t, st.Notices, "the answer to the plan does not count: plan-1.0 is not open any more")
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Nil(t, st.Tasks.ByID["later"], "it was sent back")
}

// While the line is stopped an answer waits, and the plan is not shown again meanwhile.
func TestAPlanThatIsAnsweredWhileTheLineIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), asksForApproval)
	r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "b", "files": []any{"f00.txt"}})},
		"master/2": {submits("done")},
		"do":       {writes("f00.txt", "new\n"), submits("done")},
	})
	cfg := r.quietly()
	line := func(a act.Args) {
		_, err := askFor(t.Context(), r.bus, "r1", a, "")
		require.NoError(t, err)
	}
	var started sync.WaitGroup
	cfg.Approve = func(context.Context, conductor.Proposal) (conductor.Answer, error) {
		line(act.StopLine{})
		require.NoError(t, r.decidePlan("plan-1.0"))
		started.Go(func() {
			r.untilText("the answer to the plan does not count")
			line(act.StartLine{})
		})
		return conductor.Answer{Yes: true}, nil
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	started.Wait()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["do"].State)
}
