package main

import (
	"context"
	"strings"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
)

// tried is an act with its request at each door; a door with an empty one lacks the act. All doors give the same outcome, and
// leave the same events. An act that is refused leaves none, and its outcome is why.
type tried struct {
	act string
	// command is a command line, board an act of the live view with its arguments, page an address of the run and what is sent there, tool a tool and
	// its arguments. RUN is the run, DIR a directory, a task in capitals its open decision.
	command, board, page, tool string
	api                        func(ctx context.Context, r *orchestrator.Run, dir string) (string, error)
	outcome                    string   // with … at its end it may continue
	leaves                     []string // kind, task and data of each event; WHO is the person, HASH a name of git
	refused                    bool
	only                       string // where the act is tried, "" for both
	// goesOn reports that it has a run continue that no process has: the command line does that in its own.
	goesOn bool
	// on is why the command line refuses it with --on, onPage why the page of a server does.
	on, onPage string
}

const (
	whenActive = "active"
	whenAtRest = "at rest"
)

// here is why a command refuses --on.
const here = "works on this machine: leave --on out"

var tenMegabytes = strings.Repeat("x", 10<<20)

// does does an act by the API.
func does(a act.Args) func(context.Context, *orchestrator.Run, string) (string, error) {
	return func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
		out, err := r.Act(ctx, a)
		return out.Text, err
	}
}

