package fit

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

func TestLacks(t *testing.T) {
	t.Parallel()
	all := func() *Machine {
		return &Machine{
			Tags: []string{"big", "ci"}, Strict: func() error { return nil },
			Version:     func(name string) string { return map[string]string{"go": "1.26.3", "image": "sha256:aa"}[name] },
			Find:        func(string) bool { return true },
			Models:      func(*wire.Setup, string) error { return nil },
			Environment: func(id string) bool { return id == "e1" },
		}
	}
	setup := &wire.Setup{
		Strict: true, Environment: "e1",
		Project: spec.Project{
			Toolchain: map[string]string{"go": "1.26", "image": "sha256:aa"},
			Gates:     []spec.Gate{{Name: "t", Command: []string{"./test.sh"}}, {Name: "v", Command: []string{"go", "vet"}}},
		},
		Roles: map[string]spec.Role{
			"tester": {Name: "tester"},
			"mod":    {Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed", "-i"}, Tags: []string{"big"}},
			"writer": {Name: "writer", Executor: spec.ExecutorModel},
		},
	}
	for name, c := range map[string]struct {
		change func(m *Machine)
		role   string
		want   []string
	}{
		"everything":       {func(*Machine) {}, "mod", nil},
		"a tag":            {func(m *Machine) { m.Tags = []string{"ci"} }, "mod", []string{"the tag big"}},
		"no tag is needed": {func(m *Machine) { m.Tags = nil }, "tester", nil},
		"confinement": {
			func(m *Machine) { m.Strict = func() error { return errors.New("no namespaces") } }, "mod",
			[]string{"full confinement of commands"},
		},
		"environment": {
			func(m *Machine) { m.Environment = func(string) bool { return false } }, "tester",
			[]string{"the environment of the checkout that the run began from"},
		},
		"programs of gates": {
			func(m *Machine) { m.Find = func(string) bool { return false } }, "tester", []string{"the program go"},
		},
		"program of the role": {func(m *Machine) { m.Find = func(string) bool { return false } }, "mod", []string{"the program sed"}},
		"a patch version that is fine": {
			func(m *Machine) { m.Version = func(n string) string { return setup.Project.Toolchain[n] + ".9" } }, "mod",
			[]string{},
		},
		"another line": {
			func(m *Machine) {
				m.Version = func(n string) string { return map[string]string{"go": "1.2", "image": "sha256:aa"}[n] }
			}, "mod",
			[]string{"the toolchain go 1.26 (it has 1.2)"},
		},
		"no toolchain": {
			func(m *Machine) { m.Version = func(string) string { return "" } }, "mod",
			[]string{"the toolchain go 1.26 (it has none)", "the toolchain image sha256:aa (it has none)"},
		},
		"a key": {
			func(m *Machine) {
				m.Models = func(_ *wire.Setup, role string) error { return errors.New("set KEY for " + role) }
			}, "writer",
			[]string{"a key: set KEY for writer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := all()
			c.change(m)
			require.ElementsMatch(t, c.want, m.Lacks(setup, c.role))
		})
	}
}

// Setup may bring every program but its own, and a model takes over from a command that is not there.
func TestPrograms(t *testing.T) {
	t.Parallel()
	setup := &wire.Setup{Project: spec.Project{
		Setup: spec.Setup{Command: []string{"npm", "ci"}}, Gates: []spec.Gate{{Name: "v", Command: []string{"go", "vet"}}},
	}}
	mod := &spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"codemod"}}
	require.Equal(t, []string{"npm"}, programs(setup, &spec.Role{Name: spec.RoleTester}))
	require.Empty(t, programs(setup, mod))
	setup.Project.Setup = spec.Setup{}
	require.Equal(t, []string{"codemod"}, programs(setup, mod))
	mod.Chain = []string{spec.ExecutorModel}
	require.Empty(t, programs(setup, mod))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^1\.\d+`, Version(t.Context(), t.TempDir(), "go"))
	require.Empty(t, Version(t.Context(), t.TempDir(), "rm"), "no program of a toolchain")
}

func TestAToolchainThatDiffersByAPatchVersion(t *testing.T) {
	t.Parallel()
	for want, fits := range map[string]bool{"1.26": true, "1": true, "1.26.3": true, "1.26.4": false, "1.26.30": false, "1.2": false, "1.26.3.1": false} {
		require.Equal(t, fits, meets("1.26.3", want), want)
	}
}
