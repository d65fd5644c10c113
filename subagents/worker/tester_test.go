package worker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestWorkerGivesTestersWhatGeneratorsMade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "bad\n"), modeltest.Submits("wrote it")}}, "generator", "tester")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	r := s.result(gen)

	project := spec.Project{Gates: []spec.Gate{
		{Name: "no-bad", Command: []string{"sh", "-c", "! grep -n bad a.txt"}}, {Name: "fine", Command: []string{"true"}},
	}}
	red := s.assignment(testerRole, "t1--verify")
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

	head := s.assignment(testerRole, "--baseline")
	head.Project, head.Setup = project, []string{"sh", "-c", `echo set > "$DIVISI_TOOLS/done"`}
	s.enqueue(head)
	got = s.result(head)
	require.Equal(t, spec.StatusDone, got.Status, "%+v", got.Error)
	require.NotEmpty(t, got.Environment)
	require.FileExists(t, filepath.Join(s.dir, "caches", "environments", got.Environment, "tools", "done"))
	require.NotEmpty(t, got.Receipts[0].Environment)
}

// What go could not build in a batch it would fail to build in the next gate. On the base commit and at the end each gate runs.
func TestABatchThatDoesNotBuildSkipsOtherGatesOfGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{
		writesFile("go.mod", "module x\n"), writesFile("a.go", "package x\n\nvar _ = y\n"), modeltest.Submits("wrote it"),
	}}, "generator", "tester")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	patch := s.result(gen).Patch
	project := spec.Project{Gates: []spec.Gate{
		{Name: "fine", Command: []string{"true"}},
		{Name: "build", Command: []string{"go", "build", "./..."}},
		{Name: "vet", Command: []string{"go", "vet", "./..."}},
		{Name: "last", Command: []string{"true"}},
	}}
	for name, c := range map[string]struct {
		since   string
		ran     []string
		message string
	}{
		"--batch-1": {patch.Base, []string{"fine", "build", "last"}, "1 of 4 gates did not pass: build (vet did not run): a.go:3:9: undefined: y"},
		"--final":   {"", []string{"fine", "build", "vet", "last"}, "2 of 4 gates did not pass: build, vet: a.go:3:9: undefined: y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(testerRole, name)
			a.Head, a.Patch, a.Since, a.Project = patch.Commit, patch, c.since, project
			s.enqueue(a)
			r := s.result(a)
			require.NotNil(t, r.Error)
			require.Contains(t, r.Error.Message, c.message)
			var ran []string
			for _, receipt := range r.Receipts {
				ran = append(ran, receipt.Gate)
			}
			require.Equal(t, c.ran, ran)
		})
	}
}

// A setup runs again when something that it depends on has changed, or what it left is gone.
func TestSlowASetupRunsWhenItHasTo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(nil, "tester")
	left := filepath.Join(s.dir, "caches", "gates", "xdg", "runs")
	n := 0
	run := func(command string, key ...string) (spec.Result, int) {
		a := s.assignment(testerRole, "--baseline")
		n++
		a.Attempt = n
		a.Setup = []string{"sh", "-c", `echo x >> "$XDG_CACHE_HOME/runs"; ` + command}
		a.Project = spec.Project{
			Setup: spec.Setup{Command: a.Setup, Key: key}, Gates: []spec.Gate{{Name: "g", Command: []string{"true"}}},
		}
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, command != "exit 1", r.Status == spec.StatusDone, "%+v", r.Error)
		data, err := os.ReadFile(left)
		require.NoError(t, err)
		return r, len(data) / 2
	}
	for i, step := range []struct {
		why, command string
		key          []string
		runs         int
	}{
		{"the first", "true", []string{"a.txt"}, 1},
		{"the same", "true", []string{"a.txt"}, 1},
		{"another key", "true", nil, 2},
		{"the same as the first", "true", []string{"a.txt"}, 2},
		{"a failure", "exit 1", []string{"a.txt"}, 3},
		{"a failure is not remembered", "exit 1", []string{"a.txt"}, 4},
		{"tools", `echo > "$DIVISI_TOOLS/tool"`, []string{"a.txt"}, 5},
		{"the same with tools", `echo > "$DIVISI_TOOLS/tool"`, []string{"a.txt"}, 5},
	} {
		r, runs := run(step.command, step.key...)
		require.Equal(t, step.runs, runs, "%d: %s", i, step.why)
		notes := strings.Join(r.Handoff.Deviations, "\n")
		require.Equal(t, strings.HasPrefix(step.why, "the same"), strings.Contains(notes, "setup did not run"), step.why)
	}
	w.Stop()
	require.NoError(t, os.Remove(left))
	s.work(nil, "tester")
	_, runs := run("true", "a.txt")
	require.Equal(t, 1, runs, "what it left is gone")
}

