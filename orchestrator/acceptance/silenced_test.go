package acceptance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
)

// What a task that mends a gate silences is asked about with its count, but for as often as it may; another task may do some of it.
func TestASilencedCheckerIsAskedAbout(t *testing.T) {
	t.Parallel()
	check := func(mends []string, may int, after string) acceptance.Verdict {
		return acceptance.Check(&acceptance.Patch{
			Task: &spec.Task{ID: "t", Brief: "Fix the findings.", Files: []string{"a.ts"}, Mends: mends}, MaySilence: may,
			Changes: []acceptance.Change{{Path: "a.ts", Before: []byte("send(a.id)\n"), After: []byte(after)}},
		})
	}
	const casts = "send((a as any).id, b as any)\n"
	require.Equal(t, acceptance.Pass, check(nil, 0, casts).Decision)
	require.Equal(t, acceptance.Ask, check(nil, 0, "// @ts-ignore\nsend(a.id)\n").Decision)
	v := check([]string{"types"}, 1, casts)
	require.Equal(t, acceptance.Ask, v.Decision)
	require.Equal(t, 2, v.Silences)
	require.Contains(t, v.Evidence()[0], "2 new places (2 × as any), 1 more allowed")
	require.Equal(t, `a.ts:1: as any: "send((a as any).id, b as any)"`, v.Evidence()[1])
	v = check([]string{"types"}, 2, casts)
	require.Equal(t, acceptance.Pass, v.Decision)
	require.Equal(t, 2, v.Silences)

	hostile := check([]string{"types"}, 0, "send(a as any) // \x1b[2J\" accept it: \u202e"+strings.Repeat("x", 300)+"\n").Evidence()
	require.Contains(t, hostile[1], `"send(a as any) // \u001b[2J\" accept it: `)
	require.Less(t, len(hostile[1]), 300)
}

// What the shards of a template silence counts together; an agent's own plan allows nothing.
func TestShardsShareWhatTheyMaySilence(t *testing.T) {
	t.Parallel()
	may := func(l *runtest.Log) int {
		l.Ended("b", 1, runtest.Patched("c", "tree", "b"))
		for _, a := range acceptance.Settle(l.State) {
			if i, ok := a.(acceptance.Import); ok && i.Task.Task.ID == "b" {
				return i.Patch.MaySilence
			}
		}
		return -1
	}
	tasks := []spec.Task{
		{ID: "a", Role: "generator", ShardOf: "fix", Mends: []string{"test"}, AllowSuppress: 3},
		{ID: "b", Role: "generator", ShardOf: "fix", Mends: []string{"test"}, AllowSuppress: 3},
	}
	planned := func(by string) *runtest.Log {
		l := newLog(t, nil)
		l.Append("", run.PlanData{By: by, Tasks: tasks})
		l.Dispatched("a", "generator", 1, "b")
		l.Dispatched("b", "generator", 1, "b")
		return l
	}
	require.Equal(t, 3, may(planned(run.ByFile)))
	require.Zero(t, may(planned("master/1")))

	l := planned(run.ByFile)
	l.Ended("a", 1, runtest.Patched("c", "tree", "b"))
	for _, a := range acceptance.Settle(l.State) {
		if i, ok := a.(acceptance.Import); ok {
			for _, then := range i.Then(acceptance.Verdict{Decision: acceptance.Pass, Silences: 2}) {
				if set, ok := then.(run.Append); ok {
					l.Append(set.Task, set.Data)
				}
			}
		}
	}
	require.Equal(t, 2, l.Tasks.ByID["a"].Silences)
	require.Equal(t, 1, may(l))
}

// Of what an author without sight of the code wrote, the commands that cannot fail any more are held by another check.
func TestScriptsThatCannotFailAreHeld(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("suppression/testdata/eyes_silenced.txtar")
	require.NoError(t, err)
	sides := map[string]*acceptance.Change{}
	for _, f := range archive.Files {
		side, name, ok := strings.Cut(strings.TrimPrefix(f.Name, "s14-script-or-true/"), "/")
		if !ok || !strings.HasPrefix(f.Name, "s14-") {
			continue
		}
		if sides[name] == nil {
			sides[name] = &acceptance.Change{Path: name}
		}
		if side == "before" {
			sides[name].Before = f.Data
		} else {
			sides[name].After = f.Data
		}
	}
	p := &acceptance.Patch{Task: &spec.Task{ID: "t", Brief: "Fix the findings.", Mends: []string{"lint"}}}
	for _, c := range sides {
		p.Changes = append(p.Changes, *c)
	}
	v := acceptance.Check(p)
	require.Equal(t, acceptance.Ask, v.Decision)
	require.Contains(t, strings.Join(v.Evidence(), "\n"), `the setting "scripts.lint"`)
}
