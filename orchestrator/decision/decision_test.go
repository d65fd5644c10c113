package decision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// started is a run with a held patch of a, on which b and c depend, and a question of the agent of q.
func started(t *testing.T, configure func(*run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8, Plan: &spec.Plan{}, OnDoubt: run.OnDoubtAsk}
	if configure != nil {
		configure(&s)
	}
	l := runtest.New(t, s, run.Running)
	task := func(id string, after ...string) spec.Task {
		return spec.Task{ID: id, Role: "generator", Attempts: 5, Files: []string{id + "/x.go"}, DependsOn: after}
	}
	l.Plan(task("a"), task("b", "a"), task("c", "b"), task("q"))
	l.Dispatched("q", "generator", 1, "b")
	l.Agent("q", 1, contextscope.KindRequest, wire.Request{ID: "r1", Kind: wire.RequestAsk, Question: "Which?", Options: []string{"left", "right"}})
	holds(l, "a", 1, run.Doubt{Evidence: []string{"fewer tests"}})
	return l
}

// holds holds the patch of an attempt.
func holds(l *runtest.Log, task string, attempt int, d run.Doubt) {
	l.Dispatched(task, "generator", attempt, "b")
	r := runtest.Patched(fmt.Sprintf("c-%d", attempt), "tree", "b")
	r.Patch.Files = []string{task + "/x.go"}
	l.Ended(task, attempt, r)
	l.Append(task, run.TaskData{State: run.TaskHeld, Reason: d.Evidence[0], Doubt: &d})
}

var toReview = run.Doubt{Evidence: []string{"each patch is to be seen"}, Review: true}

// reviewed is started, with held patches of one and two, which are a change set, for a person to see.
func reviewed(t *testing.T) *runtest.Log {
	t.Helper()
	l := started(t, nil)
	l.Plan(
		spec.Task{ID: "one", Role: "generator", Attempts: 5, ChangeSet: "s", Files: []string{"one/x.go"}},
		spec.Task{ID: "two", Role: "generator", Attempts: 5, ChangeSet: "s", Files: []string{"two/x.go"}},
	)
	holds(l, "one", 1, toReview)
	holds(l, "two", 1, toReview)
	return l
}

// act lets the run act on an answer that was taken.
func act(l *runtest.Log, taken []run.Action) {
	l.Do(taken)
	l.Do(decision.Carry(l.State, time.Time{}))
}

func only(t *testing.T, s *run.State, kind run.DecisionKind) run.Decision {
	t.Helper()
	for _, d := range decision.Open(s) {
		if d.Kind == kind {
			return d
		}
	}
	require.Fail(t, "none is open", kind)
	return run.Decision{}
}

func TestEachKindIsListed(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	holds(l, "b", 1, run.Doubt{Evidence: []string{"TestA did not run"}, Missing: map[string]string{"check": "o"}})
	question, patch, test := only(t, l.State, run.DecideQuestion), only(t, l.State, run.DecidePatch), only(t, l.State, run.DecideTest)
	require.Equal(t, "q", question.About)
	require.Equal(t, []string{"left", "right"}, question.Choices)
	require.Equal(t, "a", patch.About)
	require.Equal(t, 1, patch.Attempt)
	require.Equal(t, []string{"fewer tests"}, patch.Evidence)
	require.Equal(t, run.Reject, test.Suggests)
	for _, d := range decision.Open(l.State) {
		require.Equal(t, []string{run.ByPerson, "the run has a plan file and no master"}, []string{d.Decider, d.Why})
		require.False(t, d.Reserved, d.ID)
		require.NotEmpty(t, d.Options)
	}
	open := decision.Open(l.State)
	decision.Count(&l.Agenda, open)
	require.Equal(t, "a", open[0].About)
	require.Equal(t, []int{3, 2, 1}, []int{open[0].Blocks, open[1].Blocks, open[2].Blocks}, "a blocks b and c, b blocks c")
}