// What setup leaves in ignored paths lies below the tree of every later attempt, and no patch has it. An environment that was
// removed meanwhile is made again.
func TestAnEnvironmentLiesBelowEveryTree(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester", "mod")
	a := s.assignment(testerRole, "--setup")
	a.Setup = []string{"sh", "-c", `mkdir node_modules && echo '*' > node_modules/.gitignore && echo dep > node_modules/dep && ` +
		`echo tool > "$DIVISI_TOOLS/tool" && echo set > a.txt && touch new.txt`}
	s.enqueue(a)
	made := s.result(a)
	require.Equal(t, spec.StatusDone, made.Status, "%+v", made.Error)
	require.NotEmpty(t, made.Environment)
	require.Contains(t, strings.Join(made.Handoff.Deviations, "\n"),
		"setup changed or left 2 files that git does not ignore, which were put back: a.txt, new.txt")
	dir := filepath.Join(s.dir, "caches", "environments", made.Environment)
	for i, gone := range []bool{false, true} {
		if gone {
			require.NoError(t, os.RemoveAll(dir))
		}
		mod := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{
			"sh", "-c", `cat "$DIVISI_TOOLS/tool" > seen.txt && ! test -e new.txt`,
		}}, "t"+strconv.Itoa(i))
		mod.Environment, mod.Project.Setup.Command = made.Environment, a.Setup
		s.enqueue(mod)
		r := s.result(mod)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, []string{"seen.txt"}, r.Patch.Files)
		text, err := s.mirror.ReadFile(t.Context(), r.Patch.Commit, "seen.txt", 100)
		if err == nil { // it came as a pack
			require.Equal(t, "tool\n", string(text))
		}
	}
}

// Receipts of different environments are never compared.
func TestTesterRefusesTheBaselineOfAnotherEnvironment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester")
	project := spec.Project{Gates: []spec.Gate{{Name: "g", Command: []string{"true"}}}}
	a := s.assignment(testerRole, "--baseline")
	a.Project, a.Base = project, true
	s.enqueue(a)
	base := s.result(a).Receipts[0]
	require.NotEmpty(t, base.Environment)
	for i, of := range []string{base.Environment, "", "another"} {
		batch := s.assignment(testerRole, "--batch-"+strconv.Itoa(i))
		base.Environment = of
		batch.Project, batch.Baseline = project, map[string]spec.Receipt{"g": base}
		s.enqueue(batch)
		r := s.result(batch)
		if of != "another" {
			require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			continue
		}
		require.Equal(t, wire.FaultOutdated, r.Error.Class)
		require.Contains(t, r.Error.Message, "gate g ran on the base commit in another environment")
		require.Empty(t, r.Receipts)
	}
}

func TestTesterJudgesAgainstTheBaseline(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester")
	red := spec.Receipt{Gate: "g", ExitCode: 1, Verdict: spec.VerdictFail, Signatures: []string{"x.go: broken"}, Kind: spec.KindFindings, Tests: 9}
	mute := spec.Receipt{Gate: "g", ExitCode: 1, Verdict: spec.VerdictFail}
	good, bad := []string{"true"}, []string{"false"}
	tests := map[string]struct {
		gate   []string
		base   *spec.Receipt
		setup  []string
		gates  []string
		status spec.Status
		class  string
		note   string
	}{
		"green":           {gate: good, status: spec.StatusDone},
		"red":             {gate: bad, status: spec.StatusFailed, class: "gate"},
		"fewer-tests":     {gate: good, base: &red, status: spec.StatusDone, note: "ran 0 tests"},
		"unattributable":  {gate: bad, base: &mute, status: spec.StatusDone},
		"mute-over-red":   {gate: bad, base: &red, status: spec.StatusFailed, class: "gate"},
		"no-such-program": {gate: []string{"no-such-program"}, status: spec.StatusFailed, class: "setup"},
		"setup-fails":     {gate: good, setup: []string{"false"}, status: spec.StatusFailed, class: "setup"},
		"unknown-gate":    {gate: good, gates: []string{"h"}, status: spec.StatusFailed, class: "assignment"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(testerRole, name)
			a.Project.Gates = []spec.Gate{{Name: "g", Command: tt.gate}}
			a.Setup, a.Task.Gates = tt.setup, tt.gates
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

// What a gate or setup changes of the files that are tested is taken back: the next gate tests the tree that lands. Ignored files
// stay.
func TestTesterTestsTheTreeThatLands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester")
	a := s.assignment(testerRole, "--baseline")
	a.Setup = []string{"sh", "-c", "echo set > a.txt; echo new > setup.txt"}
	a.Project.Gates = []spec.Gate{
		{Name: "clean", Command: []string{"sh", "-c", "! grep set a.txt && ! test -e setup.txt"}},
		{Name: "writes", Command: []string{"sh", "-c", "rm a.txt; echo gen > gen.go; mkdir -p node_modules; echo '*' > node_modules/.gitignore"}},
		{Name: "reads", Command: []string{"sh", "-c", "test -e a.txt && ! test -e gen.go && ! test -e node_modules"}},
	}
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Contains(t, strings.Join(r.Handoff.Deviations, "\n"), "gate writes changed 2 files, now restored: a.txt, gen.go")
}

// The command that maps changed files to targets works in the tested tree. What it leaves there no gate sees.
func TestTesterNarrowsGatesToWhatChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("new.txt", "new\n"), modeltest.Submits("wrote it")}}, "generator", "tester")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	patch := s.result(gen).Patch
	project := spec.Project{Gates: []spec.Gate{
		{
			Name: "narrowed", Command: []string{"sh", "-c", `echo "on $*"; grep new new.txt && ! test -e litter && ! test -e "$HOME/litter"`, "sh", spec.ArgAffected},
			Affected: []string{"sh", "-c", `cat; echo a.txt; echo x > new.txt; touch litter "$HOME/litter"`}, Full: []string{"everything"},
		},
		{Name: "plain", Command: []string{"sh", "-c", "! test -e litter"}},
	}}
	for name, c := range map[string]struct{ since, tail string }{
		"--batch-1": {patch.Base, "on new.txt a.txt\nnew"}, "--final": {"", "on everything\nnew"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(testerRole, name)
			a.Head, a.Patch, a.Since, a.Project = patch.Commit, patch, c.since, project
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			require.Equal(t, c.tail, r.Receipts[0].Tail)
			require.Equal(t, c.since, r.Receipts[0].Since)
			require.Empty(t, r.Receipts[0].Whole)
			require.Empty(t, r.Receipts[1].Since, "it cannot be narrowed")
		})
	}
}

