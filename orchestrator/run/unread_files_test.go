package run_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// A file is unread where each gate has not read it; the furthest that one came counts, with the reason and the command of any.
func TestUnreadIn(t *testing.T) {
	t.Parallel()
	at := func(path string, grade spec.Grade, more ...string) spec.Unread {
		u := spec.Unread{Path: path, Grade: grade}
		if len(more) > 0 {
			u.Reason, u.Command = more[0], slices.Clone(more[1:])
		}
		return u
	}
	receipt := func(unread ...spec.Unread) spec.Receipt { return spec.Receipt{Unread: unread} }
	for name, c := range map[string]struct {
		receipts []spec.Receipt
		want     []spec.Unread
	}{
		"no gate":              {},
		"one gate":             {[]spec.Receipt{receipt(at("a", spec.GradeUnread), at("other", spec.GradeUnread))}, []spec.Unread{at("a", spec.GradeUnread)}},
		"another gate read it": {[]spec.Receipt{receipt(at("a", spec.GradeUnread)), receipt()}, nil},
		"the furthest": {
			[]spec.Receipt{receipt(at("a", spec.GradeUnread, "it is not in the build", "go", "vet")), receipt(at("a", spec.GradeOpened))},
			[]spec.Unread{at("a", spec.GradeOpened, "it is not in the build", "go", "vet")},
		},
		"not known is more than unread": {
			[]spec.Receipt{receipt(at("a", spec.GradeUnread, "never", "vet")), receipt(at("a", spec.GradeUnknown))},
			[]spec.Unread{at("a", spec.GradeUnknown, "never", "vet")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, run.UnreadIn(c.receipts, []string{"b", "a"}))
		})
	}
}

// An added gate is one of the run until it turns out to prove nothing. What other environments found lacks it.
func TestAnAddedGateIsFolded(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Project: spec.Project{Gates: []spec.Gate{{Name: "test"}}}, Roles: runtest.Roles()}, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Environment: "e"}}})
	l.Append("", run.Data{Other: &run.Other{Environment: "other"}})
	g := run.AddedGate{Gate: spec.Gate{Name: "windows", Command: []string{"w"}}, By: "user:ada"}
	l.Append("", run.Data{Gate: &g})
	require.False(t, l.Baselined())
	require.Equal(t, []string{"test", "windows"}, l.Spec.GateNames())
	require.Equal(t, []string{"one", "windows"}, l.Spec.GatesOf(spec.Task{Gates: []string{"one"}}))
	require.Equal(t, "--gate-1", l.NewGate().Work())
	require.Empty(t, l.Proofs.Others)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "windows", Environment: "e"}}})
	require.True(t, l.Baselined())
	require.Nil(t, l.NewGate())
	g.Dropped = "it timed out"
	l.Append("", run.Data{Gate: &g})
	require.True(t, l.Baselined())
	require.Equal(t, []string{"test"}, l.Spec.GateNames())
	require.Empty(t, l.Spec.AddedNames())
	g.Dropped = ""
	l.Append("", run.Data{Gate: &g})
	require.Equal(t, "--gate-2", l.NewGate().Work(), "the second one is another")
}
