package subagents

import (
	"context"
	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// site is a bus, a mirror and slots for worker tests.
type site struct {
	t      *testing.T
	bus    *bus.Bus
	mirror *git.Repo
	pool   *workspace.Pool
	head   string
	dir    string
}

func newSite(t *testing.T) *site {
	t.Helper()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	for name, text := range map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n", "b_test.txt": "test\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(user, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(user, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-C", user, "-c", "user.name=T", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	g, err := git.New(t.Context())
	require.NoError(t, err)
	c, err := g.Inspect(t.Context(), user)
	require.NoError(t, err)
	dir := t.TempDir()
	m, err := g.CreateMirror(t.Context(), filepath.Join(dir, "mirror.git"), c, c.Head)
	require.NoError(t, err)
	pool, err := workspace.NewPool(g, m, filepath.Join(dir, "slots"), 2)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	noSync := false
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(dir, "bus"), Sync: &noSync, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	return &site{t: t, bus: b, mirror: m, pool: pool, head: c.Head, dir: dir}
}

// work starts a worker with the model for the roles; it stops when the test ends, unless it was stopped before.
func (s *site) work(m model.Model, roles ...string) *Worker {
	s.t.Helper()
	tools := filepath.Join(s.dir, "tools")
	require.NoError(s.t, os.MkdirAll(tools, 0o755))
	w := NewWorker(Config{
		Bus: s.bus, Name: "w", Model: m, Mirror: s.mirror, Pool: s.pool, Parallel: 2, Roles: roles, AckWait: 2 * time.Second,
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches")}, ToolsDir: tools, Environ: os.Environ(), Temp: s.t.TempDir(),
		Log: zerolog.Nop(),
	})
	require.NoError(s.t, w.Start(s.t.Context()))
	s.t.Cleanup(w.Stop)
	return w
}

func (s *site) assignment(role spec.Role, task string) *wire.Assignment {
	return &wire.Assignment{
		Run: "r1", Task: spec.Task{ID: task, Role: role.Name, Brief: "change it"}, Role: role, Attempt: 1, Head: s.head,
	}
}

func (s *site) enqueue(a *wire.Assignment) {
	s.t.Helper()
	data, err := json.Marshal(a)
	require.NoError(s.t, err)
	// The attempt before leaves the queue a moment after its result is in the log.
	require.Eventually(s.t, func() bool {
		err := s.bus.Enqueue(s.t.Context(), bus.TaskSubject(a.Role.Name, a.Run, a.Task.ID), a.Agent(), data)
		require.True(s.t, err == nil || errors.Is(err, bus.ErrQueued), "%v", err)
		return err == nil
	}, 10*time.Second, time.Millisecond)
}

// result waits for an attempt's result in the log.
func (s *site) result(a *wire.Assignment) spec.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for e := range s.tail(ctx, a) {
		if e.Kind == contextscope.KindResult {
			var r spec.Result
			require.NoError(s.t, json.Unmarshal(e.Data, &r))
			require.Empty(s.t, r.Validate())
			return r
		}
	}
	require.FailNow(s.t, "no result came")
	return spec.Result{}
}

func (s *site) tail(ctx context.Context, a *wire.Assignment) func(func(contextscope.Event) bool) {
	return func(yield func(contextscope.Event) bool) {
		for m, err := range s.bus.Tail(ctx, bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, a.Attempt), 0) {
			require.NoError(s.t, err)
			events, err := wire.DecodeEvents(m.Data, m.Pos)
			require.NoError(s.t, err)
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// settled waits until nothing is queued or with a worker.
func (s *site) settled(w *Worker) {
	s.t.Helper()
	w.Stop()
	queued, err := s.bus.Queued(s.t.Context(), "task.>")
	require.NoError(s.t, err)
	require.Empty(s.t, queued)
}

var (
	writer = spec.Role{
		Name: "generator", Executor: spec.ExecutorModel, Writes: true, Model: "m",
		Tools: []string{spec.ToolReadFile, spec.ToolWriteFile, spec.ToolRunCommand},
	}
	tester = spec.Role{Name: spec.RoleTester}
)

func writesFile(path, text string) step {
	return callsTool(spec.ToolWriteFile, map[string]any{"path": path, "content": text})
}

func TestWorkerBringsAModelsWorkToAPatch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := &script{steps: []step{writesFile("new.txt", "hello\n"), submits("wrote it")}}
	w := s.work(m, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, "wrote it", r.Handoff.Summary)
	require.Equal(t, []string{"new.txt"}, r.Patch.Files)
	require.Equal(t, s.head, r.Patch.Base)
	require.Equal(t, 2, r.Usage.Calls)
	require.Equal(t, 1, r.Delivery)
	pack, err := s.bus.Get(t.Context(), r.Patch.Pack)
	require.NoError(t, err)
	require.NoError(t, s.mirror.Import(t.Context(), pack))
	require.NoError(t, git.CheckPatch(t.Context(), s.mirror, *r.Patch, func(string) bool { return true }))
	s.settled(w)
}

func TestWorkerGivesTestersWhatGeneratorsMade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&script{steps: []step{writesFile("a.txt", "bad\n"), submits("wrote it")}}, "generator", "tester")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	r := s.result(gen)

	project := spec.Project{Gates: []spec.Gate{
		{Name: "no-bad", Command: []string{"sh", "-c", "! grep -n bad a.txt"}}, {Name: "fine", Command: []string{"true"}},
	}}
	red := s.assignment(tester, "t1--verify")
	red.Head, red.Patch, red.Project = r.Patch.Commit, r.Patch, project
	s.enqueue(red)
	got := s.result(red)
	require.Equal(t, spec.StatusFailed, got.Status)
	require.Equal(t, "gate", got.Error.Class)
	require.Contains(t, got.Error.Message, "no-bad")
	require.Len(t, got.Receipts, 2, "a red gate skips none")
	require.Equal(t, spec.VerdictPass, got.Receipts[1].Verdict)
	require.Equal(t, r.Patch.Tree, got.Receipts[0].Tree)
	out, err := s.bus.Get(t.Context(), got.Receipts[0].Output)
	require.NoError(t, err)
	require.Contains(t, string(out), "bad")

	head := s.assignment(tester, "--baseline")
	head.Project, head.Setup = project, []string{"sh", "-c", `echo set > "$DIVISI_TOOLS/done"`}
	s.enqueue(head)
	got = s.result(head)
	require.Equal(t, spec.StatusDone, got.Status, "%+v", got.Error)
	require.FileExists(t, filepath.Join(s.dir, "tools", "done"))
}

func TestTesterJudgesAgainstTheBaseline(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester")
	red := spec.Receipt{Gate: "g", ExitCode: 1, Verdict: spec.VerdictFail, Signatures: []string{"x.go: broken"}, Tests: 9}
	mute := spec.Receipt{Gate: "g", ExitCode: 1, Verdict: spec.VerdictFail}
	tests := map[string]struct {
		gate   spec.Gate
		base   *spec.Receipt
		strict bool
		setup  []string
		gates  []string
		status spec.Status
		class  string
		note   string
	}{
		"green":                  {gate: spec.Gate{Command: []string{"true"}}, status: spec.StatusDone},
		"red":                    {gate: spec.Gate{Command: []string{"false"}}, status: spec.StatusFailed, class: "gate"},
		"fewer tests":            {gate: spec.Gate{Command: []string{"true"}}, base: &red, status: spec.StatusDone, note: "ran 0 tests"},
		"unattributable":         {gate: spec.Gate{Command: []string{"false"}}, base: &mute, status: spec.StatusDone, note: "cannot be compared"},
		"unattributable, strict": {gate: spec.Gate{Command: []string{"false"}}, base: &mute, strict: true, status: spec.StatusFailed, class: "gate"},
		"no such program":        {gate: spec.Gate{Command: []string{"no-such-program"}}, status: spec.StatusFailed, class: "setup"},
		"setup fails":            {gate: spec.Gate{Command: []string{"true"}}, setup: []string{"sh", "-c", "echo oh no; exit 3"}, status: spec.StatusFailed, class: "setup"},
		"unknown gate":           {gate: spec.Gate{Command: []string{"true"}}, gates: []string{"h"}, status: spec.StatusFailed, class: "assignment"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := s.assignment(tester, "v-"+strings.Map(func(r rune) rune {
				if r == ' ' || r == ',' {
					return '-'
				}
				return r
			}, name))
			tt.gate.Name = "g"
			a.Project, a.StrictGates, a.Setup, a.Task.Gates = spec.Project{Gates: []spec.Gate{tt.gate}}, tt.strict, tt.setup, tt.gates
			if tt.base != nil {
				a.Baseline = map[string]spec.Receipt{"g": *tt.base}
			}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
			}
			if tt.note != "" {
				require.Contains(t, strings.Join(r.Handoff.Deviations, "\n"), tt.note)
			}
		})
	}
}

func TestWorkerCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	script := func(line string) []string { return []string{"sh", "-c", line} }
	tests := map[string]struct {
		command []string
		status  spec.Status
		class   string
		detail  string
		files   []string
	}{
		"changes":    {command: script("echo more >> a.txt"), status: spec.StatusDone, files: []string{"a.txt"}},
		"no-change":  {command: script("true"), status: spec.StatusDone},
		"fails":      {command: script("echo what happened; exit 7"), status: spec.StatusFailed, class: "command", detail: "what happened"},
		"missing":    {command: []string{"no-such-program"}, status: spec.StatusFailed, class: "command"},
		"outside":    {command: script("echo x > sub/b.txt"), status: spec.StatusFailed, class: "write_set", detail: "sub/b.txt"},
		"protected":  {command: script("echo x > b_test.txt"), status: spec.StatusFailed, class: "write_set", detail: "b_test.txt"},
		"repository": {command: script("git init -q a-repo && echo x > a-repo/x"), status: spec.StatusFailed, class: "command"},
		"input": {
			command: script(`cat > a.txt; echo "$DIVISI_RUN $DIVISI_TASK $DIVISI_ATTEMPT $DIVISI_ROLE $DIVISI_FILES" >> a.txt`),
			status:  spec.StatusDone, files: []string{"a.txt"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: tt.command}, name)
			a.Task.Files, a.Project.Protected = []string{"a.txt", "b_*"}, []string{"**/*_test.*"}
			a.Goal, a.DecisionRecord = "the goal", "tabs"
			a.Prior = []wire.Prior{{Attempt: 1, Fault: spec.Fault{Class: "gate", Message: "red"}, Diff: "-a"}}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
				require.Contains(t, r.Error.Detail, tt.detail)
				return
			}
			if tt.files == nil {
				require.Nil(t, r.Patch)
				return
			}
			require.Equal(t, tt.files, r.Patch.Files)
			if name == "input" {
				checkInput(t, s, a, r.Patch)
			}
		})
	}
}

