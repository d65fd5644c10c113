package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// scribe writes the log of a made-up run: a master surveys and plans, generators move packages to another logger, one task
// fails and is done again, one is parked, one batch is red.
type scribe struct {
	events []contextscope.Event
	now    time.Time
	seq    map[string]int
}

func (s *scribe) put(kind contextscope.Kind, task string, attempt int, role string, data any, content *genai.Content) {
	s.now = s.now.Add(1700 * time.Millisecond)
	e := contextscope.Event{
		V: contextscope.EventVersion, Run: "01KJPX3Q7R-slog", Task: task, Attempt: attempt, Role: role, Time: s.now, Kind: kind,
		Author: "conductor", Content: content,
	}
	if role != "" {
		e.Agent, e.Worker = wire.AgentID(task, attempt), fmt.Sprintf("w%d", 1+len(task)%3)
		e.Author = e.Agent
	}
	s.seq[e.Agent]++
	e.Seq, e.Pos = s.seq[e.Agent], uint64(len(s.events)+1)
	e.ID = fmt.Sprintf("ev-%04d", e.Pos)
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		e.Data = raw
	}
	s.events = append(s.events, e)
}

func (s *scribe) run(d run.Data) { s.put(contextscope.KindRun, "", 0, "", d, nil) }

func (s *scribe) task(id string, d run.TaskData) {
	s.put(contextscope.KindTask, id, 0, "", d, nil)
}

func (s *scribe) dispatch(id, role string, attempt int) *run.Dispatch {
	return &run.Dispatch{Task: id, Attempt: attempt, Role: role, Head: "4be1c09d22aa7f3e"}
}

func (s *scribe) started(id, role string, attempt int) {
	s.put(contextscope.KindStarted, id, attempt, role, wire.Started{Delivery: 1, Time: s.now}, nil)
}

func (s *scribe) doing(id, role string, attempt int, what string) {
	s.put(contextscope.KindProgress, id, attempt, role, wire.Progress{Doing: what}, nil)
}

func (s *scribe) turn(id, role string, attempt int, text, tool string, args map[string]any, out string) {
	s.put(contextscope.KindTurn, id, attempt, role, nil, &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: text}, {FunctionCall: &genai.FunctionCall{Name: tool, Args: args}},
	}})
	s.put(contextscope.KindUsage, id, attempt, role,
		spec.Usage{Calls: 1, Prompt: 9100 + 37*len(s.events), Cached: 6400, Output: 410 + len(text)}, nil)
	s.put(contextscope.KindTool, id, attempt, role, nil, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
		{FunctionResponse: &genai.FunctionResponse{Name: tool, Response: map[string]any{"output": out}}},
	}})
}

func (s *scribe) receipt(id string, attempt int, gate, verdict string, failures ...string) spec.Receipt {
	code := 0
	if verdict != spec.VerdictPass {
		code = 1
	}
	r := spec.Receipt{
		Gate: gate, Command: []string{"go", gate, "./..."}, ExitCode: code, Tree: "77d2e9b0c4", Signatures: failures,
		Duration: time.Duration(4+len(id)%9) * time.Second, Verdict: verdict,
	}
	if gate == "test" {
		r.Tests = 412
	}
	s.put(contextscope.KindReceipt, id, attempt, spec.RoleTester, r, nil)
	return r
}

func (s *scribe) result(id, role string, attempt int, r spec.Result) {
	r.Task, r.Attempt, r.Delivery = id, attempt, 1
	s.put(contextscope.KindResult, id, attempt, role, r, nil)
}

func (s *scribe) landing(batch int, state string, tasks ...run.Landed) {
	d := run.LandingData{Batch: batch, State: state, Old: "4be1c09d", Head: "a17c55e0", Tasks: tasks}
	s.put(contextscope.KindLanding, "", 0, "", d, nil)
}

