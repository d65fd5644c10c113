package depot

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// objects are what a server has.
type objects map[string][]byte

// Get implements wire.Objects.
func (o objects) Get(_ context.Context, name string) ([]byte, error) {
	if data, ok := o[name]; ok {
		return data, nil
	}
	return nil, errors.New("no such object")
}

// goodOrder is one that is accepted.
func goodOrder(t testing.TB) *Order {
	t.Helper()
	set, err := configs.RolesWith(t.TempDir(), nil)
	require.NoError(t, err)
	at := time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC)
	return &Order{
		Spec: run.Spec{
			Run: store.NewID(at), Created: at, Base: strings.Repeat("a", 40), Goal: "g", Repo: "/home/me/repo", Parallel: 4,
			Roles: set.Roles, Project: spec.Project{Gates: []spec.Gate{{Name: "test", Command: []string{"true"}}}},
			Plan: &spec.Plan{Tasks: []spec.Task{{ID: "one", Role: "generator", Brief: "Do it.", Files: []string{"a.txt"}}}},
		},
		PackSent: PackSent{Pack: "commits-" + strings.Repeat("0", 64)}, Roots: []string{strings.Repeat("b", 40)},
	}
}

func TestAnOrderIsWhatWasSealed(t *testing.T) {
	t.Parallel()
	o := goodOrder(t)
	name, data, err := o.Seal()
	require.NoError(t, err)
	got, err := UnsealOrder(t.Context(), objects{name: data}, o.Spec.Run, name)
	require.NoError(t, err)
	_, again, err := got.Seal()
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))

	// One of an earlier version said how the caches are called, and not where the history begins.
	earlier := []byte(strings.Replace(string(data), `"roots":["`+o.Roots[0]+`"]`, `"caches":"c0ffee"`, 1))
	require.NotEqual(t, data, earlier)
	name = wire.Name(SealedOrder, earlier)
	got, err = UnsealOrder(t.Context(), objects{name: earlier}, o.Spec.Run, name)
	require.NoError(t, err)
	require.Equal(t, CachesOf(nil, nil, o.Spec.Base, "repo"), got.Caches())
}