// tries are the rows of the table, in an order in which each finds something to do.
var tries = []tried{
	{
		act:     "start the line",
		command: "line start RUN",
		page:    `acts {"verb":"start_line"}`,
		api:     does(act.StartLine{}),
		outcome: "the line goes on",
		leaves:  []string{`run {"line":""}`},
	},
	{
		act:     "stop the line",
		command: "line stop RUN --reason 'look first'",
		page:    `acts {"verb":"stop_line","text":"look first"}`,
		api:     does(act.StopLine{Reason: "look first"}),
		outcome: "the line is stopped: nothing is dispatched, and nothing lands; active work continues",
		leaves:  []string{`run {"line":"look first"}`},
	},
	{
		act:     "stop the line twice",
		command: "line stop RUN",
		page:    `acts {"verb":"stop_line"}`,
		api:     does(act.StopLine{}),
		refused: true, outcome: "the line of run RUN is stopped already: look first",
	},
	{
		act:     "decide",
		command: "decide RUN DECIDES accept",
		board:   `decide {"decision":"DECIDES","option":"accept"}`,
		page:    `decisions/DECIDES {"option":"accept"}`,
		tool:    `decide {"decision":"DECIDES","option":"accept"}`,
		api: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			open, err := r.Decisions(ctx)
			if err != nil {
				return "", err
			}
			return does(act.Decide{Decision: open[0].ID, Option: "accept"})(ctx, r, "")
		},
		outcome: "the patch of decides goes on",
		leaves:  []string{`run {"decision":{"kind":"patch","about":"decides","answer":{"id":"DECIDES","option":"accept","by":"WHO"}}}`},
	},
	{
		act:     "decide again",
		command: "decide RUN DECIDES reject No",
		board:   `decide {"decision":"DECIDES","option":"reject","text":"No"}`,
		page:    `decisions/DECIDES {"option":"reject","text":"No"}`,
		tool:    `decide {"decision":"DECIDES","option":"reject","text":"No"}`,
		refused: true, outcome: "DECIDES has an answer: accept by WHO",
	},
	{
		act:     "decide about an attempt that is not there",
		board:   `decide {"decision":"ACCEPTS","attempt":2,"option":"accept"}`,
		page:    `decisions/ACCEPTS {"option":"accept","attempt":2}`,
		tool:    `decide {"decision":"ACCEPTS","option":"accept","attempt":2}`,
		refused: true, outcome: "ACCEPTS",
	},
	{
		act:     "decide what is not open",
		command: "decide RUN nosuch@1 accept",
		board:   `decide {"decision":"nosuch@1","option":"accept"}`,
		page:    `decisions/nosuch@1 {"option":"accept"}`,
		tool:    `decide {"decision":"nosuch@1","option":"accept"}`,
		refused: true, outcome: `run RUN has no decision "nosuch@1"; open are: `,
	},
	{
		act:     "take an answer back",
		command: "decide RUN DECIDES --take-back",
		board:   `take_back {"decision":"DECIDES"}`,
		page:    `decisions/DECIDES/back {}`,
		outcome: "DECIDES is open again: a decision about the patch of decides: decides_test.go: fewer tests, 1 before and 0 after: TestB",
		leaves: []string{`run {"decision":{"kind":"patch","about":"decides","answer":{"id":"DECIDES","option":"accept","by":"WHO"},` +
			`"back":"taken back by WHO"}}`},
	},
	{
		act:     "have an answer done that is not held back",
		command: "decide RUN DECIDES --now",
		board:   `apply {"decision":"DECIDES"}`,
		page:    `decisions/DECIDES/now {}`,
		refused: true, outcome: "DECIDES has no answer",
	},
	{
		act:     "take an answer back twice",
		command: "decide RUN DECIDES --take-back",
		board:   `take_back {"decision":"DECIDES"}`,
		page:    `decisions/DECIDES/back {}`,
		refused: true, outcome: "DECIDES has no answer that could be taken back",
	},
	{
		act:     "accept",
		command: "accept RUN/accepts",
		api:     does(act.Accept{Task: "accepts"}),
		outcome: "the patch of accepts goes on",
		leaves:  []string{`run {"decision":{"kind":"patch","about":"accepts","answer":{"id":"ACCEPTS","option":"accept","by":"WHO"}}}`},
	},
	{
		act:     "accept what is not held",
		command: "accept RUN/skips",
		api:     does(act.Accept{Task: "skips"}),
		refused: true, outcome: "the patch of skips is not held: the task is pending",
	},
	{
		act:     "accept an unknown task",
		command: "accept RUN/nosuch",
		api:     does(act.Accept{Task: "nosuch"}),
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "send ten megabytes",
		command: "send RUN/sends LONG",
		api:     does(act.Send{Task: "sends", Text: tenMegabytes}),
		refused: true, outcome: "the text of send has 10485760 bytes; at most 65536 are allowed",
	},
	{
		act:     "send what is too long",
		page:    `acts {"verb":"send","tasks":["sends"],"text":"` + tenMegabytes[:1<<17] + `"}`,
		tool:    `send {"task":"sends","text":"` + tenMegabytes[:1<<17] + `"}`,
		refused: true, outcome: "the text of send has 131072 bytes; at most 65536 are allowed",
	},
	{
		act:     "send",
		command: "send RUN/sends 'Keep both tests.'",
		page:    `acts {"verb":"send","tasks":["sends"],"text":"Keep both tests."}`,
		tool:    `send {"task":"sends","text":"Keep both tests."}`,
		api:     does(act.Send{Task: "sends", Text: "Keep both tests."}),
		outcome: "the patch of sends is rejected with these words",
		leaves: []string{`run {"decision":{"kind":"patch","about":"sends","answer":{"id":"SENDS","option":"reject",` +
			`"text":"Keep both tests.","by":"WHO"}}}`},
	},
	{
		act:     "send to an unknown task",
		command: "send RUN/nosuch 'Keep both tests.'",
		page:    `acts {"verb":"send","tasks":["nosuch"],"text":"Keep both tests."}`,
		tool:    `send {"task":"nosuch","text":"Keep both tests."}`,
		api:     does(act.Send{Task: "nosuch", Text: "x"}),
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "send to a command",
		command: "send RUN/skips hello",
		page:    `acts {"verb":"send","tasks":["skips"],"text":"hello"}`,
		tool:    `send {"task":"skips","text":"hello"}`,
		api:     does(act.Send{Task: "skips", Text: "x"}),
		refused: true, outcome: "skips runs a command, not a model: it cannot receive messages",
	},
	{
		act:     "skip",
		command: "skip RUN skips skips --reason why",
		board:   `skip {"tasks":["skips","skips"],"reason":"why"}`,
		page:    `acts {"verb":"skip","tasks":["skips","skips"],"text":"why"}`,
		tool:    `skip {"tasks":["skips","skips"],"reason":"why"}`,
		api:     does(act.Skip{Tasks: []string{"skips", "skips"}, Reason: "why"}),
		outcome: "skipped: skips",
		leaves:  []string{`task skips {"state":"skipped","reason":"by a person: why"}`},
	},
	{
		act:     "skip an unknown task",
		command: "skip RUN nosuch",
		board:   `skip {"tasks":["nosuch"]}`,
		page:    `acts {"verb":"skip","tasks":["nosuch"]}`,
		tool:    `skip {"tasks":["nosuch"]}`,
		api:     does(act.Skip{Tasks: []string{"nosuch"}}),
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "skip what has landed",
		command: "skip RUN drops",
		board:   `skip {"tasks":["drops"]}`,
		page:    `acts {"verb":"skip","tasks":["drops"]}`,
		tool:    `skip {"tasks":["drops"]}`,
		api:     does(act.Skip{Tasks: []string{"drops"}}),
		refused: true, outcome: "drops has ended and is landed: there is nothing to skip",
	},
	{
		act:     "skip a task of another run",
		command: "skip RUN other/skips",
		page:    `acts {"verb":"skip","tasks":["other/skips"]}`,
		tool:    `skip {"tasks":["other/skips"]}`,
		api:     does(act.Skip{Tasks: []string{"other/skips"}}),
		refused: true, outcome: `run RUN has no task "other/skips"`,
	},
	{
		act:     "skip what a terminal would obey",
		command: "skip RUN skips\x1b[2J",
		board:   `skip {"tasks":["skips\u001b[2J"]}`,
		page:    `acts {"verb":"skip","tasks":["skips\u001b[2J"]}`,
		tool:    `skip {"tasks":["skips\u001b[2J"]}`,
		api:     does(act.Skip{Tasks: []string{"skips\x1b[2J"}}),
		refused: true, outcome: `run RUN has no task "skips\x1b[2J"`,
	},
	{
		act:     "skip no task",
		page:    `acts {"verb":"skip","tasks":[]}`,
		tool:    `skip {"tasks":[]}`,
		api:     does(act.Skip{}),
		refused: true, outcome: "skip needs a task",
	},
	{
		act:     "cancel a task",
		command: "cancel RUN/cancels --reason why",
		board:   `cancel {"task":"cancels","reason":"why"}`,
		page:    `acts {"verb":"cancel","tasks":["cancels"],"text":"why"}`,
		tool:    `cancel {"task":"cancels","reason":"why"}`,
		api:     does(act.Cancel{Task: "cancels", Reason: "why"}),
		outcome: "cancels is cancelled",
		leaves:  []string{`task cancels {"state":"cancelled","reason":"why"}`},
	},
	{
		act:     "cancel an unknown task",
		command: "cancel RUN/nosuch",
		board:   `cancel {"task":"nosuch"}`,
		page:    `acts {"verb":"cancel","tasks":["nosuch"]}`,
		tool:    `cancel {"task":"nosuch"}`,
		api:     does(act.Cancel{Task: "nosuch"}),
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "cancel what has landed",
		command: "cancel RUN/drops",
		board:   `cancel {"task":"drops"}`,
		page:    `acts {"verb":"cancel","tasks":["drops"]}`,
		tool:    `cancel {"task":"drops"}`,
		api:     does(act.Cancel{Task: "drops"}),
		refused: true, outcome: "drops has ended and is landed",
	},
	{
		act:     "retry",
		command: "retry RUN/retries --brief Write.",
		page:    `acts {"verb":"retry","tasks":["retries"],"brief":"Write."}`,
		tool:    `retry {"tasks":["retries"],"brief":"Write."}`,
		api: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			again, err := orchestrator.TryAgain(ctx, r, orchestrator.Retry{Retry: act.Retry{Tasks: []string{"retries"}, Brief: "Write."}})
			return again.Text, err
		},
		outcome: "tried again: retries", goesOn: true,
		leaves: []string{`task retries {"state":"pending","reason":"revised by user","revision":{"by":"WHO","brief":"Write."}}`},
	},
	{
		act:     "retry an unknown task",
		command: "retry RUN nosuch",
		page:    `acts {"verb":"retry","tasks":["nosuch"]}`,
		tool:    `retry {"tasks":["nosuch"]}`,
		api: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			again, err := orchestrator.TryAgain(ctx, r, orchestrator.Retry{Retry: act.Retry{Tasks: []string{"nosuch"}}})
			return again.Text, err
		},
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "retry what has landed",
		command: "retry RUN drops",
		page:    `acts {"verb":"retry","tasks":["drops"]}`,
		tool:    `retry {"tasks":["drops"]}`,
		api: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			again, err := orchestrator.TryAgain(ctx, r, orchestrator.Retry{Retry: act.Retry{Tasks: []string{"drops"}}})
			return again.Text, err
		},
		refused: true, outcome: "drops is landed: only a parked or cancelled task can be tried again",
	},
	{
		act:     "drop what has not landed",
		command: "drop RUN gives",
		page:    `acts {"verb":"drop","tasks":["gives"]}`,
		tool:    `drop {"tasks":["gives"]}`,
		api:     does(act.Drop{Tasks: []string{"gives"}}),
		refused: true, outcome: "gives is parked: only landed tasks can be dropped",
	},
	{
		act:     "drop",
		command: "drop RUN drops --reason why",
		page:    `acts {"verb":"drop","tasks":["drops"],"text":"why"}`,
		tool:    `drop {"tasks":["drops"],"reason":"why"}`,
		api:     does(act.Drop{Tasks: []string{"drops"}, Reason: "why"}),
		outcome: "drop-drops takes out drops", goesOn: true,
		leaves: []string{`plan {"by":"WHO","drop":{"tasks":["drops"],"patch":{"commit":"HASH","base":"HASH","tree":"HASH",` +
			`"pack":"pack-HASH","files":["drops.txt"],"deleted":1}},"tasks":[{"id":"drop-drops","title":"take out drops",` +
			`"role":"writes","brief":"why","files":["drops.txt"]}]}`},
	},
	{
		act:     "drop an unknown task",
		command: "drop RUN nosuch",
		page:    `acts {"verb":"drop","tasks":["nosuch"]}`,
		tool:    `drop {"tasks":["nosuch"]}`,
		api:     does(act.Drop{Tasks: []string{"nosuch"}}),
		refused: true, outcome: `run RUN has no task "nosuch"`,
	},
	{
		act:     "take",
		command: "take RUN/gives DIR", on: here,
		board: `take {"task":"gives","dir":"DIR"}`,
		api: func(ctx context.Context, r *orchestrator.Run, dir string) (string, error) {
			_, err := r.Take(ctx, "gives", 0, dir)
			return r.ID() + "/gives, attempt 1, is in " + dir, err
		},
		outcome: "RUN/gives, attempt 1, is in DIR…",
	},
	{
		act:     "give",
		command: "give RUN/gives DIR", on: here,
		api: func(ctx context.Context, r *orchestrator.Run, dir string) (string, error) {
			return does(act.Give{Task: "gives", Dir: dir})(ctx, r, "")
		},
		outcome: "gives/2 is the patch of a person", goesOn: true,
		leaves: []string{`task gives {"state":"running","reason":"a person submitted a patch","dispatch":{"task":"gives","attempt":2,` +
			`"role":"person","head":"HASH"},"given":{"commit":"HASH","base":"HASH","tree":"HASH","pack":"pack-HASH",` +
			`"files":["gives.txt"],"created":["gives.txt"],"added":1}}`},
	},
	{
		act:     "gate",
		command: "gate RUN more -- true",
		api:     does(act.Gate{Name: "more", Command: []string{"true"}}),
		outcome: "gate more is run on the base commit, and on all that lands from now on",
		leaves:  []string{`run {"gate":{"name":"more","command":["true"],"by":"WHO"},"notices":["WHO added the gate more: true"]}`},
	},
	{
		act:     "publish a run that goes on",
		command: "publish RUN",
		page:    `acts {"verb":"publish"}`,
		refused: true, outcome: "RUN", only: whenActive,
	},
	{
		act:     "pause",
		command: "pause RUN",
		board:   `pause {}`,
		page:    `acts {"verb":"pause"}`,
		tool:    `pause {}`,
		api:     does(act.Pause{}),
		outcome: "pausing after the current turn of 0 active agents", only: whenActive,
	},
	{
		act:     "pause what does not run",
		command: "pause RUN",
		board:   `pause {}`,
		page:    `acts {"verb":"pause"}`,
		tool:    `pause {}`,
		api:     does(act.Pause{}),
		refused: true, outcome: "run RUN is not running: there is nothing to pause",
	},
	{
		act:     "resume",
		page:    `acts {"verb":"resume"}`,
		tool:    `resume {}`,
		outcome: "the run goes on", goesOn: true, only: whenAtRest,
	},
	{
		act:     "publish",
		page:    `acts {"verb":"publish"}`,
		outcome: "published as divisi/RUN", onPage: "run RUN was submitted from another machine: publish it there, in a clone of its repository, " +
			"and name this server",
		leaves: []string{`run {"head":"HASH","ref":"refs/heads/divisi/RUN"}`},
		only:   whenAtRest,
	},
	{
		act:     "cancel the run",
		board:   `cancel {"reason":"over"}`,
		page:    `acts {"verb":"cancel","text":"over"}`,
		api:     does(act.Cancel{Reason: "over"}),
		outcome: "the run is cancelled",
		leaves:  []string{`run {"state":"cancelled","reason":"over"}`},
	},
	{
		act:     "cancel the run by the command",
		command: "cancel RUN --reason over",
		outcome: "RUN is cancelled",
		leaves:  []string{`run {"state":"cancelled","reason":"over"}`},
	},
	{
		act:     "cancel the run by a program",
		tool:    `cancel {"reason":"over"}`,
		outcome: "the run is cancelled",
		leaves:  []string{`run {"state":"cancelled","reason":"over","notices":["cancelled by WHO"]}`},
	},
	{
		act:     "skip in a run that is over",
		command: "skip RUN gives",
		board:   `skip {"tasks":["gives"]}`,
		page:    `acts {"verb":"skip","tasks":["gives"]}`,
		tool:    `skip {"tasks":["gives"]}`,
		api:     does(act.Skip{Tasks: []string{"gives"}}),
		refused: true, outcome: "run RUN was cancelled, which is for good: start another run",
	},
}
