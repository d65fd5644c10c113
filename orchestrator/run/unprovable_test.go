package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

func TestWhatNoGateCanProve(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Project: spec.Project{
		Gates: []spec.Gate{{Name: "build"}, {Name: "test"}}, Setup: spec.Setup{Command: []string{"npm", "ci"}},
	}}, run.Running)
	l.Gates(run.SetupTask, 1, "b")
	require.Empty(t, l.Proofs.Unprovable)
	l.Ended(run.SetupTask, 1, spec.Result{Status: spec.StatusDone, Derived: []string{"packages/dep/dist", "packages/dep/types"}})
	l.Append("", run.Data{Baseline: []spec.Receipt{
		{Gate: "build", Hidden: []string{"package: web"}},
		{Gate: "test", Hidden: []string{spec.HiddenAll, "package: .", "package: web", "spec/a.test.js"}},
	}})
	const untested, derived = "on the base commit it did not run in test", "derived files are not made again: packages/dep/dist, packages/dep/types" +
		" (to change that: regenerate or derived in .divisi/divisi.yaml)"
	require.Equal(t, []run.Unprovable{
		{Path: ".", Package: true, Why: untested},
		{Path: "packages/dep", Why: derived},
		{Path: "spec/a.test.js", Why: untested},
		{Path: "web", Package: true, Why: "on the base commit it did not run in build, test"},
	}, l.Proofs.Unprovable)
	for file, want := range map[string]string{
		"main.go": "package .", "go.mod": "package .", "testdata/x": "package .",
		"web/web.go": "package web", "web/testdata/a/b": "package web", "web/ui/ui.go": "", "webx/a.go": "",
		"spec/a.test.js": "spec/a.test.js", "spec/b.test.js": "",
		"packages/dep/src/a/b.ts": "packages/dep", "packages/depth/a.ts": "",
	} {
		got := ""
		for _, u := range l.Proofs.UnprovableIn([]string{file}) {
			got += u.String()
		}
		require.Equal(t, want, got, file)
	}
}

func TestDerivedFilesThatAreMadeAgainHideNothing(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Project: spec.Project{Regenerate: []string{"npm", "run", "build"}}}, run.Running)
	l.Gates(run.SetupTask, 1, "b")
	l.Ended(run.SetupTask, 1, spec.Result{Status: spec.StatusDone, Derived: []string{"dist"}})
	require.Empty(t, l.Proofs.Unprovable)
}

func TestDerivedFilesOfTheCheckoutAreKnownFromTheBeginning(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Environment: "e", Derived: []string{"web/dist"}}, run.Preflight)
	require.Equal(t, []run.Unprovable{{Path: "web", Why: "derived files are not made again: web/dist (to change that: regenerate or derived in .divisi/divisi.yaml)"}}, l.Proofs.Unprovable)
	l = runtest.New(t, run.Spec{Environment: "e", Derived: []string{"web/dist"}, Project: spec.Project{Regenerate: []string{"make"}}}, run.Preflight)
	require.Empty(t, l.Proofs.Unprovable)
}