// planned is a run whose plan waits for approval.
func planned(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8}, run.Planning)
	l.Dispatched(run.MasterTask, spec.RoleMaster, 1, "b")
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "a", Role: "generator", Files: []string{"a.go"}}, {ID: "b", Role: "generator", Files: []string{"b.go"}}}})
	l.Ended(run.MasterTask, 1, spec.Result{Status: spec.StatusDone})
	return l
}

// heldTemplate holds the template t.
func heldTemplate(l *runtest.Log) {
	shards := make([]spec.Task, 4)
	for i := range shards {
		shards[i] = spec.Task{ID: fmt.Sprintf("t-%d", i), ShardOf: "t", Role: "generator", Attempts: 5, Files: []string{fmt.Sprintf("t/%d.go", i)}}
	}
	l.Plan(shards...)
	for _, t := range shards[:3] {
		l.Dispatched(t.ID, "generator", 1, "b")
		l.Ended(t.ID, 1, spec.Result{Status: spec.StatusFailed})
		l.Append(t.ID, run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: wire.FaultGate, Message: "red"}})
	}
	l.Append("", run.Data{Decision: &run.Decided{Hold: &run.Hold{Template: "t", Shards: 3, Example: "t-0/1", Message: "red"}}})
}

func TestAPlanIsADecision(t *testing.T) {
	t.Parallel()
	l := planned(t)
	d := only(t, l.State, run.DecidePlan)
	open := []run.Decision{d}
	decision.Count(&l.Agenda, open)
	require.Equal(t, 2, open[0].Blocks)

	revised, err := request.Revise(&l.Agenda, l.Works, "a", run.Revision{By: "master/1", Brief: "another"})
	require.NoError(t, err)
	l.Do(revised)
	_, _, err = decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Yes, By: wire.Person("ada")})
	require.ErrorContains(t, err, d.ID+" is not open any more: the plan was answered, or changed", "it is another plan than was shown")

	d = only(t, l.State, run.DecidePlan)
	actions, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Yes, By: wire.Person("ada")})
	require.NoError(t, err)
	act(l, actions)
	require.Equal(t, 1, l.Plans.Approved)
	require.Empty(t, decision.Open(l.State))
}

// An answer is for the decision and the attempt that were shown, and for nothing else.
func TestAnAnswerThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	shown := only(t, l.State, run.DecidePatch)
	fits := run.Answer{ID: shown.ID, Attempt: 1, Option: run.Accept, By: wire.Person("ada")}
	for name, c := range map[string]struct {
		change func(*run.Answer)
		want   string
	}{
		"an unknown decision":  {func(a *run.Answer) { a.ID = "zz@1" }, `run r1 has no decision "zz@1"; open are: `},
		"another attempt":      {func(a *run.Answer) { a.Attempt = 2 }, "is about attempt 1 of a, not 2: see that one first"},
		"an unknown option":    {func(a *run.Answer) { a.Option = "maybe" }, `"maybe" is no answer to ` + shown.ID + ": it is one of accept, reject, skip"},
		"a reason is missing":  {func(a *run.Answer) { a.Option = run.Reject }, "reject needs a text"},
		"an unwanted text":     {func(a *run.Answer) { a.Text = "but rename it" }, "accept takes no text"},
		"a task of another":    {func(a *run.Answer) { a.Of = "b" }, shown.ID + ` is not about "b"`},
		"a long text":          {func(a *run.Answer) { a.Text = strings.Repeat("x", 100<<10) }, "has 102400 bytes; at most 32768 are allowed"},
		"no text":              {func(a *run.Answer) { a.Text = "\xff" }, "the answer to " + shown.ID + " is not UTF-8 text"},
		"no id":                {func(a *run.Answer) { a.ID = "" }, `run r1 has no decision ""`},
		"hostile text as name": {func(a *run.Answer) { a.ID = "a\x1b[2J\n" }, `run r1 has no decision "a`},
	} {
		a := fits
		c.change(&a)
		actions, _, err := decision.Take(l.State, a)
		require.Empty(t, actions, name)
		var no *request.RefusedError
		require.ErrorAs(t, err, &no, name)
		require.Contains(t, no.Reason, c.want, name)
		require.NotContains(t, no.Reason, "\x1b", name)
	}

	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["a"], run.Answer{Option: run.Reject, Text: "no", By: wire.Person("ada")}))
	_, _, err := decision.Take(l.State, fits)
	require.ErrorContains(t, err, shown.ID+" is not open any more: reject by user:ada: no")
	holds(l, "a", 2, run.Doubt{Evidence: []string{"fewer tests"}})
	_, _, err = decision.Take(l.State, fits)
	newest := only(t, l.State, run.DecidePatch)
	require.ErrorContains(t, err, "the answer is for "+shown.ID+" about attempt 1, and "+newest.ID+" about attempt 2 has come since")
	_, _, err = decision.TakeAbout(l.State, "a", run.Answer{Attempt: 1, Option: run.Accept, By: wire.Person("ada")})
	require.ErrorContains(t, err, "about attempt 2 of a, not 1", "accept names the attempt that was looked at")
	actions, becomes, err := decision.TakeAbout(l.State, "a", run.Answer{Attempt: 2, Option: run.Accept, By: wire.Person("ada")})
	require.NoError(t, err)
	require.Equal(t, "the patch of a goes on", becomes)
	act(l, actions)
	require.Equal(t, run.TaskRunning, l.Tasks.ByID["a"].State)
}

