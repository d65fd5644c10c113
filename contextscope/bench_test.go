package contextscope

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// rebuilt is the request as Google's ADK makes it at every step: all events selected, told apart by author, paired, and
// copied to the bottom by reflection.
func rebuilt(events []Event, agent string) []*genai.Content {
	v := viewer{agent: agent}
	items := make([]item, 0, len(events))
	for i, e := range events {
		if e.Content != nil {
			author := authorUser
			if e.Kind == KindTurn {
				author = e.Agent
			}
			items = append(items, item{author: author, content: e.Content, src: i})
		}
	}
	calls := callIDs(items)
	n := newNarrator(NarrativePlain)
	kept := items[:0]
	for _, it := range items {
		if v.leftOut(it, calls) != "" {
			continue
		}
		if v.foreign(it) {
			it.content = n.content(it.author, it.content)
		}
		kept = append(kept, it)
	}
	pair := &pairing{label: func(int) string { return "" }}
	paired := pair.history(pair.latest(kept))
	contents := make([]*genai.Content, len(paired))
	for i, it := range paired {
		contents[i], _ = deepCopy(reflect.ValueOf(it.content)).Interface().(*genai.Content)
	}
	return contents
}

// deepCopy copies a value and everything that it points to.
func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		if v.Kind() == reflect.Interface {
			return deepCopy(v.Elem())
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(deepCopy(v.Elem()))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, deepCopy(v.MapIndex(key)))
		}
		return out
	default:
		return v
	}
}

// session is a log of so many events, each turn with a call and its result.
func session(agent string, n, size int) *log {
	l := &log{agent: agent}
	for i := 0; len(l.events) < n; i++ {
		l.work(i, size)
	}
	for i := range l.events {
		l.events[i].Seq = i + 1
	}
	return l
}

// work adds a turn with a call, and its result.
func (l *log) work(i, size int) *log {
	id := fmt.Sprintf("c%d", i)
	l.turn(say("looking at it"), call(id, "read")).tool(result(id, "read", strings.Repeat("x", size)))
	return l
}

func benchInput() Input {
	return Input{
		Agent: "gen/1", Role: spec.Role{Name: "generator", Instruction: strings.Repeat("Change code. ", 100)},
		Brief: Brief{Task: spec.Task{ID: "gen", Brief: "do it"}}, Window: 1 << 40,
	}
}

func benchTail(turn int) Tail {
	return Tail{
		Values:    []Value{{Name: "turn", Text: fmt.Sprint(turn)}},
		Recall:    []Recalled{{Name: "note", Text: fmt.Sprintf("what was learnt %d", turn)}},
		Artifacts: []Listed{{Handle: fmt.Sprintf("out-%d@1", turn), Bytes: 4096}},
		Reminders: []string{fmt.Sprintf("%d turns left", 1000-turn)},
	}
}

// timed is how long f takes at best of three.
func timed(f func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range 3 {
		runtime.GC()
		begin := time.Now()
		f()
		best = min(best, time.Since(begin))
	}
	return best
}

// One call: a turn and its result are appended, then the request is compiled.
func BenchmarkCompileOneCall(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := session("gen/1", n, 200)
			whole := timed(func() { rebuilt(l.events, "gen/1") })
			in := benchInput()
			in.Events = l.events
			view := NewCompiler().View(in)
			more := session("gen/1", 1024, 200).events
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				view.Append(more[i%1024], more[i%1024+1])
				view.Compile(benchTail(i))
				i += 2
			}
			perCall := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(float64(whole.Microseconds())/1000, "ms/rebuild")
			b.ReportMetric(float64(whole.Nanoseconds())/perCall, "times-faster")
		})
	}
}

