package conductor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/worker"
)

func TestSlowAnAgentHasOthersDoWorkAndGetsTheirHandoffs(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 4} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(3), func(s *run.Spec) {
				s.Parallel = parallel
				addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("scout", spec.ToolReadFile))
				s.Plan = planOf(
					spec.Task{
						ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}, Constraints: []string{"Keep the tests."},
						Verify: spec.RoleTester,
					},
					spec.Task{ID: "two", Role: "scout", Brief: "b"},
				)
			})
			said := r.play(parts{
				"one": {
					calls(delegates("scout", "Look at f01."), delegates("scout", "Look at f02.", "include_contents", "full")),
					writes("f00.txt", "new\n"), keeps("all of it"),
				},
				"one-scout-1-0": {keeps("f01 is old")},
				"one-scout-1-1": {keeps("f02 is old")},
			})
			st := r.run(t.Context())
			require.Equal(t, run.Done, st.Status, st.Reason)
			require.Equal(t, []string{"one"}, r.landed())
			for _, text := range []string{"f01 is old", "f02 is old"} {
				require.Contains(t, said.at("one/1/2"), text)
			}
			require.Contains(t, said.at("one/1/1"), "scout: does scout", "it is told whom it can ask")
			require.Contains(t, said.at("one-scout-1-0/1/1"), "Look at f01.")
			require.Contains(t, said.at("one-scout-1-0/1/1"), "Keep the tests.", "constraints go to every descendant")
			require.NotContains(t, said.at("one-scout-1-0/1/1"), "[one/1]", "nothing is inherited unless it is asked for")
			require.Equal(t, map[contextscope.Kind]int{contextscope.KindRequest: 2}, map[contextscope.Kind]int{
				contextscope.KindRequest: kinds(t, r, "lead", "one", 1)[contextscope.KindRequest],
			})
			rep := view.Of(st)
			byID := map[string]view.Task{}
			sum := 0
			for _, task := range rep.Tasks {
				byID[task.ID] = task
				sum += task.Usage.Total()
			}
			require.ElementsMatch(t, []string{"one-scout-1-0", "one-scout-1-1"}, byID["one"].Children)
			require.Equal(t, byID["one-scout-1-0"].Usage.Total()+byID["one-scout-1-1"].Usage.Total(), byID["one"].Delegated.Total())
			require.Equal(t, rep.Usage.Total(), sum, "nothing is counted twice")
			require.Equal(t, "one", byID["one-scout-1-0"].Parent)
			if parallel == 1 {
				require.Less(t, st.Works["one-scout-1-1"].Attempts[1].Pos, st.Works["two"].Attempts[1].Pos, "who waits goes first")
			}
			of, err := assign.Read(t.Context(), st.Works, r.bus, "one", 1)
			require.NoError(t, err)
			explainer, err := worker.Explain(t.Context(), r.bus, r.mirror, of, nil)
			require.NoError(t, err)
			seen, err := explainer.Turn(t.Context(), 1)
			require.NoError(t, err)
			sent, err := model.Raw(t.Context(), seen.Sent)
			require.NoError(t, err)
			require.Contains(t, string(sent), "scout: does scout", "it can be explained")
			// The child's inheritance ends where it was asked for.
			a, err := assign.Read(t.Context(), st.Works, r.bus, "one-scout-1-1", 1)
			require.NoError(t, err)
			slice, err := r.bus.Get(t.Context(), a.Slice)
			require.NoError(t, err)
			require.Contains(t, string(slice), "Keep the tests.")
			require.NotContains(t, string(slice), "f02 is old")
		})
	}
}

