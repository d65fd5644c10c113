package tool_test

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
	"divisi/subagents/tool/commands"
	"divisi/subagents/tool/files"
	"divisi/subagents/tool/team"

	"github.com/stretchr/testify/require"
)

// allTools are the tools of every package, over a tree with one file.
func allTools(t *testing.T) *tooltest.Bench {
	t.Helper()
	b, root := tooltest.New(t, map[string]string{"a.txt": "one\n"})
	others, err := team.Tools(team.Config{})
	require.NoError(t, err)
	return b.Use(slices.Concat(
		files.Tools(files.Config{Root: root, Dir: b.Dir}), commands.Tools(commands.Config{}), artifacts.Tools(artifacts.Config{}), others)...)
}

func TestDeclarationsAreSortedAndStable(t *testing.T) {
	t.Parallel()
	b := allTools(t)
	list := b.Set.Declarations()
	require.True(t, sort.SliceIsSorted(list, func(i, j int) bool { return list[i].Name < list[j].Name }))
	first, err := json.Marshal(list)
	require.NoError(t, err)
	second, err := json.Marshal(allTools(t).Set.Declarations())
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	names := []string{spec.ToolDispatch}
	for _, d := range list {
		if !slices.Contains(team.Lead, d.Name) {
			names = append(names, d.Name)
		}
		require.Greater(t, len(d.Description), 30, d.Name)
		schema, err := json.Marshal(d.ParametersJsonSchema)
		require.NoError(t, err)
		for _, bound := range []string{"maxItems", "minimum", "maximum", "minItems", "$ref", "$id", "null"} {
			require.NotContains(t, string(schema), bound, d.Name)
		}
	}
	require.ElementsMatch(t, spec.Tools(), names, "a role can list exactly the tools that there are")
}

// TestEffects pins what each tool touches: what may change the tree runs alone, the result comes after everything else, and
// the rest runs beside each other.
func TestEffects(t *testing.T) {
	t.Parallel()
	effects := map[string]tool.Effect{
		spec.ToolEditFile: tool.Writes, spec.ToolWriteFile: tool.Writes, spec.ToolRunCommand: tool.Writes, spec.ToolRunGates: tool.Writes,
		spec.ToolSubmitResult: tool.Writes, spec.ToolDelegate: tool.Waits, spec.ToolTransfer: tool.Waits,
		team.Send: tool.Waits, team.Revise: tool.Waits, team.Cancel: tool.Waits,
		spec.ToolAsk: tool.Asks, spec.ToolRequestScope: tool.Asks,
	}
	set := allTools(t).Set
	for _, name := range set.Names() {
		one, err := set.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, effects[name], one.Effect(tool.Call{Name: name}), name)
		require.False(t, spec.WritingTool(name) && effects[name] != tool.Writes, name)
	}
}

// wrong are values of every JSON type.
var wrong = map[string]any{
	"string": "x", "number": 1.5, "boolean": true, "null": nil, "array": []any{1.0, nil, []any{}, tooltest.Args{}},
	"object": tooltest.Args{"a": tooltest.Args{}},
}

func TestHostileArguments(t *testing.T) {
	t.Parallel()
	b := allTools(t)
	for _, d := range b.Set.Declarations() {
		schema := d.ParametersJsonSchema.(map[string]any)
		props := schema["properties"].(map[string]any)
		missing := b.Set.Run(t.Context(), tool.Call{Name: d.Name})
		required, _ := schema["required"].([]any)
		for _, name := range required {
			require.Contains(t, missing.Output["error"], name, d.Name)
		}
		for _, kind := range slices.Sorted(maps.Keys(wrong)) {
			all := tooltest.Args{}
			for name, p := range props {
				if p.(map[string]any)["type"] != kind {
					all[name] = wrong[kind]
				}
			}
			if len(all) == 0 {
				continue
			}
			all["no_such_argument"] = 1
			said := b.Fails(d.Name, all)
			for name := range all {
				require.Contains(t, said, name, "%s with %s: all faults at once", d.Name, kind)
			}
		}
		huge := tooltest.Args{}
		for name, p := range props {
			switch p.(map[string]any)["type"] {
			case "string":
				huge[name] = strings.Repeat("a", 100_000)
			case "integer":
				huge[name] = 1e300
			case "array":
				huge[name] = slices.Repeat([]any{strings.Repeat("a", 5000)}, 1000)
			}
		}
		if d.Name != spec.ToolSubmitResult && d.Name != spec.ToolRunCommand {
			require.True(t, b.Run(d.Name, huge).Err, d.Name)
		}
	}
	require.Contains(t, b.Fails(spec.ToolWriteFile, tooltest.Args{"path": "new", "content": strings.Repeat("a", 20<<20+1)}), "more than")
	require.Equal(t, "one\n", b.Content("a.txt"))
}
