package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator"
	"divisi/orchestrator/hub"
	"divisi/subagents/wire"
)

// shared is a run on one server whose model is a script, with workers in processes of their own.
type shared struct {
	t       *testing.T
	url     string
	dir     string
	gemini  *geminitest.Server
	half    half // that conducts
	conduct *process
	id      string
}

// share begins a run of tasks t-1, t-2 and so on, which write a file each.
func share(t *testing.T, tasks, budget int, script string) *shared {
	t.Helper()
	parsed, err := geminitest.Parse([]byte(script))
	require.NoError(t, err)
	return shareOf(t, tasks, budget, geminitest.Options{Script: parsed})
}

func shareOf(t *testing.T, tasks, budget int, model geminitest.Options) *shared {
	t.Helper()
	repo, state, remove := newRepository()
	t.Cleanup(remove)
	s := &shared{t: t, url: broker(t), dir: t.TempDir(), gemini: geminitest.Start(t, model)}
	plan := "tasks:\n"
	for i := range tasks {
		plan += fmt.Sprintf("  - {id: t-%d, role: generator, brief: \"Write hello. File: f%d.txt\", files: [f%d.txt]}\n", i+1, i+1, i+1)
	}
	s.half = half{
		State: state, NATS: s.url, Repo: repo, Plan: filepath.Join(s.dir, "plan.yaml"), PlanText: plan, Parallel: 4, Budget: budget,
	}
	s.conduct = s.spawn(s.half, "key")
	s.id = s.conduct.line()
	require.NotEmpty(t, s.id, "%s", &s.conduct.err)
	return s
}

func (s *shared) spawn(h half, key string) *process {
	p := spawn(s.t, h, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "GOOGLE_GEMINI_BASE_URL="+s.gemini.URL, "GEMINI_API_KEY="+key, "GOOGLE_API_KEY=")
	})
	s.t.Cleanup(func() { // where it was not waited for
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// worker starts a worker with one agent.
func (s *shared) worker(name, key string) *process {
	return s.spawn(half{Work: true, Name: name, State: filepath.Join(s.dir, name), NATS: s.url, Parallel: 1}, key)
}

// events are those of a kind in the log.
func (s *shared) events(kind contextscope.Kind) (found []contextscope.Event) {
	b, err := bus.Open(s.t.Context(), bus.Options{URL: s.url, Run: s.id})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, b.Close(context.Background())) }()
	for m, err := range b.Read(s.t.Context(), bus.RunFilter(s.id), 1) {
		require.NoError(s.t, err)
		for _, e := range wire.DecodeEvents(m) {
			if e.Kind == kind {
				found = append(found, e)
			}
		}
	}
	return found
}

func (s *shared) spent() (total int, by map[string]int) {
	by = map[string]int{}
	for _, e := range s.events(contextscope.KindUsage) {
		var d wire.Spent
		require.NoError(s.t, json.Unmarshal(e.Data, &d))
		total += d.Total()
		by[e.Worker] += d.Total()
	}
	return total, by
}

// Two workers divide a budget that is enough for one call of each at a time, and both go on: none keeps what it does not need.
func TestSlowWorkersShareABudget(t *testing.T) {
	t.Parallel()
	s := share(t, 4, 14_000, `
rules:
  - task: "t-*"
    steps:
      - delay: 300ms
        calls: [{name: write_file, args: {path: '{{capture "File: (\\S+)"}}', content: "hello\n"}}]
        usage: {prompt: 500, output: 50}
      - calls: [{name: submit_result, args: {summary: "Wrote it."}}]
        usage: {prompt: 600, output: 50}
`)
	workers := []*process{s.worker("w1", "key"), s.worker("w2", "key")}
	require.Equal(t, "done refs/heads/divisi/"+s.id+" 4 landed", s.conduct.line(), "%s", &s.conduct.err)
	s.conduct.ended()
	for _, w := range workers {
		w.ended()
	}
	total, by := s.spent()
	require.Equal(t, 4*1200, total)
	require.Len(t, by, 2)
	var waited []string
	for _, e := range s.events(contextscope.KindProgress) {
		if strings.Contains(string(e.Data), "reserved for calls under way") {
			waited = append(waited, e.Worker)
		}
	}
	require.NotEmpty(t, waited, "what one had reserved was not another's")
}

// All workers together spend no more than the budget.
func TestSlowWorkersStopAtOneBudget(t *testing.T) {
	t.Parallel()
	s := share(t, 4, 30_000, `
rules:
  - task: "t-*"
    steps:
      - delay: 200ms
        calls: [{name: write_file, args: {path: '{{capture "File: (\\S+)"}}', content: "hello\n"}}]
        usage: {prompt: 7000, output: 500}
      - delay: 200ms
        calls: [{name: submit_result, args: {summary: "Wrote it."}}]
        usage: {prompt: 7000, output: 500}
`)
	_, _ = s.worker("w1", "key"), s.worker("w2", "key")
	end := s.conduct.line()
	require.Contains(t, end, "stopped", "%s", &s.conduct.err)
	require.Contains(t, end, "budget")
	total, _ := s.spent()
	require.LessOrEqual(t, total, 30_000)
	require.GreaterOrEqual(t, total, 3*7500)
}

// limited is a service that refuses the second request of the task that asks first, once, for some seconds.
type limited struct {
	delay time.Duration
	// begun has the tasks that have asked; refused is closed with the refusal, which waits for proceed. The other tasks get their first
	// answer after it.
	begun            chan string
	proceed, refused chan struct{}

	mu   sync.Mutex
	task string
	once sync.Once
}