var sampleWork = []struct {
	id, title string
	files     []string
	lines     int
}{
	{"log-auth", "Move internal/auth to log/slog", []string{"internal/auth/**"}, 61},
	{"log-billing", "Move internal/billing to log/slog", []string{"internal/billing/**"}, 118},
	{"log-cache", "Move internal/cache to log/slog", []string{"internal/cache/**"}, 24},
	{"log-http", "Move the HTTP middleware to log/slog, request ids as attributes", []string{"internal/http/**"}, 143},
	{"log-jobs", "Move the job runner to log/slog", []string{"internal/jobs/**"}, 87},
	{"log-mail", "Move internal/mail to log/slog", []string{"internal/mail/**"}, 19},
	{"log-metrics", "Move internal/metrics to log/slog", []string{"internal/metrics/**"}, 33},
	{"log-search", "Move internal/search to log/slog", []string{"internal/search/**"}, 72},
	{"log-storage", "Move internal/storage to log/slog", []string{"internal/storage/**"}, 96},
	{"log-sync", "Move internal/sync to log/slog", []string{"internal/sync/**", "internal/jobs/queue.go"}, 54},
	{"log-web", "Move the web handlers to log/slog", []string{"web/**"}, 131},
	{"log-cmd", "Set the handler up in cmd/shopd", []string{"cmd/shopd/**"}, 28},
}

// sample returns the whole run.
func sample() []contextscope.Event {
	s := &scribe{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), seq: map[string]int{}}
	s.begin()
	s.survey()
	s.plan()
	s.work()
	s.finish()
	return s.events
}

func (s *scribe) begin() {
	gates := []spec.Gate{{Name: "build"}, {Name: "vet"}, {Name: "test"}}
	roles := map[string]spec.Role{
		spec.RoleMaster: {Name: spec.RoleMaster}, spec.RoleReader: {Name: spec.RoleReader},
		spec.RoleGenerator: {Name: spec.RoleGenerator, Writes: true}, spec.RoleTester: {Name: spec.RoleTester},
	}
	s.run(run.Data{State: run.Created, Epoch: 1, Spec: &run.Spec{
		Run:  "01KJPX3Q7R-slog",
		Goal: "Replace the legacy logger with log/slog in every package, structured attributes instead of formats",
		Repo: "/home/ada/src/shop", Base: "4be1c09d22aa7f3e81", Branch: "main", Project: spec.Project{Gates: gates}, Roles: roles,
		Parallel: 4, Budget: spec.Tokens(2_000_000), Created: s.now,
	}, Notices: []string{"Commands are confined to their slot, but network access could not be cut off on this machine."}})
	s.run(run.Data{
		State: run.Preflight, Dispatch: s.dispatch("--baseline", spec.RoleTester, 1),
	})
	s.started("--baseline", spec.RoleTester, 1)
	var baseline []spec.Receipt
	for _, g := range gates {
		s.doing("--baseline", spec.RoleTester, 1, "gate "+g.Name)
		verdict, failures := spec.VerdictPass, []string(nil)
		if g.Name == "test" {
			verdict, failures = spec.VerdictBaseline, []string{"shop/internal/search TestRank"}
		}
		baseline = append(baseline, s.receipt("--baseline", 1, g.Name, verdict, failures...))
	}
	s.result("--baseline", spec.RoleTester, 1, spec.Result{Status: spec.StatusDone, Receipts: baseline})
	s.run(run.Data{Baseline: baseline})
}

func (s *scribe) master(attempt int, text string, tasks []spec.Task, overlaps []run.Overlap, ceiling int) {
	d := s.dispatch(spec.RoleMaster, spec.RoleMaster, attempt)
	s.task(spec.RoleMaster, run.TaskData{State: run.TaskRunning, Dispatch: d})
	s.started(spec.RoleMaster, spec.RoleMaster, attempt)
	s.doing(spec.RoleMaster, spec.RoleMaster, attempt, "thinking")
	s.turn(spec.RoleMaster, spec.RoleMaster, attempt, text, "dispatch", map[string]any{"tasks": len(tasks)}, "taken")
	s.result(spec.RoleMaster, spec.RoleMaster, attempt, spec.Result{
		Status: spec.StatusDone, Plan: &spec.Plan{Tasks: tasks}, Handoff: spec.Handoff{Summary: text},
	})
	s.put(contextscope.KindPlan, "", 0, "", run.PlanData{
		By: wire.AgentID(spec.RoleMaster, attempt), Tasks: tasks, Overlaps: overlaps, Ceiling: ceiling,
		DecisionRecord: "Loggers are passed as *slog.Logger, never global.\n" +
			"Keys are snake_case; an error is always the attribute \"err\".",
	}, nil)
	s.task(spec.RoleMaster, run.TaskData{State: run.TaskPending, Reason: "waits for its tasks"})
}