func checkInput(t *testing.T, s *site, a *wire.Assignment, p *spec.Patch) {
	t.Helper()
	require.NoError(t, fetch(t.Context(), s.mirror, s.bus, p))
	text, err := s.mirror.ReadFile(t.Context(), p.Commit, "a.txt", 1<<20)
	require.NoError(t, err)
	var in CommandInput
	raw, env, ok := strings.Cut(string(text), "}r1 ")
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(raw+"}"), &in))
	require.Equal(t, commandInput(a), in)
	require.NotNil(t, in.Constraints)
	require.Equal(t, "input 1 mod a.txt\nb_*\n", env)
}

func TestWorkerStopsAndAnotherGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := &script{steps: []step{writesFile("new.txt", "kept\n"), submits("all of it")}}
	hold := make(chan struct{})
	reached := make(chan struct{})
	first := &script{steps: []step{writesFile("new.txt", "kept\n"), {hang: true}}, each: func(turn int) {
		if turn == 1 {
			close(reached)
			<-hold
		}
	}}
	w := s.work(first, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	<-reached
	close(hold)
	w.Stop()
	s.work(m, "generator")
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, 2, r.Delivery)
	require.Equal(t, []string{"new.txt"}, r.Patch.Files, "what the first delivery wrote is there")
	require.Equal(t, map[int]int{1: 1}, m.answered, "the first turn is not asked for again")
	require.Equal(t, 2, r.Usage.Calls, "both deliveries count")
}