// One invocation of many steps: the request of each step.
func BenchmarkCompileInvocation(b *testing.B) {
	for _, steps := range []int{100, 200, 400, 800} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			l := session("gen/1", 2*steps, 200)
			for b.Loop() {
				view := NewCompiler().View(benchInput())
				for i := 0; i < len(l.events); i += 2 {
					view.Append(l.events[i], l.events[i+1])
					view.Compile(benchTail(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}

// Siblings with one slice: it is narrated once for all of them.
func BenchmarkCompileSiblings(b *testing.B) {
	slice := BuildSlice(SliceInput{Include: spec.IncludeFull, Dispatcher: session("plan/1", 10_000, 200).events})
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
					view, l := compiler.View(in), &log{agent: in.Agent}
					for i := range 10 {
						l.work(i, 200)
						view.Append(l.events[2*i], l.events[2*i+1])
						view.Compile(benchTail(i))
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(agents), "µs/agent")
		})
	}
}

// wire is a request in the order in which a service hashes it.
func wire(b testing.TB, r *Request) []byte {
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
	view, l := NewCompiler().View(in), &log{agent: "gen/1"}
	var earlier []byte
	var shares []float64
	for i := range 200 {
		l.work(i, 4096)
		view.Append(l.events[2*i:]...)
		request := view.Compile(benchTail(i))
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
	view *View
	seq  int
	// turns are the numbers of the turns that are still shown word for word, results those of results that are not masked.
	turns   []int
	results []int
}

func (s *longSession) add(e Event) int {
	s.seq++
	e.ID, e.Seq = fmt.Sprintf("e%d", s.seq), s.seq
	s.view.Append(e)
	return s.seq
}

// snapshot puts 1,500 tokens in the place of all but the newest 30 % of the turns.
func (s *longSession) snapshot() {
	cut := len(s.turns) * 7 / 10
	c := Compaction{Method: CompactionSnapshot, To: s.turns[cut] - 1, Snapshot: strings.Repeat("snap", 1_500)}
	s.turns = s.turns[cut:]
	s.add(Event{Kind: KindCompaction, Data: jsonOf(c)})
}

// mask shows all results but the newest five as handles.
func (s *longSession) mask() {
	old := s.results[:len(s.results)-5]
	s.results = s.results[len(old):]
	s.add(Event{Kind: KindCompaction, Data: jsonOf(Compaction{Method: CompactionPrune, Masked: old})})
}

// promptBytes sums the requests of a long session, with snapshots at half of the window, with results masked every ten
// turns, or with none of it.
func promptBytes(snapshots, masks bool, size func(*Request) int) float64 {
	in := benchInput()
	in.Window = 131_072
	s, sum := &longSession{view: NewCompiler().View(in)}, 0
	for i := range 200 {
		if masks && len(s.results) == 15 {
			s.mask()
		}
		if snapshots && s.view.Tokens() > in.Window/2 {
			s.snapshot()
		}
		// Without compaction there is no window that holds it: the sum is what one large enough would cost.
		if !snapshots {
			s.view.in.Window = 0
		}
		request := s.view.Compile(benchTail(i))
		sum += size(&request)
		x, y := fmt.Sprintf("x%d", i), fmt.Sprintf("y%d", i)
		l := (&log{agent: "gen/1"}).turn(call(x, "read"), call(y, "grep"))
		l.tool(result(x, "read", strings.Repeat("x", 4096)), result(y, "grep", strings.Repeat("y", 4096)))
		s.turns = append(s.turns, s.add(l.events[0]))
		s.results = append(s.results, s.add(l.events[1]))
	}
	return float64(sum)
}

func TestCompactionSavesPrompt(t *testing.T) {
	t.Parallel()
	size := func(r *Request) int {
		bytes := 0
		for _, c := range r.Contents {
			bytes += partsBytes(c.Parts)
		}
		return bytes
	}
	require.Greater(t, promptBytes(false, false, size)/promptBytes(true, true, size), 5.0)
}

func BenchmarkCompactedSession(b *testing.B) {
	sent := func(r *Request) int { return len(wire(b, r)) }
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