func (s *scribe) survey() {
	s.run(run.Data{State: run.Planning})
	reads := []spec.Task{
		{ID: "read-calls", Title: "Which logging calls are there, and with which formats", Role: spec.RoleReader},
		{ID: "read-setup", Title: "Where is the logger made and handed on", Role: spec.RoleReader},
	}
	s.master(1, "First I need to know how the logger is used and where it is made.", reads, nil, 240_000)
	for _, t := range reads {
		s.task(t.ID, run.TaskData{State: run.TaskRunning, Dispatch: s.dispatch(t.ID, t.Role, 1)})
		s.started(t.ID, t.Role, 1)
	}
	for _, t := range reads {
		s.doing(t.ID, t.Role, 1, "searching logger\\.(Infof|Errorf)")
		s.turn(t.ID, t.Role, 1, "I count the calls by package.", "search", map[string]any{"pattern": `logger\.\w+f?\(`},
			"internal/auth/login.go:41: logger.Infof(\"login of %s from %s\", user, ip)\n… 311 more")
		s.result(t.ID, t.Role, 1, spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{
			Summary: "312 calls in 12 packages; the logger is a package variable that cmd/shopd sets.",
		}})
		s.task(t.ID, run.TaskData{State: run.TaskDone})
	}
}

func (s *scribe) plan() {
	var tasks []spec.Task
	for _, w := range sampleWork {
		tasks = append(tasks, spec.Task{ID: w.id, Title: w.title, Role: spec.RoleGenerator, Files: w.files})
	}
	overlaps := []run.Overlap{{A: "log-jobs", B: "log-sync", Path: "internal/jobs/queue.go"}}
	s.master(2, "Twelve packages, one task each; the setup in cmd/shopd comes last.", tasks, overlaps, 1_450_000)
	s.run(run.Data{State: run.Running})
	s.run(run.Data{Decision: &run.Decided{Kind: run.DecidePlan, Plan: 1, Closed: true, Answer: run.Answer{ID: "plan-2.0", Option: run.Yes, By: "user:ada"}}})
}

// work lets four tasks continue in turn, one step at a time.
func (s *scribe) work() {
	var waiting, busy [][]func()
	for i := range sampleWork {
		waiting = append(waiting, s.steps(i))
	}
	var proven []run.Landed
	batch := 0
	for len(waiting)+len(busy) > 0 {
		if len(busy) < 4 && len(waiting) > 0 {
			busy, waiting = append(busy, waiting[0]), waiting[1:]
		}
		var still [][]func()
		for _, steps := range busy {
			steps[0]()
			if len(steps) > 1 {
				still = append(still, steps[1:])
				continue
			}
			if last := s.events[len(s.events)-1]; bytes.Contains(last.Data, []byte("accepted")) {
				proven = append(proven, s.landed(last.Task))
			}
		}
		busy = still
		if len(proven) >= 3 || len(waiting)+len(busy) == 0 {
			batch++
			s.land(batch, proven)
			proven = nil
		}
	}
}

func (s *scribe) landed(id string) run.Landed {
	for i, w := range sampleWork {
		if w.id == id {
			return run.Landed{
				Task: id, Attempt: 1, Commit: fmt.Sprintf("%07x%03d", 0xc0ffee0+i*7919, i),
				Added: w.lines, Deleted: w.lines - 7, Files: 2 + i%4,
			}
		}
	}
	panic("no such task: " + id)
}

