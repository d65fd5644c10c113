package conduct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// The checker that a person types is the one that the plan mends: a gate of the project with its command, or one beside a gate that
// only has its name.
func TestACheckerIsAGate(t *testing.T) {
	t.Parallel()
	typed := spec.Gate{Name: "ruff", Command: []string{"ruff", "check", "src"}, Format: "findings"}
	for name, c := range map[string]struct {
		had   []spec.Gate
		want  []spec.Gate
		mends string
	}{
		"no gate is like it":     {nil, []spec.Gate{typed}, "ruff"},
		"a gate has its command": {[]spec.Gate{{Name: "lint", Command: typed.Command}}, []spec.Gate{{Name: "lint", Command: typed.Command, Format: "findings"}}, "lint"},
		"another one has its name": {
			[]spec.Gate{{Name: "ruff", Command: []string{"ruff", "check", "--exit-zero"}}},
			[]spec.Gate{{Name: "ruff", Command: []string{"ruff", "check", "--exit-zero"}}, {Name: "ruff-2", Command: typed.Command, Format: "findings"}},
			"ruff-2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &Half{}
			h.Spec.Project.Gates, h.Spec.Plan = c.had, &spec.Plan{Tasks: []spec.Task{{ID: "fix", Mends: []string{"ruff"}}}}
			h.addGate(typed)
			require.Equal(t, c.want, h.Spec.Project.Gates)
			require.Equal(t, []string{c.mends}, h.Spec.Plan.Tasks[0].Mends)
		})
	}
}