func TestTesterLetsItsModelJudge(t *testing.T) {
	t.Parallel()
	verdict := func(v string) modeltest.Step {
		return modeltest.CallsTool(spec.ToolSubmitResult, map[string]any{
			"summary": v, "output": map[string]any{"verdict": v, "reasons": []any{"because"}},
		})
	}
	judge := spec.Role{Name: "tester", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolReadFile}}
	tests := map[string]struct {
		step   modeltest.Step
		status spec.Status
		class  string
		calls  int
	}{
		"pass":       {verdict("pass"), spec.StatusDone, "", 1},
		"fail":       {verdict("fail"), spec.StatusFailed, "verdict", 1},
		"no-verdict": {modeltest.Says("looks fine"), spec.StatusFailed, "no_result", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "changed line\n"), modeltest.Submits("ok")}}, "generator")
			gen := s.assignment(writer, "t1")
			s.enqueue(gen)
			patch := s.result(gen).Patch
			m := &modeltest.Script{Steps: []modeltest.Step{tt.step}}
			s.work(m, "tester")
			a := s.assignment(judge, name)
			a.Patch, a.Project.Gates = patch, []spec.Gate{{Name: "g", Command: []string{"false"}}} // it does not run
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
			}
			require.Empty(t, r.Receipts)
			require.Nil(t, r.Patch)
			require.Len(t, m.Sent(), tt.calls)
			require.Contains(t, m.Sent()[0].Contents[0].Parts[0].Text, "+changed line")
		})
	}
}

func TestTesterKeepsTheReceiptsOfAnEarlierDelivery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.assignment(testerRole, "t1")
	a.Project.Gates = []spec.Gate{
		{Name: "first", Command: []string{"sh", "-c", `cd "$XDG_CACHE_HOME" && mkdir only-once`}},
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
	require.GreaterOrEqual(t, r.Delivery, 2)
	require.Len(t, r.Receipts, 2)
}

func TestTesterLetsItsCommandJudge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line   string
		status spec.Status
		class  string
	}{
		"pass": {`grep changed a.txt; echo x > a.txt`, spec.StatusDone, ""},
		"fail": {"exit 1", spec.StatusFailed, "verdict"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "changed\n"), modeltest.Submits("ok")}}, "generator", "tester")
			gen := s.assignment(writer, "t1")
			s.enqueue(gen)
			role := spec.Role{Name: "tester", Executor: spec.ExecutorCommand, Command: []string{"sh", "-ec", tt.line}}
			a := s.assignment(role, "judge")
			a.Patch = s.result(gen).Patch
			a.Project.Gates = []spec.Gate{{Name: "g", Command: []string{"false"}}} // it does not run
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			require.Nil(t, r.Patch)
			require.Empty(t, r.Receipts)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
			}
		})
	}
}