func TestWorkerFinishesWhatIsFinished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&script{steps: []step{submits("once")}}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	s.result(a)
	s.settled(w)
	second := &script{steps: []step{submits("twice")}}
	w = s.work(second, "generator")
	s.enqueue(a)
	marker := s.assignment(writer, "t2")
	s.enqueue(marker)
	s.result(marker)
	require.Equal(t, "once", s.result(a).Handoff.Summary)
	require.Len(t, second.requests(), 1, "only the marker")
	s.settled(w)
}

func TestWorkerTerminatesWhatIsNoAssignment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "bad"), "bad", []byte("{")))
	require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "empty"), "empty", []byte("{}")))
	w := s.work(&script{steps: []step{submits("ok")}}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	s.result(a)
	s.settled(w)
}

func TestWorkerRefusesWhatNobodyCanCarryOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "generator")
	tests := map[string]func(a *wire.Assignment){
		"executor": func(a *wire.Assignment) { a.Role.Executor = "magic" },
		"tool":     func(a *wire.Assignment) { a.Role.Tools = []string{"no_such_tool"} },
		"model":    func(*wire.Assignment) {},
		"head":     func(a *wire.Assignment) { a.Head = strings.Repeat("0", 40) },
		"secret":   func(a *wire.Assignment) { a.Project.Env = []string{"MY_TOKEN"} },
		"pack":     func(a *wire.Assignment) { a.Patch = &spec.Patch{Commit: strings.Repeat("1", 40), Pack: "nowhere"} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			a := s.assignment(writer, name)
			change(a)
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, spec.StatusFailed, r.Status)
			require.Equal(t, "assignment", r.Error.Class, r.Error.Message)
		})
	}
}

func TestWorkerReadsAnAssignmentFromTheObjectStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&script{steps: []step{submits("ok")}}, "generator")
	a := s.assignment(writer, "t1")
	data, err := json.Marshal(a)
	require.NoError(t, err)
	require.NoError(t, s.bus.Put(t.Context(), "assignment-1", data))
	short, err := json.Marshal(wire.Assignment{Run: "r1", Task: spec.Task{ID: "t1"}, Attempt: 1, Object: "assignment-1"})
	require.NoError(t, err)
	require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", "t1"), "t1", short))
	require.Equal(t, spec.StatusDone, s.result(a).Status)
}

func TestWorkerHearsControl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	reached := make(chan struct{}, 2)
	m := &script{steps: []step{{hang: true}}, each: func(int) { reached <- struct{}{} }}
	s.work(m, "generator")
	a, b := s.assignment(writer, "t1"), s.assignment(writer, "t2")
	s.enqueue(a)
	s.enqueue(b)
	<-reached
	<-reached
	cancel := func(c wire.Control) {
		data, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), data))
	}
	require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), []byte("not a message")))
	cancel(wire.Control{Verb: wire.ControlCancel, Task: "t2", Text: "enough"})
	r := s.result(b)
	require.Equal(t, spec.StatusCancelled, r.Status)
	require.Contains(t, r.Error.Message, "enough")
	cancel(wire.Control{Verb: wire.ControlCancel})
	require.Equal(t, spec.StatusCancelled, s.result(a).Status)
}

func TestWorkerTurnsAPanicIntoAFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&script{steps: []step{submits("ok")}, each: func(int) { panic("boom") }}, "generator")
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, "internal", r.Error.Class)
	require.Contains(t, r.Error.Message, "boom")
}

func TestWorkerGivesPoisonUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	q, err := s.bus.Queue(t.Context(), "generator", bus.QueueOptions{AckWait: time.Minute, MaxDeliver: maxDeliveries + 3})
	require.NoError(t, err)
	for range maxDeliveries {
		d, err := q.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, d.Nak(t.Context()))
	}
	m := &script{steps: []step{submits("ok")}}
	w := s.work(m, "generator")
	r := s.result(a)
	require.Equal(t, "internal", r.Error.Class)
	require.Empty(t, m.requests())
	s.settled(w)
}

func TestWorkerContinuesAMastersSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dispatch := &probe{spec.ToolDispatch, false, func(context.Context, tool.Call) tool.Result {
		r := tool.Text("dispatched")
		r.Ends, r.Plan = true, &spec.Plan{Tasks: []spec.Task{{ID: "x", Role: "reader", Brief: "look"}}}
		return r
	}}
	m := &script{steps: []step{callsTool(spec.ToolDispatch, nil)}}
	w := s.work(m, "master")
	w.cfg.Tools = func(*wire.Assignment) []tool.Tool { return []tool.Tool{dispatch} }
	role := spec.Role{Name: "master", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolDispatch}}
	first := s.assignment(role, "master")
	first.Task.IncludeContents = spec.IncludeNone
	s.enqueue(first)
	require.NotNil(t, s.result(first).Plan)

	second := s.assignment(role, "master")
	second.Attempt, second.Continues, second.Message = 2, []int{1}, "all have ended"
	s.enqueue(second)
	s.result(second)
	contents := m.requests()[1].Contents
	require.Len(t, contents, 3)
	require.NotNil(t, contents[1].Parts[0].FunctionCall)
	require.Equal(t, genai.RoleUser, contents[2].Role)
	require.Equal(t, "dispatched", contents[2].Parts[0].FunctionResponse.Response["output"])
	require.Equal(t, "all have ended", contents[2].Parts[1].Text)
}

func TestTesterLetsItsModelJudge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	verdict := func(v string) step {
		return callsTool(spec.ToolSubmitResult, map[string]any{
			"summary": v, "output": map[string]any{"verdict": v, "reasons": []any{"because"}},
		})
	}
	judge := spec.Role{Name: "tester", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolReadFile}}
	tests := map[string]struct {
		gate     string
		step     step
		status   spec.Status
		class    string
		receipts int
		calls    int
	}{
		"pass":       {"true", verdict("pass"), spec.StatusDone, "", 1, 1},
		"fail":       {"true", verdict("fail"), spec.StatusFailed, "verdict", 1, 1},
		"no-verdict": {"true", says("looks fine"), spec.StatusFailed, "no_result", 0, 3},
		"red-gate":   {"false", verdict("pass"), spec.StatusFailed, "gate", 1, 0},
	}
	gen := s.assignment(writer, "t1")
	g := s.work(&script{steps: []step{writesFile("a.txt", "changed line\n"), submits("ok")}}, "generator")
	s.enqueue(gen)
	patch := s.result(gen).Patch
	g.Stop()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &script{steps: []step{tt.step}}
			w := s.work(m, "tester")
			defer w.Stop()
			a := s.assignment(judge, name)
			a.Patch, a.Project.Gates = patch, []spec.Gate{{Name: "g", Command: []string{tt.gate}}}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
			}
			require.Len(t, r.Receipts, tt.receipts)
			require.Nil(t, r.Patch)
			require.Len(t, m.requests(), tt.calls)
			if tt.calls > 0 {
				require.Contains(t, m.requests()[0].Contents[0].Parts[0].Text, "+changed line")
			}
		})
	}
}

