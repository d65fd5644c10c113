package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
)

func benchInput() Input {
	return Input{
		Agent: "gen/1", Role: spec.Role{Name: "generator", Instruction: strings.Repeat("Change code. ", 100)},
		Brief: Brief{Task: spec.Task{ID: "gen", Brief: "do it"}}, Window: 1 << 40,
	}
}

func benchTail(turn int) Tail {
	return Tail{
		Values:    []Value{{Name: "turn", Text: fmt.Sprint(turn)}},
		Recall:    []contextscope.Recalled{{Name: "note", Text: fmt.Sprintf("what was learnt %d", turn)}},
		Artifacts: []contextscope.Listed{{Handle: fmt.Sprintf("out-%d@1", turn), Bytes: 4096}},
		Reminders: []string{fmt.Sprintf("%d turns left", 1000-turn)},
	}
}

// One invocation of many steps: the request of each step.
func BenchmarkCompileInvocation(b *testing.B) {
	for _, steps := range []int{100, 200, 400, 800} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			l := sessiontest.Session("gen/1", 2*steps, 200)
			for b.Loop() {
				view := open(benchInput())
				for i := 0; i < len(l.Events); i += 2 {
					view.append(l.Events[i], l.Events[i+1])
					view.compile(benchTail(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}

// Siblings with one slice: it is narrated once for all of them.
func BenchmarkCompileSiblings(b *testing.B) {
	slice := slice.Build(slice.Input{Include: spec.IncludeFull, Dispatcher: sessiontest.Session("plan/1", 10_000, 200).Events})
	for _, agents := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			compiler := NewCompiler()
			first := benchInput()
			first.Slice = slice
			compiler.Compile(first)
			b.ReportAllocs()
			for b.Loop() {
				for a := range agents {
					in := benchInput()
					in.Agent, in.Brief.Task.ID, in.Slice = fmt.Sprintf("gen-%d/1", a), fmt.Sprintf("gen-%d", a), slice
					agent, l := &view{compiler, in}, &sessiontest.Log{Agent: in.Agent}
					for i := range 10 {
						l.Work(i, 200)
						agent.append(l.Events[2*i], l.Events[2*i+1])
						agent.compile(benchTail(i))
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(agents), "µs/agent")
		})
	}
}

// wire is a request in the order in which a service hashes it.
func wire(b testing.TB, r *contextscope.Request) []byte {
	var out []byte
	for _, v := range []any{r.System, r.Tools, r.Contents} {
		data, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, data...)
	}
	return out
}

func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// stablePrefixes are the shares of each request's bytes with which the next one begins, turns 10 to 200.
func stablePrefixes(b testing.TB) []float64 {
	in := benchInput()
	in.Role.Instruction += " You are at turn {turn}."
	view, l := open(in), &sessiontest.Log{Agent: "gen/1"}
	var earlier []byte
	var shares []float64
	for i := range 200 {
		l.Work(i, 4096)
		view.append(l.Events[2*i:]...)
		request := view.compile(benchTail(i))
		data := wire(b, &request)
		if i >= 10 {
			shares = append(shares, float64(common(earlier, data))/float64(len(earlier)))
		}
		earlier = data
	}
	slices.Sort(shares)
	return shares
}

func TestWhatStaysComesFirst(t *testing.T) {
	t.Parallel()
	shares := stablePrefixes(t)
	require.Greater(t, shares[len(shares)/2], 0.95)
}

func BenchmarkStablePrefix(b *testing.B) {
	var shares []float64
	for b.Loop() {
		shares = stablePrefixes(b)
	}
	b.ReportMetric(100*shares[len(shares)/2], "%median")
	b.ReportMetric(100*shares[0], "%least")
}

// longSession is a session of 200 turns with two results of 4 KB each.
type longSession struct {
	view *view
	seq  int
	// turns are the numbers of the turns that are still shown word for word, results those of results that are not masked.
	turns   []int
	results []int
}

func (s *longSession) add(e contextscope.Event) int {
	s.seq++
	e.ID, e.Seq = fmt.Sprintf("e%d", s.seq), s.seq
	s.view.append(e)
	return s.seq
}

// snapshot puts 1,500 tokens in the place of all but the newest 30 % of the turns.
func (s *longSession) snapshot() {
	cut := len(s.turns) * 7 / 10
	c := contextscope.Compaction{Method: contextscope.MethodSnapshot, To: s.turns[cut] - 1, Snapshot: strings.Repeat("snap", 1_500)}
	s.turns = s.turns[cut:]
	s.add(contextscope.Event{Kind: contextscope.KindCompaction, Data: sessiontest.JSON(c)})
}

// mask shows all results but the newest five as handles.
func (s *longSession) mask() {
	old := s.results[:len(s.results)-5]
	s.results = s.results[len(old):]
	s.add(contextscope.Event{Kind: contextscope.KindCompaction, Data: sessiontest.JSON(contextscope.Compaction{Method: contextscope.MethodPrune, Masked: old})})
}

// promptBytes sums the requests of a long session, with snapshots at half of the window, with results masked every ten
// turns, or with none of it.
func promptBytes(snapshots, masks bool, size func(*contextscope.Request) int) float64 {
	in := benchInput()
	in.Window = 131_072
	s, sum := &longSession{view: open(in)}, 0
	for i := range 200 {
		if masks && len(s.results) == 15 {
			s.mask()
		}
		if snapshots && s.view.tokens() > in.Window/2 {
			s.snapshot()
		}
		// Without compaction there is no window that holds it: the sum is what one large enough would cost.
		if !snapshots {
			s.view.in.Window = 0
		}
		request := s.view.compile(benchTail(i))
		sum += size(&request)
		x, y := fmt.Sprintf("x%d", i), fmt.Sprintf("y%d", i)
		l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call(x, "read"), sessiontest.Call(y, "grep"))
		l.Tool(sessiontest.Result(x, "read", strings.Repeat("x", 4096)), sessiontest.Result(y, "grep", strings.Repeat("y", 4096)))
		s.turns = append(s.turns, s.add(l.Events[0]))
		s.results = append(s.results, s.add(l.Events[1]))
	}
	return float64(sum)
}

func TestCompactionSavesPrompt(t *testing.T) {
	t.Parallel()
	size := func(r *contextscope.Request) int {
		bytes := 0
		for _, c := range r.Contents {
			bytes += content.Bytes(c.Parts)
		}
		return bytes
	}
	require.Greater(t, promptBytes(false, false, size)/promptBytes(true, true, size), 5.0)
}

func BenchmarkCompactedSession(b *testing.B) {
	sent := func(r *contextscope.Request) int { return len(wire(b, r)) }
	for b.Loop() {
		without := promptBytes(false, false, sent)
		snapshots, masks, both := promptBytes(true, false, sent), promptBytes(false, true, sent), promptBytes(true, true, sent)
		b.ReportMetric(without/1e6, "MB-without")
		b.ReportMetric(both/1e6, "MB-with")
		b.ReportMetric(without/snapshots, "times-fewer-snapshots")
		b.ReportMetric(without/masks, "times-fewer-masks")
		b.ReportMetric(without/both, "times-fewer")
	}
}

// The request of a whole session, made from its events.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, compiler := benchInput(), NewCompiler()
			in.Events = sessiontest.Session("gen/1", n, 200).Events
			b.ReportAllocs()
			for b.Loop() {
				compiler.Compile(in)
			}
		})
	}
}
