package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

var reads = []string{"decisions", "diff", "log", "preview", "report", "roles", "runs", "tasks", "wait"}

func TestAServerThatOnlyReadsHasNoToolThatActs(t *testing.T) {
	t.Parallel()
	p := newPlace()
	s := served(t, p, false)
	require.Equal(t, reads, names(t, s))
	for tool, err := range s.Tools(t.Context(), nil) {
		require.NoError(t, err)
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
	}
	for _, tool := range []string{"start", "decide", "cancel"} {
		_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"run": "r1"}})
		require.ErrorContains(t, err, "unknown tool")
	}
	require.Empty(t, p.acts)
}

func TestActsAreThoseOfThePersonAndTheClient(t *testing.T) {
	t.Parallel()
	p := newPlace()
	s := served(t, p, true)
	offered := append([]string{"start"}, reads...)
	for _, e := range act.All() {
		if e.Doors&act.Tools != 0 {
			offered = append(offered, e.Name)
		}
	}
	require.ElementsMatch(t, offered, names(t, s))
	const by = "ana--mcp-an---31meditor"
	for tool, c := range map[string]struct {
		args string
		want act.Args
	}{
		"pause":     {`{}`, act.Pause{}},
		"resume":    {`{}`, act.Resume{}},
		"retry":     {`{"tasks":["a"],"brief":"b"}`, act.Retry{Tasks: []string{"a"}, Brief: "b"}},
		"retry all": {`{"tasks":null}`, act.Retry{}},
		"retry it":  {`{"forgotten":true}`, act.Retry{Forgotten: true}},
		"skip":      {`{"tasks":["a"],"reason":"r"}`, act.Skip{Tasks: []string{"a"}, Reason: "r"}},
		"drop":      {`{"tasks":["a"]}`, act.Drop{Tasks: []string{"a"}}},
		"cancel":    {`{"task":"a","reason":"r"}`, act.Cancel{Task: "a", Reason: "r"}},
		"send":      {`{"text":"hello"}`, act.Send{Text: "hello"}},
		"decide": {
			`{"decision":"a@3","option":"reject","text":"no","attempt":2,"task":"a"}`,
			act.Decide{Decision: "a@3", Option: "reject", Text: "no", Attempt: 2, Task: "a"},
		},
	} {
		var args map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.args), &args))
		args["run"] = "r1"
		tool, _, _ = strings.Cut(tool, " ")
		require.Equal(t, done{Outcome: c.want.Act() + " is done"}, answered[done](t, s, tool, args))
		require.Equal(t, did{"r1", by, c.want}, p.acts[len(p.acts)-1], tool)
	}
	require.Equal(t, started{"r2"}, answered[started](t, s, "start", work{Goal: "Greet.", Budget: 7}))
	require.Equal(t, started{"r2"}, answered[started](t, s, "start", work{Goal: "Greet.", Dollars: 0.5}))
	require.Equal(t, []Work{{Goal: "Greet.", Budget: 7}, {Goal: "Greet.", Dollars: 0.5}}, p.works)
}

func TestCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.decisions = []view.Decision{{ID: "a@1", Reserved: true, Why: "a person sees each patch"}}
	s := served(t, p, true)
	large, huge := strings.Repeat("x", maxAnswerText+1), strings.Repeat("x", maxArguments)
	for name, c := range map[string]struct {
		tool string
		args any
		want string
	}{
		"another run":       {"report", ofRun{"../r1"}, `there is no run "../r1"`},
		"a part of an id":   {"wait", waitFor{ofRun: ofRun{"r"}}, `there is no run "r"`},
		"no run":            {"tasks", map[string]any{}, "tasks needs the argument run; it accepts limit, offset, run, state, task"},
		"an escape":         {"pause", ofRun{"\x1b[2J\u202e"}, `there is no run "\x1b[2J\u202e"`},
		"an unknown field":  {"pause", map[string]any{"run": "r1", "yes": true}, `pause has no argument "yes"; it accepts run`},
		"another type":      {"runs", map[string]any{"limit": "all"}, "limit must be a whole number"},
		"a huge number":     {"runs", json.RawMessage(`{"limit":1e300}`), "limit must be a whole number between -9007199254740991 and 9007199254740991"},
		"a part of a page":  {"runs", json.RawMessage(`{"limit":1.5}`), "limit must be a whole number"},
		"no list of tasks":  {"skip", json.RawMessage(`{"run":"r1","tasks":null}`), "skip needs a task"},
		"null for a text":   {"report", json.RawMessage(`{"run":null}`), "run must be a text"},
		"a negative offset": {"runs", page{Offset: -1}, "cannot be negative"},
		"a large page":      {"tasks", whichTasks{ofRun: ofRun{"r1"}, page: page{Limit: 100_000}}, "limit must be at most 200, not 100000"},
		"a long wait":       {"wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 3600}, "seconds must be between 0 and 300"},
		"no task":           {"skip", ofRun{"r1"}, "skip needs the argument tasks"},
		"an empty list":     {"drop", map[string]any{"run": "r1", "tasks": []string{}}, "drop needs a task"},
		"no such task":      {"tasks", whichTasks{ofRun: ofRun{"r1"}, Task: "x"}, `run r1 has no task "x"`},
		"no text":           {"send", map[string]any{"run": "r1", "text": ""}, "send needs a text"},
		"a large text":      {"send", map[string]any{"run": "r1", "text": large + large}, "the text of send has 65538 bytes; at most 65536 are allowed"},
		"a large answer":    {"decide", answer{ofRun: ofRun{"r1"}, Decision: "b@1", Option: "x", Text: large}, "at most 32768 are allowed"},
		"a large brief":     {"retry", map[string]any{"run": "r1", "tasks": []string{"a"}, "brief": large + large}, "the brief of retry has 65538 bytes"},
		"a megabyte":        {"start", work{Goal: huge}, fmt.Sprintf("the arguments have %d bytes; at most 1048576 are allowed", maxArguments+len(`{"goal":""}`))},
		"a large goal":      {"start", work{Goal: large + large}, "goal has 65538 bytes"},
		"a NUL":             {"start", work{Goal: "a\x00b"}, "goal has a NUL character"},
		"neither":           {"start", work{}, "give a goal or a plan (worded)"},
		"both":              {"start", work{Goal: "g", Plan: "p.yaml"}, "give a goal or a plan, and not both"},
		"no such state":     {"tasks", whichTasks{ofRun: ofRun{"r1"}, State: "broken"}, "state must be one of pending, running,"},
		"tasks, not task":   {"send", map[string]any{"run": "r1", "tasks": []string{"a"}, "text": "t"}, `send has no argument "tasks"; it accepts run, task, text`},
		"an object":         {"runs", []string{"r1"}, "the arguments of runs must be a JSON object"},
		"words in a list":   {"skip", map[string]any{"run": "r1", "tasks": []int{1}}, "tasks must be a list of texts"},
		"a word for a yes":  {"retry", map[string]any{"run": "r1", "forgotten": "yes"}, "forgotten must be true or false"},
		"many tasks":        {"skip", map[string]any{"run": "r1", "tasks": make([]string, 10_001)}, "skip takes at most 10000 tasks"},
		"no option":         {"decide", answer{ofRun: ofRun{"r1"}, Decision: "b@1"}, "an answer names an option"},
		"a person's":        {"decide", answer{ofRun: ofRun{"r1"}, Decision: "a@1", Option: "accept"}, "decision a@1 is for a person, not for a program: a person sees each patch (worded)"},
		"attempt -1":        {"diff", whichAttempt{ofRun: ofRun{"r1"}, Task: "a", Attempt: -1}, "attempts are counted from 1"},
	} {
		said, refused := call(t, s, c.tool, c.args)
		require.True(t, refused, name)
		require.Contains(t, said, c.want, name)
	}
	require.Empty(t, p.acts)
	require.Empty(t, p.works)

	p.fails = usage.Errorf("a@1 was \x1b[2J\u202eanswered")
	said, refused := call(t, s, "pause", ofRun{"r1"})
	require.True(t, refused)
	require.Equal(t, "a@1 was \uFFFD[2J\uFFFDanswered (worded)", said)
}

func TestAnswersAreBoundedAndVisible(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.report = view.Report{Run: "r1", Goal: "\u202eevil\x1b[2J" + strings.Repeat("x", 1<<20), State: run.Running, Next: []advice.Way{{Command: "divisi show r1"}}}
	for i := range 450 {
		p.report.Tasks = append(p.report.Tasks, view.Task{ID: fmt.Sprintf("t%03d", i), State: run.TaskLanded, Reason: strings.Repeat("r", 1<<12)})
	}
	p.report.Tasks[3].State = run.TaskParked
	for i := range 40 {
		p.report.Tasks[i+10].State, p.report.Tasks[i+10].Said = run.TaskDone, "May I edit?\x1b"+strings.Repeat("s", 1<<12)
	}
	s := served(t, p, false)
	all := answered[listed](t, s, "runs", page{})
	require.Equal(t, 1, all.Total)
	require.Equal(t, "\uFFFDevil\uFFFD[2J", all.Runs[0].Goal[:len("\uFFFDevil\uFFFD[2J")])
	require.Less(t, len(all.Runs[0].Goal), 400)
	require.Equal(t, []int{409, 40, 1}, []int{all.Runs[0].Landed, all.Runs[0].Unchanged, all.Runs[0].Parked})
	r := answered[reported](t, s, "report", ofRun{"r1"})
	require.Equal(t, map[string]int{"landed": 409, "done": 40, "parked": 1}, r.Tasks)
	require.Len(t, r.Said, maxFew)
	require.Equal(t, "t010", r.Said[0].Task)
	require.True(t, strings.HasPrefix(r.Said[0].Text, "May I edit?\uFFFDs"))
	require.Less(t, len(r.Said[0].Text), maxText+10)
	require.Equal(t, way{Tool: "report", Arguments: map[string]any{"run": "r1"}}, r.Next[0])
	require.True(t, r.Active)

	seen := 0
	for next := 0; seen == 0 || next > 0; {
		tasks := answered[taskPage](t, s, "tasks", whichTasks{ofRun: ofRun{"r1"}, page: page{Offset: next, Limit: 200}})
		require.Equal(t, 450, tasks.Total)
		require.Equal(t, fmt.Sprintf("t%03d", seen), tasks.Tasks[0].ID)
		seen, next = seen+len(tasks.Tasks), tasks.Next
	}
	require.Equal(t, 450, seen)
	parked := answered[taskPage](t, s, "tasks", whichTasks{ofRun: ofRun{"r1"}, State: "parked"})
	require.Equal(t, []string{"t003"}, []string{parked.Tasks[0].ID})
	require.Equal(t, 1, parked.Total)
}