func TestAQuestionIsAnsweredAndNotTwice(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	d := only(t, l.State, run.DecideQuestion)
	a := run.Answer{ID: d.ID, Attempt: d.Attempt, Option: run.Reply, Text: "left", By: wire.Person("ada")}
	actions, _, err := decision.Take(l.State, a)
	require.NoError(t, err)
	act(l, actions)
	require.Equal(t, "left", l.Requests.ByID["r1"].Answer.Text)
	_, _, err = decision.Take(l.State, a)
	require.ErrorContains(t, err, d.ID+" is not open any more: answer by user:ada: left")
}

// The number of a proposal is that proposal, on a terminal as in a command; one that was not proposed is no answer.
func TestTheNumberOfAProposal(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"2": "right", " 1 ": "left", "right": "right", "3 of them": "3 of them", "3": "", "0": "", "-1": ""} {
		l := started(t, nil)
		d := only(t, l.State, run.DecideQuestion)
		actions, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Reply, Text: said, By: wire.Person("ada")})
		if want == "" {
			require.ErrorContains(t, err, "q proposes the answers 1 to 2: give one of these numbers, or an answer in words", said)
			continue
		}
		require.NoError(t, err)
		act(l, actions)
		require.Equal(t, want, l.Requests.ByID["r1"].Answer.Text)
	}
}