func TestAChildThatWritesLandsBeforeItsParentGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Parallel = 1
		addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("hand", spec.ToolWriteFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}})
	})
	said := r.play(parts{
		"one": {
			calls(delegates("hand", "Change f01.", "files", []any{"f01.txt"})),
			writes("f00.txt", "new\n"), submits("done"),
		},
		"one-hand-1-0": {writes("f01.txt", "new\n"), submits("changed it")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one-hand-1-0", "one"}, r.landed())
	require.Contains(t, said.at("one/1/2"), "changed it")
	require.Contains(t, said.at("one/1/2"), "landed as "+st.Tasks.ByID["one-hand-1-0"].Commit)
	require.Contains(t, said.at("one/1/2"), "without it")
}

// Every refusal is words that the agent reads, and nothing is begun.
func TestSlowADelegationThatCannotBeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call geminitest.Call
		want string
	}{
		"unknown role":    {delegates("scuot", "b"), `did you mean "scout"?`},
		"master":          {delegates(spec.RoleMaster, "b"), "not one that you can name"},
		"tester":          {delegates(spec.RoleTester, "b"), "not one that you can name"},
		"restricted":      {delegates(spec.RoleReader, "b"), "these are hand, lead, scout"},
		"itself":          {delegates("lead", "b"), "be a cycle: lead asks for lead"},
		"own files":       {delegates("hand", "b", "files", []any{"f00.txt"}), "f00.txt is your own to write"},
		"directory":       {delegates("hand", "b", "files", []any{"**"}), "your own to write"},
		"no files":        {delegates("hand", "b"), "name the files that it may change"},
		"files to read":   {delegates("scout", "b", "files", []any{"f01.txt"}), "writes nothing"},
		"bad files":       {delegates("hand", "b", "files", []any{"../x"}), "files[0]"},
		"protected files": {delegates("hand", "b", "files", []any{"a/x_test.go"}), "a/x_test.go is protected, and only a plan"},
		"empty brief":     {delegates("scout", " "), "brief"},
		"wrong arguments": {delegates("scout", "b", "fils", "x"), "fils"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(2), func(s *run.Spec) {
				s.Project.Protected = []string{"**/*_test.go"}
				lead := agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate)
				lead.Delegates = []string{"lead", "scout", "hand"}
				addRoles(s, lead, agentRole("scout", spec.ToolReadFile), agentRole("hand", spec.ToolWriteFile))
				s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}})
			})
			said := r.play(parts{"one": {calls(c.call), submits("gave up")}})
			st := r.run(t.Context())
			require.Equal(t, run.Parked, st.Status, st.Reason) // the task changed nothing
			require.Len(t, st.Tasks.Order, 1, "nothing was made of it")
			require.Contains(t, said.at("one/1/2"), c.want)
		})
	}
}

func TestDepthFanOutAndCirclesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Project.Delegation = spec.Delegation{Depth: 2, FanOut: 3}
		for _, name := range []string{"a", "b", "c", "d"} {
			addRoles(s, agentRole(name, spec.ToolDelegate))
		}
		s.Plan = planOf(spec.Task{ID: "t", Role: "a", Brief: "b"})
	})
	plays := parts{
		"t": {calls(delegates("b", "1"), delegates("b", "2"), delegates("b", "3"), delegates("b", "4")), submits("t")},
	}
	for call := range 4 { // the four are asked for at once: any of them may be the one too many
		child := fmt.Sprintf("t-b-1-%d", call)
		plays[child] = []geminitest.Answer{calls(delegates("c", "deeper")), submits("b")}
		plays[child+"-c-1-0"] = []geminitest.Answer{calls(delegates("d", "too deep"), delegates("a", "round")), submits("c")}
	}
	said := r.play(plays)
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, st.Tasks.Order, 1+3+3)
	for _, id := range st.Tasks.Order {
		if strings.HasSuffix(id, "-c-1-0") {
			require.Equal(t, 2, st.Tasks.ByID[id].Depth)
			require.Contains(t, said.at(id+"/1/2"), "2 agents are above you")
			require.Contains(t, said.at(id+"/1/2"), "be a cycle: a asks for b asks for c asks for a")
		}
	}
	require.Contains(t, said.at("t/1/2"), "3 tasks are active for you")
}

// Four agents delegate at once where two may work: each waits, and none keeps the others from working.
func TestWaitingTakesNoRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("several whole runs")
	}
	t.Parallel()
	r := newRig(t, files(4), func(s *run.Spec) {
		s.Parallel = 2
		lead := agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate)
		lead.Concurrency = 1
		addRoles(s, lead, agentRole("hand", spec.ToolWriteFile))
		s.Plan = planOf(spec.Task{ID: "t", Role: "lead", Brief: "b", Shard: &spec.Shard{By: "file"}})
	})
	p := parts{}
	for i := range 4 {
		id := fmt.Sprintf("t-%03d", i+1)
		p[id] = []geminitest.Answer{
			calls(delegates("hand", "b", "files", []any{fmt.Sprintf("g%d.txt", i)})),
			writes(fmt.Sprintf("f%02d.txt", i), "new\n"), submits("done"),
		}
		p[id+"-hand-1-0"] = []geminitest.Answer{writes(fmt.Sprintf("g%d.txt", i), "new\n"), submits("done")}
	}
	r.play(p)
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, r.landed(), 8)
}

// Two agents hold what the other's child would need: the second is refused, so that neither waits for ever.
func TestTwoThatWouldWaitForEachOtherDoNot(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("hand", spec.ToolWriteFile))
		s.Plan = planOf(
			spec.Task{ID: "x", Role: "lead", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "y", Role: "lead", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
	p := parts{
		"x":          {calls(delegates("hand", "b", "files", []any{"f01.txt"})), submits("x")},
		"y":          {calls(delegates("hand", "b", "files", []any{"f00.txt"})), submits("y")},
		"x-hand-1-0": {submits("nothing to do")}, "y-hand-1-0": {submits("nothing to do")},
	}
	said := r.play(p)
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason) // a task changed nothing
	require.Contains(t, said.at("x/1/2")+said.at("y/1/2"), "which waits itself")
}

