package compaction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// story builds one agent's session, each event with the next number.
type story struct{ events []contextscope.Event }

func (s *story) add(kind contextscope.Kind, role string, parts ...*genai.Part) *story {
	n := len(s.events) + 1
	s.events = append(s.events, contextscope.Event{
		V: contextscope.EventVersion, ID: fmt.Sprintf("e%d", n), Seq: n, Agent: "a/1", Kind: kind, Time: time.Unix(int64(1000-n), 0),
		Content: &genai.Content{Role: role, Parts: parts},
	})
	return s
}

func (s *story) brief() *story {
	return s.add(contextscope.KindBrief, genai.RoleUser, sessiontest.Say("Task: rename Foo"))
}

func (s *story) told(kind contextscope.Kind, text string) *story {
	return s.add(kind, genai.RoleUser, sessiontest.Say(text))
}

// tools adds a turn that calls a tool, and its result.
func (s *story) tools(name string, args, result map[string]any) *story {
	id := fmt.Sprintf("c%d", len(s.events))
	s.add(contextscope.KindTurn, genai.RoleModel, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}})
	return s.add(contextscope.KindTool, genai.RoleUser,
		&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: result}})
}

// read adds a turn that reads so many bytes.
func (s *story) read(path string, size int) *story {
	return s.tools("read_file", map[string]any{"path": path}, map[string]any{"output": strings.Repeat("x", size)})
}

func (s *story) compacted(c contextscope.Compaction) *story {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	s.add(contextscope.KindCompaction, "")
	e := &s.events[len(s.events)-1]
	e.Content, e.Data = nil, data
	return s
}

func rules() PlanInput {
	return PlanInput{Rules: spec.ContextRules{}.WithDefaults().Compaction, Trigger: contextscope.TriggerShare}
}

// reads is a session of one prompt: brief, and n turns that read about a hundred tokens each.
func reads(n int) *story {
	s := (&story{}).brief()
	for i := range n {
		s.read(fmt.Sprintf("f%d.go", i), 360)
	}
	return s
}

func TestPlanCompactionSplitsAOnePromptSessionBetweenTurns(t *testing.T) {
	t.Parallel()
	s := reads(10)
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 2, job.From, "the brief stands before the history and stays")
	require.Equal(t, 15, job.To, "three of ten turns stay")
	require.Equal(t, 7, job.Turns)
	require.Zero(t, job.Overlap)
	require.InDelta(t, 700, job.Before, 80)
}

func TestPlanCompactionSplitsAtAUsersMessageThatStandsNear(t *testing.T) {
	t.Parallel()
	s := reads(5).told(contextscope.KindUser, "now do the rest")
	for i := range 5 {
		s.read(fmt.Sprintf("g%d.go", i), 360)
	}
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 11, job.To, "the message and its five turns stay whole")

	early := reads(3).told(contextscope.KindUser, "news")
	for range 12 {
		early.read("b", 360)
	}
	job, ok = Plan(early.events, rules())
	require.True(t, ok)
	require.Equal(t, 22, job.To, "a message near the very beginning does not hold everything")
}

func TestPlanCompactionKeepsWordsToTheAgentWithTheTurnTheyLeadTo(t *testing.T) {
	t.Parallel()
	s := reads(7).told(contextscope.KindSteering, "mind the tests").told(contextscope.KindControl, "hurry").read("a", 360).read("b", 360).read("c", 360)
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 15, job.To)
}

