package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// chainRig has a task whose codemod changes two files, and leaves the first one bad.
func chainRig(t *testing.T, script string) *rig {
	return newRig(t, files(2), func(s *run.Spec) {
		mover := agentRole("mover", spec.ToolReadFile, spec.ToolWriteFile)
		mover.Executor, mover.Chain = spec.ExecutorCommand, []string{spec.ExecutorModel}
		mover.Command, mover.Writes = []string{"sh", "-c", script}, true
		addRoles(s, mover)
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -h BAD *.txt; then echo \"error: $(grep -h BAD *.txt) is left\"; exit 1; fi"}
		s.Plan = planOf(spec.Task{ID: "one", Role: "mover", Brief: "b", Files: []string{"f00.txt", "f01.txt"}})
	})
}

// What a codemod has done stays done: each attempt of the model behind it begins with it, and only what failed is left to do.
func TestTheNextExecutorStartsWithTheCommandsTree(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the gates reject it": "echo BAD > f00.txt; echo moved > f01.txt",
		"it fails":            "echo BAD > f00.txt; echo moved > f01.txt; exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := chainRig(t, script)
			said := r.play(parts{
				"one/2": {writes("f00.txt", "BAD too\n"), submits("half")},
				"one/3": {writes("f00.txt", "good\n"), submits("finished by hand")},
			})
			st := r.run(t.Context())
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Equal(t, "good\nmoved\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt divisi/r1:f01.txt"))
			require.Equal(t, "2\n", sh(t, r.checkout.Top, "git diff --name-only main divisi/r1 | wc -l | tr -d ' '"))
			for _, turn := range []string{"one/2/1", "one/3/1"} {
				require.Contains(t, said.at(turn), "Its change is in your work tree", turn)
				require.Contains(t, said.at(turn), "moved", turn, "the files are given as they are in the tree")
				require.NotContains(t, said.at(turn), "+moved", turn)
			}
			require.Contains(t, said.at("one/3/1"), "+BAD too", "what the model changed after that is shown")
			require.Equal(t, "model: the command failed", st.Tasks["one"].Rung.String())
			require.Equal(t, map[string]int{"model": 1}, report.Of(st).Executors)
		})
	}
}

// A model that fails twice in the same way leaves the task to a stronger one, which the commit names.
func TestAStrongerModelTakesOverAfterTheSameFailureTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, agentRole("writer", spec.ToolReadFile, spec.ToolWriteFile))
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q bad f00.txt; then echo 'error: it is bad'; exit 1; fi"}
		s.Plan = planOf(spec.Task{ID: "one", Role: "writer", Brief: "b", Files: []string{"f00.txt"}})
	})
	models := make(chan string, 16)
	r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		models <- q.Model
		if q.Turn > 1 {
			return submits("done")
		}
		if q.Attempt < 3 {
			return writes("f00.txt", "bad\n")
		}
		return writes("f00.txt", "good\n")
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, 3, st.Tasks["one"].Attempt)
	close(models)
	var used []string
	for m := range models {
		used = append(used, m)
	}
	plain, strong := r.spec.Project.ModelName(""), r.spec.Project.ModelName("strong")
	require.Equal(t, []string{plain, plain, plain, plain, strong, strong}, used)
	require.Equal(t, strong+"\n", sh(t, r.checkout.Top, "git log -1 --format='%(trailers:key=Divisi-Model,valueonly,separator=)' divisi/r1"))
	require.Equal(t, "strong: the same failure twice", report.Of(st).Tasks[0].Uses)
}
