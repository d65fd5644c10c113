package toolset

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// builtIn is a built-in role as its file lists its tools.
func builtIn(t *testing.T, name string) spec.Role {
	t.Helper()
	data, err := os.ReadFile("../../configs/roles/" + name + ".md")
	require.NoError(t, err)
	var head struct {
		Tools []string `yaml:"tools"`
	}
	require.NoError(t, yaml.Unmarshal(bytes.Split(data, []byte("---\n"))[1], &head))
	return spec.Role{Name: name, Tools: head.Tools}
}

// tokens estimates what the declarations of a request cost: a quarter of their bytes as they are sent.
func tokens(t *testing.T, list []*genai.FunctionDeclaration) int {
	t.Helper()
	data, err := json.Marshal(&genai.Tool{FunctionDeclarations: list})
	require.NoError(t, err)
	return len(data) / 4
}

// TestToolsOfTheBuiltInRolesAreSmall holds the size of what every request of a generator and a reader begins with: for a task
// with constraints, before there is a handle and without notes in the memory.
func TestToolsOfTheBuiltInRolesAreSmall(t *testing.T) {
	t.Parallel()
	rare := []string{spec.ToolLoadArtifact, spec.ToolLoadMemory, spec.ToolSaveMemory}
	for name, most := range map[string]int{spec.RoleGenerator: 1200, spec.RoleReader: 700} {
		a := &wire.Assignment{Role: builtIn(t, name)}
		require.NotEmpty(t, a.Role.Tools)
		a.Task.Constraints = []string{"keep the API"}
		all, err := Declarations(a, nil)
		require.NoError(t, err)
		first := slices.DeleteFunc(slices.Clone(all), func(d *genai.FunctionDeclaration) bool { return slices.Contains(rare, d.Name) })
		for _, d := range all {
			t.Logf("%6d %s", tokens(t, []*genai.FunctionDeclaration{d}), d.Name)
		}
		t.Logf("%s: %d tools, %d tokens at the start; %d tools, %d tokens with handles and notes",
			name, len(first), tokens(t, first), len(all), tokens(t, all))
		require.LessOrEqual(t, tokens(t, first), most, name)
	}
}

// TestTheOwnPlanIsDeclaredInFewBytes holds the size of the tool at that of the one which it replaced: every request has it.
func TestTheOwnPlanIsDeclaredInFewBytes(t *testing.T) {
	t.Parallel()
	all, err := Declarations(&wire.Assignment{Role: spec.Role{Tools: []string{spec.ToolUpdatePlan}}}, nil)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(d *genai.FunctionDeclaration) bool { return d.Name == spec.ToolUpdatePlan })
	data, err := json.Marshal(&genai.Tool{FunctionDeclarations: all[i : i+1]})
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), 241)
}

func TestDelegationNeedsARole(t *testing.T) {
	t.Parallel()
	a := &wire.Assignment{Role: spec.Role{Name: "lead", Tools: []string{spec.ToolDelegate, spec.ToolTransfer, spec.ToolAsk}}}
	names := func() (out []string) {
		all, err := Declarations(a, nil)
		require.NoError(t, err)
		for _, d := range all {
			out = append(out, d.Name)
		}
		return out
	}
	require.Equal(t, []string{spec.ToolAsk, spec.ToolSubmitResult}, names())
	a.Roles = []wire.Callee{{Name: "reader"}}
	require.Equal(t, []string{spec.ToolAsk, spec.ToolDelegate, spec.ToolSubmitResult, spec.ToolTransfer}, names())
}
