package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// laterPlan has a template whose files another task makes, what waits for that, and templates that find nothing or fail.
func laterPlan(s *run.Spec) {
	s.Roles["make"] = command("make", "mkdir -p made && for n in 1 2 3; do echo fresh > made/$n.txt; done")
	s.Roles["mod"] = command("mod", "for f in $DIVISI_FILES; do echo $DIVISI_TASK >> $f; done")
	s.Plan = planOf(
		spec.Task{ID: "make", Role: "make", Brief: "b", Files: []string{"made/**"}},
		spec.Task{ID: "all", Role: "mod", Brief: "b", DependsOn: []string{"make"}, Shard: &spec.Shard{By: "file", Match: "fresh"}, Remaining: "ok"},
		spec.Task{ID: "last", Role: "mod", Brief: "b", DependsOn: []string{"all"}, Files: []string{"f00.txt"}},
		spec.Task{ID: "none", Role: "mod", Brief: "b", DependsOn: []string{"make"}, Shard: &spec.Shard{By: "file", Match: "nowhere"}},
		spec.Task{ID: "behind", Role: "mod", Brief: "b", DependsOn: []string{"none"}, Files: []string{"f01.txt"}},
		spec.Task{
			ID: "set", Role: "mod", Brief: "b", DependsOn: []string{"make"}, Shard: &spec.Shard{By: "dir", Glob: "made/*"}, Together: true,
		},
	)
}

func TestATemplateExpandsWhenWhatItDependsOnHasLanded(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), laterPlan)
	r.run(t.Context())
	st, err := r.fold(t.Context())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.ElementsMatch(t, []string{"make", "all-001", "all-002", "all-003", "set-001", "last", "behind"}, r.landed())
	require.Equal(t, 7, st.Tasks.Count(run.TaskLanded))
	require.Zero(t, st.Tasks.Count(run.TaskDone), "a template is no task without a change")
	require.Equal(t, "all", st.Plans.All[1].Expands)
	require.Equal(t, []string{"made/2.txt"}, st.Tasks.ByID["all-002"].Task.Files)
}

func TestATemplateThatCannotExpandIsParkedAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		laterPlan(s)
		s.Plan.Tasks = append(s.Plan.Tasks[:2:2],
			spec.Task{ID: "glob", Role: "mod", Brief: "b", DependsOn: []string{"make"}, Shard: &spec.Shard{By: "file", Glob: "nowhere/*"}},
			spec.Task{ID: "fails", Role: "mod", Brief: "b", DependsOn: []string{"make"}, Shard: &spec.Shard{By: "command", Command: []string{"x"}}},
			spec.Task{ID: "behind", Role: "mod", Brief: "b", DependsOn: []string{"fails"}, Files: []string{"f01.txt"}},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Equal(t, 4, st.Tasks.Count(run.TaskLanded))
	require.Equal(t, "its shard rule: matches none of 6 files (glob \"nowhere/*\")", st.Tasks.ByID["glob"].Reason)
	require.Contains(t, st.Tasks.ByID["fails"].Reason, "its shard rule: shards by command need a place to run it")
	require.Equal(t, "depends on fails, which is parked", st.Tasks.ByID["behind"].Reason)
}

func TestAPlanReportsWhatExpandsLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), laterPlan)
	st := run.NewState()
	st.Spec = r.spec
	tree := &evidence.CommitTree{Repo: r.mirror, Commit: r.spec.Base}
	d, problems, err := plan.Prepare(t.Context(), *r.spec.Plan, &st.Agenda, st.Works, tree)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, d.Tasks, 3)
	require.Len(t, d.Later, 3)
	require.Equal(t, []string{
		`all expands when what it depends on has landed; now it matches none of 3 files (match "fresh")`,
		`none expands when what it depends on has landed; now it matches none of 3 files (match "nowhere")`,
		`set expands when what it depends on has landed; now it matches none of 3 files (glob "made/*")`,
	}, d.Notes)
}