func TestTesterKeepsTheReceiptsOfAnEarlierDelivery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(tester, "t1")
	a.Project.Gates = []spec.Gate{
		{Name: "first", Command: []string{"sh", "-c", `echo run >> "$XDG_CACHE_HOME/count"; wc -l < "$XDG_CACHE_HOME/count" | grep -qx 1`}},
		{Name: "second", Command: []string{"sh", "-c", `test -e "$XDG_CACHE_HOME/go-on" || sleep 60`}},
	}
	w := s.work(nil, "tester")
	s.enqueue(a)
	for e := range s.tail(t.Context(), a) {
		if e.Kind == contextscope.KindReceipt {
			break
		}
	}
	w.Stop()
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "caches", "gates", "xdg", "go-on"), nil, 0o600))
	s.work(nil, "tester")
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, 2, r.Delivery)
	require.Len(t, r.Receipts, 2)
}

func TestWorkerKeepsALongAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := NewWorker(Config{
		Bus: s.bus, Mirror: s.mirror, Pool: s.pool, Parallel: 1, Roles: []string{"tester"}, AckWait: 300 * time.Millisecond,
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches")}, Environ: os.Environ(), Temp: t.TempDir(), Log: zerolog.Nop(),
	})
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(w.Stop)
	// The second one waits for room all the while, and keeps its place too.
	var all []*wire.Assignment
	for _, id := range []string{"t1", "t2"} {
		a := s.assignment(tester, id)
		a.Project.Gates = []spec.Gate{{Name: "slow", Command: []string{"sleep", "1"}}}
		s.enqueue(a)
		all = append(all, a)
	}
	for _, a := range all {
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status)
		require.Equal(t, 1, r.Delivery)
		starts := 0
		for e := range s.tail(t.Context(), a) {
			if e.Kind == contextscope.KindStarted {
				starts++
			}
			if e.Kind == contextscope.KindResult {
				break
			}
		}
		require.Equal(t, 1, starts)
	}
}

func TestWorkerThatWasOvertakenLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	m := &script{steps: []step{submits("too late")}, each: func(int) {
		last, err := s.bus.Last(t.Context(), bus.AttemptSubject("r1", "generator", "t1", 1))
		require.NoError(t, err)
		data, err := wire.EncodeEvents([]contextscope.Event{draft(contextscope.KindStarted, wire.Started{Delivery: 7})})
		require.NoError(t, err)
		_, err = s.bus.Append(t.Context(), last.Subject, data, last.Pos)
		require.NoError(t, err)
	}}
	w := s.work(m, "generator")
	s.enqueue(a)
	for e := range s.tail(t.Context(), a) {
		var started wire.Started
		if e.Kind == contextscope.KindStarted && json.Unmarshal(e.Data, &started) == nil && started.Delivery == 7 {
			break
		}
	}
	w.Stop()
	events, _, err := readSession(t.Context(), s.bus, bus.AttemptSubject("r1", "generator", "t1", 1))
	require.NoError(t, err)
	require.Equal(t, "started brief started", kinds(events))
}

func TestWorkerStopsARunAtABoundary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(writer, "t1")
	var w *Worker
	m := &script{steps: []step{writesFile("a.txt", "x\n"), submits("ok")}}
	m.each = func(turn int) {
		if turn == 0 {
			w.desk.hand(w.desk.runs["r1"], []byte(`{"verb": "stop"}`))
		}
	}
	w = s.work(m, "generator")
	s.enqueue(a)
	for e := range s.tail(t.Context(), a) {
		if e.Kind == contextscope.KindControl {
			break
		}
	}
	s.settled(w)
	m.each = nil
	s.work(m, "generator")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, []string{"a.txt"}, r.Patch.Files)
	require.Equal(t, map[int]int{0: 1, 1: 1}, m.answered)
}

func TestWorkerStopMayComeFirstAndTwice(t *testing.T) {
	t.Parallel()
	w := NewWorker(Config{Log: zerolog.Nop()})
	w.Stop()
	w.Stop()
	s := newSite(t)
	running := s.work(nil, "tester")
	require.Error(t, running.Start(t.Context()), "it runs")
	running.Stop()
	running.Stop()
}