// An answer counts, and can be taken back, until the run has acted on it.
func TestAnAnswerCanBeTakenBack(t *testing.T) {
	t.Parallel()
	for kind, c := range map[run.DecisionKind]struct{ option, text, followed string }{
		run.DecidePatch:    {run.Accept, "", "accept by user:ada, and a is running"},
		run.DecideTest:     {run.Reject, "no", "reject by user:ada: no, and b is pending"},
		run.DecideQuestion: {run.Reply, "left", "answer by user:ada: left, and q is running"},
		run.DecideTemplate: {run.Revise, "try again", "revise by user:ada: try again"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			l := started(t, nil)
			holds(l, "b", 1, run.Doubt{Evidence: []string{"TestA did not run"}, Missing: map[string]string{"check": "o"}})
			heldTemplate(l)
			d := only(t, l.State, kind)
			_, _, err := decision.TakeBack(l.State, d.ID, wire.Person("ada"))
			require.ErrorContains(t, err, d.ID+" has no answer that could be taken back")

			answer := run.Answer{ID: d.ID, Attempt: d.Attempt, Option: c.option, Text: c.text, By: wire.Person("ada")}
			taken, _, err := decision.Take(l.State, answer)
			require.NoError(t, err)
			l.Do(taken)
			require.NotContains(t, decision.Open(l.State), d)
			_, _, err = decision.Take(l.State, answer)
			require.ErrorContains(t, err, d.ID+" has an answer: "+c.option+" by user:ada", "two answers at once")

			back, becomes, err := decision.TakeBack(l.State, d.ID, wire.Person("ada"))
			require.NoError(t, err)
			require.Equal(t, d.ID+" is open again: "+d.Text, becomes)
			l.Do(back)
			require.Equal(t, d, only(t, l.State, kind), "as if it had not been answered")
			require.Empty(t, decision.Carry(l.State, time.Time{}))

			taken, _, err = decision.Take(l.State, answer)
			require.NoError(t, err)
			act(l, taken)
			require.Empty(t, decision.Carry(l.State, time.Time{}))
			_, _, err = decision.TakeBack(l.State, d.ID, wire.Person("ada"))
			require.ErrorContains(t, err, "the answer to "+d.ID+" cannot be taken back, because the run has acted on it: "+c.followed)
		})
	}
	l := started(t, nil)
	_, _, err := decision.TakeBack(l.State, "zz@1", wire.Person("ada"))
	require.ErrorContains(t, err, `run r1 has no decision "zz@1"`)
}

// What an answer about a patch leads to and the end of its decision are one event, so that no kill comes between them.
func TestAnAnswerIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	d := only(t, l.State, run.DecidePatch)
	taken, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Reject, Text: "no", By: wire.Person("ada")})
	require.NoError(t, err)
	l.Do(taken)
	carried := decision.Carry(l.State, time.Time{})
	require.Len(t, carried, 1)
	l.Do(carried)
	require.Len(t, l.Tasks.ByID["a"].Faults, 1)
	require.Empty(t, decision.Carry(l.State, time.Time{}))
}

// What a person wrote is not lost without a word where something else has decided meanwhile.
func TestAnAnswerThatFitsNoMoreIsGivenBack(t *testing.T) {
	t.Parallel()
	l := planned(t)
	d := only(t, l.State, run.DecidePlan)
	taken, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Yes, By: wire.Person("ada")})
	require.NoError(t, err)
	l.Do(taken)
	revised, err := request.Revise(&l.Agenda, l.Works, "a", run.Revision{By: "master/1", Brief: "another"})
	require.NoError(t, err)
	l.Do(revised)
	l.Do(decision.Carry(l.State, time.Time{}))
	require.Zero(t, l.Plans.Approved)
	require.Contains(t, l.Notices[len(l.Notices)-1], "the answer to "+d.ID+", approve by user:ada, is over: "+d.ID+" is not open any more: the plan was answered, or changed")
	require.NotEqual(t, d.ID, only(t, l.State, run.DecidePlan).ID, "another plan than was shown")
}

func TestThePolicyDecidesWhatTheMasterDoesNot(t *testing.T) {
	t.Parallel()
	accepts := started(t, func(s *run.Spec) { s.OnDoubt = run.OnDoubtAccept })
	require.Equal(t, run.ByRule, only(t, accepts.State, run.DecidePatch).Decider)
	require.Equal(t, run.ByPerson, only(t, accepts.State, run.DecideQuestion).Decider, "no policy answers a question")
	accepts.Do(decision.Policy(accepts.State))
	require.Equal(t, run.TaskRunning, accepts.Tasks.ByID["a"].State)
	require.Empty(t, decision.Policy(accepts.State))

	rejects := started(t, func(s *run.Spec) { s.OnDoubt = run.OnDoubtReject })
	rejects.Do(decision.Policy(rejects.State))
	require.Equal(t, run.TaskPending, rejects.Tasks.ByID["a"].State)

	led := started(t, func(s *run.Spec) { s.OnDoubt, s.Plan = run.OnDoubtAccept, nil })
	require.Equal(t, run.ByMaster, only(t, led.State, run.DecidePatch).Decider)
	require.Empty(t, decision.Policy(led.State))
	require.Empty(t, decision.ForPerson(led.State))
}

