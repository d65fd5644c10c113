package conductor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
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
func TestSlowTheNextExecutorStartsWithTheCommandsTree(t *testing.T) {
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
			require.Equal(t, "model: the command failed", st.Tasks.ByID["one"].Choice.String())
			require.Equal(t, map[string]int{"model": 1}, view.Of(st).Executors)
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
	require.Equal(t, 3, st.Tasks.ByID["one"].Attempt)
	close(models)
	var used []string
	for m := range models {
		used = append(used, m)
	}
	plain, strong := r.spec.Project.ModelName(""), r.spec.Project.ModelName("strong")
	require.Equal(t, []string{plain, plain, plain, plain, strong, strong}, used)
	require.Equal(t, strong+"\n", sh(t, r.checkout.Top, "git log -1 --format='%(trailers:key=Divisi-Model,valueonly,separator=)' divisi/r1"))
	require.Equal(t, "strong: the same failure twice", view.Of(st).Tasks[0].Uses)
}

// The gates of a template whose brief is wrong name the file of each shard.
const badFiles = `for f in *.txt; do if grep -q bad $f; then echo "error: $f is bad"; red=1; fi; done; test -z "$red"`

// templateRig has a template whose command does what its brief says.
func templateRig(t *testing.T, onDoubt string) *rig {
	return newRig(t, files(6), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", `if grep -q '"brief":"b[^"]'; then echo good > $DIVISI_FILES; else echo bad > $DIVISI_FILES; fi`)
		s.Project.Gates[0].Command, s.OnDoubt = []string{"sh", "-c", badFiles}, onDoubt
		s.Plan = planOf(spec.Task{ID: "all", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file"}, Attempts: 9})
	})
}

// Three shards fail in the same way: the run waits for a person, also when it is resumed, and the words of the person let all
// shards begin again.
func TestSlowATemplateIsHeldUntilItsBriefIsCorrected(t *testing.T) {
	t.Parallel()
	r := templateRig(t, run.OnDoubtAsk)
	defer r.worker(t.Context())()
	for range 2 {
		st, err := r.conduct(t.Context(), r.config())
		require.NoError(t, err)
		require.Equal(t, run.Stopped, st.Status, st.Reason)
		require.Contains(t, st.Reason, "waits for a decision about the template all: ")
		require.Len(t, st.Templates.Holds(), 1)
		require.Len(t, view.Of(st).Decisions, 1)
	}
	c, err := conductor.New(t.Context(), r.config())
	require.NoError(t, err)
	becomes, err := c.Do(t.Context(), act.Send{Task: "all", Text: "Do it the right way."}, "")
	require.NoError(t, err)
	require.Contains(t, becomes.Text, "restart with these words")
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, r.landed(), 6)
	require.Empty(t, st.Templates.Holds())
	require.Equal(t, run.Revise, st.Templates.HoldsOf("all")[0].Answer.Option)
}

func TestATemplateIsParkedWhereNoOneDecides(t *testing.T) {
	t.Parallel()
	r := templateRig(t, run.OnDoubtReject)
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Empty(t, st.Ref, "nothing landed")
	require.Equal(t, run.Park, st.Templates.HoldsOf("all")[0].Answer.Option)
	parked := 0
	for _, id := range st.Tasks.Shards["all"] {
		require.Equal(t, run.TaskParked, st.Tasks.ByID[id].State, id)
		if strings.HasPrefix(st.Tasks.ByID[id].Reason, "policy parks the rest of all, as no person is asked: ") {
			parked++
		}
	}
	require.NotZero(t, parked)
}

// BenchmarkTemplateHold has 64 shards with one wrong brief, 8 at once: what is spent before they are held, as a share of what all
// of their attempts would cost. A model's turn takes 400 ms.
func BenchmarkTemplateHold(b *testing.B) {
	for b.Loop() {
		r := newRig(b, files(64), func(s *run.Spec) {
			addRoles(s, agentRole("writer", spec.ToolReadFile, spec.ToolWriteFile))
			s.Parallel, s.OnDoubt = 8, run.OnDoubtReject
			s.Project.Gates[0].Command = []string{"sh", "-c", badFiles}
			s.Plan = planOf(spec.Task{ID: "all", Role: "writer", Brief: "b", Shard: &spec.Shard{By: "file", MaxFiles: 1}})
		})
		r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
			var n int
			_, err := fmt.Sscanf(q.Task, "all-%03d", &n)
			require.NoError(b, err)
			a := submits("done")
			if q.Turn == 1 {
				a = writes(fmt.Sprintf("f%02d.txt", n-1), "bad\n")
			}
			a.Delay = spec.Duration(400 * time.Millisecond)
			a.Usage = &geminitest.Usage{Prompt: 1000, Output: 100}
			return a
		}})
		st := r.run(b.Context())
		require.Equal(b, run.Park, st.Templates.HoldsOf("all")[0].Answer.Option)
		attempts := 0
		for _, id := range st.Tasks.Shards["all"] {
			attempts += st.Tasks.ByID[id].Attempt
		}
		all := float64(st.Usage.Total()) / float64(attempts) * float64(len(st.Tasks.Shards["all"])*spec.DefaultAttempts)
		b.ReportMetric(float64(attempts), "attempts")
		b.ReportMetric(100*float64(st.Usage.Total())/all, "%-of-all-tokens")
	}
}

// A service that all shards need is away when they begin: they run once more, and land. No attempt counts, and nothing is held.
func TestAServiceThatIsAwayCostsNoAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(6), func(s *run.Spec) {
		mod := command("mod", `if grep -q '"attempt":1[,}]'; then echo 'it answers 502' >&2; exit 1; fi; echo good > $DIVISI_FILES`)
		mod.Network = true
		s.Roles["mod"], s.OnDoubt, s.Parallel = mod, run.OnDoubtReject, 6
		s.Plan = planOf(spec.Task{ID: "all", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file", MaxFiles: 1}, Attempts: 1})
	})
	defer r.worker(t.Context())()
	cfg := r.config()
	cfg.Patience = conductor.Patience{Wait: time.Millisecond, Retry: 20 * time.Millisecond}
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Empty(t, st.Templates.HoldsOf("all"))
	require.Len(t, r.landed(), 6)
	for _, id := range st.Tasks.Order {
		require.Empty(t, st.Tasks.ByID[id].Faults, id)
	}
}