func TestPlanCompactionOverlapsAndIntegrates(t *testing.T) {
	t.Parallel()
	s := reads(6)
	snapshot := Snapshot{OverallGoal: "old goal", Pinned: []Fact{{FactChangedFile, "stale.go"}}}
	s.compacted(contextscope.Compaction{Method: contextscope.MethodSnapshot, From: 2, To: 7, Snapshot: snapshot.Render()})
	s.compacted(contextscope.Compaction{Method: contextscope.MethodFailed, From: 2, To: 13})
	for range 8 {
		s.read("g.go", 360)
	}
	in := rules()
	job, ok := Plan(s.events, in)
	require.True(t, ok)
	require.Equal(t, 6, job.From, "one turn before the old end")
	require.Equal(t, 1, job.Overlap)
	require.Equal(t, 8, job.Turns, "seven new ones and the overlap")
	require.Equal(t, 23, job.To, "four of eleven turns that are still shown stay: a failed attempt stands for nothing")
	require.Contains(t, job.previous, "old goal")
	require.NotContains(t, job.previous, "stale.go", "facts are gathered anew")

	in.Rules.Overlap = 3
	job, _ = Plan(s.events, in)
	require.Equal(t, []int{2, 3}, []int{job.From, job.Overlap})
	in.Rules.Overlap = 0
	job, _ = Plan(s.events, in)
	require.Equal(t, []int{8, 0}, []int{job.From, job.Overlap})
}

func TestPlanCompactionReadsWhatAPruneRemoved(t *testing.T) {
	t.Parallel()
	s := reads(6)
	s.compacted(contextscope.Compaction{Method: contextscope.MethodSnapshot, From: 2, To: 5, Snapshot: Snapshot{OverallGoal: "written"}.Render()})
	s.compacted(contextscope.Compaction{Method: contextscope.MethodPrune, From: 6, To: 9, Snapshot: Snapshot{OverallGoal: "by code"}.Render()})
	for range 8 {
		s.read("g.go", 360)
	}
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 4, job.From, "an overlap before the newest snapshot that a model wrote")
	require.Contains(t, job.previous, "written")
	_, contents := job.Prompt()
	require.Contains(t, contents[0].Parts[0].Text, "f3.go", "what no model has read yet")
}

func TestPlanCompactionNeedsSomethingToGain(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]contextscope.Event{
		"nothing":             nil,
		"a brief":             (&story{}).brief().events,
		"one turn":            reads(1).events,
		"two turns":           reads(2).events,
		"short turns":         (&story{}).brief().read("a", 9).read("b", 9).read("c", 9).read("d", 9).events,
		"all compacted":       reads(9).compacted(contextscope.Compaction{Method: contextscope.MethodSnapshot, To: 15, Snapshot: "x"}).events,
		"an open call at all": (&story{}).brief().add(contextscope.KindTurn, genai.RoleModel, sessiontest.Call("a", "run")).events,
	} {
		_, ok := Plan(events, rules())
		require.False(t, ok, name)
	}
	in := rules()
	in.Facts.Constraints = []string{strings.Repeat("long ", 1000)}
	_, ok := Plan(reads(10).events, in)
	require.False(t, ok, "the pinned facts alone are longer than the range")
}

func TestPlanCompactionMovesOnWhereTheShareHoldsTooLittle(t *testing.T) {
	t.Parallel()
	s := (&story{}).brief().read("small", 40).read("giant", 40_000).read("c", 360).read("d", 360)
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 5, job.To, "less than the share stays, but something is gained")
}

func TestPlanCompactionIsNotHeldByAnAbandonedCall(t *testing.T) {
	t.Parallel()
	s := reads(3).add(contextscope.KindTurn, genai.RoleModel, sessiontest.Call("lost", "run"))
	for range 7 {
		s.read("g.go", 360)
	}
	job, ok := Plan(s.events, rules())
	require.True(t, ok)
	require.Equal(t, 14, job.To)
	s.add(contextscope.KindTool, genai.RoleUser, sessiontest.Result("lost", "run", "at last"))
	_, ok = Plan(s.events, rules())
	require.True(t, ok)
}