// What a person writes to reject a patch is an instruction; what a policy or a program writes is data about the attempt.
func TestThePersonWhoRejectsInstructsTheNextAttempt(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		wire.Person("ada"): "MaxPage has to be 200.", wire.Person(wire.Through("ada", "editor")): "", "policy": "",
	} {
		l := started(t, nil)
		d := only(t, l.State, run.DecidePatch)
		l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID[d.About], run.Answer{
			ID: d.ID, Attempt: d.Attempt, Option: run.Reject, Text: "MaxPage has to be 200.", By: by,
		}))
		faults := l.Tasks.ByID[d.About].Recent()
		require.Len(t, faults, 1, by)
		require.Equal(t, want, faults[0].Fault.Instruction, by)
		require.Contains(t, faults[0].Fault.Message, "MaxPage has to be 200.", by)
	}
}

// One answer is for patches that differ in nothing that a person could judge otherwise.
func TestPatchesThatAreAlike(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	l.Plan(
		spec.Task{ID: "allow", Role: "generator", Brief: "Do svc/allow.", Files: []string{"svc/allow/allow.go", "svc/deny/deny.go"}},
		spec.Task{ID: "deny", Role: "generator", Brief: "Do svc/deny.", Files: []string{"svc/allow/allow.go", "svc/deny/deny.go"}},
		spec.Task{ID: "else", Role: "generator", Brief: "Do another thing.", Files: []string{"svc/deny/deny.go"}},
	)
	doubt := only(t, l.State, run.DecidePatch)
	shape := func(task, format string, args ...any) string {
		return decision.Shape(l.Tasks.ByID[task], &doubt, fmt.Sprintf(format, args...))
	}
	const text = "diff --git a/svc/%[1]s/%[1]s.%[3]s b/svc/%[1]s/%[1]s.%[3]s\nindex 1%[2]s..2%[2]s 100644\n" +
		"--- a/svc/%[1]s/%[1]s.%[3]s\n+++ b/svc/%[1]s/%[1]s.%[3]s\n@@ -%[2]s +1 @@ func %[4]s() {\n %[5]s\n-old\n+%[6]s\n"
	first := shape("allow", text, "allow", "1", "go", "run", "same", "new")
	require.NotEmpty(t, first)
	require.Equal(t, first, shape("deny", text, "deny", "22", "go", "run", "same", "new"), "only the paths, the place and the objects differ")
	imports := func(task string) string {
		return shape(task, "diff --git a/svc/%[1]s/a.go b/svc/%[1]s/a.go\n@@ -4,3 +4,2 @@ package %[1]s\n-\"os\"\n", task)
	}
	require.Equal(t, imports("allow"), imports("deny"), "a package has a name of its own")
	around := func(task, far, near, last string) string {
		return shape(task, "diff --git a/svc/%[1]s/a.go b/svc/%[1]s/a.go\n@@ -4,9 +4,9 @@ func run() {\n %[2]s\n %[3]s\n-old\n+new\n }\n %[4]s\n",
			task, far, near, last)
	}
	same := around("allow", "allow, err := h.Find(1)", "if err != nil {", `h.Log("allow")`)
	require.Equal(t, same, around("deny", "deny, err := h.Find(1)", "if err != nil {", `h.Log("deny")`), "names of lines further off")
	require.NotEqual(t, same, around("deny", "deny, err := h.Find(2)", "if err != nil {", `h.Log("deny")`), "a number further off")
	require.NotEqual(t, same, around("deny", "!deny, err := h.Find(1)", "if err != nil {", `h.Log("deny")`), "a sign further off")
	require.NotEqual(t, same, around("allow", "allow, err := h.Find(1)", "if why != nil {", `h.Log("allow")`), "a name next to the change")
	require.NotEqual(t, same, around("allow", "allow, err := h.Find(1)", "if err != nil {", "-h.Log(\"allow\")"), "not changed there")
	for name, args := range map[string][]any{
		"another line":                    {"deny", "1", "go", "run", "same", "other"},
		"another function":                {"deny", "1", "go", "check", "same", "new"},
		"another type of file":            {"deny", "1", "sh", "run", "same", "new"},
		"what is around it means another": {"deny", "1", "go", "run", "if deny {", "new"},
	} {
		require.NotEqual(t, first, shape("deny", text, args...), name)
	}
	require.NotEqual(t, shape("allow", text, "allow", "1", "go", "run", "same", "policy(allow)"),
		shape("deny", text, "deny", "1", "go", "run", "same", "policy(deny)"), "an own name that matters")
	require.NotEqual(t, shape("allow", text, "allow", "1", "go", "run", "same", "get(evil.example/svc/allow/x)"),
		shape("deny", text, "deny", "1", "go", "run", "same", "get(example.com/svc/deny/y)"), "a path in a line")
	require.NotEqual(t, shape("allow", text, "allow", "1", "go", "run", "same", "move(allow, deny)"),
		shape("allow", text, "allow", "1", "go", "run", "same", "move(deny, allow)"), "two own names changed places")
	require.NotEqual(t, shape("allow", text+"--- svc/allow/allow.go\n", "allow", "1", "go", "run", "same", "new"),
		shape("allow", text+"--- svc/deny/deny.go\n", "allow", "1", "go", "run", "same", "new"), "a deleted line that reads like a header")
	require.NotEqual(t, shape("allow", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"),
		shape("allow", "diff --git a/x b/x\nold mode 100755\nnew mode 100644\n"))
	require.NotEqual(t, first, shape("else", text, "deny", "1", "go", "run", "same", "new"), "another brief")
	for name, diff := range map[string]string{
		"binary": "index 1..2 100644\nBinary files a/svc/deny/deny.go and b/svc/deny/deny.go differ\n",
		"rename": "similarity index 100%%\nrename from svc/allow/allow.go\nrename to svc/deny/deny.go\n",
		"link":   "index 1..2 120000\n@@ -1 +1 @@\n-a\n+../b\n",
	} {
		require.Empty(t, shape("deny", "%s", "diff --git a/svc/deny/deny.go b/svc/deny/deny.go\n"+diff), name)
	}
}

// A patch that was given for a task of a change set takes the place of one that a person was shown with the others.
func TestTheDecisionAboutAChangeSetIsAnotherOneWithEachPatchOfIt(t *testing.T) {
	t.Parallel()
	l := reviewed(t)
	of := func() run.Decision {
		open := decision.Open(l.State)
		at := slices.IndexFunc(open, func(d run.Decision) bool { return d.About == "one" })
		require.GreaterOrEqual(t, at, 0)
		return open[at]
	}
	shown := of()
	require.Equal(t, []string{"one", "two"}, shown.Tasks)
	require.True(t, shown.Reserved)
	l.Append("two", run.TaskData{State: run.TaskPending, Decision: &run.Decided{Kind: run.DecidePatch, About: "two", Closed: true, Answer: run.Answer{Option: run.Reject, Text: "another", By: wire.Person("ada")}}, Fault: &spec.Fault{Class: wire.FaultRejected}})
	holds(l, "two", 2, toReview)
	_, _, err := decision.Take(l.State, run.Answer{ID: shown.ID, Attempt: shown.Attempt, Option: run.Accept, By: wire.Person("ada")})
	require.ErrorContains(t, err, "the answer is for "+shown.ID+" about attempt 1, and "+of().ID)
	actions, _, err := decision.Take(l.State, run.Answer{ID: of().ID, Attempt: 1, Option: run.Accept, By: wire.Person("ada")})
	require.NoError(t, err)
	act(l, actions)
	_, _, err = decision.Take(l.State, run.Answer{ID: shown.ID, Attempt: 1, Option: run.Accept, By: wire.Person("ada")})
	require.Error(t, err)
}

// A program that acts for a person does not answer what is reserved for the person, whatever its server let through.
func TestAProgramAnswersNothingThatIsReserved(t *testing.T) {
	t.Parallel()
	l, program := reviewed(t), wire.Person(wire.Through("ada", "vim"))
	open := decision.Open(l.State)
	d := open[slices.IndexFunc(open, func(d run.Decision) bool { return d.About == "one" })]
	for _, option := range []string{run.Accept, run.Reject} {
		_, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: option, Text: "one: no", By: program})
		require.ErrorContains(t, err, d.ID+" is for a person, not for a program: a person sees each patch of this run")
	}
	_, _, err := decision.TakeAbout(l.State, "one", run.Answer{Text: "no", By: program})
	require.ErrorContains(t, err, "is for a person, not for a program")
	question := only(t, l.State, run.DecideQuestion)
	_, _, err = decision.Take(l.State, run.Answer{ID: question.ID, Option: run.Reply, Text: "left", By: program})
	require.NoError(t, err, "all else it answers")
}