func newLimited(delay time.Duration) *limited {
	return &limited{delay: delay, begun: make(chan string, 10), proceed: make(chan struct{}), refused: make(chan struct{})}
}

func (l *limited) answer(r geminitest.Request) geminitest.Answer {
	l.mu.Lock()
	if l.task == "" {
		l.task = r.Task
	}
	own := r.Task == l.task
	l.mu.Unlock()
	switch {
	case r.Turn == 1:
		l.begun <- r.Task
		if !own {
			<-l.refused
		}
		args := map[string]any{"path": "f" + strings.TrimPrefix(r.Task, "t-") + ".txt", "content": "hello\n"}
		return geminitest.Answer{Delay: spec.Duration(time.Second), Calls: []geminitest.Call{{Name: "write_file", Args: args}}}
	case own:
		<-l.proceed
		refuse := false
		l.once.Do(func() { refuse = true })
		if refuse {
			close(l.refused)
			return geminitest.Answer{Fault: "429", RetryDelay: spec.Duration(l.delay)}
		}
	}
	return geminitest.Answer{Calls: []geminitest.Call{{Name: "submit_result", Args: map[string]any{"summary": "Wrote it."}}}}
}

// asked returns when a task asked something, and when the limit ended.
func (s *shared) asked(task string, turn int, l *limited) (at, end time.Time) {
	for _, e := range s.gemini.Requests() {
		if e.Status == 429 {
			end = time.Unix(0, e.End).Add(l.delay)
		}
		if e.Task == task && e.Turn == turn {
			at = time.Unix(0, e.Start)
		}
	}
	require.False(s.t, at.IsZero() || end.IsZero())
	return at, end
}

// A 429 on one machine holds the agents of another one at once, and those of a worker with another key not.
func TestSlowARateLimitHoldsOtherWorkers(t *testing.T) {
	t.Parallel()
	l := newLimited(6 * time.Second)
	s := shareOf(t, 3, 0, geminitest.Options{Handle: l.answer})
	s.worker("w1", "key")
	chantest.Next(t, l.begun)
	s.worker("w2", "key")
	held := chantest.Next(t, l.begun)
	told := s.limitsOf("w2", l.refused)
	s.worker("w3", "another")
	free := chantest.Next(t, l.begun)
	close(l.proceed)
	require.Equal(t, "w1", chantest.Next(t, told), "which worker told of it")
	require.Equal(t, "done refs/heads/divisi/"+s.id+" 3 landed", s.conduct.line(), "%s", &s.conduct.err)
	s.conduct.ended()
	at, end := s.asked(held, 2, l)
	require.False(t, at.Before(end), "%s too early", end.Sub(at))
	at, end = s.asked(free, 2, l)
	require.True(t, at.Before(end), "another key was held")
}

// Who joins after a 429 keeps to it too, although the conductor that was there then is no more.
func TestSlowARateLimitOutlivesTheConductor(t *testing.T) {
	t.Parallel()
	l := newLimited(20 * time.Second)
	s := shareOf(t, 2, 0, geminitest.Options{Handle: l.answer})
	s.worker("w1", "key")
	chantest.Next(t, l.begun)
	close(l.proceed)
	chantest.Next(t, l.refused)
	s.until(func(e *contextscope.Event) bool { return strings.Contains(string(e.Data), `"for":"limit"`) })
	s.conduct.kill()
	s.half.Resume, s.half.Run = true, s.id
	s.conduct = s.spawn(s.half, "key")
	require.Equal(t, s.id, s.conduct.line())
	begun := 0
	s.until(func(e *contextscope.Event) bool { // the new conductor has counted on the worker again
		if e.Kind == contextscope.KindStarted {
			begun++
		}
		return begun == 2
	})
	s.worker("w2", "key")
	late := chantest.Next(t, l.begun)
	require.Equal(t, "done refs/heads/divisi/"+s.id+" 2 landed", s.conduct.line(), "%s", &s.conduct.err)
	s.conduct.ended()
	at, end := s.asked(late, 1, l)
	require.False(t, at.Before(end), "%s too early", end.Sub(at))
}

// limitsOf is, once the service has refused, which worker told another one of the limit that it keeps to.
func (s *shared) limitsOf(worker string, refused <-chan struct{}) <-chan string {
	told := make(chan string, 1)
	go func() {
		defer close(told)
		<-refused
		for s.t.Context().Err() == nil {
			data, err := hub.Workers(s.t.Context(), orchestrator.Server{URL: s.url})
			var list []*wire.Presence
			if err != nil || json.Unmarshal(data, &list) != nil {
				return
			}
			for _, p := range list {
				if p.Worker == worker && len(p.Limits) > 0 {
					told <- p.Limits[0].From
					return
				}
			}
		}
	}()
	return told
}

// until follows the log until an event is as wanted.
func (s *shared) until(wanted func(*contextscope.Event) bool) {
	b, err := bus.Open(s.t.Context(), bus.Options{URL: s.url, Run: s.id})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, b.Close(context.Background())) }()
	for m, err := range b.Tail(s.t.Context(), bus.RunFilter(s.id), 1) {
		require.NoError(s.t, err)
		for _, e := range wire.DecodeEvents(m) {
			if wanted(&e) {
				return
			}
		}
	}
}
