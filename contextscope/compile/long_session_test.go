package compile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// longRun is a session of many turns with results of any size, in which all that can shorten a history comes and fails.
type longRun struct {
	*rand.Rand

	view   *view
	events []contextscope.Event
	in     Input
	// cost is what a byte costs in truth, written how much is steered.
	cost    ratio
	steered int
}

func (s *longRun) add(kind contextscope.Kind, c *genai.Content, data any) {
	n := len(s.events) + 1
	e := contextscope.Event{V: contextscope.EventVersion, ID: fmt.Sprint("e", n), Seq: n, Agent: "a/1", Author: "a/1", Kind: kind, Content: c, Data: sessiontest.JSON(data)}
	s.events = append(s.events, e)
	s.view.append(e)
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func newLongRun(seed uint64) *longRun {
	s := &longRun{Rand: rand.New(rand.NewPCG(seed, 1))}
	s.cost = oneOf(s.Rand, ratio{1, 5}, ratio{1, 4}, ratio{2, 7}, ratio{1, 3})
	s.in = Input{
		Agent: "a/1", Window: oneOf(s.Rand, 4_000, 16_000, 64_000, 200_000), Brief: Brief{Task: spec.Task{ID: "t", Brief: "rename"}},
		Role: spec.Role{Name: "g", Instruction: strings.Repeat("Do it. ", 50), Context: spec.ContextRules{
			Last: oneOf(s.Rand, 0, 0, 30), DropTools: oneOf(s.Rand, nil, nil, []string{"grep"}), DropAfter: oneOf(s.Rand, 0, 0, 10),
		}},
	}
	s.view = open(s.in)
	return s
}

// shorten compacts or prunes as an agent does, or fails to.
func (s *longRun) shorten() {
	tokens := s.view.tokens()
	if tokens < s.in.Window/2 || s.IntN(4) == 0 {
		return
	}
	if job, ok := compaction.Plan(s.events, compaction.PlanInput{
		Rules: spec.ContextRules{}.WithDefaults().Compaction, Trigger: contextscope.TriggerShare,
	}); ok && s.IntN(2) == 0 {
		s.add(contextscope.KindCompaction, nil, job.Done(compaction.Snapshot{OverallGoal: strings.Repeat("g", 300)}))
		return
	}
	if shown := compaction.ShownTokens(s.events); tokens > s.in.Window*85/100 {
		if c, ok := compaction.Prune(s.events, compaction.PruneInput{Target: max(shown-(max(tokens, shown)-s.in.Window*2/5), shown*3/10)}); ok {
			s.add(contextscope.KindCompaction, nil, c)
		}
	}
}

// turn answers a request that cost so much: with calls, and their results.
func (s *longRun) turn(n, cost, bytes int) {
	calls, results := &genai.Content{Role: genai.RoleModel}, &genai.Content{Role: genai.RoleUser}
	for i := range 1 + s.IntN(6) {
		id, tool := fmt.Sprintf("c%d-%d", n, i), oneOf(s.Rand, "grep", "read")
		calls.Parts = append(calls.Parts, sessiontest.Call(id, tool))
		results.Parts = append(results.Parts, sessiontest.Result(id, tool, strings.Repeat("o", oneOf(s.Rand, 20, 300, 3_000, 12_000, 40_000))))
	}
	s.add(contextscope.KindTurn, calls, nil)
	if s.IntN(10) == 0 {
		cost = oneOf(s.Rand, 0, 1, -7, 1<<31, 1<<62)
	}
	s.add(contextscope.KindUsage, nil, spent(1, cost, bytes))
	s.add(contextscope.KindTool, results, nil)
}

// Whatever comes, no request is larger than the window, and none breaks the rules of the interface.
func TestLongSessionsStayWithinTheirWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about size, and slow under the race detector")
	}
	t.Parallel()
	for seed := range uint64(4) {
		s := newLongRun(seed)
		for n := range 300 {
			if steer := "mind " + narrative.QuoteEnd + `{"overall_goal":`; s.IntN(40) == 0 && s.steered < s.in.Window/8 {
				s.steered += len(steer)
				s.add(contextscope.KindSteering, genai.NewContentFromText(steer, genai.RoleUser), nil)
			}
			s.shorten()
			tail := Tail{Reminders: []string{fmt.Sprint("turn ", n)}}
			if s.IntN(5) == 0 {
				tail.Loaded = []Loaded{{Handle: "x@1", Text: strings.Repeat("l", oneOf(s.Rand, 300, 40_000))}}
			}
			r := s.view.compile(tail)
			sessiontest.CheckRequest(t, r.Contents)
			require.Zero(t, r.Over, "seed %d, turn %d", seed, n)
			cost := s.cost.of(r.Bytes)
			if n > 3 { // the first turns teach what a byte costs
				require.LessOrEqual(t, cost, s.in.Window, "seed %d, turn %d", seed, n)
			}
			s.turn(n, cost, r.Bytes)
		}
	}
}