// What only a person can unlock is asked, and not refused; the write set has it with the answer, for later attempts too.
func TestWriteAccessToProtectedFilesIsADecision(t *testing.T) {
	t.Parallel()
	asks := func(policy string) *runtest.Log {
		l := started(t, func(s *run.Spec) { s.OnDoubt, s.Project.Protected = policy, []string{".github/**"} })
		l.Agent("q", 1, contextscope.KindRequest, wire.Request{
			ID: "r2", Kind: wire.RequestScope, Paths: []string{".github/workflows/ci.yml"}, Reason: "the job has\nanother name",
		})
		return l
	}
	l := asks(run.OnDoubtAsk)
	require.Empty(t, request.Settle(l.State))
	d := only(t, l.State, run.DecideScope)
	require.Equal(t, "q", d.About)
	require.True(t, d.Reserved)
	require.Contains(t, d.Text, `.github/workflows/ci.yml: "the job has\nanother name"`)
	actions, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Grant, By: wire.Person("ada")})
	require.NoError(t, err)
	act(l, actions)
	task := l.Tasks.ByID["q"].Task
	require.Contains(t, task.Files, ".github/workflows/ci.yml")
	require.Equal(t, []string{".github/workflows/ci.yml"}, task.Unlocked)
	require.Equal(t, []string{".github/workflows/ci.yml"}, l.Requests.ByID["r2"].Answer.Unlocked)

	l = asks(run.OnDoubtAsk)
	actions, _, err = decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Refuse, Text: "leave CI alone", By: wire.Person("ada")})
	require.NoError(t, err)
	act(l, actions)
	require.Equal(t, "leave CI alone", l.Requests.ByID["r2"].Answer.Refused)
	require.NotContains(t, l.Tasks.ByID["q"].Task.Files, ".github/workflows/ci.yml")

	for _, policy := range []string{run.OnDoubtReject, run.OnDoubtAccept} {
		l = asks(policy)
		l.Do(request.Settle(l.State))
		require.Contains(t, l.Requests.ByID["r2"].Answer.Refused, "is protected", policy)
	}
}

