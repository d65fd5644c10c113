package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// told is a run of which a test tells the log.
type told struct {
	t  *testing.T
	st *run.State
	n  uint64
}

func newTold(t *testing.T, gates ...string) *told {
	t.Helper()
	r := &told{t: t, st: run.NewState()}
	s := run.Spec{Run: "r1", Goal: "Move to slog\nand more", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, g := range gates {
		s.Project.Gates = append(s.Project.Gates, spec.Gate{Name: g, Command: []string{"run", g}})
	}
	r.event(contextscope.KindRun, "", 0, run.Data{State: run.Running, Spec: &s})
	return r
}

func (r *told) event(kind contextscope.Kind, task string, attempt int, data any) {
	r.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(r.t, err)
	r.n++
	require.NoError(r.t, r.st.Apply(&contextscope.Event{
		ID: fmt.Sprint(r.n), Pos: r.n, Kind: kind, Task: task, Attempt: attempt, Data: raw, Time: time.Unix(int64(r.n), 0),
	}))
}

func (r *told) plan(record string, tasks ...spec.Task) {
	r.event(contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, DecisionRecord: record, Tasks: tasks})
}

// attempt reports one attempt: its handoff, and the fault that it ended with, if any.
func (r *told) attempt(task string, n int, h spec.Handoff, fault *spec.Fault) {
	d := run.Dispatch{Task: task, Attempt: n, Role: "generator"}
	r.event(contextscope.KindTask, task, n, run.TaskData{State: run.TaskRunning, Dispatch: &d})
	r.event(contextscope.KindResult, task, n, spec.Result{Task: task, Attempt: n, Status: spec.StatusDone, Handoff: h})
	if fault != nil {
		r.event(contextscope.KindTask, task, n, run.TaskData{State: run.TaskPending, Fault: fault})
		return
	}
	r.event(contextscope.KindLanding, "", 0, run.LandingData{
		State: run.LandingLanded, Tasks: []run.Landed{{Task: task, Attempt: n, Commit: "c"}},
	})
}

func TestLearntNothing(t *testing.T) {
	t.Parallel()
	r := newTold(t, "test")
	r.event(contextscope.KindRun, "", 0, run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	r.plan("", spec.Task{ID: "a"})
	r.attempt("a", 1, spec.Handoff{Summary: "done", Findings: []string{"all is well"}}, nil)
	require.Empty(t, view.Notes(r.st), "a run in which everything went well is nothing to remember")
	require.Empty(t, view.Notes(run.NewState()))
}

func TestLearntFacts(t *testing.T) {
	t.Parallel()
	r := newTold(t, "build", "test", "lint")
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("pkg.Test%02d", i))
	}
	r.event(contextscope.KindRun, "", 0, run.Data{Baseline: []spec.Receipt{
		{Gate: "build", Verdict: spec.VerdictPass},
		{Gate: "test", Verdict: spec.VerdictBaseline, ExitCode: 1, Signatures: many},
		{Gate: "lint", Verdict: spec.VerdictUnattributable, ExitCode: 2},
	}})
	r.plan("Loggers are *slog.Logger.", spec.Task{ID: "a", Title: "Move a", Files: []string{"a/**"}},
		spec.Task{ID: "b", Files: []string{"b/**", "a/x.go"}})
	r.plan("Nothing of this landed.", spec.Task{ID: "c"})
	r.attempt("a", 1, spec.Handoff{}, &spec.Fault{
		Class: "gate", Message: "\ntest is red\nmore", Signatures: []string{"test: pkg.TestNew"},
	})
	r.attempt("b", 1, spec.Handoff{}, &spec.Fault{
		Class: wire.FaultConflict, Message: "it conflicts with landed changes in a/x.go",
	})
	r.attempt("a", 2, spec.Handoff{Summary: "Moved it.", Deviations: []string{"kept the shim"}, Findings: []string{"TestNew needs TZ"}}, nil)
	r.attempt("b", 2, spec.Handoff{}, nil)

	got := view.Notes(r.st)
	for i := range got {
		require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), got[i].Created)
		got[i].Created = time.Time{}
	}
	var sigs strings.Builder
	for _, s := range many[:20] {
		sigs.WriteString("- " + s + "\n")
	}
	require.Equal(t, []memory.Note{
		{
			Title: "Gates that are red before any change", Tags: []string{"gates", "baseline", "test", "lint"}, Source: "r1",
			Text: "These failures are on the base already. A change that leaves them is not to blame for them.\n" +
				"\nGate `test` (`run test`), exit code 1:\n\n" + sigs.String() + "- and 5 more\n" +
				"\nGate `lint` (`run lint`), exit code 2:\n\n- its output names no failure\n",
		},
		{Title: "Decisions: Move to slog", Tags: []string{"decision"}, Source: "r1", Text: "Loggers are *slog.Logger."},
		{
			Title: "Tasks that got into each other's way", Tags: []string{"conflict", "plan"}, Paths: []string{"a/x.go", "b/**"}, Source: "r1",
			Text: "Patches of these tasks did not merge with earlier landings. Put such files into one task, or let the tasks " +
				"depend on one another.\n\n- b: it conflicts with landed changes in a/x.go",
		},
		{
			Title: "Failed before it landed: Move a", Tags: []string{"failure", "gate"}, Paths: []string{"a/**"}, Source: "r1/a",
			Text: "What failed:\n\n- gate: test is red (test: pkg.TestNew)\n\nWhat landed in the end: Moved it.\n" +
				"- kept the shim\n- TestNew needs TZ",
		},
	}, got)
}