func (s *scribe) land(batch int, tasks []run.Landed) {
	s.landing(batch, run.LandingTesting, tasks...)
	id, try := fmt.Sprintf("--batch-%d", batch), 1
	s.started(id, spec.RoleTester, try)
	s.doing(id, spec.RoleTester, try, "gate test")
	if batch == 2 {
		s.receipt(id, try, "test", spec.VerdictFail, "shop/internal/mail TestRetry")
		s.result(id, spec.RoleTester, try, spec.Result{
			Status: spec.StatusFailed, Error: &spec.Fault{Class: "gate", Message: "test is red on the batch"},
		})
		s.landing(batch, run.LandingRed, tasks...)
		s.landing(batch, run.LandingTesting, tasks...)
		try++
		s.started(id, spec.RoleTester, try)
	}
	r := s.receipt(id, try, "test", spec.VerdictPass)
	s.result(id, spec.RoleTester, try, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
	s.landing(batch, run.LandingLanded, tasks...)
}

// steps are what one task goes through.
func (s *scribe) steps(i int) []func() {
	id := sampleWork[i].id
	switch id {
	case "log-storage":
		return append(s.attempt(i, 1, "verdict"), append(s.attempt(i, 2, "verdict"), func() {
			s.task(id, run.TaskData{
				State:  run.TaskParked,
				Reason: "the same failure three times: TestCompaction wants the old line format in a golden file",
				Fault:  &spec.Fault{Class: "gate", Message: "test is red: shop/internal/storage TestCompaction"},
			})
		})...)
	case "log-http":
		return append(s.attempt(i, 1, "verdict"), append(s.back(i), s.attempt(i, 2, "")...)...)
	default:
		return s.attempt(i, 1, "")
	}
}

func (s *scribe) back(i int) []func() {
	return []func(){func() {
		s.task(sampleWork[i].id, run.TaskData{State: run.TaskPending, Fault: &spec.Fault{
			Class: "gate", Message: "test is red: shop/internal/http TestRequestID",
		}})
	}}
}

func (s *scribe) attempt(i, n int, fails string) []func() {
	w, role := sampleWork[i], spec.RoleGenerator
	file := w.files[0][:len(w.files[0])-2] + "log.go"
	verify := w.id + run.VerifySuffix
	steps := []func(){
		func() {
			s.task(w.id, run.TaskData{State: run.TaskRunning, Dispatch: s.dispatch(w.id, role, n)})
		},
		func() { s.started(w.id, role, n) },
		func() { s.doing(w.id, role, n, "reading "+file) },
		func() {
			s.turn(w.id, role, n, "The calls use formats; I turn each into a message and attributes.", "read",
				map[string]any{"path": file}, "package "+w.id[4:]+"\n\nimport \"shop/internal/logger\"\n")
		},
		func() { s.doing(w.id, role, n, "editing "+file) },
		func() {
			edit := map[string]any{"path": file, "edits": 3}
			s.turn(w.id, role, n, "Now the calls themselves.", "edit", edit, "3 edits, gofmt is clean")
		},
		func() { s.doing(w.id, role, n, "running go test ./"+w.files[0][:len(w.files[0])-3]+"/...") },
		func() {
			s.result(w.id, role, n, spec.Result{
				Status: spec.StatusDone, Handoff: spec.Handoff{Summary: "All calls moved; no exported name changed."},
				Patch: &spec.Patch{Commit: "9f31d2", Base: "4be1c0", Files: w.files, Added: w.lines, Deleted: w.lines - 7},
			})
		},
		func() {
			d := s.dispatch(verify, spec.RoleTester, n)
			s.task(w.id, run.TaskData{State: run.TaskVerifying, Dispatch: d})
		},
		func() { s.started(verify, spec.RoleTester, n) },
		func() { s.doing(verify, spec.RoleTester, n, "reading "+file) },
	}
	return append(steps, s.verdict(w.id, n, fails)...)
}

func (s *scribe) verdict(id string, n int, fails string) []func() {
	verify := id + run.VerifySuffix
	if fails == "" {
		return []func(){
			func() { s.result(verify, spec.RoleTester, n, spec.Result{Status: spec.StatusDone}) },
			func() { s.task(id, run.TaskData{State: run.TaskAccepted}) },
		}
	}
	return []func(){
		func() {
			s.result(verify, spec.RoleTester, n, spec.Result{
				Status: spec.StatusFailed, Error: &spec.Fault{Class: fails, Message: "two calls still have the old form"},
			})
		},
	}
}

func (s *scribe) finish() {
	s.run(run.Data{State: run.Final, Dispatch: s.dispatch("--final", spec.RoleTester, 1)})
	s.started("--final", spec.RoleTester, 1)
	var final []spec.Receipt
	for _, g := range []string{"build", "vet", "test"} {
		s.doing("--final", spec.RoleTester, 1, "gate "+g)
		verdict, failures := spec.VerdictPass, []string(nil)
		if g == "test" {
			verdict, failures = spec.VerdictBaseline, []string{"shop/internal/search TestRank"}
		}
		final = append(final, s.receipt("--final", 1, g, verdict, failures...))
	}
	s.result("--final", spec.RoleTester, 1, spec.Result{Status: spec.StatusDone, Receipts: final})
	s.run(run.Data{Final: final})
	s.run(run.Data{
		State: run.Parked, Reason: "1 task is parked",
		Head: "a17c55e0d1b2c3", Ref: "refs/heads/divisi/01KJPX3Q7R-slog",
	})
}
