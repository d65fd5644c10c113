package tool

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the output\n", i)
	}
	return b.String()
}

func TestGuardKeepsLargeOutput(t *testing.T) {
	t.Parallel()
	store := &memory{}
	b := newBench(t, nil, func(e *Env) {
		e.Artifacts = store
		e.Runner = fakeRunner{output: func(Command) (Output, error) { return Output{Text: manyLines(5000), ExitCode: 3}, nil }}
	})
	r := b.run(spec.ToolRunCommand, args{"command": "x"})
	text := r.Output["output"].(string)
	require.Less(t, utf8.RuneCountInString(text), headOutput+tailOutput+300)
	require.True(t, strings.HasPrefix(text, "line 0 of"), "the head is kept")
	require.True(t, strings.HasSuffix(text, "line 4999 of the output\n"), "the tail is kept")
	require.Contains(t, text, `load_artifact "run_command-output-c1" has all of it`)
	require.Equal(t, 3, r.Output["exit_code"])
	require.Equal(t, manyLines(5000), string(store.data["run_command-output-c1"]))

	part := b.ok(spec.ToolLoadArtifact, args{"handle": "run_command-output-c1", "start_line": 2501, "end_line": 2502})
	require.Contains(t, part, "  2501\tline 2500 of the output\n  2502\tline 2501 of the output\n")
	require.Contains(t, b.fails(spec.ToolLoadArtifact, args{"handle": "other"}), "no such artifact")
	whole := b.ok(spec.ToolLoadArtifact, args{"handle": "run_command-output-c1"})
	require.LessOrEqual(t, utf8.RuneCountInString(whole), maxOutput)
	require.Contains(t, whole, "go on with start_line")
}

func TestGuardWithoutAStoreSaysSo(t *testing.T) {
	t.Parallel()
	long := Result{Output: map[string]any{"error": strings.Repeat("é", maxOutput+1)}, Err: true}
	r := (&Guard{}).Bound(t.Context(), Call{Name: "x"}, long)
	require.Contains(t, r.Output["error"], "they are not kept")
	failing := &Guard{Artifacts: &memory{fail: errors.New("disk full")}}
	r = failing.Bound(t.Context(), Call{Name: "x"}, Result{Output: map[string]any{"list": make([]string, maxOutput)}})
	require.Contains(t, r.Output["list"], "could not be kept: disk full")
	require.True(t, utf8.ValidString(r.Output["list"].(string)))
}

func TestGuardMakesOutputSendable(t *testing.T) {
	t.Parallel()
	r := (&Guard{}).Bound(t.Context(), Call{}, Result{Output: map[string]any{"output": "a\xffb", "f": func() {}, "n": 1}})
	require.Equal(t, "a\uFFFDb", r.Output["output"])
	require.Contains(t, r.Output["f"], "cannot be written as JSON")
	require.Equal(t, 1, r.Output["n"])
}

func TestLoadArtifactWithoutAStore(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(e *Env) { e.Artifacts = nil })
	require.Contains(t, b.fails(spec.ToolLoadArtifact, args{"handle": "x"}), "no artifacts are kept")
}