func TestAPatchIsReadByParts(t *testing.T) {
	t.Parallel()
	p := newPlace()
	whole := strings.Repeat("+é\t\x1b\n", 3000)
	p.shows[dashboard.ShowDiff] = map[string]any{"task": "a", "attempt": 2, "files": []string{"a.go"}, "diff": whole}
	p.shows[dashboard.ShowLog] = map[string]any{"task": "a", "attempt": 2, "role": "generator", "printed": "red \u202e"}
	s := served(t, p, false)
	var got strings.Builder
	for in := (whichAttempt{ofRun: ofRun{"r1"}, Task: "a", Limit: 1001}); ; {
		one := answered[part](t, s, "diff", in)
		require.LessOrEqual(t, len(one.Text), 2*1001, "an escape is shown with three bytes")
		require.Equal(t, len(whole), one.Total)
		got.WriteString(one.Text)
		if in.Offset = one.Next; one.Next == 0 {
			break
		}
	}
	require.Equal(t, strings.ReplaceAll(whole, "\x1b", "\uFFFD"), got.String())
	require.Contains(t, answered[part](t, s, "log", whichAttempt{ofRun: ofRun{"r1"}, Task: "a"}).Text, "  red")
}

func TestADecisionIsShownWithItsPatchesAndPlan(t *testing.T) {
	t.Parallel()
	p := newPlace()
	plan, err := spec.JSON(run.PlanData{Tasks: []spec.Task{{ID: "a", Role: "generator", Brief: "b"}}, Ceiling: 9, Overlaps: []run.Overlap{{A: "a", B: "b", Path: "x"}}})
	require.NoError(t, err)
	p.decisions = []view.Decision{
		{ID: "a@1", Kind: "patch", Options: []view.Option{{Name: "accept", Does: "lets it go on"}}, Blocks: 2, Patches: []view.Patch{{Task: "a", Diff: strings.Repeat("+", 1<<20)}}},
		{ID: "plan-1.0", Kind: "plan", Plan: plan},
	}
	s := served(t, p, false)
	out := answered[openPage](t, s, "decisions", whichOpen{ofRun: ofRun{"r1"}})
	require.Equal(t, 2, out.Total)
	require.True(t, out.Decisions[0].Patches[0].Cut)
	require.Len(t, out.Decisions[0].Patches[0].Diff, maxPatch)
	require.Equal(t, []string{"a and b: x"}, out.Decisions[1].Plan.Overlaps)
	require.Equal(t, 9, out.Decisions[1].Plan.Ceiling)

	shown := answered[previewed](t, s, "preview", whichPlan{Plan: "p.yaml"})
	require.Equal(t, "p.yaml", shown.Tasks[0].Brief)
	require.True(t, shown.Trusted)
}

// A client that is gone ends the server, also in the middle of a call that waits.
func TestAClientThatDisappearsEndsTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.add(begun(t))
	mine, theirs := pipes()
	over := make(chan error, 1)
	go func() { over <- newServer(p, true).Serve(context.Background(), mine.in, mine.out) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "ed"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: theirs.in, Writer: theirs.out}, nil)
	require.NoError(t, err)
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "wait", Arguments: waitFor{ofRun: ofRun{"r1"}, Seconds: 300}})
		called <- err
	}()
	chantest.Next(t, p.reads)
	require.NoError(t, theirs.out.Close())
	require.NoError(t, theirs.in.Close())
	select {
	case err := <-over:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "the server goes on")
	}
	require.Error(t, chantest.Next(t, called))
	_ = session.Close()
}

func TestWhatIsNoProtocolEndsTheServer(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"text": "GET / HTTP/1.1\r\n\r\n", "too large": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxMessage) + `"}` + "\n",
	} {
		mine, theirs := pipes()
		over := make(chan error, 1)
		go func() { over <- newServer(newPlace(), true).Serve(context.Background(), mine.in, mine.out) }()
		go func() {
			_, _ = theirs.out.Write([]byte(said)) // it may be cut
			_ = theirs.out.Close()
		}()
		var mistake *usage.Error
		require.ErrorAs(t, chantest.Next(t, over), &mistake, name)
		require.Contains(t, mistake.Text, "the client broke the protocol", name)
		require.NoError(t, mine.in.Close())
	}
}
