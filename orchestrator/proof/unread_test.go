package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Source files, and data that programs read, are asked about; what people read is told.
func TestAsks(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]bool{ // unread; not known
		"deploy/values.yaml": {true, false}, "api/x.proto": {true, false},
		"config.json": {true, false}, "Makefile": {true, false}, "bin/start": {}, "data/kept": {}, "web/page.html": {true, false},
		"CMakeLists.txt": {true, false}, "requirements-dev.txt": {true, false}, "db/001.sql": {true, false}, ".github/workflows/ci.yml": {true, false},
		"README.md": {}, "a/Readme": {}, "LICENSE": {}, "LICENSE-MIT": {}, "NOTES.TXT": {}, "docs/schema.json": {}, "doc/man.1": {},
		"logo.PNG": {}, ".gitignore": {}, "CHANGELOG.rst": {}, "a/CODEOWNERS": {},
	} {
		require.Equal(t, want[0], Asks(spec.Unread{Path: path, Grade: spec.GradeUnread}), path)
		require.Equal(t, want[1], Asks(spec.Unread{Path: path, Grade: spec.GradeUnknown}), path)
	}
	for _, grade := range []spec.Grade{spec.GradeOpened, spec.GradeUnread, spec.GradeUnknown} {
		require.True(t, Asks(spec.Unread{Path: "docs/conf.py", Grade: grade, Source: true}))
	}
}

func TestUnreadFilesAreGrouped(t *testing.T) {
	t.Parallel()
	vet := []string{"GOOS=windows", "go", "vet", "./..."}
	list := []spec.Unread{
		{Path: "z/a.yaml", Grade: spec.GradeUnread},
		{Path: "cmd/b_windows.go", Grade: spec.GradeOpened, Reason: "//go:build windows", Command: vet},
		{Path: "cmd/a_windows.go", Grade: spec.GradeOpened, Reason: "//go:build windows", Command: vet},
		{Path: "cmd/c.go", Grade: spec.GradeUnknown, Reason: "a\nb"},
	}
	require.Equal(t, []string{
		"no gate reads cmd/a_windows.go, cmd/b_windows.go: //go:build windows; a gate that reads them: GOOS=windows go vet ./...",
		"no gate reads cmd/c.go: a b", "no gate reads z/a.yaml: no gate opens it",
	}, UnreadLines(list))
	s := &run.State{}
	gates := NewGates(&s.Spec, list)
	require.Equal(t, []spec.Gate{{Name: "GOOS-windows-go-vet", Command: append([]string{"env"}, vet...)}}, gates)
	require.True(t, ReadBy(list[1], gates))
	require.False(t, ReadBy(list[0], gates))
	s.Spec.Project.Gates = []spec.Gate{{Name: "GOOS-windows-go-vet", Command: []string{"other"}}}
	require.Equal(t, "GOOS-windows-go-vet-2", NewGates(&s.Spec, list)[0].Name)
	s.Spec.Added = []run.AddedGate{{Gate: gates[0], Dropped: "it timed out"}}
	require.Empty(t, NewGates(&s.Spec, list), "it was tried")
	require.Equal(t, "added", GateName([]string{"../"}, nil))
}

// The command of a worker is no way to have a gate of a name that no gate may have.
func TestNamesOfGatesAreValid(t *testing.T) {
	t.Parallel()
	l := gated(t, run.Spec{}, "test")
	for _, command := range [][]string{{"\x1b]0;x"}, {"é", "ü"}, {"-v"}, {"env"}, {"a", "b c d e f g h i j k l m n o p q r s t u v w x y z a b c d"}} {
		for _, g := range NewGates(&l.Spec, []spec.Unread{{Path: "a.go", Command: command}}) {
			p := spec.Project{Gates: []spec.Gate{g}}
			for _, fault := range p.Validate() {
				require.NotContains(t, fault.Message, "gate name", command)
			}
		}
	}
}
