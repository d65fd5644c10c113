// Package fit compares a machine with the needs of a run's roles. Its input is the sealed setup of the run and what is known of
// the machine, its output what the machine lacks, in words for people. It runs nothing of the run.
package fit

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Machine describes a worker's machine. All fields but Policy are needed.
type Machine struct {
	Tags []string
	// Policy holds the permissions of its owner; nil for everything.
	Policy *spec.Policy
	// Strict returns why commands cannot be fully confined; nil where they are.
	Strict func() error
	// Version returns the version of a program of a toolchain, or what the worker was started with under that name; "" for none.
	Version func(name string) string
	// Find reports whether a program is there.
	Find func(program string) bool
	// Models returns why the models of a role cannot be called; nil where they can, or there are none.
	Models func(s *wire.Setup, role string) error
	// Environment reports whether an environment that was taken from a checkout is there.
	Environment func(id string) bool
}

// Lacks lists what the machine lacks for the tasks of a role.
func (m *Machine) Lacks(s *wire.Setup, role string) (lacks []string) {
	r := s.Roles[role]
	if m.Policy != nil {
		lacks = append(Unsigned(m.Policy, s), Denied(m.Policy, s.Name, &s.Project, &r)...)
	}
	for _, tag := range r.Tags {
		if !slices.Contains(m.Tags, tag) {
			lacks = append(lacks, "the tag "+tag)
		}
	}
	if err := m.Strict(); s.Strict && err != nil {
		lacks = append(lacks, "full confinement of commands")
	}
	if s.Environment != "" && !m.Environment(s.Environment) {
		lacks = append(lacks, "the environment of the checkout that the run began from")
	}
	lacks = append(lacks, m.absent(s, &r)...)
	for _, name := range slices.Sorted(maps.Keys(s.Project.Toolchain)) {
		want := s.Project.Toolchain[name]
		if have := m.Version(name); !meets(have, want) {
			lacks = append(lacks, fmt.Sprintf("the toolchain %s %s (it has %s)", name, want, orNone(have)))
		}
	}
	if err := m.Models(s, role); err != nil {
		lacks = append(lacks, "a key: "+err.Error())
	}
	return lacks
}

// Absent lists the programs that some roles need and that are not there any more.
func (m *Machine) Absent(s *wire.Setup, roles []string) (absent []string) {
	for _, name := range roles {
		r := s.Roles[name]
		absent = append(absent, m.absent(s, &r)...)
	}
	slices.Sort(absent)
	return slices.Compact(absent)
}

func (m *Machine) absent(s *wire.Setup, r *spec.Role) (absent []string) {
	for _, p := range programs(s, r) {
		if !m.Find(p) {
			absent = append(absent, "the program "+p)
		}
	}
	return absent
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

// meets reports whether a version is the wanted one, or one of the line that it names: 1.26.3 meets 1.26, and 1.2 does not.
func meets(have, want string) bool {
	return have == want || strings.HasPrefix(have, want+".")
}

// programs are those by name that the tasks of a role cannot do without. What the tree brings itself is not among them; setup may
// bring any, and where a program is missing a model takes over.
func programs(s *wire.Setup, r *spec.Role) []string {
	var commands [][]string
	setup := s.Project.Setup.Command
	switch {
	case r.Name == spec.RoleTester && len(setup) > 0:
		commands = append(commands, setup)
	case len(setup) > 0:
	case r.Runs(spec.ExecutorCommand) && !r.Runs(spec.ExecutorModel):
		commands = append(commands, r.Command)
	case r.Name == spec.RoleTester:
		commands = append(commands, s.Project.Regenerate)
		for _, g := range s.Project.Gates {
			commands = append(commands, g.Command)
		}
		for i := range s.Project.Services {
			commands = append(commands, s.Project.Services[i].Command)
		}
	}
	var names []string
	for _, c := range commands {
		if len(c) > 0 && filepath.Base(c[0]) == c[0] && !slices.Contains(names, c[0]) {
			names = append(names, c[0])
		}
	}
	return names
}