// drawStory is a session with everything that logs have: lost and late results, ids used again, calls without ids, silent
// turns, steering, and compactions of every method.
func drawStory(t *rapid.T) *story {
	s := (&story{}).brief()
	var open []*genai.FunctionCall
	answer := func(i int) *genai.Part {
		fc := open[i]
		open = append(open[:i], open[i+1:]...)
		size := rapid.SampledFrom([]int{3, 400, 5000}).Draw(t, "size")
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: fc.ID, Name: fc.Name, Response: map[string]any{"output": strings.Repeat("o", size)},
		}}
	}
	for range rapid.IntRange(0, 25).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			s.told(contextscope.KindUser, "go on")
		case 1:
			s.told(contextscope.KindSteering, "careful")
		case 2:
			s.add(contextscope.KindTurn, genai.RoleModel, sessiontest.Say("thinking aloud"))
		case 3:
			s.add(contextscope.KindUsage, "")
		case 4:
			if job, ok := Plan(s.events, rules()); ok {
				s.compacted(job.Done(Snapshot{OverallGoal: "g"}))
			}
		case 5:
			if c, ok := Prune(s.events, PruneInput{Target: rapid.IntRange(0, 3000).Draw(t, "target")}); ok {
				s.compacted(c)
			}
		case 6:
			if len(open) > 0 {
				s.add(contextscope.KindTool, genai.RoleUser, answer(rapid.IntRange(0, len(open)-1).Draw(t, "late")))
			}
		default:
			turn := []*genai.Part{}
			for range rapid.IntRange(1, 2).Draw(t, "calls") {
				fc := &genai.FunctionCall{Name: "run", ID: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "id")}
				open, turn = append(open, fc), append(turn, &genai.Part{FunctionCall: fc})
			}
			s.add(contextscope.KindTurn, genai.RoleModel, turn...)
			if rapid.IntRange(0, 4).Draw(t, "lost") > 0 {
				n := len(turn)
				tool := []*genai.Part{}
				for range n {
					tool = append(tool, answer(len(open)-1))
				}
				s.add(contextscope.KindTool, genai.RoleUser, tool...)
			}
		}
	}
	return s
}

// requireClosed reports that no call up to an event has its result after it, and that the newest turn is after it.
func requireClosed(t *rapid.T, events []contextscope.Event, to int) {
	nearest := map[content.Key]int{}
	newest := 0
	for _, e := range events {
		if e.Kind == contextscope.KindTurn {
			newest = e.Seq
			content.EachCall(e.Content, func(fc *genai.FunctionCall) { nearest[content.CallKey(fc)] = e.Seq })
		}
		if e.Kind == contextscope.KindTool {
			content.EachResponse(e.Content, func(fr *genai.FunctionResponse) {
				asked := nearest[content.ResponseKey(fr)]
				require.False(t, asked > 0 && asked <= to && to < e.Seq, "call of %d, result in %d, cut at %d", asked, e.Seq, to)
			})
		}
	}
	require.Less(t, to, newest, "the newest turn stays")
}

func TestPlanCompactionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		in := rules()
		in.Rules.Keep = rapid.Float64Range(0.05, 0.9).Draw(t, "keep")
		in.Rules.Overlap = rapid.IntRange(0, 3).Draw(t, "overlap")
		l := openLedger(s.events)
		job, ok := Plan(s.events, in)
		if !ok {
			return
		}
		requireClosed(t, s.events, job.To)
		require.Greater(t, job.To, seqBefore(s.events, l.Floor), "the horizon only moves forward")
		require.LessOrEqual(t, job.From, job.To)
		require.GreaterOrEqual(t, job.Turns-job.Overlap, 2)
		require.Positive(t, job.Before)
		if in.Rules.Overlap == 0 {
			require.Greater(t, job.From, seqBefore(s.events, l.Read))
		}
		again, _ := Plan(s.events, in)
		require.Equal(t, job, again)
		_, contents := job.Prompt()
		_, same := again.Prompt()
		require.Equal(t, contents, same)
	})
}

// seqBefore is the number of the event before a place; 0 where there is none.
func seqBefore(events []contextscope.Event, place int) int {
	if place == 0 {
		return 0
	}
	return events[place-1].Seq
}
