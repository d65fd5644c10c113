package agent

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"

	"github.com/stretchr/testify/require"
)

// BenchmarkTurn measures what a turn with two calls costs beside the model and the tools: compiling, two appends, folding. The
// baseline is the same number of appends alone.
func BenchmarkTurn(b *testing.B) {
	const turns = 100
	steps := make([]modeltest.Step, 0, turns)
	for i := range turns - 1 {
		s := modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(i)})
		s.Parts = append(s.Parts, modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(-i)}).Parts...)
		steps = append(steps, s)
	}
	steps = append(steps, modeltest.Submits("ok"))
	var whole, appends time.Duration
	for b.Loop() {
		m := journaltest.New()
		a := testAgent(b, m, &modeltest.Script{Steps: steps}, echo("read", true))
		a.Bounds.Turns = turns + 2
		began := time.Now()
		r, err := a.Run(b.Context())
		whole += time.Since(began)
		require.NoError(b, err)
		require.Equal(b, spec.StatusDone, r.Status)
		appends += appendAgain(b, m)
	}
	perTurn := whole / time.Duration(b.N*turns)
	b.ReportMetric(float64(perTurn.Microseconds()), "µs/turn")
	b.ReportMetric(float64(whole)/float64(appends), "x-appends-alone")
}

// appendAgain appends the same messages to a fresh store.
func appendAgain(b *testing.B, m *journaltest.Memory) time.Duration {
	b.Helper()
	fresh := journaltest.New()
	began := time.Now()
	var last uint64
	for _, msg := range m.Messages {
		var err error
		last, err = fresh.AppendFiltered(b.Context(), msg.Subject, msg.Subject, msg.Data, last)
		require.NoError(b, err)
	}
	return time.Since(began)
}

// BenchmarkIdleAgents measures what 64 agents hold in memory while a slow model keeps all of them waiting, each after 20 turns
// with a result of 4 KB. Their logs and requests, which live here too, count.
func BenchmarkIdleAgents(b *testing.B) {
	const agents, history = 64, 20
	for b.Loop() {
		var asked, done sync.WaitGroup
		asked.Add(agents)
		answer := make(chan struct{})
		waiting := make([]*Agent, agents)
		for i := range waiting {
			s := &modeltest.Script{}
			for turn := range history {
				s.Steps = append(s.Steps, modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(turn, strings.Repeat(" word", 800))}))
			}
			s.Steps = append(s.Steps, modeltest.Submits("ok"))
			s.Each = func(turn int) {
				if turn == history {
					asked.Done()
					<-answer
				}
			}
			waiting[i] = testAgent(b, journaltest.New(), s, echo("read", true))
			waiting[i].Bounds.Turns = history + 5
		}
		before := heap()
		for _, a := range waiting {
			done.Go(func() {
				_, err := a.Run(b.Context())
				require.NoError(b, err)
			})
		}
		asked.Wait()
		b.ReportMetric(float64(heap()-before)/agents/1024, "KB/agent")
		close(answer)
		done.Wait()
	}
}

// heap is the memory in use, stacks too, after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