func TestLearntSaysWhatAJudgeFound(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	r.plan("", spec.Task{ID: "x7", Brief: "\nWrite hello into a.txt.\nNothing else."})
	r.attempt("x7", 1, spec.Handoff{}, &spec.Fault{
		Class: "verdict", Message: "it is not what was asked for", Detail: "Not kept: plain ASCII (a.txt:1)\n\na.txt:2 is left\n",
	})
	r.attempt("x7", 2, spec.Handoff{Summary: "Wrote it."}, nil)
	got := view.Notes(r.st)
	require.Len(t, got, 1)
	require.Equal(t, "Failed before it landed: Write hello into a.txt.", got[0].Title)
	require.Equal(t, "What failed:\n\n- verdict: it is not what was asked for (Not kept: plain ASCII (a.txt:1); a.txt:2 is left)\n\n"+
		"What landed in the end: Wrote it.", got[0].Text)
}

// However much went wrong, a run proposes few notes, and each of them can be proposed.
func TestLearntIsBounded(t *testing.T) {
	t.Parallel()
	r := newTold(t, "test")
	long := strings.Repeat("é long ", 700)
	var sigs []string
	for i := range 30 {
		sigs = append(sigs, fmt.Sprintf("%d %s", i, long))
	}
	r.event(contextscope.KindRun, "", 0, run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictFail, Signatures: sigs}}})
	var tasks []spec.Task
	for i := range 40 {
		tasks = append(tasks, spec.Task{ID: fmt.Sprintf("t%02d", i), Title: long, Files: []string{fmt.Sprintf("f%d", i)}})
	}
	r.plan(long, tasks...)
	for i, task := range tasks {
		for n := range 1 + i%5 {
			r.attempt(task.ID, 1+n, spec.Handoff{}, &spec.Fault{Class: "gate", Message: long, Signatures: sigs})
		}
		r.attempt(task.ID, 8, spec.Handoff{}, &spec.Fault{Class: wire.FaultConflict, Message: long})
		r.attempt(task.ID, 9, spec.Handoff{Summary: long, Findings: sigs, Deviations: sigs}, nil)
	}
	got := view.Notes(r.st)
	require.Len(t, got, 6)
	require.Equal(t, []string{"r1/t04", "r1/t09", "r1/t14"}, []string{got[3].Source, got[4].Source, got[5].Source}, "those that took most")
	require.Equal(t, got, view.Notes(r.st))
	m, _, err := memory.Open(t.Context(), memory.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	for _, n := range got {
		_, err := m.Propose(t.Context(), n)
		require.NoError(t, err)
	}
}