// A change set is one decision, that each of its patches names; words are for one of them.
func TestEachPatchOfAChangeSetNamesItsDecision(t *testing.T) {
	t.Parallel()
	l := reviewed(t)
	open := decision.Open(l.State)
	shown := open[slices.IndexFunc(open, func(d run.Decision) bool { return d.About == "one" })]
	for _, words := range []string{"it deletes the tests", "three: no", "two: "} {
		_, _, err := decision.Take(l.State, run.Answer{ID: shown.ID, Option: run.Reject, Text: words, By: wire.Person("ada")})
		require.ErrorContains(t, err, shown.ID+" is about the patches of one, two: begin the text with the one that it is for")
	}
	_, _, err := decision.TakeAbout(l.State, "two", run.Answer{Attempt: 2, Option: run.Accept, By: wire.Person("ada")})
	require.ErrorContains(t, err, "not 2")
	actions, _, err := decision.TakeAbout(l.State, "two", run.Answer{Attempt: 1, Option: run.Accept, By: wire.Person("ada")})
	require.NoError(t, err)
	require.NotEmpty(t, actions)
	actions, _, err = decision.Take(l.State, run.Answer{ID: shown.ID, Option: run.Reject, Text: "two: it deletes the tests", By: wire.Person("ada")})
	require.NoError(t, err)
	act(l, actions)
	require.Equal(t, run.TaskPending, l.Tasks.ByID["two"].State)
	require.Equal(t, "it deletes the tests", l.Tasks.ByID["two"].Doubts[0].Answer.Text)
	require.NotEqual(t, run.TaskHeld, l.Tasks.ByID["one"].State)
}