func TestAHostileOrderIsRefused(t *testing.T) {
	t.Parallel()
	id := goodOrder(t).Spec.Run
	for want, harm := range map[string]func(o *Order){
		"it is of run":              func(o *Order) { o.Spec.Run = "../x" },
		"no run that was made at":   func(o *Order) { o.Spec.Created = o.Spec.Created.Add(time.Hour) },
		"is no commit":              func(o *Order) { o.Spec.Base = "--upload-pack=x" },
		`commits, such as "--all"`:  func(o *Order) { o.Have = []string{"--all"} },
		"the pack is without 33":    func(o *Order) { o.Have = slices.Repeat([]string{o.Spec.Base}, 33) },
		`at "../x" is no submodule`: func(o *Order) { o.Modules = []ModuleSent{{Place: "../x", Commit: o.Spec.Base}} },
		`"main" at "lib" is no`:     func(o *Order) { o.Modules = []ModuleSent{{Place: "lib", Commit: "main"}} },
		"has 501 submodules": func(o *Order) {
			o.Modules = slices.Repeat([]ModuleSent{{Place: "lib", Commit: o.Spec.Base}}, maxModules+1)
		},
		`"../x" is no content`: func(o *Order) { o.Contents = []spec.Pointer{{OID: "../x"}} },
		"has -1 bytes":         func(o *Order) { o.Contents = []spec.Pointer{{OID: strings.Repeat("0", 64), Size: -1}} },
		"and 34359738369 bytes in files": func(o *Order) {
			o.Contents = append(slices.Repeat([]spec.Pointer{{OID: strings.Repeat("0", 64), Size: wire.MaxCommits}}, 4),
				spec.Pointer{OID: strings.Repeat("1", 64), Size: 1})
		},
		`begins with "../x", which`:      func(o *Order) { o.Roots = []string{"../x"} },
		"begins with 17 commits":         func(o *Order) { o.Roots = slices.Repeat(o.Roots, MaxRoots+1) },
		"the name of the repository has": func(o *Order) { o.Spec.Repo = strings.Repeat("x", maxRepo+1) },
		"takes an environment":           func(o *Order) { o.Spec.Environment = "../x" },
		"environment from a checkout":    func(o *Order) { o.Spec.Project.Environment.Word = spec.EnvironmentCheckout },
		"the run does not take":          func(o *Order) { o.Environment = &call.Environment{ID: "e1"} },
		`the environment "../x", which`: func(o *Order) {
			o.Environment, o.Spec.Environment = &call.Environment{ID: "../x"}, "../x"
			o.Spec.Project.Environment.Word = spec.EnvironmentCheckout
		},
		"conducting machine":                 func(o *Order) { o.Spec.Outputs = "/etc" },
		"things that the conducting machine": func(o *Order) { o.Spec.Keys = map[string][]byte{"local": {1}} },
		"out of bounds":                      func(o *Order) { o.Spec.Parallel = MaxParallel + 1 },
		`"-1" cannot be negative`:            func(o *Order) { o.Spec.Budget = spec.Tokens(-1) },
		`on_doubt "x" is not known`:          func(o *Order) { o.Spec.OnDoubt = "x" },
		"neither a goal nor a plan":          func(o *Order) { o.Spec.Goal, o.Spec.Plan = "", nil },
		`role "../x" is called`:              func(o *Order) { o.Spec.Roles["../x"] = o.Spec.Roles["generator"] },
		"../x":                               func(o *Order) { o.Spec.Plan.Tasks[0].Files = []string{"../x"} },
		"gates[0]":                           func(o *Order) { o.Spec.Project.Gates[0].Name = "../x" },
	} {
		o := goodOrder(t)
		harm(o)
		name, data, err := o.Seal()
		require.NoError(t, err)
		_, err = UnsealOrder(t.Context(), objects{name: data}, id, name)
		require.ErrorIs(t, err, wire.ErrSeal, want)
		require.ErrorContains(t, err, want)
	}
}

func TestADamagedOrderIsRefused(t *testing.T) {
	t.Parallel()
	o := goodOrder(t)
	name, data, err := o.Seal()
	require.NoError(t, err)
	lying := SealedOrder + "-" + strings.Repeat("0", 64)
	sealed := func(text string) (string, []byte) { return wire.Name(SealedOrder, []byte(text)), []byte(text) }
	unknown, unknownData := sealed(strings.Replace(string(data), `{"spec":`, `{"more":1,"spec":`, 1))
	two, twoData := sealed(string(data) + `{}`)
	none, noneData := sealed("\x00")
	have := objects{lying: data, unknown: unknownData, two: twoData, none: noneData, "setup-1": data}
	for at, want := range map[string]string{
		lying: "the digest of the object makes it " + name, unknown: `unknown field "more"`, two: "more than one value",
		none: "invalid character", "setup-1": "names no order", name: "no such object",
	} {
		_, err := UnsealOrder(t.Context(), have, o.Spec.Run, at)
		require.ErrorContains(t, err, want)
	}
}

// No bytes of an order make reading it panic, and what is accepted keeps its bounds.
func FuzzOrder(f *testing.F) {
	o := goodOrder(f)
	_, data, err := o.Seal()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"spec":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := wire.Name(SealedOrder, data)
		got, err := UnsealOrder(t.Context(), objects{name: data}, o.Spec.Run, name)
		if err != nil {
			return
		}
		require.Equal(t, o.Spec.Run, got.Spec.Run)
		require.Len(t, got.Caches(), 32)
		require.NotContains(t, got.Caches(), "/")
		_, err = json.Marshal(got)
		require.NoError(t, err)
	})
}