func TestAChildThatFailsIsToldItsParentAndIsItsToJudge(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolDelegate), agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
	said := r.play(parts{
		"one":           {calls(delegates("scout", "b")), submits("did without")},
		"one-scout-1-0": {{Text: "I only talk."}},
	})
	st := r.run(t.Context())
	require.Equal(t, run.TaskParked, st.Tasks.ByID["one-scout-1-0"].State)
	require.Contains(t, said.at("one/1/2"), "parked: failed in the same way 3 times")
	require.Equal(t, run.Done, st.Status, "its parent came to a good end without it: %s", st.Reason)
}

func TestWhatChildrenUseCountsAgainstTheirParentsLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		lead := agentRole("lead", spec.ToolDelegate)
		lead.Limits.Tokens = 60_000
		addRoles(s, lead, agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
	much := submits("read a lot")
	much.Usage = &geminitest.Usage{Prompt: 54_000, Output: 100}
	said := r.play(parts{
		"one":           {calls(delegates("scout", "b")), calls(delegates("scout", "more")), submits("done")},
		"one-scout-1-0": {much},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	child := st.Works["one-scout-1-0"].Attempts[1]
	require.Positive(t, child.Tokens)
	require.Less(t, child.Tokens, 30_000, "a child has half of what its parent has left")
	require.Contains(t, said.at("one/1/2"), "Your limit is")
}

// What an agent delegates has the approval of its own task: a reader without approval delegates no writing, and a writer needs
// no other approval.
func TestWhatAnAgentHasDoneNeedsNoWordOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.AutoApprove = false
		addRoles(s, agentRole("looks", spec.ToolReadFile, spec.ToolDelegate), agentRole("leads", spec.ToolWriteFile, spec.ToolDelegate),
			agentRole("hand", spec.ToolWriteFile))
	})
	said := r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "see", "role": "looks", "brief": "b"})},
		"see":      {calls(delegates("hand", "b", "files", []any{"f00.txt"})), submits("seen")},
		"master/2": {dispatches(
			map[string]any{"id": "do", "role": "leads", "brief": "b", "files": []any{"f00.txt"}},
			map[string]any{"id": "also", "role": "looks", "brief": "b"},
		)},
		"also":        {calls(delegates("hand", "b", "files", []any{"f02.txt"})), submits("had it done")},
		"do":          {calls(delegates("hand", "b", "files", []any{"f01.txt"})), writes("f00.txt", "new\n"), submits("done")},
		"do-hand-1-0": {writes("f01.txt", "new\n"), submits("done")}, "also-hand-1-0": {writes("f02.txt", "new\n"), submits("done")},
		"master/3": {submits("done")},
	})
	cfg, shown := r.config(), 0
	cfg.Approve = func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		shown++
		require.Len(t, p.Plan.Tasks, 2)
		return conductor.Answer{Yes: true}, nil
	}
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("see/1/2"), "your plan only reads")
	require.ElementsMatch(t, []string{"do", "do-hand-1-0", "also-hand-1-0"}, r.landed())
	require.Equal(t, 1, shown)
}

func TestAParentReadsTheArtifactsOfItsChild(t *testing.T) {
	t.Parallel()
	big := map[string]string{"big.txt": strings.Repeat("some line of it\n", 900) + "the needle\n" + strings.Repeat("x\n", 900)}
	r := newRig(t, big, func(s *run.Spec) {
		scout := agentRole("scout", spec.ToolReadFile)
		scout.ToolOutput = map[string]spec.ToolOutput{spec.ToolReadFile: {Policy: spec.OutputKeep, Limit: 1000}}
		addRoles(s, agentRole("lead", spec.ToolDelegate, spec.ToolLoadArtifact), scout)
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
	handle := regexp.MustCompile(`artifact:\S+@\d+#?[0-9a-f]*`)
	loaded := make(chan string, 1)
	r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		at := strings.Trim(handle.FindString(q.Text()), `"\.,`)
		switch fmt.Sprintf("%s/%d", q.Role, q.Turn) {
		case "lead/1":
			return calls(delegates("scout", "Read it."))
		case "lead/2":
			return calls(callOf(spec.ToolLoadArtifact, map[string]any{"handle": at, "search": "needle"}))
		case "lead/3":
			loaded <- q.Text()
			return submits("found it")
		case "scout/1":
			return calls(callOf(spec.ToolReadFile, map[string]any{"path": "big.txt"}))
		default:
			return calls(callOf(spec.ToolSubmitResult, map[string]any{"summary": "it is long", "artifacts": []any{at}}))
		}
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, chantest.Next(t, loaded), "the needle")
}