// The id of an edited plan is no other's, and one that no plan had is unknown.
func TestAPlanThatWasEditedIsAnotherDecision(t *testing.T) {
	t.Parallel()
	l := planned(t)
	revised, err := request.Revise(&l.Agenda, l.Works, "a", run.Revision{By: "master/1", Brief: "another"})
	require.NoError(t, err)
	l.Do(revised)
	before := only(t, l.State, run.DecidePlan)
	now := l.Plans.All[0]
	now.Replaces = 1
	l.Append("", now)
	after := only(t, l.State, run.DecidePlan)
	require.NotEqual(t, before.ID, after.ID)
	_, _, err = decision.Take(l.State, run.Answer{ID: before.ID, Option: run.Yes, By: wire.Person("ada")})
	require.ErrorContains(t, err, "is not open any more")
	_, _, err = decision.Take(l.State, run.Answer{ID: "plan-9.0", Option: run.Yes, By: wire.Person("ada")})
	require.ErrorContains(t, err, `has no decision "plan-9.0"`)
}

func TestARunThatIsOverTakesNoAnswer(t *testing.T) {
	t.Parallel()
	l := started(t, nil)
	question := only(t, l.State, run.DecideQuestion)
	l.Append("", run.Data{State: run.Cancelled})
	_, _, err := decision.Take(l.State, run.Answer{ID: question.ID, Option: run.Reply, Text: "left", By: wire.Person("ada")})
	require.EqualError(t, err, "run r1 is over: cancelled")
}

// A run whose gates no worker can run waits for a person, although they lie on the queue; when it is over there is nothing to decide.
func TestARunWaitsForAWorkerThatThereIsNot(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator", Files: []string{"a.go"}}, spec.Task{ID: "b", Role: "generator", Files: []string{"b.go"}})
	l.Dispatched("a", "generator", 1, "b")
	l.Gates(run.BaselineTask, 1, "b")
	l.Append("", run.Data{Unserved: map[string]run.Unserved{spec.RoleTester: {Why: "no worker has mycheck"}}})
	require.Empty(t, decision.AnnounceWait(l.State), "a generator is at work")
	l.Ended("a", 1, runtest.Patched("c", "tree", "b"))
	l.Append("a", run.TaskData{State: run.TaskAccepted})
	l.Do(decision.AnnounceWait(l.State))
	require.Contains(t, l.Wait.For, "no worker has mycheck")
	open := decision.Open(l.State)
	require.Len(t, open, 1)
	decision.Count(&l.Agenda, open)
	require.Equal(t, 2, open[0].Blocks, "nothing lands without gates")
	l.Append("", run.Data{State: run.Cancelled})
	require.Empty(t, decision.Open(l.State))
}
