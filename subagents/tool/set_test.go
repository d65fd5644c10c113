package tool

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestDeclarationsAreSortedAndStable(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	list := b.set.Declarations()
	require.Len(t, list, len(names())+1)
	require.True(t, sort.SliceIsSorted(list, func(i, j int) bool { return list[i].Name < list[j].Name }))
	first, err := json.Marshal(list)
	require.NoError(t, err)
	second, err := json.Marshal(b.set.Declarations())
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	for _, d := range list {
		require.Greater(t, len(d.Description), 80, d.Name)
		require.Contains(t, spec.Tools(), d.Name)
		schema, err := json.Marshal(d.ParametersJsonSchema)
		require.NoError(t, err)
		for _, bound := range []string{"maxItems", "minimum", "maximum", "minItems", "$ref", "$id"} {
			require.NotContains(t, string(schema), bound, d.Name)
		}
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	require.Contains(t, b.fails("readfile", nil), "did you mean read_file")
	require.Contains(t, b.fails("xyzzy", nil), "the tools are edit_file, git_diff")
	require.Equal(t, Reads, b.set.Effect(Call{Name: "xyzzy"}))
	require.Equal(t, Reads, b.set.Effect(Call{Name: spec.ToolSearch, Args: args{"pattern": "a"}}))
	edit := oneEdit("a.go", "a", "b")
	require.Equal(t, Writes, b.set.Effect(Call{Name: spec.ToolEditFile, Args: edit}))
	require.Equal(t, Reads, b.set.Effect(Call{Name: spec.ToolEditFile}), "what cannot be carried out touches nothing")
}

func TestAllFaultsOfArgumentsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	said := b.fails(spec.ToolReadFile, args{"pth": "a", "start_line": "one", "end_line": 1.5})
	require.Contains(t, said, `there is no argument "pth" (did you mean "path"?)`)
	require.Contains(t, said, "missing: path")
	require.Contains(t, said, "start_line: is of type string and must be integer")
	require.Contains(t, said, "end_line: ")
	require.Contains(t, b.fails(spec.ToolReadFile, args{"path": math.NaN()}), "not JSON")
}

func TestBuiltinNamesEveryUnknownTool(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	_ = b
	root := b.set.tools[spec.ToolReadFile].(*readFile).files.root
	_, err := Builtin([]string{"serch", "run_command", "frobnicate"}, Env{Root: root})
	require.ErrorContains(t, err, `there is no tool "serch" (did you mean "search"?)`)
	require.ErrorContains(t, err, "run_command has no runner")
	require.ErrorContains(t, err, `there is no tool "frobnicate"`)
	_, err = Builtin([]string{"git_log", "git_diff", "run_gates"}, Env{Root: root})
	require.ErrorContains(t, err, "git_log has no history")
	require.ErrorContains(t, err, "git_diff has no history")
	require.ErrorContains(t, err, "run_gates has no gates")
	set, err := Builtin([]string{"search", "search"}, Env{Root: root})
	require.NoError(t, err)
	require.Equal(t, []string{"search", "submit_result"}, set.Names())
	_, err = Builtin(nil, Env{})
	require.ErrorContains(t, err, "root")
}

// TestEffects pins what each tool touches: what may change the tree runs alone, the result comes after everything else, and
// the rest runs beside each other.
func TestEffects(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	alone := []string{
		spec.ToolEditFile, spec.ToolWriteFile, spec.ToolRunCommand, spec.ToolRunGates, spec.ToolSubmitResult,
	}
	for name, tool := range b.set.tools {
		want := Reads
		if slices.Contains(alone, name) {
			want = Writes
		}
		require.Equal(t, want, tool.Effect(Call{Name: name}), name)
		if spec.WritingTool(name) {
			require.Contains(t, alone, name)
		}
	}
}

// breaks is a tool that breaks down.
type breaks struct{}

func (breaks) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: "breaks", ParametersJsonSchema: object(properties{})}
}
func (breaks) Effect(Call) Effect               { return Reads }
func (breaks) Run(context.Context, Call) Result { panic("oh") }

func TestRunNeverPanics(t *testing.T) {
	t.Parallel()
	set, err := NewSet(nil, breaks{})
	require.NoError(t, err)
	r := set.Run(t.Context(), Call{Name: "breaks"})
	require.True(t, r.Err)
	require.Contains(t, r.Output["error"], "broke down: oh")
	_, err = NewSet(nil, breaks{}, breaks{})
	require.ErrorContains(t, err, "two tools")
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "x"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := b.set.Run(ctx, Call{Name: spec.ToolReadFile, Args: args{"path": "a"}})
	require.True(t, r.Err)
	require.Contains(t, r.Output["error"], "canceled")
}

func TestDoingIsOneShortLine(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	doing := b.set.Doing(Call{Name: spec.ToolRunCommand, Args: args{"command": "go test\n\x1b[31m " + strings.Repeat("x", 500)}})
	require.True(t, strings.HasPrefix(doing, "running go test [31m"), doing)
	require.LessOrEqual(t, len([]rune(doing)), 120)
	require.Equal(t, "reading 5", b.set.Doing(Call{Name: spec.ToolReadFile, Args: args{"path": "5"}}))
}

func FuzzCheckArguments(f *testing.F) {
	f.Add("edit_file", `{"edits":[{"path":"a","old_text":"b","new_text":1}]}`)
	f.Add("submit_result", `{"summary":"s","findings":[1,null,{"a":[]}],"output":{}}`)
	f.Add("run_command", `{"args":["a"],"timeout_seconds":1e300}`)
	set, err := NewSet(nil, &readFile{}, &editFile{}, &runCommand{most: longestCommand}, mustSubmit(f))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, name, text string) {
		var a map[string]any
		if json.Unmarshal([]byte(text), &a) != nil {
			return
		}
		call := Call{Name: name, Args: a}
		if err := set.Check(call); err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		checked, err := set.checked(call)
		require.NoError(t, err)
		require.NoError(t, set.Check(checked), "a call that fits must fit again")
		require.NotEmpty(t, set.Doing(call))
	})
}

func mustSubmit(tb testing.TB) Tool {
	tb.Helper()
	submit, err := newSubmitResult(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), nil)
	require.NoError(tb, err)
	return submit
}
