package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGatesThatCanBeNarrowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate           Gate
		narrows        bool
		narrowed, full []string
		want           string // empty: nothing is wrong
	}{
		"neither": {
			gate: Gate{Command: []string{"go", "test", "./..."}}, narrowed: []string{"go", "test", "./..."}, full: []string{"go", "test", "./..."},
		},
		"go": {
			gate: Gate{Command: []string{"go", "test", "{affected}", "-args"}}, narrows: true,
			narrowed: []string{"go", "test", "a", "b c", "-args"}, full: []string{"go", "test", "./...", "-args"},
		},
		"others": {
			gate:    Gate{Command: []string{"jest", "{affected}"}, Affected: []string{"node", "map.js"}, Full: []string{"src", "lib"}},
			narrows: true, narrowed: []string{"jest", "a", "b c"}, full: []string{"jest", "src", "lib"},
		},
		"nothing in full": {
			gate:    Gate{Command: []string{"pytest", "{affected}"}, Affected: []string{"./map"}},
			narrows: true, narrowed: []string{"pytest", "a", "b c"}, full: []string{"pytest"},
		},
		"in a shell line": {
			gate: Gate{Command: []string{"sh", "-c", "jest {affected}"}},
			want: "gates[0].command[2]: {affected} must be an argument of its own, after the program: a shell gets it as \"$@\"",
		},
		"the program":          {gate: Gate{Command: []string{"{affected}"}}, want: "gates[0].command[0]: {affected} must be an argument"},
		"a command for none":   {gate: Gate{Command: []string{"jest"}, Affected: []string{"x"}}, want: "gates[0].affected: no argument of the gate's"},
		"a full form for none": {gate: Gate{Command: []string{"go", "test", "{affected}"}, Full: []string{"./a"}}, want: "gates[0].full: full belongs"},
		"no program": {
			gate: Gate{Command: []string{"jest", "{affected}"}, Affected: []string{" "}}, want: "gates[0].affected[0]: the program's name is empty",
		},
		"a zero byte": {
			gate: Gate{Command: []string{"jest", "{affected}"}, Affected: []string{"x"}, Full: []string{"a\x00"}},
			want: "gates[0].full[0]: the text contains a NUL character",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.gate.Name = "g"
			p := Project{Gates: []Gate{c.gate}}
			if c.want != "" {
				require.Contains(t, said(p.Validate()), c.want)
				return
			}
			require.Empty(t, p.Validate())
			require.Equal(t, c.narrows, c.gate.Narrows())
			require.Equal(t, c.narrowed, c.gate.On([]string{"a", "b c"}))
			require.Equal(t, c.full, c.gate.InFull().Command)
		})
	}
}
